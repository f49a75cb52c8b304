from __future__ import annotations

import pytest

from dpverify.bench.case import Missing
from dpverify.bench.cases import parties
from tests.unit.bench.cases.tiny import case_of


def test_parties_that_cannot_be_started_say_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parties, "find_spec", lambda name: None)
    case = case_of("parties/noise-inside-3-parties-d-123")
    assert case.prepare(seed=0, m=3, d=1) == dict.fromkeys(
        case.forms, Missing("mpyc is not installed")
    )


def test_what_the_paper_prints_of_five_parties_stands_beside_five_parties() -> None:
    beside = {case.parameters["m"] for case in parties.CASES if case.printed}
    assert beside == {5}
    assert {case.sweep for case in parties.CASES if case.printed} == {
        "noise-inside-5-parties"
    }
