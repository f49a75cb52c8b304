"""The coefficients of the noise against Algorithm 4 run literally, in plain Fractions, on unit tapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from dpverify.papers.tran2022.noise.noise_bounds import (
    NodeVariances,
    covariance,
    covariance_matrix,
    noise_coefficients,
    noise_terms,
    noise_variance,
    squared_decays,
    variance_terms,
    window_weights,
)
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import compose_intervals
from dpverify.symbolic.exact.numbers import to_exact, to_value
from tests.for_each import for_each

Tape = Counter[tuple[str, int, int]]
"""A linear combination of node noises."""

BOX = NodeVariances(Fraction(3), Fraction(5), Fraction(7), Fraction(11))
ALPHAS = (Fraction(1), Fraction(1, 2), Fraction(2, 7))
GAMMAS = (Fraction(1, 2), Fraction(1, 9), Fraction(3, 4))


def literal_compose(a: int, b: int) -> list[tuple[int, int]]:
    """Algorithm 3, recursively, as printed; empty for a > b."""
    if a > b:
        return []
    k = max(k for k in range(64) if (a - 1) % 2**k == 0 and a + 2**k - 1 <= b)
    rest = a + 2**k
    return [(a, rest - 1)] + ([] if rest > b else literal_compose(rest, b))


def literal_sum(family: str, a: int, b: int, alpha: Fraction) -> Tape:
    total: Tape = Counter()
    for y, z in literal_compose(a, b):
        total[family, y, z] += (1 - alpha) ** (b - z)  # type: ignore[assignment]  # a Counter of Fractions
    return total


def scaled(factor: Fraction, tape: Tape) -> Tape:
    return Counter({key: factor * value for key, value in tape.items()})


def added(*tapes: Tape) -> Tape:
    total: Tape = Counter()
    for tape in tapes:
        for key, value in tape.items():
            total[key] += value
    return total


def literal_m_hat(t: int, N: int, alpha: Fraction, gamma: Fraction) -> Tape:
    """Algorithm 4 line by line; at i = 0 its window is [t + 1, t + N], with an empty sum in front: left out."""
    q = t // N
    r = t - q * N
    whole = literal_sum("G", r + 1, r + N, alpha)
    total = scaled((1 - alpha) ** (t - r), literal_sum("G", 1, r, alpha))
    for i in range(q):
        c = sum(
            ((1 - gamma) ** j * (1 - alpha) ** ((i - 1 - j) * N) for j in range(i)),
            Fraction(0),
        )
        if i > 0:
            a, b = t - i * N + 1, t - (i - 1) * N
            total = added(
                total, scaled(c * (1 - gamma), literal_sum("Delta", a, b, alpha))
            )
            total = added(total, scaled(c * gamma, literal_sum("G", a, b, alpha)))
        total = added(
            total, scaled((1 - alpha) ** (N * i) * (1 - gamma) ** (q - i - 1), whole)
        )
    return scaled(alpha, added(total, literal_sum("r", 1, t, alpha)))


def small_cases() -> Iterator[tuple[int, int]]:
    for N in (1, 2, 3, 4, 5, 7, 8):
        steps = {
            1,
            N - 1,
            N,
            N + 1,
            2 * N - 1,
            2 * N,
            2 * N + 1,
            3 * N,
            4 * N + 1,
            7,
            15,
            31,
            33,
            5 * N - 1,
        }
        yield from ((t, N) for t in sorted(steps) if t >= 1)


def flat(
    t: int, N: int, alpha: Fraction, gamma: Fraction
) -> dict[tuple[str, int, int], object]:
    families = noise_coefficients(t, N, alpha, gamma)
    return {
        (family, *node): c
        for family, nodes in families.items()
        for node, c in nodes.items()
    }


@for_each(("t", "N"), list(small_cases()))
def test_coefficients_are_those_of_the_literal_algorithm(t: int, N: int) -> None:
    for alpha in ALPHAS:
        for gamma in GAMMAS:
            ours = {key: c for key, c in flat(t, N, alpha, gamma).items() if c != 0}
            theirs = {
                key: c for key, c in literal_m_hat(t, N, alpha, gamma).items() if c != 0
            }
            assert ours == theirs, (alpha, gamma)


def test_nodes_are_those_of_algorithm_3() -> None:
    for a in range(1, 40):
        for b in range(a - 1, a + 70):
            assert list(compose_intervals(a, b)) == literal_compose(a, b)


@for_each(("t", "N"), list(small_cases()))
def test_variances_are_the_squared_coefficients(t: int, N: int) -> None:
    alpha, gamma = Fraction(2, 7), Fraction(1, 9)
    expected = [Fraction(0)] * 5
    for term in noise_terms(t, N, alpha, gamma):
        for node, c in term.nodes.items():
            assert isinstance(c, Fraction)
            variance = BOX.of_node(term.family, node, N)
            assert isinstance(variance, Fraction)
            expected[term.number - 1] += c**2 * variance
    assert list(variance_terms(t, N, alpha, gamma, BOX)) == expected
    assert (
        noise_variance(t, N, alpha, gamma, BOX)
        == sum(expected)
        == covariance(t, t, N, alpha, gamma, BOX)
    )


def test_no_node_occurs_twice_and_the_g_nodes_cover_the_run() -> None:
    for t in range(1, 60):
        for N in (1, 2, 3, 5, 8, 64):
            terms = noise_terms(t, N, Fraction(1, 3), Fraction(1, 4))
            g = [node for term in terms[:3] for node in term.nodes]
            assert sorted(step for y, z in g for step in range(y, z + 1)) == list(
                range(1, t + 1)
            )
            drift = sorted(step for y, z in terms[3].nodes for step in range(y, z + 1))
            assert drift == list(range(t % N + N + 1, t + 1))


def test_the_first_two_terms_use_nodes_inside_two_epochs_and_delta_nodes_begin_after_one() -> (
    None
):
    for t in range(1, 80):
        for N in (1, 2, 3, 6, 8):
            terms = noise_terms(t, N, Fraction(1, 3), Fraction(1, 4))
            assert all(z < 2 * N for term in terms[:2] for _, z in term.nodes)
            assert all(y > N for y, _ in terms[3].nodes)


@for_each(("N", "steps"), [(1, 9), (3, 20), (4, 17)])
def test_covariance_matrix(N: int, steps: int) -> None:
    alpha, gamma = Fraction(1, 3), Fraction(1, 5)
    matrix = covariance_matrix(steps, N, alpha, gamma, BOX)
    exact = [
        [float(covariance(s, t, N, alpha, gamma, BOX)) for t in range(1, steps + 1)]
        for s in range(1, steps + 1)
    ]
    np.testing.assert_allclose(matrix, exact, rtol=1e-12)


def test_long_runs_give_balls_that_hold_the_exact_value() -> None:
    t, N, alpha, gamma = 700, 3, Fraction(1, 3), Fraction(1, 7)
    balls = variance_terms(t, N, alpha, gamma, BOX)
    assert any(not isinstance(v, Fraction) for v in balls)
    q, r = divmod(t, N)
    c = [
        sum((1 - gamma) ** j * (1 - alpha) ** ((i - 1 - j) * N) for j in range(i))
        for i in range(1, q + 1)
    ]
    decays = sum(
        (1 - alpha) ** (2 * (r + N - z)) for _, z in literal_compose(r + 1, r + N)
    )
    second = 3 * (alpha * c[q - 1]) ** 2 * decays
    fourth = Fraction(0)
    for i in range(1, q):
        end = t - (i - 1) * N
        decays = sum(
            (1 - alpha) ** (2 * (end - z)) for _, z in literal_compose(end - N + 1, end)
        )
        fourth += (alpha * (1 - gamma) * c[i - 1]) ** 2 * decays * 7
    for ball, exact in ((balls[1], second), (balls[3], fourth)):
        value = to_value(ball)
        same = value == to_value(exact)
        assert same or value.contains(to_value(exact))  # type: ignore[union-attr]  # an arb


def test_weights_are_the_printed_sums_and_the_sum_of_term_two() -> None:
    alpha, gamma, N = Fraction(1, 4), Fraction(1, 3), 3
    weights = [to_exact(c) for c in window_weights(6, N, alpha, gamma)]
    for i in range(1, 7):
        assert weights[i - 1] == sum(
            (1 - gamma) ** j * (1 - alpha) ** ((i - 1 - j) * N) for j in range(i)
        )
        assert weights[i - 1] == sum(
            (1 - alpha) ** (N * j) * (1 - gamma) ** (i - 1 - j) for j in range(i)
        )


def test_variances_of_the_box() -> None:
    box = {
        "delta_G": 4,
        "delta_Delta": 3,
        "delta_r": 2,
        "sigma": 5,
        "V_first": 7,
        "V_later": 11,
    }
    made = NodeVariances.of({name: Fraction(value) for name, value in box.items()})
    assert made == NodeVariances(
        Fraction(2800), Fraction(4400), Fraction(2475), Fraction(1100)
    )
    assert [made.of_node("G", node, 4) for node in ((7, 8), (9, 9), (1, 16))] == [
        2800,
        4400,
        4400,
    ]
    assert NodeVariances.of({"sigma": Fraction(2)}).g_first == 0


def test_empty_interval_and_no_decay() -> None:
    assert squared_decays(1, 0, Fraction(1, 2)) == 0
    assert squared_decays(1, 12, Fraction(1)) == 1
    assert variance_terms(7, 4, Fraction(1), Fraction(1, 2), BOX)[0] == 0


@for_each(
    ("t", "N", "alpha", "gamma", "name"),
    [
        (0, 2, "1/2", "1/2", "t=0"),
        (1, 0, "1/2", "1/2", "n_examples=0"),
        (1, 2, "0", "1/2", "alpha=0"),
        (1, 2, "1/2", "3/2", "gamma=3/2"),
    ],
)
def test_parameters_out_of_range_are_named(
    t: int, N: int, alpha: str, gamma: str, name: str
) -> None:
    with pytest.raises(ValueError, match=name):
        noise_terms(t, N, Fraction(alpha), Fraction(gamma))
    with pytest.raises(ValueError, match=name):
        variance_terms(t, N, Fraction(alpha), Fraction(gamma), BOX)


def test_covariance_matrix_needs_a_step() -> None:
    with pytest.raises(ValueError, match="steps=0"):
        covariance_matrix(0, 2, Fraction(1, 2), Fraction(1, 2), BOX)
