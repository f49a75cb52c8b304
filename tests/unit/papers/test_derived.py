"""What the recorded run found complete is not checked again while nothing has changed, and whatever has changed is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpverify.harness.run.suite import JudgedReading
from dpverify.ledger.load import load_specs
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.steps import Derivation
from dpverify.symbolic.elaborate.proofs import derivation_of
from tests.unit.papers import derived
from tests.unit.papers.derived import faulty_steps, found_complete

STATEMENT = (
    load_specs().claim("tran2022:proposition-14-special").statement({}, "printed")
)


def test_what_was_found_complete_is_what_is_derived_today() -> None:
    assert derivation_of(STATEMENT) in found_complete(STATEMENT)
    assert list(found_complete(replace(STATEMENT, requires=()))) == []


def test_a_derivation_with_a_step_that_does_not_hold_is_checked() -> None:
    chain = derivation_of(STATEMENT)
    wrong = replace(
        chain, steps=(*chain.steps[:-1], replace(chain.steps[-1], expr=chain.last / 2))
    )
    assert faulty_steps(wrong, STATEMENT, points=12) != []


def test_after_a_change_all_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash of the evidence is another one where the code or the record is."""
    checked: list[Derivation] = []

    def check(chain: Derivation, points: int) -> object:
        checked.append(chain)
        return check_derivation(chain, points=points)

    chain = derivation_of(STATEMENT)
    monkeypatch.setattr(derived, "check_derivation", check)
    assert faulty_steps(chain, STATEMENT, points=8) == []
    assert checked == []
    monkeypatch.setattr(JudgedReading, "evidence_hash", "another")
    assert list(found_complete(STATEMENT)) == []
    assert faulty_steps(chain, STATEMENT, points=8) == []
    assert checked == [chain]
