"""Typed records of the results of a run, with everything that a report needs, and proofs lost since a recorded run.

A statement is lost if it is recorded as proved and no derivation proves it any more, or only with more premises.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import ClassVar, Final, Literal

import msgspec

from dpverify.ledger.check_results import (
    AmendmentResult,
    CheckResult,
    Counterexample,
    DerivationResult,
    Slack,
    Vacuous,
)
from dpverify.ledger.claims import Line
from dpverify.ledger.records import (
    HOLDS,
    PaperInfo,
    Record,
    RelationToDerived,
    Severity,
    Status,
)
from dpverify.shown import ShownAsTable

# the message of an interrupted check
INTERRUPTED: Final = "interrupted before it was decided"
# if the statement follows from the derived one
IMPLIED: Final[tuple[RelationToDerived, ...]] = ("equal", "weaker")

REACHED = 0.01  # relative distance up to which a printed bound counts as attained


def _above_1(slack: Slack) -> bool:
    return float(slack.min.float) > 1.0 + REACHED


class Disagreement(Record, frozen=True, kw_only=True):
    """A contradiction between two of our sources about one variant of a claim."""

    form: Literal["printed", "amended", "held"]
    # the check that compares two kernels, or the contradicting proofs and refutations
    checks: list[str]
    # the statistic with its place, size and p-value,
    # or the two verdicts with the counterexample
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

    shown_by: ClassVar[str] = "dpverify.report.result_tables:result_table"

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
    # number, from 1, of the run in ``RunInfo.earlier``
    # that judged it; 0: this run judged it
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
    # checks that an earlier run on this machine had
    # decided, under the same evidence hash and seed
    from_store: int = 0
    # stored checks that were not used because the
    # record, the code or a version has changed
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

    shown_by: ClassVar[str] = "dpverify.report.result_tables:run_table"

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


REFUTED = re.compile(r", (pinned )?refuted\b")  # in the text of a premise
PROVED = HOLDS[:2]  # "proved" and "proved given"


def lost_proofs(result: Result) -> list[str]:
    """Return our failing derivations of statements that are recorded as proved and that no other check proves.

    A recorded verdict that a run does not confirm may need a larger budget. A derivation does not depend on the budget,
    so its failure is our error, like a check that raises. A statement is skipped if another derivation of it was not
    run. A derivation is skipped if too few sample points were found to check one of its steps. A proof is also lost if
    all remaining proofs assume a fact of the literature. Premises that are statements of our records do not count,
    because this run may not have judged them.
    """
    judged = [(result.pinned, result.status, result.checks)]
    judged += [
        (statement.pinned, statement.status, statement.checks)
        for statement in result.beside
    ]
    lost = list[str]()
    for pinned, status, checks in judged:
        if any(map(_was_not_run, checks)):
            continue
        if pinned in PROVED and status not in PROVED:
            lost += [
                f"{check.name}: {check.message}" for check in checks if _fails(check)
            ]
        proofs = [check for check in checks if check.status == status]
        if (pinned, status) == ("proved", "proved given") and all(
            map(_unrecorded_premises, proofs)
        ):
            lost += [
                f"{check.name}: given {', '.join(_unrecorded_premises(check))}"
                for check in proofs
            ]
    return lost


def _was_not_run(check: CheckResult) -> bool:
    return check.message == INTERRUPTED or (
        check.method == "derivation" and check.derivation is None
    )


def _fails(check: CheckResult) -> bool:
    chain = check.derivation
    if chain is None or chain.whose != "ours" or chain.note or check.error:
        return False
    return not chain.complete or check.relation_to_derived not in (*IMPLIED, None)


def _unrecorded_premises(check: CheckResult) -> list[str]:
    """Return the premises of a proof that are not statements of our records, or that are refuted."""
    ours = tuple(str(reference).removesuffix(")") for reference in check.references)
    return [
        premise
        for premise in check.given
        if not premise.startswith(ours) or REFUTED.search(premise)
    ]
