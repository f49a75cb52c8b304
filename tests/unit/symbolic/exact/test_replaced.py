"""Curves of sampled sums where one example is replaced: against all small data sets, by quadrature."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from flint import fmpq

from dpverify.kernels.typing import Matrix
from dpverify.ledger.formula import parse
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import DomainError, Value, to_ball
from dpverify.symbolic.exact.privacy_curves import (
    batch_gaussian_delta,
    gaussian_delta,
    replaced_gaussian_delta,
    sampled_gaussian_delta,
)
from tests.for_each import for_each

X = np.linspace(-14.0, 14.0, 5601)
STEP = X[1] - X[0]
CLIP = 1.25  # C over the deviation
BATCH, EXAMPLES = 2, 4
EPSILONS = (Fraction(0), Fraction(1, 2), Fraction(3, 2))


def number(value: Value) -> float:
    return float(to_ball(value))


def normal(mean: float) -> Matrix:
    law: Matrix = np.exp(-((X - mean) ** 2) / 2) / np.sqrt(2 * np.pi)
    return law


def batch_law(data: tuple[float, ...]) -> Matrix:
    """Density of the noisy sum of a batch without replacement, on the grid."""
    sums = [
        CLIP * sum(data[i] for i in chosen)
        for chosen in combinations(range(len(data)), BATCH)
    ]
    law: Matrix = np.mean([normal(s) for s in sums], axis=0)
    return law


def poisson_law(data: tuple[float, ...], q: float) -> Matrix:
    """The same where each example is drawn with probability q."""
    law = np.zeros_like(X)
    for drawn in product((0, 1), repeat=len(data)):
        weight = np.prod([q if one else 1 - q for one in drawn])
        law += weight * normal(
            CLIP * sum(x for x, one in zip(data, drawn, strict=True) if one)
        )
    return law


def divergence(p: Matrix, q: Matrix, epsilon: Fraction) -> float:
    return float(np.maximum(p - np.exp(float(epsilon)) * q, 0.0).sum() * STEP)


@for_each("epsilon", EPSILONS)
def test_a_batch_of_every_small_data_set_is_below_the_curve_and_one_reaches_it(
    epsilon: Fraction,
) -> None:
    laws = {
        data: batch_law(data) for data in product((-1.0, 0.0, 1.0), repeat=EXAMPLES)
    }
    found = number(
        batch_gaussian_delta(
            to_fmpq(epsilon), fmpq(BATCH, EXAMPLES), to_fmpq(2 * Fraction(CLIP))
        )
    )
    all_pairs = [
        divergence(law, laws[(new, *data[1:])], epsilon)
        for data, law in laws.items()
        for new in (-1.0, 0.0, 1.0)
    ]
    assert max(all_pairs) == pytest.approx(found, abs=2e-6)
    assert divergence(
        laws[(1, -1, -1, -1)], laws[(-1, -1, -1, -1)], epsilon
    ) == pytest.approx(found, abs=2e-6)


@for_each("q", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
@for_each("epsilon", EPSILONS)
def test_poisson_samples_of_every_small_data_set_are_too(
    epsilon: Fraction, q: Fraction
) -> None:
    laws = {
        data: poisson_law(data, float(q))
        for data in product((-1.0, -0.5, 0.0, 1.0), repeat=3)
    }
    found = number(
        replaced_gaussian_delta(to_fmpq(epsilon), to_fmpq(q), to_fmpq(Fraction(CLIP)))
    )
    all_pairs = [
        divergence(law, laws[(new, *data[1:])], epsilon)
        for data, law in laws.items()
        for new in (-1.0, -0.5, 0.0, 1.0)
    ]
    assert max(all_pairs) == pytest.approx(found, abs=2e-6)
    assert divergence(laws[(1, 0, 0)], laws[(-1, 0, 0)], epsilon) == pytest.approx(
        found, abs=2e-6
    )


@for_each("q", [0.2, 0.7])
def test_in_the_plane_opposite_vectors_are_the_worst(q: float) -> None:
    x = np.linspace(-7.0, 7.0, 1121)
    grid, cell = np.meshgrid(x, x), (x[1] - x[0]) ** 2

    def law(angle: float, length: float) -> Matrix:
        at = [np.exp(-((grid[0] - a) ** 2 + (grid[1] - b) ** 2) / 2) / (2 * np.pi) for a, b in
              ((0.0, 0.0), (CLIP * length * np.cos(angle), CLIP * length * np.sin(angle)))]  # fmt: skip
        mixture: Matrix = (1 - q) * at[0] + q * at[1]
        return mixture

    found = number(
        replaced_gaussian_delta(
            fmpq(1, 2), to_fmpq(Fraction(q)), to_fmpq(Fraction(CLIP))
        )
    )
    old = law(0.0, 1.0)
    by_angle = [
        float(np.maximum(old - np.exp(0.5) * law(np.pi * k / 8, 1.0), 0.0).sum() * cell)
        for k in range(9)
    ]
    assert all(np.diff(by_angle) > 0.0)
    assert by_angle[-1] == pytest.approx(found, abs=1e-5)
    assert (
        float(np.maximum(old - np.exp(0.5) * law(np.pi, 0.7), 0.0).sum() * cell) < found
    )


def test_without_sampling_an_example_replaced_moves_the_sum_by_twice_the_clip() -> None:
    one = fmpq(1)
    assert to_ball(replaced_gaussian_delta(one, one, fmpq(3, 4))).overlaps(
        to_ball(gaussian_delta(one, fmpq(3, 2)))
    )
    assert to_ball(batch_gaussian_delta(one, one, fmpq(3, 2))).overlaps(
        to_ball(gaussian_delta(one, fmpq(3, 2)))
    )


def test_a_batch_of_a_part_is_a_poisson_sample_of_it_with_twice_the_reach() -> None:
    """Of the two orders under Poisson sampling the one with the example is the larger for epsilon >= 0."""
    for epsilon, q, mu in product(
        (fmpq(0), fmpq(1), fmpq(4)), (fmpq(1, 100), fmpq(1, 2)), (fmpq(1, 3), fmpq(4))
    ):
        pair = (
            batch_gaussian_delta(epsilon, q, mu),
            sampled_gaussian_delta(epsilon, q, mu),
        )
        assert to_ball(pair[0]).overlaps(to_ball(pair[1]))


@for_each("name", ["batch", "replaced"])
@for_each(
    ("delta", "q", "mu"),
    [("1/100000", "1/50", "3/2"), ("1/10", "1/2", "5"), ("1/20", "1", "1/4")],
)
def test_epsilon_and_delta_are_inverse(name: str, delta: str, q: str, mu: str) -> None:
    point = {"delta": Fraction(delta), "q": Fraction(q), "mu": Fraction(mu)}
    back = evaluate(
        parse(f"{name}_gaussian_delta({name}_gaussian_epsilon(delta, q, mu), q, mu)"),
        point,
    )
    assert float(back) == pytest.approx(float(Fraction(delta)), rel=1e-12)


def test_a_large_delta_needs_no_epsilon() -> None:
    assert evaluate(parse("replaced_gaussian_epsilon(1/2, 1/10, 1)"), {}) == 0


@for_each("text", ["(-1, 1/2, 1)", "(1, 0, 1)", "(1, 2, 1)", "(1, 1/2, 0)"])
@for_each("name", ["batch", "replaced"])
def test_a_value_outside_of_its_range_is_refused(name: str, text: str) -> None:
    with pytest.raises(DomainError, match="a privacy curve or conversion needs"):
        evaluate(parse(f"{name}_gaussian_delta{text}"), {})


@for_each("odds", [2, 3, 7])
def test_sampling_makes_a_pure_epsilon_what_the_language_says(odds: int) -> None:
    """A batch that holds a 1 answers 1 with odds exp(epsilon), another with odds exp(-epsilon): all data, exactly."""
    batches = list(combinations(range(5), 2))

    def one(data: tuple[int, ...]) -> Fraction:
        return sum(
            (
                Fraction(odds if any(data[i] for i in batch) else 1, odds + 1)
                for batch in batches
            ),
            Fraction(0),
        ) / len(batches)

    pairs = [
        (one(data), one((1 - data[0], *data[1:]))) for data in product((0, 1), repeat=5)
    ]
    worst = max(max(p / q, (1 - p) / (1 - q)) for p, q in pairs)
    assert worst == 1 + Fraction(2, 5) * (odds - 1)


def to_fmpq(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)
