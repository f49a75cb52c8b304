"""Compositions, shuffling and the sparse vector technique against sums over all outputs, and against our accountant."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb

import dpverify as dv
from dpverify.ledger.formula import parse
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import WorkLimitError, ball, working_precision
from dpverify.symbolic.laws.losses import (
    Atom,
    curve_bounds,
    grid_width,
    lower_grid,
    upper_grid,
)
from tests.for_each import for_each


def enclosed(
    text: str,
    expected: float,
    *,
    gap: float,
    error: float = 1e-9,
    **numbers: int | str | Fraction,
) -> bool:
    """Whether the ball of a formula holds a number that was found in another way, up to its error, and is narrow."""
    result = ball(
        evaluate(
            parse(text), {name: Fraction(number) for name, number in numbers.items()}
        )
    )
    slack = error * abs(expected)
    inside = float(result.lower()) - slack <= expected <= float(result.upper()) + slack
    return inside and 2 * float(result.rad()) <= gap * abs(expected)


@for_each("epsilon, k", [("1/10", 10), ("1/10", 100), ("1/2", 30), ("1", 7)])
def test_randomized_response_is_a_binomial_sum(epsilon: str, k: int) -> None:
    odds = math.exp(float(Fraction(epsilon)))
    p = odds / (1 + odds)
    pair = f"neighbours(response_law(2, {epsilon}, 0), response_law(2, {epsilon}, 1))"
    for target in (0.0, 0.7 * float(Fraction(epsilon)) * math.sqrt(k)):
        counts = range(k + 1)
        masses = [math.comb(k, i) * p**i * (1 - p) ** (k - i) for i in counts]
        expected = math.fsum(
            max(masses[i] - math.exp(target) * masses[k - i], 0.0) for i in counts
        )
        assert enclosed(
            f"delta_of(self_composed({pair}, k), x)",
            expected,
            gap=1e-9,
            k=k,
            x=Fraction(target),
        )


def test_two_outputs_of_laplace_noise_are_a_double_integral() -> None:
    x = (np.arange(4000) + 0.5) * 0.01 - 20.0
    first, second = np.exp(-np.abs(x - 1)) / 2, np.exp(-np.abs(x)) / 2
    p, q = np.outer(first, first), np.outer(second, second)
    for epsilon in (0.0, 0.5, 1.5):
        expected = float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) * 0.01**2
        text = "delta_of(self_composed(neighbours(laplace_law(1, 1), laplace_law(0, 1)), 2), x)"
        result = ball(evaluate(parse(text), {"x": Fraction(epsilon)}))
        assert abs(float(result.mid()) / expected - 1) < 1e-3
        assert float(result.rad()) < 1e-3 * expected


def test_two_different_mechanisms_are_a_double_integral() -> None:
    x = (np.arange(4000) + 0.5) * 0.01 - 20.0
    laplace = [np.exp(-np.abs(x - mean)) / 2 for mean in (0, 1)]
    normal = [
        np.exp(-((x - mean) ** 2) / 8) / math.sqrt(8 * math.pi) for mean in (0, 1)
    ]
    p, q = (np.outer(laplace[i], normal[i]) for i in (0, 1))
    expected = float(np.maximum(p - math.exp(0.5) * q, 0).sum()) * 0.01**2
    pairs = "neighbours(laplace_law(0, 1), laplace_law(1, 1)), neighbours(normal_law(0, 2), normal_law(1, 2))"
    result = ball(evaluate(parse(f"delta_of(joined({pairs}), 1/2)"), {}))
    assert abs(float(result.mid()) / expected - 1) < 1e-3
    assert float(result.rad()) < 1e-3 * expected


def test_three_outputs_of_discrete_noise_are_a_triple_sum() -> None:
    points = np.arange(-30, 31)
    masses = [np.exp(-((points - mean) ** 2) / 8.0) for mean in (0, 1)]
    p, q = (np.einsum("i,j,k->ijk", m, m, m) / m.sum() ** 3 for m in masses)
    expected = float(np.maximum(p - math.exp(0.6) * q, 0).sum())
    pair = "neighbours(discrete_normal_law(0, 2), discrete_normal_law(1, 2))"
    assert enclosed(f"delta_of(self_composed({pair}, 3), 6/10)", expected, gap=1e-6)


def test_normal_laws_add_up_to_one() -> None:
    text = "delta_of(self_composed(neighbours(normal_law(0, 3), normal_law(1, 3)), 9), 1/2)"
    expected = float(ball(evaluate(parse("gaussian_delta(1/2, 1)"), {})).mid())
    assert enclosed(text, expected, gap=1e-9)


@for_each("sigma, rate, steps", [(1.0, 0.01, 100), (2.0, 0.1, 30)])
def test_sampled_steps_agree_with_the_accountant(
    sigma: float, rate: float, steps: int
) -> None:
    ours = (
        dv.Mechanism.gaussian(sigma)
        .poisson_sampled(Fraction(str(rate)))
        .composed(steps)
        .epsilon(Fraction(1, 10**5))
    )
    other = dv.epsilon(sigma, 1e-5, steps=steps, rate=rate)
    assert ours.lower <= other.upper
    assert other.lower <= ours.upper
    assert ours.upper - ours.lower < 0.02 * ours.upper


def atoms_of(first: list[Fraction], second: list[Fraction]) -> list[Atom]:
    atoms = []
    for p, q in zip(first, second, strict=True):
        ratio = (ball(p) / ball(q)).log()
        atoms.append(Atom(ball(p), ball(q), ratio.lower(), ratio.upper()))
    return atoms


def test_both_grids_are_on_their_side_of_a_law_that_lies_on_no_grid() -> None:
    first, second = (
        [Fraction(w, 21) for w in row]
        for row in ((1, 2, 3, 4, 5, 6), (5, 1, 6, 2, 4, 3))
    )
    with working_precision(128):
        atoms = atoms_of(first, second)
        for points in (1, 7):
            width = arb(1) / points
            total = curve_bounds([(atoms, arb(0), 2)], width)
            for epsilon in (0.0, 0.3, 1.0):
                pairs = (
                    (a * b, c * d)
                    for (a, c), (b, d) in product(
                        zip(first, second, strict=True), repeat=2
                    )
                )
                exact = math.fsum(
                    max(float(p) - math.exp(epsilon) * float(q), 0.0) for p, q in pairs
                )
                lower, upper = (
                    float(curve.delta(arb(epsilon)).mid()) for curve in total
                )
                assert lower <= exact + 1e-12
                assert exact <= upper + 1e-12
            assert total.lower.epsilon(arb("0.05")) <= total.upper.epsilon(arb("0.05"))


def test_a_grid_keeps_the_probabilities_of_both_laws_within_its_rounding() -> None:
    with working_precision(128):
        atoms = atoms_of(
            [Fraction(1, 3), Fraction(2, 3)], [Fraction(3, 5), Fraction(2, 5)]
        )
        width = arb("0.1")
        for grid in (upper_grid(atoms, width, arb(0)), lower_grid(atoms, width)):
            other = sum(
                mass * (-(grid.start + i) * width).exp()
                for i, mass in enumerate(grid.masses)
            )
            scale = float(sum(grid.masses))
            assert abs(float(other) / scale - 1) < (1e-9 if grid.is_upper else 0.1)


def test_a_grid_on_which_all_losses_lie_is_found() -> None:
    with working_precision(128):
        assert (
            abs(
                grid_width(
                    [(arb("0.3"), 0.5), (arb("-0.2"), 0.5)], 16, is_discrete=True
                )
                - arb("0.1")
            )
            < 1e-20
        )


def reports_of_everyone(n: int, k: int, epsilon: float, target: float) -> float:
    """Delta of the histogram of n reports by all k**n of them; the first user has 0 or 1, all others the last value."""
    odds = math.exp(epsilon)
    report = [
        [(odds if i == v else 1.0) / (odds + k - 1) for i in range(k)] for v in range(k)
    ]
    histograms: dict[tuple[int, ...], list[float]] = {}
    for reports in product(range(k), repeat=n):
        others = math.prod(report[k - 1][value] for value in reports[1:])
        key = tuple(reports.count(value) for value in range(k))
        masses = histograms.setdefault(key, [0.0, 0.0])
        for v in (0, 1):
            masses[v] += report[v][reports[0]] * others
    deltas = [
        math.fsum(
            max(m[v] - math.exp(target) * m[1 - v], 0.0) for m in histograms.values()
        )
        for v in (0, 1)
    ]
    return max(deltas)


@for_each("n, k", [(1, 3), (2, 2), (5, 2), (5, 3), (4, 4)])
def test_shuffling_is_a_sum_over_all_reports(n: int, k: int) -> None:
    pair = f"neighbours(response_law({k}, 1, 0), response_law({k}, 1, 1))"
    text = f"delta_of(shuffled({pair}, response_law({k}, 1, {k - 1}), {n}), 1/5)"
    assert enclosed(text, reports_of_everyone(n, k, 1.0, 0.2), gap=1e-9)


def first_above(answers: list[float], threshold: float, query: float) -> list[float]:
    """Chances of each outcome of AboveThreshold, by a sum over the noise of the threshold."""
    step = 0.002
    t = (np.arange(200_000) + 0.5) * step - 200.0
    weight = np.exp(-np.abs(t) / threshold) / (2 * threshold) * step

    def below(mean: float) -> np.ndarray:
        x = (t - mean) / query
        chance: np.ndarray = np.where(
            x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2
        )
        return chance

    chances = []
    still = weight.copy()
    for answer in answers:
        chances.append(float((still * (1 - below(answer))).sum()))
        still *= below(answer)
    return [float(still.sum()), *chances]


def test_the_first_answer_above_a_threshold() -> None:
    masses = [
        first_above([low] * 3 + [last], 2.0, 4.0)
        for low, last in ((0.0, 1.0), (1.0, 0.0))
    ]
    laws = "above_threshold_law(4, 0, 1, 2, 4), above_threshold_law(4, 1, 0, 2, 4)"
    expected = max(abs(math.log(a / b)) for a, b in zip(*masses, strict=True))
    assert enclosed(
        f"pure_epsilon_of(neighbours({laws}))", expected, gap=1e-9, error=1e-5
    )
    total = math.fsum(max(a - b, 0.0) for a, b in zip(*masses, strict=True))
    assert enclosed(f"total_variation({laws})", total, gap=1e-9, error=1e-5)
    without = "max_divergence(above_threshold_law(3, 0, 1, 1, 0), above_threshold_law(3, 1, 0, 1, 0))"
    assert evaluate(parse(without), {}) == arb.pos_inf()


MOMENTS = [
    ("tail_of(normal_law(1, 2), 3)", math.erfc(1 / math.sqrt(2)) / 2),
    ("tail_of(laplace_law(0, 2), 3)", math.exp(-1.5) / 2),
    ("tail_of(binomial_law(3, 1/2), 2)", 0.5),
    ("tail_of(discrete_laplace_law(0, 1), 1)", math.exp(-1) / (1 + math.exp(-1))),
    ("tail_of(discrete_laplace_law(0, 1), -2)", 1 - math.exp(-3) / (1 + math.exp(-1))),
    ("variance_of(uniform_law(1, 4))", 9 / 12),
    ("variance_of(discrete_laplace_law(5, 2))", 1 / (2 * math.sinh(0.25) ** 2)),
    ("variance_of(binomial_law(10, 1/5))", 1.6),
    ("mean_of(mixture(1/4, laplace_law(4, 1), normal_law(0, 1)))", 1.0),
    ("mean_of(scaled(shifted(exponential_law(0, 2), 1), 3))", 9.0),
    ("moment_of(normal_law(1, 2), 3)", 13.0),
    ("moment_of(exponential_law(1, 2), 2)", 13.0),
    ("absolute_moment_of(normal_law(0, 2), 1)", 2 * math.sqrt(2 / math.pi)),
    ("absolute_moment_of(laplace_law(0, 2), 3)", 48.0),
    ("absolute_moment_of(discrete_laplace_law(0, 1), 1)", 1 / math.sinh(1.0)),
]


@for_each("text, expected", MOMENTS)
def test_tails_and_moments(text: str, expected: float) -> None:
    assert enclosed(text, expected, gap=1e-9)


def test_the_discrete_normal_law_is_its_sum() -> None:
    points = np.arange(-60, 61)
    masses = np.exp(-(points**2) / 4.5)
    masses /= masses.sum()
    assert enclosed(
        "variance_of(discrete_normal_law(0, 3/2))",
        float((masses * points**2).sum()),
        gap=1e-9,
    )
    assert enclosed(
        "tail_of(discrete_normal_law(0, 3/2), 4)",
        float(masses[points >= 4].sum()),
        gap=1e-9,
    )


def test_an_output_that_only_one_law_has() -> None:
    """Each of two outputs shows it with probability 1/10."""
    pair = "neighbours(finite_law(1, 9), finite_law(0, 1))"
    assert enclosed(f"delta_of(self_composed({pair}, 2), 2)", 1 - 0.81, gap=1e-9)


def test_a_law_of_too_many_points_is_refused_before_they_fill_the_memory() -> None:
    above = "above_threshold_law(10**9, 0, 1, 1, {})"
    for law in ("binomial_law(10**9, 1/2)", above.format(0), above.format(1)):
        with pytest.raises(
            WorkLimitError, match="1000000001 points; at most 200000 are summed"
        ):
            evaluate(parse(f"tail_of({law}, 1)"), {})
