"""Tests of sufficient statistics with an exact null law. Comparisons share alpha by Bonferroni's inequality.

The tails and quantiles of the chi-square law are accurate for any number of degrees of freedom. scipy's lower tail
loses digits for very many degrees of freedom (measured: at 1e9 it returns 1.1e-7 instead of 2.9e-7). From a million
on we use the cube-root normal form of Wilson and Hilferty. Its relative error in a tail of 1e-8 is then below 1e-4
and decreases like the inverse of the degrees of freedom. A test compares it with ball arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpverify.harness.statistics.pieces import Floats

LARGE_DOF = 1_000_000  # degrees of freedom from which the cube-root normal form is used


def chi_square_lower_tail(value: float, dof: float) -> float:
    """Return the probability that a chi-square variable is at most a value."""
    if dof < LARGE_DOF:
        return float(special.chdtr(dof, value))
    return float(special.ndtr(_normal_score(value, dof)))


def chi_square_upper_tail(value: float, dof: float) -> float:
    """Return the probability that a chi-square variable is at least a value."""
    if dof < LARGE_DOF:
        return float(special.chdtrc(dof, value))
    return float(special.ndtr(-_normal_score(value, dof)))


def chi_square_lower_quantile(probability: float, dof: float) -> float:
    """Return the x with ``P(X <= x) = probability`` for a chi-square variable and a small probability."""
    if dof < LARGE_DOF:
        return 2.0 * float(special.gammaincinv(dof / 2.0, probability))
    return _from_score(float(special.ndtri(probability)), dof)


def chi_square_upper_quantile(probability: float, dof: float) -> float:
    """Return the x with ``P(X >= x) = probability`` for a chi-square variable and a small probability."""
    if dof < LARGE_DOF:
        return 2.0 * float(special.gammainccinv(dof / 2.0, probability))
    return _from_score(-float(special.ndtri(probability)), dof)


def _normal_score(value: float, dof: float) -> float:
    spread = 2.0 / (9.0 * dof)
    return (math.cbrt(value / dof) - (1.0 - spread)) / math.sqrt(spread)


def _from_score(score: float, dof: float) -> float:
    spread = 2.0 / (9.0 * dof)
    return dof * (1.0 - spread + score * math.sqrt(spread)) ** 3


@dataclass(frozen=True)
class TestOutcome:
    """The result of one exact test."""

    __test__ = False  # the name begins with "Test"; it is not a pytest class

    name: str  # what is tested: "row scale"
    # smallest alpha at which this test would refute,
    # corrected for its number of comparisons
    p_value: float
    refuted: bool  # whether the null hypothesis is refuted at the given alpha
    detail: str  # description of the most extreme statistic


def index_label(index: int) -> str:
    """Return the name of a statistic at a place, counted from 1."""
    return f"index {index + 1}"


def scale_test(
    name: str,
    sums_of_squares: Floats,
    dof: float,
    alpha: float,
    label: Callable[[int], str] = index_label,
) -> TestOutcome:
    """Test that each sum of ``dof`` squares is chi-square, as for standard normals. The sums may be dependent."""
    if sums_of_squares.size == 0:
        raise ValueError(f"{name}: sums_of_squares must not be empty.")
    tails = [
        min(chi_square_lower_tail(s, dof), chi_square_upper_tail(s, dof))
        for s in sums_of_squares.tolist()
    ]
    worst = int(np.argmin(tails))
    p_value = min(1.0, 2.0 * tails[worst] * len(tails))
    ratio = math.sqrt(sums_of_squares[worst] / dof)
    detail = f"standard deviation {ratio:.6g} times its value at {label(worst)}, {dof:.6g} degrees of freedom"
    return TestOutcome(name, p_value, p_value <= alpha, detail)


def normal_test(
    name: str, scores: Floats, alpha: float, label: Callable[[int], str] = index_label
) -> TestOutcome:
    """Test in both directions that each score is standard normal. The detail names the most extreme score."""
    if scores.size == 0:
        raise ValueError(f"{name}: scores must not be empty.")
    worst = int(np.argmax(np.abs(scores)))
    p_value = min(1.0, 2.0 * float(special.ndtr(-abs(scores[worst]))) * scores.size)
    detail = (
        f"score {scores[worst]:.6g} at {label(worst)}, the largest of {scores.size}"
    )
    return TestOutcome(name, p_value, p_value <= alpha, detail)


def pair_scores(gram: Floats) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Return scores of all pairs of rows, and their rows i < j. Each score is N(0, 1) if rows are iid standard normal.

    For such rows ``<w_i, w_j> / ||w_i||`` is a projection of w_j on an independent direction, hence N(0, 1) for any
    length of the rows.
    """
    first, second = np.triu_indices(gram.shape[0], k=1)
    lengths = np.sqrt(np.diag(gram))[first]
    # A row of zeros has inner product 0 with all other rows. Its score is 0, and the
    # test of its length detects it.
    scores: Floats = gram[first, second] / np.where(lengths > 0.0, lengths, np.inf)
    return scores, first.astype(np.int64), second.astype(np.int64)


def opposite_signs_limit(values: int, alpha: float) -> int:
    """Return the largest k with ``2 P(at most k of values) <= alpha`` for independent rows, or -1 if there is none."""
    if 2.0 * special.bdtr(0, values, 0.5) > alpha:
        return -1
    limit = int(special.bdtrik(alpha / 2.0, values, 0.5))
    while 2.0 * special.bdtr(limit, values, 0.5) > alpha:
        limit -= 1
    while 2.0 * special.bdtr(limit + 1, values, 0.5) <= alpha:
        limit += 1
    return limit


def opposite_signs_test(
    name: str,
    opposite: NDArray[np.int64],
    values: int,
    alpha: float,
    label: Callable[[int], str] = index_label,
) -> TestOutcome:
    """Test in both directions that opposite signs of each pair are binomial, as for independent rows."""
    if opposite.size == 0:
        raise ValueError(f"{name}: opposite must not be empty.")
    worst = int(np.argmax(np.abs(2 * opposite - values)))
    fewer = int(min(opposite[worst], values - opposite[worst]))
    p_value = min(1.0, 2.0 * float(special.bdtr(fewer, values, 0.5)) * opposite.size)
    detail = (
        f"opposite signs in {int(opposite[worst])} of {values} values at {label(worst)}"
    )
    return TestOutcome(
        name,
        p_value,
        p_value <= alpha,
        f"{detail}, the most extreme of {opposite.size} pairs",
    )


def distribution_test(
    name: str, counts: NDArray[np.int64], cdf: Floats, alpha: float
) -> TestOutcome:
    """Test a law on a grid by the Dvoretzky-Kiefer-Wolfowitz band. Its level holds, because a grid shows less."""
    total = int(counts.sum())
    if total == 0:
        raise ValueError(f"{name}: counts must not all be zero.")
    distance = float(np.max(np.abs(np.cumsum(counts[:-1]) / total - cdf)))
    p_value = min(1.0, 2.0 * math.exp(-2.0 * total * distance**2))
    band = math.sqrt(math.log(2.0 / alpha) / (2.0 * total))
    detail = f"distance {distance:.3g} of the distribution functions, band {band:.3g}, {total} values"
    return TestOutcome(name, p_value, p_value <= alpha, detail)
