"""The bias under fresh permutations against Algorithm 4's formula without noise, over all orders of all epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product

import pytest
from flint import arb

from dpverify.papers.tran2022.momentum.permutation_bounds import (
    bias_weights,
    mean_distance_of_two,
)
from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    constant_spread,
    mean_square,
)
from dpverify.symbolic.exact.numbers import to_value
from tests.for_each import for_each

Gradients = list[list[Fraction]]
"""For each epoch's anchor, each example's gradient, in one dimension."""

CASES = [
    (Fraction(1, 2), Fraction(1, 3)),
    (Fraction(1), Fraction(1, 2)),
    (Fraction(2, 3), Fraction(1, 10)),
]


def window(
    h: Gradients,
    order: list[int],
    a: int,
    b: int,
    beta: Fraction,
    N: int,
    back: int = 0,
) -> Fraction:
    """Sum over s = a .. b of beta^(b-s) times the gradient of step s's example at the anchor `back` epochs before."""
    return sum(
        (
            beta ** (b - s) * h[(s - 1) // N - back][order[s - 1]]
            for s in range(a, b + 1)
        ),
        Fraction(0),
    )


def literal_bias(
    t: int, N: int, alpha: Fraction, gamma: Fraction, h: Gradients, order: list[int]
) -> Fraction:
    """Right side minus left side of equation 3, times alpha."""
    beta, (q, r) = 1 - alpha, divmod(t, N)
    total = beta ** (t - r) * window(h, order, 1, r, beta, N)
    for i in range(q):
        total += (
            beta ** (N * i)
            * (1 - gamma) ** (q - 1 - i)
            * window(h, order, r + 1, r + N, beta, N)
        )
    for i in range(1, q):
        c = sum((1 - gamma) ** j * beta ** ((i - 1 - j) * N) for j in range(i))
        a, b = t - i * N + 1, t - (i - 1) * N
        here, before = (
            window(h, order, a, b, beta, N),
            window(h, order, a, b, beta, N, 1),
        )
        total += c * ((1 - gamma) * (here - before) + gamma * here)
    return alpha * (total - window(h, order, 1, t, beta, N))


def orders(epochs: int, N: int) -> Iterator[list[int]]:
    for drawn in product(permutations(range(N)), repeat=epochs):
        yield [example for order in drawn for example in order]


def mean(values: Iterator[Fraction]) -> Fraction:
    found = list(values)
    return sum(found, Fraction(0)) / len(found)


@for_each(
    ("N", "t"), [(1, 4), (2, 3), (2, 4), (2, 5), (2, 7), (2, 8), (3, 5), (3, 6), (3, 8)]
)
def test_second_moment_is_the_mean_over_all_orders(N: int, t: int) -> None:
    gradients = [Fraction(3), Fraction(-1), Fraction(5)][:N]
    centre = sum(gradients, Fraction(0)) / N
    spread = sum(((g - centre) ** 2 for g in gradients), Fraction(0)) / N
    epochs = -(-t // N)
    for alpha, gamma in CASES:
        found = mean(
            literal_bias(t, N, alpha, gamma, [gradients] * epochs, order) ** 2
            for order in orders(epochs, N)
        )
        assert found == mean_square(
            "difference", t, N, alpha, gamma, constant_spread(spread)
        )
        weights = bias_weights(t, N, alpha, gamma)
        for order in orders(epochs, N):
            by_weights = sum(
                to_value(gradients[x]) * w for x, w in zip(order, weights, strict=False)
            )
            assert by_weights == to_value(
                literal_bias(t, N, alpha, gamma, [gradients] * epochs, order)
            )


@for_each("t", [1, 3, 4, 5, 8, 9])
def test_two_opposite_gradients(t: int) -> None:
    epochs = -(-t // 2)
    for alpha, gamma in CASES:
        h = [[Fraction(3), Fraction(-3)]] * epochs
        found = mean(
            abs(literal_bias(t, 2, alpha, gamma, h, order))
            for order in orders(epochs, 2)
        )
        assert mean_distance_of_two(t, alpha, gamma, Fraction(3), Fraction(0)) == found


def test_the_smallest_counterexample() -> None:
    """Two examples, two epochs, alpha = 1: m_4 is the last gradient, m_hat_4 mixes it with that of the epoch before."""
    gamma = Fraction(1, 2)
    assert (
        mean_distance_of_two(4, Fraction(1), gamma, Fraction(1), Fraction(0))
        == 1 - gamma
    )
    assert mean_distance_of_two(3, Fraction(1), gamma, Fraction(1), Fraction(0)) == 0


def test_with_noise_the_distance_is_that_of_a_mixture() -> None:
    alpha, gamma, variance = Fraction(1), Fraction(1, 2), Fraction(2)
    found = mean_distance_of_two(4, alpha, gamma, Fraction(1), variance)
    assert isinstance(found, arb)
    step = 1e-3
    grid = [k * step for k in range(-12000, 12000)]
    density = [math.exp(-z * z / 4) / math.sqrt(4 * math.pi) for z in grid]
    biases = (-1.0, 0.0, 0.0, 1.0)
    expected = (
        sum(
            sum(abs(b + z) for b in biases) / 4 * p
            for z, p in zip(grid, density, strict=True)
        )
        * step
    )
    assert float(found) == pytest.approx(expected, rel=1e-6)
    assert found > to_value(
        mean_distance_of_two(4, alpha, gamma, Fraction(1), Fraction(0))
    )


def bound(alpha: Fraction, gamma: Fraction, drift: Fraction) -> float:
    """The bound of the corrected lemma, NOTES_identities.md, for G = 1 and L eta N = drift."""
    return 2 * math.sqrt(alpha) + 1.1 * float(drift) * math.sqrt(alpha / gamma)


@for_each(("N", "t"), [(2, 7), (2, 8), (3, 6), (3, 8)])
def test_bound_with_drifting_gradients(N: int, t: int) -> None:
    epochs = -(-t // N)
    for alpha, gamma in [
        (Fraction(1), Fraction(1, 2)),
        (Fraction(1, N), Fraction(1, 20)),
        (Fraction(3, 4), Fraction(1, 8)),
    ]:
        for drift in (Fraction(0), Fraction(1, 2), Fraction(2)):
            h = [
                [(-1) ** x * max(Fraction(-1), 1 - e * drift) for x in range(N)]
                for e in range(epochs)
            ]
            found = mean(
                literal_bias(t, N, alpha, gamma, h, order) ** 2
                for order in orders(epochs, N)
            )
            assert math.sqrt(found) <= bound(alpha, gamma, drift)


def test_bound_without_drift_is_nearly_attained() -> None:
    """Two examples, alpha = 1, mild mixing: the first window's error is still there when the last one's is not."""
    alpha, gamma = Fraction(1), Fraction(1, 1000)
    found = mean_square("difference", 8, 2, alpha, gamma, constant_spread(Fraction(1)))
    assert math.sqrt(
        float(found.mid() if isinstance(found, arb) else found)
    ) > 0.7 * bound(alpha, gamma, Fraction(0))
    N, slow = 200, Fraction(1, 20)
    long = mean_square(
        "difference", 40 * N, N, slow, gamma, constant_spread(Fraction(1))
    )
    assert math.sqrt(
        float(long.mid() if isinstance(long, arb) else long)
    ) > 0.4 * bound(slow, gamma, Fraction(0))


def test_too_many_epochs() -> None:
    with pytest.raises(ValueError, match="t=31"):
        mean_distance_of_two(31, Fraction(1), Fraction(1, 2), Fraction(1), Fraction(0))
