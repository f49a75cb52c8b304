"""Typed records of the results of a run. They contain everything that a report needs."""

from __future__ import annotations

import builtins
from collections import Counter
from typing import ClassVar, Final, Literal

import msgspec

from dpverify.ledger.display import Line
from dpverify.ledger.records import (
    PaperInfo,
    Record,
    RelationToDerived,
    Severity,
    Status,
)
from dpverify.ledger.statements import Reference
from dpverify.shown import ShownAsTable

Method = Literal[
    "derivation", "exhaustive", "exact-law", "search", "monte-carlo", "measurement"
]
StepStatus = Literal["proved", "checked", "undecided", "fails"]
# the message of an interrupted check
INTERRUPTED: Final = "interrupted before it was decided"
# if the statement follows from the derived one
IMPLIED: Final[tuple[RelationToDerived, ...]] = ("equal", "weaker")


class Number(Record, frozen=True, kw_only=True):
    """A number of a report: always a float (infinities and NaN as strings), and an exact value if one is known."""

    exact: str | None = None
    # msgspec reads annotations inside the class, where the bare name is this field
    float: builtins.float | str


class Counterexample(Record, frozen=True, kw_only=True):
    """A point at which a statement is false, with both sides."""

    # practical: at sizes in common use
    kind: Literal["smallest", "practical", "interior", "largest-ratio"]
    parameters: dict[str, Number]
    lhs: Number
    rhs: Number
    note: str = ""
    # the condition `Edge.when` that it satisfies; "" if none; None if none can be
    # decided
    edge: str | None = None


class StepResult(Record, frozen=True, kw_only=True):
    """One step of a derivation with its verdict."""

    expression: str
    latex: str
    relation: str
    rule: str
    premises: list[str] = []
    status: StepStatus
    points: int = 0
    slack: Number | None = None
    note: str = ""


class DerivationResult(Record, frozen=True, kw_only=True):
    """A chain of steps: our derivation (``ours``) or the paper's (``paper``)."""

    name: str
    whose: Literal["ours", "paper"]
    steps: list[StepResult]
    complete: bool
    note: str = ""


class ControlResult(Record, frozen=True, kw_only=True):
    """A planted fault, or a similar true statement, and whether the check refuted it."""

    name: str
    fault: str  # what is changed
    at_declared_size: bool
    refuted: bool
    statistic: str = ""


REACHED = 0.01  # relative distance up to which a printed bound counts as attained


class Slack(Record, frozen=True, kw_only=True):
    """The ratio of the printed bound to the exact value: the smallest found and a typical value."""

    min: Number
    typical: Number


def _above_1(slack: Slack) -> bool:
    return float(slack.min.float) > 1.0 + REACHED


class Vacuous(Record, frozen=True, kw_only=True):
    """Whether a bound is weaker than the trivial bound on a grid, and from which parameters on it is stronger."""

    value: bool
    grid: str
    onset: str


class CheckResult(Record, frozen=True, kw_only=True):
    """The result of one check of one statement."""

    name: str
    method: Method
    status: Status
    message: str = ""
    n: int = 0
    alpha: float = 0.0
    power: float = 0.0
    detects: str = ""
    statistic: str = ""
    region: str = ""
    # of a search: the range of its points, and what it did not evaluate
    window: str = ""
    leaves_out: str = ""
    # unproved premises; a proof with such premises is "proved given" them
    given: list[str] = []
    definitions: list[str] = []  # definitions that a proof uses
    references: list[Reference] = []  # the statements among the premises, proved or not
    # taken from the recorded run, whose proof or counterexamples were checked again
    by_certificate: bool = False
    seconds: float = 0.0
    kernel_disagrees: bool = False
    error: str = ""
    counterexamples: list[Counterexample] = []
    slack: Slack | None = None
    vacuous: Vacuous | None = None
    derivation: DerivationResult | None = None
    relation_to_derived: RelationToDerived | None = None
    controls: list[ControlResult] = []
    # true statements that a refuting check must not refute
    true_neighbours: list[ControlResult] = []
    figures: dict[str, dict[str, list[float]]] = {}


class AmendmentResult(Record, frozen=True, kw_only=True):
    """The result of an amendment or of a regime."""

    formula: str | None = None
    statement: str | None = None
    latex: str = ""
    requires: list[str] = []
    display: list[Line] = []  # the complete statement in lines
    status: Status
    given: list[str] = []
    definitions: list[str] = []
    pinned: Status = "untested"
    tight: bool = False
    # conditions under which the printed statement holds, if the amendment only adds
    # these
    holds_for: list[str] = []
    # false if it is only a general bound, because no correction is known
    corrects: bool = True
    # whether ``holds_for`` is equivalent to the claimed inequality: it corrects nothing
    only_restates: bool = False
    why: str
    slack: Slack | None = None
    checks: list[CheckResult] = []


class Disagreement(Record, frozen=True, kw_only=True):
    """A contradiction between two of our sources about one variant of a claim."""

    form: Literal["printed", "amended", "held"]
    # the check that compares two kernels, or the contradicting proofs and refutations
    checks: list[str]
    # the statistic with its place, size and p-value, or the two verdicts with the
    # counterexample
    what: str
    where: str = ""  # the region or the parameters of the check
    n: int = 0  # replications
    alpha: float = 0.0  # upper bound on the false-alarm probability of the check

    @property
    def text(self) -> str:
        """The disagreement in one line."""
        size = (
            f"n = {self.n}, alpha = {self.alpha:.2g}" if self.n and self.alpha else ""
        )
        return "; ".join(
            filter(
                None,
                [
                    f"{self.form}, {', '.join(self.checks)}: {self.what}",
                    self.where,
                    size,
                ],
            )
        )


class Result(ShownAsTable, Record, frozen=True, kw_only=True):
    """The result of one claim under one choice of its readings.

    Examples
    --------
    >>> import dpverify as dv
    >>> result = dv.recorded("tran2022").filter(claim="lemma-12")[0]
    >>> result
    <Result: tran2022:lemma-12[depth=levels]: refuted (boundary)>
    >>> sorted(result.counterexamples[0].parameters)[:3]
    ['G', 'N', 'T']
    """

    shown_by: ClassVar[str] = "dpverify.report.notebook.results:result_table"

    claim: str
    reading: dict[str, str]
    status: Status
    # the only mechanisms on which a claim about all mechanisms was judged
    witnesses: list[str] = []
    given: list[str] = []
    definitions: list[str] = []
    reason: str
    pinned: Status
    # whether it is refuted, inconclusive or untested without a recorded verdict
    unpinned: bool = False
    severity: Severity | None = None  # the severity of the recorded verdict
    tight: bool = False  # whether the recorded verdict says that the bound is attained
    contradicts: bool
    sources_disagree: bool
    disagreements: list[Disagreement] = []  # the details of ``sources_disagree``
    record_hash: str
    evidence_hash: str
    kind: str
    where: str
    quote: str
    printed: str
    latex: str
    display: list[Line] = []  # the complete statement in lines
    findings: list[str] = []
    reported: str = ""  # who reported the error before us, and where
    derivation: list[DerivationResult] = []
    relation_to_derived: RelationToDerived | None = None
    region: str = ""
    slack: Slack | None = None
    vacuous: Vacuous | None = None
    counterexamples: list[Counterexample] = []
    amendment: AmendmentResult | None = None
    # the printed statement under the conditions ``holds_for``
    holds: AmendmentResult | None = None
    checks: list[CheckResult] = []
    figures: dict[str, dict[str, list[float]]] = {}
    # number, from 1, of the run in ``RunInfo.earlier`` that judged it; 0: this run
    # judged it
    earlier: int = 0

    @property
    def is_unreached(self) -> bool:
        """Whether the run was interrupted before any check of the printed statement was decided."""
        return bool(self.checks) and all(
            check.message == INTERRUPTED for check in self.checks
        )

    @property
    def is_note(self) -> bool:
        """Whether it is about one of our notes and not about a claim of the paper."""
        return self.kind == "note"

    @property
    def beside(self) -> list[AmendmentResult]:
        """The results of the amendment and of the regime, if they exist."""
        return [
            statement
            for statement in (self.amendment, self.holds)
            if statement is not None
        ]

    @property
    def all_checks(self) -> list[CheckResult]:
        """The checks of the printed statement, of its amendment and of its regime."""
        return [
            *self.checks,
            *(check for statement in self.beside for check in statement.checks),
        ]

    @property
    def loosened(self) -> list[str]:
        """Slacks above 1 (as ``form: slack``) of statements whose verdict says that the bound is attained."""
        judged = [("printed", self.tight, self.slack)]
        if self.amendment is not None:
            judged.append(("amended", self.amendment.tight, self.amendment.slack))
        return [
            f"{form}: {slack.min.float}"
            for form, tight, slack in judged
            if tight and slack and _above_1(slack)
        ]

    @property
    def misjudged(self) -> str:
        """Why the counterexamples contradict the recorded severity; empty if they do not.

        If all counterexamples are at a boundary, the severity must be "boundary". Otherwise it must not be.
        """
        placed = [
            example for example in self.counterexamples if example.edge is not None
        ]
        away = [example for example in placed if not example.edge]
        if self.status == "refuted" and self.severity == "boundary" and away:
            at = ", ".join(
                f"{name}={number.exact or number.float}"
                for name, number in away[0].parameters.items()
            )
            return f"it fails away from every boundary too, at {at}"
        if (
            self.status == "refuted"
            and self.severity not in (None, "boundary")
            and placed
            and not away
        ):
            return f"every counterexample lies at a boundary ({', '.join(sorted({e.edge or '' for e in placed}))})"
        return ""

    @property
    def missed_faults(self) -> list[str]:
        """Planted faults that a check should have refuted and did not, each as ``check: fault``."""
        pairs = (
            (check.name, control)
            for check in self.all_checks
            for control in check.controls
        )
        return [
            f"{check}: {control.name} ({control.fault})"
            for check, control in pairs
            if not control.refuted
        ]


class RunInfo(Record, frozen=True, kw_only=True):
    """The manifest of a run."""

    versions: dict[str, str]
    seed: int
    budget: str
    commit: str
    machine: dict[str, str]
    seconds: float = 0.0
    interrupted: bool = False
    false_alarm: float = 0.0
    # checks that an earlier run on this machine had decided, under the same evidence
    # hash and seed
    from_store: int = 0
    # stored checks that were not used because the record, the code or a version has
    # changed
    stale_in_store: int = 0
    # earlier runs with verdicts that are still valid and were not judged again
    earlier: list[RunInfo] = []

    @property
    def seed_words(self) -> str:
        """The seed, with a remark if it was derived from the commit."""
        return f"{self.seed}{', drawn from the commit' if self.seed == seed_of(self.commit) else ''}"


def seed_of(commit: str) -> int | None:
    """Return the seed of a commit, its first eight hexadecimal digits; None if there is no commit."""
    digits = commit[:8]
    return (
        int(digits, 16)
        if len(digits) == 8 and set(digits) <= set("0123456789abcdef")
        else None
    )


class Run(ShownAsTable, Record, frozen=True, kw_only=True):
    """The results of a run: the content of ``reports/data/*.json``.

    Examples
    --------
    >>> import dpverify as dv
    >>> run = dv.verify_run("tran2022:theorem-4-root")
    >>> run.run.budget, len(run.results)
    ('smoke', 1)
    """

    shown_by: ClassVar[str] = "dpverify.report.notebook.results:run_table"

    schema: int = 1
    run: RunInfo
    papers: dict[str, PaperInfo] = {}
    results: list[Result]

    @property
    def earlier_words(self) -> list[str]:
        """The number of verdicts that are taken from each earlier run, with its commit and its seed."""
        counts = Counter(result.earlier for result in self.results)
        total = len(self.results)
        return [
            f"{counts[number]} of {total} verdicts, of commit {info.commit or 'unknown'}, seed {info.seed_words}"
            for number, info in enumerate(self.run.earlier, 1)
            if counts[number]
        ]


def decode(data: bytes) -> Run:
    """Decode a run; raises ``msgspec.ValidationError`` if the JSON is not a run."""
    return msgspec.json.decode(data, type=Run)
