from __future__ import annotations

from importlib.util import find_spec

import pytest

from dpverify.bench.case import Missing
from dpverify.bench.cases import parties
from tests.unit.bench.cases.tiny import case_of, told


@pytest.mark.slow
def test_real_parties_open_in_each_form() -> None:
    if find_spec("mpyc") is None:
        pytest.skip("the extra mpc is not installed")
    found = told("parties/secure-sum-3-parties-d-123")
    assert list(found) == [parties.BARE, parties.SUM, parties.SHARES]
    assert all(0.0 < used.seconds < 60.0 for used in found.values())


def test_parties_that_cannot_be_started_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parties, "find_spec", lambda name: None)
    case = case_of("parties/noise-inside-3-parties-d-123")
    assert case.prepare(seed=0, m=3, d=1) == dict.fromkeys(case.forms, Missing("mpyc is not installed"))


def test_what_the_paper_prints_of_five_parties_stands_beside_five_parties() -> None:
    beside = {case.parameters["m"] for case in parties.CASES if case.printed}
    assert beside == {5}
    assert {case.sweep for case in parties.CASES if case.printed} == {"noise-inside-5-parties"}
