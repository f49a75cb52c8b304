"""What a run found, as typed records. A report needs nothing else."""

from __future__ import annotations

import builtins
from collections import Counter
from typing import ClassVar, Final, Literal

import msgspec

from dpverify.ledger.display import Line
from dpverify.ledger.records import PaperInfo, Record, RelationToDerived, Severity, Status
from dpverify.ledger.statements import Reference
from dpverify.shown import ShownAsTable

Method = Literal["derivation", "exhaustive", "exact-law", "search", "monte-carlo", "measurement"]
StepStatus = Literal["proved", "checked", "undecided", "fails"]
INTERRUPTED: Final = "interrupted before it was decided"  # the message of a check that was
IMPLIED: Final[tuple[RelationToDerived, ...]] = ("equal", "weaker")  # of a statement that follows from what is derived


class Number(Record, frozen=True, kw_only=True):
    """A number of a report: exact where it is exact, and always a float (infinities and NaN as strings)."""

    exact: str | None = None
    float: builtins.float | str  # msgspec reads annotations inside the class, where the bare name is this field


class Counterexample(Record, frozen=True, kw_only=True):
    """A point at which a statement is false, with both sides."""

    kind: Literal["smallest", "practical", "interior", "largest-ratio"]  # practical: at a size that somebody runs
    parameters: dict[str, Number]
    lhs: Number
    rhs: Number
    note: str = ""
    edge: str | None = None  # the boundary at which it lies; "" for none, None where the letters do not tell


class StepResult(Record, frozen=True, kw_only=True):
    """One step of a derivation, as judged."""

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
    """A chain of steps: ours (``ours``) or the paper's own (``paper``)."""

    name: str
    whose: Literal["ours", "paper"]
    steps: list[StepResult]
    complete: bool
    note: str = ""


class ControlResult(Record, frozen=True, kw_only=True):
    """A planted fault, or a true neighbour, and whether the check refuted it."""

    name: str
    fault: str  # what is changed
    at_declared_size: bool
    refuted: bool
    statistic: str = ""


REACHED = 0.01  # how near a printed side has to come to what it bounds, to be called reached


class Slack(Record, frozen=True, kw_only=True):
    """Printed divided by exact: the smallest found and a typical value."""

    min: Number
    typical: Number


def _above_1(slack: Slack) -> bool:
    return float(slack.min.float) > 1.0 + REACHED


class Vacuous(Record, frozen=True, kw_only=True):
    """Whether a bound says less than the trivial one, over which grid, and from where on it says more."""

    value: bool
    grid: str
    onset: str


class CheckResult(Record, frozen=True, kw_only=True):
    """What one check found about one statement."""

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
    window: str = ""  # of a search: how far its points reached, and what it did not evaluate
    leaves_out: str = ""
    given: list[str] = []  # premises that nothing proves; what rests on any is "proved given" these
    definitions: list[str] = []  # what a proof takes from the records of definitions
    references: list[Reference] = []  # the statements among the premises, proved or not
    by_certificate: bool = False  # taken from the recorded run, after a look at what shows it
    seconds: float = 0.0
    kernel_disagrees: bool = False
    error: str = ""
    counterexamples: list[Counterexample] = []
    slack: Slack | None = None
    vacuous: Vacuous | None = None
    derivation: DerivationResult | None = None
    relation_to_derived: RelationToDerived | None = None
    controls: list[ControlResult] = []
    true_neighbours: list[ControlResult] = []  # of a check that refutes: what it must not refute
    figures: dict[str, dict[str, list[float]]] = {}


class AmendmentResult(Record, frozen=True, kw_only=True):
    """The corrected statement and its own status."""

    formula: str | None = None
    statement: str | None = None
    latex: str = ""
    requires: list[str] = []
    display: list[Line] = []  # the whole statement, as it is shown
    status: Status
    given: list[str] = []
    definitions: list[str] = []
    pinned: Status = "untested"
    tight: bool = False
    holds_for: list[str] = []  # conditions under which what is printed holds, where it says no more than these
    corrects: bool = True  # false where it is what holds of anything of the kind: nothing better is known
    only_restates: bool = False  # whether the conditions ``holds_for`` say what is claimed: it is no correction
    why: str
    slack: Slack | None = None
    checks: list[CheckResult] = []


class Disagreement(Record, frozen=True, kw_only=True):
    """Two of our sources that differ about one form of a claim: which, in what, where, and by how much."""

    form: Literal["printed", "amended", "held"]
    checks: list[str]  # names: of a kernel's check, or of the proofs and the refutations
    what: str  # the statistic with its place, size and p-value, or the two verdicts with the counterexample
    where: str = ""  # the region or the parameters of the check
    n: int = 0  # replications
    alpha: float = 0.0  # chance of a false alarm of the check

    @property
    def text(self) -> str:
        """All of it in one line."""
        size = f"n = {self.n}, alpha = {self.alpha:.2g}" if self.n and self.alpha else ""
        return "; ".join(filter(None, [f"{self.form}, {', '.join(self.checks)}: {self.what}", self.where, size]))


class Result(ShownAsTable, Record, frozen=True, kw_only=True):
    """One claim under one choice of its readings.

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
    witnesses: list[str] = []  # mechanisms on which a claim about all mechanisms was judged; no others were
    given: list[str] = []
    definitions: list[str] = []
    reason: str
    pinned: Status
    unpinned: bool = False  # whether it is refuted, inconclusive or untested, and no verdict of ours says so
    severity: Severity | None = None  # what falls, as pinned
    tight: bool = False  # whether our verdict says that the printed side is reached
    contradicts: bool
    sources_disagree: bool
    disagreements: list[Disagreement] = []  # how they do
    record_hash: str
    evidence_hash: str
    kind: str
    where: str
    quote: str
    printed: str
    latex: str
    display: list[Line] = []  # the whole statement, as it is shown
    findings: list[str] = []
    reported: str = ""  # who reported the error before, and where
    derivation: list[DerivationResult] = []
    relation_to_derived: RelationToDerived | None = None
    region: str = ""
    slack: Slack | None = None
    vacuous: Vacuous | None = None
    counterexamples: list[Counterexample] = []
    amendment: AmendmentResult | None = None
    holds: AmendmentResult | None = None  # what is printed, under the conditions ``holds_for``
    checks: list[CheckResult] = []
    figures: dict[str, dict[str, list[float]]] = {}
    earlier: int = 0  # number, from 1, of the earlier run that judged it, in the manifest's list; 0: this run judged it

    @property
    def is_unreached(self) -> bool:
        """Whether the run was interrupted before any check of the printed statement was decided."""
        return bool(self.checks) and all(check.message == INTERRUPTED for check in self.checks)

    @property
    def is_note(self) -> bool:
        """Whether it is about a note of ours on what the paper does not say, and not about a claim of the paper."""
        return self.kind == "note"

    @property
    def beside(self) -> list[AmendmentResult]:
        """What is said beside the printed statement: its amendment and where it holds, those that are there."""
        return [statement for statement in (self.amendment, self.holds) if statement is not None]

    @property
    def all_checks(self) -> list[CheckResult]:
        """The checks of the printed statement, of its amendment and of where it holds."""
        return [*self.checks, *(check for statement in self.beside for check in statement.checks)]

    @property
    def loosened(self) -> list[str]:
        """Slacks above 1 of statements whose verdict says that their printed side is reached."""
        judged = [("printed", self.tight, self.slack)]
        if self.amendment is not None:
            judged.append(("amended", self.amendment.tight, self.amendment.slack))
        return [f"{form}: {slack.min.float}" for form, tight, slack in judged if tight and slack and _above_1(slack)]

    @property
    def misjudged(self) -> str:
        """How the counterexamples speak against what is said to fall: only at a boundary, or not; else empty."""
        placed = [example for example in self.counterexamples if example.edge is not None]
        away = [example for example in placed if not example.edge]
        if self.status == "refuted" and self.severity == "boundary" and away:
            at = ", ".join(f"{name}={number.exact or number.float}" for name, number in away[0].parameters.items())
            return f"it fails away from every boundary too, at {at}"
        if self.status == "refuted" and self.severity not in (None, "boundary") and placed and not away:
            return f"every counterexample lies at a boundary ({', '.join(sorted({e.edge or '' for e in placed}))})"
        return ""

    @property
    def missed_faults(self) -> list[str]:
        """Planted faults that a check should have seen and did not, each as ``check: fault``."""
        pairs = ((check.name, control) for check in self.all_checks for control in check.controls)
        return [f"{check}: {control.name} ({control.fault})" for check, control in pairs if not control.refuted]


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
    from_store: int = 0  # checks that an earlier run on this machine had decided, under the same evidence hash and seed
    stale_in_store: int = 0  # checks that were there, but of another record, other code or other versions
    earlier: list[RunInfo] = []  # runs of which some verdicts stand: nothing that they rest on has changed since

    @property
    def seed_words(self) -> str:
        """The seed, and whether it is the one that is drawn from the commit."""
        return f"{self.seed}{', drawn from the commit' if self.seed == seed_of(self.commit) else ''}"


def seed_of(commit: str) -> int | None:
    """The seed that is drawn from a commit: its first eight hexadecimal digits; None where there is no commit."""
    digits = commit[:8]
    return int(digits, 16) if len(digits) == 8 and set(digits) <= set("0123456789abcdef") else None


class Run(ShownAsTable, Record, frozen=True, kw_only=True):
    """A whole run: ``reports/data/*.json``.

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
        """How many verdicts of each earlier run stand, with the commit and the seed that they are from."""
        counts = Counter(result.earlier for result in self.results)
        total = len(self.results)
        return [
            f"{counts[number]} of {total} verdicts, of commit {info.commit or 'unknown'}, seed {info.seed_words}"
            for number, info in enumerate(self.run.earlier, 1)
            if counts[number]
        ]


def decode(data: bytes) -> Run:
    """Decode a run; raises ``msgspec.ValidationError`` where the JSON is not one."""
    return msgspec.json.decode(data, type=Run)
