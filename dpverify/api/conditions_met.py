"""Judge whether a claim's own conditions imply the conditions of the claims that it uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from dpverify.api.judge import Budget, verify_run
from dpverify.ledger.check import (
    UsedCondition,
    conditions_of_used_claims,
    implication_specs,
    read_conditions,
)
from dpverify.ledger.check_results import Counterexample
from dpverify.ledger.load import load_specs
from dpverify.ledger.records import SHOWN as STRONGER_THAN_SEARCH
from dpverify.ledger.records import Record
from dpverify.ledger.results import Result

if TYPE_CHECKING:
    from dpverify.harness.run.engine import ReportRun

Finding: TypeAlias = Literal[
    "met", "not met", "no violation found", "undecided", "other letters"
]
"""Result for a condition. "Other letters": the claim that uses the condition does not have all of its letters."""


class JudgedCondition(Record, frozen=True, kw_only=True):
    """A condition of a used claim, and whether the conditions of the claim imply it."""

    claim: str
    uses: str
    condition: str
    finding: Finding
    reading: dict[str, str] = {}  # the reading with this finding, unless it is "met"
    counterexample: Counterexample | None = None
    missing: list[str] = []  # letters of the condition that the claim does not have
    reason: str | None = None  # recorded reason for a condition that is not met


class JudgedConditions(Record, frozen=True, kw_only=True):
    """The conditions of all claims that other claims of the same paper use."""

    paper: str
    stated_conditions: (
        int  # number of further conditions, which the claims state themselves
    )
    conditions: list[JudgedCondition]
    # unmet conditions that ``conditions.toml`` does not have, and conditions in this
    # file that are not found unmet
    differences_from_record: list[str]

    @property
    def unmet(self) -> list[JudgedCondition]:
        """Conditions that do not follow."""
        return [
            condition for condition in self.conditions if condition.finding == "not met"
        ]


def used_conditions(
    paper: str,
    *,
    specs: Path | str | None = None,
    budget: Budget = "smoke",
    seed: int = 0,
    jobs: int = 1,
    progress: ReportRun | None = None,
) -> JudgedConditions:
    """Judge, for each claim of a paper, whether it meets the conditions of the claims of the paper that it uses.

    Letters are compared by name, because a letter has the same meaning in all claims of
    a paper. A proof or a search decides, over all values that the claim allows.

    Parameters
    ----------
    paper : str
        Key of the paper, such as ``"tran2022"``.
    specs : pathlib.Path or str, optional
        Folder of specs; by default the bundled specs.
    budget : {"smoke", "standard", "full"}
        Amount of work.
    seed : int
        At least 0; the same seed gives the same results.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called after each block of work.

    Returns
    -------
    JudgedConditions
        A condition that is not met has a counterexample, and a reason if
        ``conditions.toml`` of the paper has one.

    Raises
    ------
    SpecError
        If a file of the specs is invalid; ``UnknownClaim`` if there is no such paper.

    Examples
    --------
    >>> import dpverify as dv
    >>> zhang = dv.used_conditions("zhang2021")
    >>> [(condition.uses, condition.condition) for condition in zhang.unmet]
    [('zhang2021:theorem-3-3', 'n >= 2')]
    """
    loaded = load_specs(specs)
    first_claim = next(loaded.claims(paper), None)
    conditions, stated_conditions = conditions_of_used_claims(loaded.papers[paper])
    unmet = read_conditions(
        loaded.directory / paper
        if first_claim is None
        else Path(first_claim.file).parent
    )
    records = {
        (record.claim, record.uses, record.condition): record.reason for record in unmet
    }
    implied = implication_specs(loaded, conditions)
    results: dict[str, list[Result]] = {}
    if implied.papers:
        run = verify_run(
            specs=implied, budget=budget, seed=seed, jobs=jobs, progress=progress
        )
        if run.run.interrupted:
            raise KeyboardInterrupt
        for result in run.results:
            results.setdefault(result.claim, []).append(result)
    judged: list[JudgedCondition] = []
    for condition in conditions:
        key = (
            condition.claim.record.id,
            condition.used.record.id,
            condition.condition,
        )
        results_of_condition = (
            [] if condition.implied is None else results[condition.implied.key]
        )
        judged.append(_judged(condition, results_of_condition, records.get(key)))
    return JudgedConditions(
        paper=paper,
        stated_conditions=stated_conditions,
        conditions=judged,
        differences_from_record=[*_differences(judged, records)],
    )


def _judged(
    condition: UsedCondition, results: Sequence[Result], reason: str | None
) -> JudgedCondition:
    """Combine the results of all readings. The worst result decides."""
    finding: Finding = "met" if results else "other letters"
    example = None
    reading: dict[str, str] = {}
    ranks: dict[str, Finding] = {
        "refuted": "not met",
        "not refuted": "no violation found",
    }
    order: tuple[Finding, ...] = ("met", "no violation found", "undecided", "not met")
    for result in results:
        finding_of_reading: Finding = (
            "met"
            if result.status in STRONGER_THAN_SEARCH
            else ranks.get(result.status, "undecided")
        )
        if order.index(finding_of_reading) > order.index(finding):
            finding = finding_of_reading
            reading = result.reading
            example = next(
                (
                    example
                    for check in result.checks
                    for example in check.counterexamples
                ),
                None,
            )
    return JudgedCondition(
        claim=condition.claim.key,
        uses=condition.used.key,
        condition=condition.condition,
        finding=finding,
        reading=reading,
        counterexample=example,
        missing=[*condition.missing],
        reason=reason if finding == "not met" else None,
    )


def _differences(
    judged: Sequence[JudgedCondition], records: dict[tuple[str, str, str], str]
) -> Iterator[str]:
    """Yield the differences between the judged conditions and the records."""
    unmet = {
        (
            condition.claim.partition(":")[2],
            condition.uses.partition(":")[2],
            condition.condition,
        )
        for condition in judged
        if condition.finding == "not met"
    }
    for claim, used, condition in sorted(unmet - records.keys()):
        yield f"{claim} uses {used}: {condition}: does not follow, and conditions.toml does not say so"
    for claim, used, condition in sorted(records.keys() - unmet):
        yield f"{claim} uses {used}: {condition}: conditions.toml says that it does not follow; no violation is known"
