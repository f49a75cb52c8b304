"""Refuting checks declare how the assumptions of their records hold; the list of those that do not only shrinks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dpverify.harness.admissible import point_of, undeclared, unmet_conditions
from dpverify.harness.undeclared import MOST_WITHOUT_REASON, UNDECLARED
from dpverify.ledger.errors import SpecError
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import CheckResult, Result, decode
from dpverify.ledger.statements import Variant
from dpverify.papers import load

DATA = Path(__file__).parents[2] / "reports" / "data"
SPECS = load_specs()


def _refutations(result: Result) -> list[tuple[Variant, CheckResult]]:
    found: list[tuple[Variant, CheckResult]] = [("printed", check) for check in result.checks]
    found += [("amended", check) for check in (result.amendment.checks if result.amendment else [])]
    found += [("held", check) for check in (result.holds.checks if result.holds else [])]
    return [(variant, check) for variant, check in found if check.status == "refuted"]


@cache
def missing() -> dict[str, list[str]]:
    """What the checks that refuted in the recorded runs do not declare, by claim."""
    faults: dict[str, list[str]] = {}
    for key in SPECS.papers:
        checks = load(key)
        assert checks is not None
        for result in decode((DATA / f"{key}.json").read_bytes()).results:
            for variant, recorded in _refutations(result):
                claim = SPECS.claim(result.claim)
                try:
                    statement = claim.statement(result.reading, variant)
                    check = checks.find(claim.record.id, recorded.name)
                except (SpecError, KeyError):  # the record has changed since that run
                    continue
                if not check.applies(statement):
                    continue
                points = [point_of(example) for example in recorded.counterexamples]
                faults.setdefault(result.claim, []).extend(undeclared(check, statement, points))
    return faults


def test_refuting_checks_declare_their_properties_or_are_listed() -> None:
    assert {claim: faults for claim, faults in missing().items() if faults and claim not in UNDECLARED} == {}


#: Claims that nothing refutes any more. The list is code that evidence rests on, so they leave it before a next run.
NO_LONGER_REFUTED = {
    "tran2022:algorithm-2-delta-nodes",
    "tran2022:algorithm-2-g-nodes",
    "tran2022:algorithm-2-r-nodes",
    "tran2022:lemma-12-noise",
}


def test_no_claim_is_listed_without_need() -> None:
    assert {claim for claim in UNDECLARED if not missing().get(claim)} == NO_LONGER_REFUTED


def test_the_list_shrinks_to_claims_with_a_reason() -> None:
    assert sum(not reason for reason in UNDECLARED.values()) <= MOST_WITHOUT_REASON


def test_declared_properties_belong_to_the_statement() -> None:
    """A name that no statement of the claim asks for is a slip of the pen."""
    wrong = []
    for key, paper in SPECS.papers.items():
        checks = load(key)
        assert checks is not None
        shared = {name for entry in checks.entries() for name in entry.check.meets}
        asked = {tag.name for claim in paper.claims.values() for s in claim.statements() for tag in s.assumes}
        wrong += [f"{key}: {name}" for name in shared - asked if not set("<>=") & set(name)]
    assert wrong == []


def test_recorded_counterexamples_meet_their_conditions() -> None:
    """Those of the runs that are published; an exact point, a letter defined by others included."""
    wrong = []
    for key in SPECS.papers:
        for result in decode((DATA / f"{key}.json").read_bytes()).results:
            for variant, recorded in _refutations(result):
                try:
                    statement = SPECS.claim(result.claim).statement(result.reading, variant)
                except SpecError:
                    continue
                points = [point_of(example) for example in recorded.counterexamples]
                wrong += [f"{result.claim}: {text}" for point in points for text in unmet_conditions(statement, point)]
    assert wrong == []
