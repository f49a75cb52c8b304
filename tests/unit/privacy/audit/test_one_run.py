"""Audits by one run: the bound against its definition, and its coverage on laws of known epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

import dpverify as dv
from dpverify.privacy.audit import one_run
from dpverify.privacy.audit.counting import (
    chance_under,
    curve_tradeoff,
    gaussian_tradeoff,
    is_rarer,
    one_run_chance,
    one_run_epsilon,
)
from dpverify.privacy.gaussian import delta_of, epsilon_of

EXAMPLES = 120
DELTA = 0.01
SEEDS = 1000
CONFIDENCE = 0.9
# exceeded by chance in 1 of 100,000 tests
MOST_ERRORS = int(binom.ppf(1 - 1e-5, SEEDS, 1 - CONFIDENCE))

Law = Callable[[Any, np.random.Generator], Any]


def gaussian(sigma: float) -> Law:
    return lambda included, rng: included + sigma * rng.normal(size=included.size)


def laplace(scale: float) -> Law:
    return lambda included, rng: included + rng.laplace(scale=scale, size=included.size)


def geometric(ratio: float) -> Law:
    return lambda included, rng: (
        included
        + rng.geometric(1 - ratio, included.size)
        - rng.geometric(1 - ratio, included.size)
    )


def flipped(epsilon: float) -> Law:
    return lambda included, rng: (
        included ^ (rng.random(included.size) < 1 / (1 + math.exp(epsilon)))
    )


def all_or_nothing(chance: float) -> Law:
    """Release every coin with a small chance, which is all of delta."""
    return lambda included, rng: (
        included + 0.0 if rng.random() < chance else np.zeros(included.size)
    )


def some_in_clear(chance: float) -> Law:
    """Release each coin on its own with a small chance."""
    return lambda included, rng: np.where(
        rng.random(included.size) < chance, included - 0.5, 0.0
    )


def one_group(law: Law) -> Law:
    """Release only the first ten, the others as they would be without their examples."""
    return lambda included, rng: law(included & (np.arange(included.size) < 10), rng)


def leaking(chance: float, law: Law) -> Law:
    return lambda included, rng: (
        included + 0.0 if rng.random() < chance else law(included, rng)
    )


def of_sigma(sigma: float) -> float:
    return epsilon_of(1 / sigma, DELTA)


def gaussian_curve(sigma: float) -> list[tuple[float, float]]:
    """Return pairs of epsilon and delta of a Gaussian mechanism."""
    return [(epsilon_of(1 / sigma, 10.0**-k), 10.0**-k) for k in range(1, 9)]


LAWS: dict[str, tuple[Law, float, float]] = {  # the law, its epsilon and delta
    "nothing": (lambda included, rng: np.zeros(included.size), 0.0, DELTA),
    "noise": (lambda included, rng: rng.normal(size=included.size), 0.0, DELTA),
    "gaussian 0.4": (gaussian(0.4), of_sigma(0.4), DELTA),
    "gaussian 0.7": (gaussian(0.7), of_sigma(0.7), DELTA),
    "gaussian 1": (gaussian(1.0), of_sigma(1.0), DELTA),
    "gaussian 2": (gaussian(2.0), of_sigma(2.0), DELTA),
    "gaussian 5": (gaussian(5.0), of_sigma(5.0), DELTA),
    "laplace 0.3": (laplace(0.3), 1 / 0.3, 0.0),
    "laplace 1": (laplace(1.0), 1.0, 0.0),
    "laplace 3": (laplace(3.0), 1 / 3, 0.0),
    "geometric": (geometric(math.exp(-1)), 1.0, 0.0),
    "geometric, little noise": (geometric(math.exp(-3)), 3.0, 0.0),
    "flipped 0.2": (flipped(0.2), 0.2, 0.0),
    "flipped 1": (flipped(1.0), 1.0, 0.0),
    "flipped 4": (flipped(4.0), 4.0, 0.0),
    "all or nothing": (all_or_nothing(DELTA), 0.0, DELTA),
    "all or nothing, often": (all_or_nothing(0.3), 0.0, 0.3),
    "some in clear": (some_in_clear(DELTA), 0.0, DELTA),
    "flipped, first ten": (one_group(flipped(1.0)), 1.0, 0.0),
    "flipped, leaking": (leaking(DELTA, flipped(1.0)), 1.0, DELTA),
    "gaussian 1, more delta": (gaussian(1.0), epsilon_of(1.0, 0.1), 0.1),
}


def errors(law: Law, epsilon: float, delta: float) -> int:
    """Count seeds whose bound is above the truth."""

    def bound(seed: int) -> float:
        return dv.audit_one_run(
            law, examples=EXAMPLES, delta=delta, confidence=CONFIDENCE, seed=seed
        ).epsilon

    return sum(bound(seed) > epsilon for seed in range(SEEDS))


@pytest.mark.slow
def test_the_bound_is_above_the_truth_no_more_often_than_stated() -> None:
    assert len(LAWS) >= 20
    assert {
        name: count
        for name, law in LAWS.items()
        if (count := errors(*law)) > MOST_ERRORS
    } == {}


@pytest.mark.slow
def test_gaussian_privacy_and_true_curves_are_refuted_no_more_often_than_stated() -> (
    None
):
    audit = partial(dv.audit_one_run, examples=EXAMPLES, confidence=CONFIDENCE)
    for sigma in (0.3, 0.5, 1.0, 2.0, 5.0):
        true = gaussian_curve(sigma)
        bounds = [
            audit(gaussian(sigma), law="gaussian", seed=seed).mu or 0.0
            for seed in range(SEEDS)
        ]
        verdicts = [
            audit(gaussian(sigma), curve=true, seed=seed).verdict
            for seed in range(SEEDS)
        ]
        assert sum(bound > 1 / sigma for bound in bounds) <= MOST_ERRORS
        assert verdicts.count("refuted") <= MOST_ERRORS
    assert (
        dv.audit_one_run(gaussian(1.0), law="gaussian", examples=20_000).mu or 0.0
    ) > 0.5


@pytest.mark.slow
def test_a_bound_without_delta_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    law, epsilon, delta = LAWS["all or nothing, often"]

    def without_delta(
        examples: int, guesses: int, right: int, delta: float, level: float
    ) -> float:
        return one_run_epsilon(examples, guesses, right, 0.0, level)

    monkeypatch.setattr(one_run, "one_run_epsilon", without_delta)
    assert errors(law, epsilon, delta) > MOST_ERRORS


def test_the_chance_is_its_definition() -> None:
    for m, r, v, epsilon, delta in (
        (100, 40, 33, 0.5, 1e-4),
        (50, 50, 50, 2.0, 1e-3),
        (60, 10, 1, 0.0, 1e-5),
    ):
        law = binom(r, 1 / (1 + math.exp(-epsilon)))
        slack = max(law.sf(v - i - 1) / i for i in range(1, v + 1))
        assert one_run_chance(m, r, v, epsilon, delta) == pytest.approx(
            min(1.0, law.sf(v - 1) + 2 * m * delta * slack)
        )
        assert one_run_chance(m, r, v, epsilon, 0.0) == pytest.approx(law.sf(v - 1))


def test_the_chance_rises_with_epsilon_and_the_bound_is_where_it_reaches_the_level() -> (
    None
):
    epsilons = np.linspace(0.0, 8.0, 200)
    for delta in (0.0, 1e-5, 1e-3):
        chances = [
            one_run_chance(500, 200, 150, float(epsilon), delta) for epsilon in epsilons
        ]
        assert (np.diff(chances) >= 0).all()
        bound = one_run_epsilon(500, 200, 150, delta, 0.05)
        assert 0.5 < bound < 1.2
        under_curve = chance_under(curve_tradeoff([(bound, delta)]), 500, 200, 150)
        smaller = min(under_curve, one_run_chance(500, 200, 150, bound, delta))
        assert smaller == pytest.approx(0.05, rel=2e-4)
    assert one_run_epsilon(500, 200, 100, 1e-5, 0.05) == 0.0


def largest_chance(points: list[tuple[float, float]], m: int, r: int, v: int) -> float:
    """Maximise P[R >= v] over all laws of R that fulfil the inequalities of the curve, as a linear programme."""
    right = np.arange(r + 1.0)
    rows = []
    limits = []
    for index in range(1, r + 1):
        of_right = right * (right >= index) / m
        of_wrong = (r - right) * (right >= index - 1) / m
        for epsilon, delta in points:
            rows.append(math.exp(-epsilon) * of_right - of_wrong)
            limits.append(math.exp(-epsilon) * delta)
            rows.append(math.exp(epsilon) * of_right - of_wrong)
            limits.append(math.exp(epsilon) - 1.0 + delta)
    solution = linprog(
        -(right >= v).astype(float),
        A_ub=rows,
        b_ub=limits,
        A_eq=np.ones((1, r + 1)),
        b_eq=[1.0],
    )
    assert solution.success
    return -float(solution.fun or 0.0)


def test_the_chance_under_a_curve_is_the_largest_of_any_law() -> None:
    curve = [(0.0, 0.2), (0.5, 0.05), (1.0, 0.01)]
    for points in ([(0.7, 0.0)], [(0.7, 1e-3)], [(0.0, 0.05)], curve):
        for m, r, v in ((30, 30, 22), (30, 12, 11), (40, 8, 8), (25, 10, 3)):
            expected = largest_chance(points, m, r, v)
            assert chance_under(curve_tradeoff(points), m, r, v) == pytest.approx(
                expected, rel=2e-4
            )


def test_a_gaussian_curve_is_that_of_all_its_points() -> None:
    for mu in (0.3, 1.0, 3.0):
        points = [
            (epsilon, delta_of(mu, epsilon))
            for epsilon in np.linspace(0.0, 8.0, 2000).tolist()
        ]
        for m, r, v in ((100, 30, 28), (1000, 50, 45)):
            by_points = chance_under(curve_tradeoff(points), m, r, v)
            assert chance_under(gaussian_tradeoff(mu), m, r, v) == pytest.approx(
                by_points, rel=1e-2
            )
    assert not is_rarer(gaussian_tradeoff(1.0), 100, 30, 0, 0.5)


def test_a_curve_is_refuted_where_its_point_at_a_small_delta_is_not() -> None:
    claimed = gaussian_curve(1.1)
    true = gaussian_curve(0.5)
    epsilon, delta = claimed[4]
    of_curve = [
        dv.audit_one_run(gaussian(0.5), curve=claimed, seed=seed).verdict
        for seed in range(20)
    ]
    of_point = [
        dv.audit_one_run(gaussian(0.5), epsilon=epsilon, delta=delta, seed=seed).verdict
        for seed in range(20)
    ]
    of_truth = [
        dv.audit_one_run(gaussian(0.5), curve=true, seed=seed).verdict
        for seed in range(20)
    ]
    assert of_curve.count("refuted") > 15
    assert set(of_point) == {"not refuted"}
    assert set(of_truth) == {"not refuted"}


def test_a_false_claim_is_refuted_and_a_true_one_is_not() -> None:
    for seed in range(20):
        assert (
            dv.audit_one_run(gaussian(0.5), epsilon=1.0, seed=seed).verdict == "refuted"
        )
        true = dv.audit_one_run(gaussian(1.0), epsilon=epsilon_of(1.0, 1e-5), seed=seed)
        assert true.verdict == "not refuted"
        assert true.epsilon <= max(guess.largest_epsilon for guess in true.tried)


def test_each_size_has_its_share_of_the_chance_of_an_error() -> None:
    for sizes in (None, [500, 100], 300):
        result = dv.audit_one_run(gaussian(0.5), examples=1000, guesses=sizes)
        for tried in result.tried:
            assert tried.epsilon == one_run_epsilon(
                1000, tried.guesses, tried.right, 1e-5, (1.0 - 0.95) / len(result.tried)
            )


def test_scores_see_only_what_was_released() -> None:
    released = np.arange(100.0)
    seen = []

    def scores(value: Any) -> Any:
        seen.append(value)
        return value

    dv.audit_one_run(lambda included, rng: released, scores, examples=100, guesses=10)
    assert seen[0] is released


def test_what_cannot_be_audited_is_one_line() -> None:
    def ends(included: Any, rng: Any) -> Any:
        raise SystemExit(0)

    cases: list[tuple[Any, dict[str, Any], str]] = [
        (ends, {}, "run: raised SystemExit: 0"),
        (
            lambda included, rng: 1.0,
            {},
            r"scores: have shape \(\): must have one number per example",
        ),
        (
            lambda included, rng: np.full(included.size, np.nan),
            {},
            "scores: nan: must be finite",
        ),
        (
            gaussian(1.0),
            {"examples": 1},
            "examples: 1: must be a whole number from 2 to 1000000",
        ),
        (
            gaussian(1.0),
            {"guesses": 0},
            "guesses: 0: must be a whole number from 1 to examples=1000",
        ),
        (gaussian(1.0), {"guesses": []}, "guesses: empty"),
        (gaussian(1.0), {"delta": 1.0}, r"delta: 1.0: must lie in \[0, 1\)"),
        (
            gaussian(1.0),
            {"epsilon": -1.0},
            "epsilon: -1.0: must be finite and at least 0",
        ),
        (gaussian(1.0), {"confidence": 1.0}, r"confidence: 1.0: must lie in \(0, 1\)"),
        (
            gaussian(1.0),
            {"law": "laplace"},
            "law: laplace: must be 'any' or 'gaussian'",
        ),
        (
            gaussian(1.0),
            {"law": "gaussian", "delta": 0.0},
            "delta: 0: must be above 0 with the law 'gaussian'",
        ),
        (
            gaussian(1.0),
            {"curve": [(1.0, 0.1)], "epsilon": 1.0},
            "epsilon: 1.0: must not be given with a curve",
        ),
        (
            gaussian(1.0),
            {"curve": [(1.0, 0.1)], "law": "gaussian"},
            "law: gaussian: must be 'any' with a curve",
        ),
        (gaussian(1.0), {"curve": []}, "curve: empty"),
        (
            gaussian(1.0),
            {"curve": [(1.0, 2.0)]},
            r"curve: \(1.0, 2.0\): must be a pair of epsilon in \[0, 64\]",
        ),
        (gaussian(1.0), {"seed": -1}, "seed: -1: must be a whole number of at least 0"),
    ]
    for run, options, words in cases:
        with pytest.raises(dv.AuditError, match=words):
            dv.audit_one_run(run, **options)
