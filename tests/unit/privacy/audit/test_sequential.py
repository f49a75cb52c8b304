"""Audits that stop: the bet is fair, bounds cover at all looks together, and a false claim is refuted soon."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import dpverify as dv
from dpverify.privacy.audit import sequential
from dpverify.privacy.audit.sequential import LARGEST_STAKE, StakedRounds, log_wealth
from dpverify.privacy.gaussian import epsilon_of

DELTA = 0.01
SEEDS = 100
CONFIDENCE = 0.9
# exceeded by chance in 1 of 100,000 tests
MOST_ERRORS = int(binom.ppf(1 - 1e-5, SEEDS, 1 - CONFIDENCE))

Law = Callable[[Any, np.random.Generator, int], Any]


def gaussian(sigma: float) -> Law:
    return lambda dataset, rng, size: dataset.sum() + sigma * rng.normal(size=size)


def flipped(epsilon: float) -> Law:
    return lambda dataset, rng, size: (
        (rng.random(size) < 1 / (1 + math.exp(epsilon))) ^ bool(dataset.sum())
    )


def revealed(chance: float) -> Law:
    """Release the data set with this chance, and nothing otherwise."""
    return lambda dataset, rng, size: np.where(
        rng.random(size) < chance, dataset.sum() - 0.5, 0.0
    )


LAWS: dict[str, tuple[Law, float, float]] = {  # the law, its epsilon and delta
    "noise": (lambda dataset, rng, size: rng.normal(size=size), 0.0, DELTA),
    "gaussian 1": (gaussian(1.0), epsilon_of(1.0, DELTA), DELTA),
    "gaussian 3": (gaussian(3.0), epsilon_of(1 / 3, DELTA), DELTA),
    "laplace": (
        lambda dataset, rng, size: dataset.sum() + rng.laplace(size=size),
        1.0,
        0.0,
    ),
    "flipped": (flipped(1.0), 1.0, 0.0),
    "revealed": (revealed(0.3), 0.0, 0.3),
}


def errors(law: Law, epsilon: float, delta: float) -> int:
    """Count seeds for which the bound of any look is above the truth; half of them bet against the truth."""
    claims = [None, epsilon]
    results = [
        dv.audit_sequential(
            law,
            epsilon=claims[seed % 2],
            delta=delta,
            most=4096,
            confidence=CONFIDENCE,
            seed=seed,
        ).epsilon
        for seed in range(SEEDS)
    ]
    return sum(bound > epsilon for bound in results)


def with_half_of_the_wrong_guesses(
    stages: list[StakedRounds], epsilon: float, delta: float
) -> float:
    return log_wealth(
        [stage._replace(wrong=stage.wrong // 2) for stage in stages], epsilon, delta
    )


@pytest.mark.slow
def test_bounds_are_above_the_truth_no_more_often_than_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert {
        name: count
        for name, law in LAWS.items()
        if (count := errors(*law)) > MOST_ERRORS
    } == {}
    monkeypatch.setattr(sequential, "log_wealth", with_half_of_the_wrong_guesses)
    assert errors(*LAWS["flipped"]) > MOST_ERRORS


def test_no_bet_has_a_mean_above_one_if_the_claim_is_true() -> None:
    for epsilon in (0.0, 0.1, 1.0, 5.0):
        for delta in (0.0, 1e-5, 0.1, 0.9):
            for stake in (0.01, 0.5, LARGEST_STAKE):
                right, wrong, silent = (
                    math.exp(log_wealth([StakedRounds(stake, *counts)], epsilon, delta))
                    for counts in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
                )
                for chance_of_wrong in np.linspace(0.0, 0.5, 26):
                    # chance of right, by privacy
                    most = math.exp(epsilon) * chance_of_wrong + delta
                    chance = min(most, 1.0 - chance_of_wrong)
                    rest = 1.0 - chance - chance_of_wrong
                    assert (
                        chance * right + chance_of_wrong * wrong + rest * silent
                        <= 1.0 + 1e-12
                    )


def test_a_false_claim_is_refuted_long_before_the_last_round() -> None:
    result = dv.audit_sequential(gaussian(1.0), epsilon=1.0, most=10**6)
    assert result.verdict == "refuted"
    assert result.rounds == result.looks[-1].rounds <= 8192
    assert 1.0 < result.epsilon < epsilon_of(1.0, 1e-5)
    bounds = [look.epsilon for look in result.looks]
    assert bounds == sorted(bounds)
    true_claim = dv.audit_sequential(gaussian(1.0), epsilon=4.4, most=20_000)
    assert (true_claim.verdict, true_claim.rounds) == ("not refuted", 20_000)
    calls = dv.audit_sequential(
        lambda dataset, rng: dataset.sum() + 0.1 * rng.normal(), most=3000, seed=1
    )
    assert (calls.verdict, calls.epsilon > 3.0) == ("no claim", True)
    with pytest.raises(dv.AuditError, match="most: 0"):
        dv.audit_sequential(gaussian(1.0), most=0)


def test_an_interrupted_audit_keeps_its_bound() -> None:
    def interrupt(done: int, total: int, label: str) -> None:
        if done > 10_000:
            raise KeyboardInterrupt

    result = dv.audit_sequential(gaussian(0.1), report=interrupt)
    assert result.interrupted
    assert result.epsilon == result.looks[-1].epsilon > 5.0
