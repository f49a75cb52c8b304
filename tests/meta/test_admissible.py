"""Checks that refute declare how the assumptions of their records hold, and recorded counterexamples satisfy them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dpverify.harness.admissible import faults_of, point_of, unmet_conditions
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.errors import SpecError
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import Result, decode
from dpverify.ledger.statements import Variant
from dpverify.papers import load

DATA = Path(__file__).parents[2] / "reports" / "data"
SPECS = load_specs()


def _refutations(result: Result) -> list[tuple[Variant, CheckResult]]:
    found: list[tuple[Variant, CheckResult]] = [
        ("printed", check) for check in result.checks
    ]
    found += [
        ("amended", check)
        for check in (result.amendment.checks if result.amendment else [])
    ]
    found += [
        ("held", check) for check in (result.holds.checks if result.holds else [])
    ]
    return [(variant, check) for variant, check in found if check.status == "refuted"]


@cache
def faults() -> dict[tuple[str, str], list[str]]:
    """Return the assumptions that recorded refutations do not declare or satisfy, by claim and check."""
    found: dict[tuple[str, str], list[str]] = {}
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
                if check.applies(statement) and (
                    wrong := faults_of(check, statement, recorded)
                ):
                    found.setdefault((result.claim, recorded.name), []).extend(wrong)
    return found


def test_recorded_counterexamples_meet_the_assumptions_of_their_records() -> None:
    assert faults() == {}


def test_declared_properties_belong_to_the_statement() -> None:
    """A declared name that no statement of the paper requires is a typing error."""
    wrong = []
    for key, paper in SPECS.papers.items():
        checks = load(key)
        assert checks is not None
        shared = {name for entry in checks.entries() for name in entry.check.meets}
        asked = {
            tag.name
            for claim in paper.claims.values()
            for s in claim.statements()
            for tag in s.assumes
        }
        wrong += [
            f"{key}: {name}" for name in shared - asked if not set("<>=") & set(name)
        ]
    assert wrong == []


def test_recorded_counterexamples_meet_their_conditions() -> None:
    """The counterexamples of the published runs satisfy the conditions exactly, also for symbols with a definition."""
    wrong = []
    for key in SPECS.papers:
        for result in decode((DATA / f"{key}.json").read_bytes()).results:
            for variant, recorded in _refutations(result):
                try:
                    statement = SPECS.claim(result.claim).statement(
                        result.reading, variant
                    )
                except SpecError:
                    continue
                points = [point_of(example) for example in recorded.counterexamples]
                wrong += [
                    f"{result.claim}: {text}"
                    for point in points
                    for text in unmet_conditions(statement, point)
                ]
    assert wrong == []
