"""What is measured are audits: outputs of a Gaussian mechanism whose epsilon is known, and bounds below it."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.bench.cases import audit as module
from dpverify.privacy.gaussian import epsilon_of
from tests.for_each import for_each
from tests.unit.bench.cases.tiny import case_of, told

EPSILON = epsilon_of(0.5, 1e-5)  # means 1 apart, under noise of 2


@for_each(("name", "least"), [("law-given", 0.9), ("nothing-assumed", 0.5)])
def test_bounds_are_below_the_truth_and_not_far_from_it(
    name: str, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = told(f"audit/{name}-d-8-n-10000")
    assert least * EPSILON < found["bound"] < EPSILON
    low, high = found["draw"]
    assert len(low) + len(high) == case_of(f"audit/{name}-d-8-n-10000").work
    assert np.allclose(
        high.mean(axis=0) - low.mean(axis=0), [1, *[0] * 7], rtol=0, atol=0.1
    )
    assert np.allclose([low.std(axis=0), high.std(axis=0)], 2, rtol=0, atol=0.1)
    monkeypatch.setattr(module, "BLOCK", 8 * 999)
    assert told(f"audit/{name}-d-8-n-10000")["bound"] == found["bound"]


def test_whole_audits_refute_the_claim_that_is_false_and_not_the_one_that_is_true() -> (
    None
):
    draw, *audits = (found := told("audit/whole-audit-n-10000")).values()
    assert [each.verdict for each in audits] == ["refuted", "not refuted", "refuted"]
    assert (
        found["law given, claim true"].claim.epsilon
        > EPSILON
        > found["law given"].claim.epsilon
    )
    for each in audits:
        assert each.bound.epsilon < EPSILON
        assert (
            2 * each.n
            == sum(map(len, draw))
            == case_of("audit/whole-audit-n-10000").work
        )
