"""Guessing rules: thresholds that turn a score into "first data set", "second data set" or no guess.

Thresholds are chosen on training rounds only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpverify.privacy.audit.counting import lower_epsilon, nearly_lower_epsilon
from dpverify.privacy.audit.groups import Rows, grouped
from dpverify.privacy.audit.records import Bits, Floats
from dpverify.privacy.audit.scores import fitted

# exponents e: thresholds are tried at ``rounds**e`` rounds from each end
GRID = np.linspace(0.0, 1.0, 48)

# weight, in rounds, of the calibrated score against
# the count of right guesses beyond a threshold
PRIOR_ROUNDS = 300.0

SUBTRACTED_ERRORS = (
    # standard errors subtracted from the expected fraction of right guesses, because
    # the best of many thresholds is lucky
    1.0
)

# probability of the counts under the calibrated
# score below which that score gets less weight
MIN_PROBABILITY = 1e-5

CLIPPED_ROUNDS = 20  # rounds at each end whose scores are clipped for the calibration

# standard errors by which a calibrated probability is moved towards one half
CAUTION = 1.0

# penalty on each bend of the calibration, comparable to a number of rounds
BEND_PENALTY = 30.0


class AuditRule(NamedTuple):
    """Two thresholds on a score."""

    # the guess is "first" if the score is at most ``first``, and "second" if it is at
    # least ``second``
    first: float
    second: float
    # expected bound from the training rounds; it does not affect the confidence
    expected: float

    def guess(self, score: Floats, bits: Bits) -> tuple[int, int]:
        """Return the numbers of right and wrong guesses."""
        second = score >= self.second
        first = score <= self.first
        guessed = int(np.count_nonzero(second)) + int(np.count_nonzero(first))
        right = int(np.count_nonzero(second & bits)) + int(
            np.count_nonzero(first & ~bits)
        )
        return right, guessed - right


def choose_rule(
    score: Floats,
    rows: Rows,
    rounds: int,
    trials: int,
    delta: float,
    alpha: float,
    count_level: float,
) -> AuditRule:
    """Choose the thresholds with the largest expected bound; if none is above 0, return a rule that never guesses.

    ``score`` holds a number per row of ``rows``, and ``rounds`` is the number of rounds. In the tails, counts alone are
    too few. The bound is therefore estimated from the calibrated score, and from counts at the level ``count_level``.
    """
    groups = grouped(score, rows.zeros, rows.ones)
    if len(groups.low) < 2:
        return AuditRule(-np.inf, np.inf, 0.0)
    totals = groups.zeros + groups.ones
    likely = totals * calibrated(groups.mean, groups.zeros, groups.ones)
    # guesses, guesses of the second data set, and expected right guesses of the latter:
    # below each group and the end
    table = np.zeros((3, len(totals) + 1))
    np.cumsum(np.stack([totals, groups.ones, likely]), axis=1, out=table[:, 1:])
    total = table[0, -1]
    sizes = table[0, -1] ** GRID
    # index at which "second" starts, and index at which "first" has ended; the last of
    # each means never
    second_starts = _distinct_places(
        np.searchsorted(table[0, 1:-1], total - sizes, "right"), len(totals)
    )
    first_ends = _distinct_places(np.searchsorted(table[0, 1:-1], sizes) + 1, 0)
    beyond, (guesses, second, expected) = (
        table[:, -1:] - table[:, second_starts],
        table[:, first_ends],
    )
    sides = _Sides(
        *np.concatenate(
            [beyond, np.stack([guesses, guesses - second, guesses - expected])], axis=1
        )
    )
    seconds = np.append(groups.low, np.inf)[second_starts]
    firsts = np.append(-np.inf, groups.high)[first_ends]

    # one row per threshold for "second", one column per threshold for "first"
    def pairs(values: Floats) -> Floats:
        sums: Floats = np.add.outer(
            values[: len(second_starts)], values[len(second_starts) :]
        )
        return sums

    guesses = pairs(sides.guesses)
    right = pairs(sides.right)
    expected = pairs(sides.guesses * sides.share())
    ratio = trials / rounds
    # counts alone detect a rare leak, which the model does not know
    by_score = nearly_lower_epsilon(
        expected * ratio, (guesses - expected) * ratio, trials, delta, alpha
    )
    by_count = nearly_lower_epsilon(right, guesses - right, rounds, delta, count_level)
    approximate_bounds = np.where(
        firsts >= seconds[:, None], -1.0, np.maximum(by_score, by_count)
    )
    i, j = divmod(int(approximate_bounds.argmax()), len(first_ends))
    if by_score[i, j] >= by_count[i, j]:
        best = expected[i, j]
        bound = float(
            lower_epsilon(
                best * ratio, (guesses[i, j] - best) * ratio, trials, delta, alpha
            )
        )
    else:
        bound = float(
            lower_epsilon(
                right[i, j], guesses[i, j] - right[i, j], rounds, delta, count_level
            )
        )
    return (
        AuditRule(float(firsts[j]), float(seconds[i]), bound)
        if bound > 0.0
        else AuditRule(-np.inf, np.inf, 0.0)
    )


def _distinct_places(places: NDArray[np.int64], never: int) -> NDArray[np.int64]:
    """Return sorted places without repetitions, with ``never`` appended."""
    distinct: NDArray[np.int64] = places[np.append(True, places[1:] != places[:-1])]
    return np.append(distinct, never)


class _Sides(NamedTuple):
    """Training-round guesses beyond each threshold: those for "second", then those for "first"."""

    guesses: Floats
    right: Floats
    likely: Floats  # right guesses according to the calibrated score

    def share(self) -> Floats:
        """Return a cautious expected fraction of right guesses, for each side separately.

        A few right guesses alone may be luck.
        """
        prior = PRIOR_ROUNDS * _agreement(
            self.guesses - self.right, self.guesses - self.likely
        )
        expected = self.right + prior * self.likely / np.maximum(self.guesses, 1.0)
        share = expected / (self.guesses + prior + 0.5)  # adds half a wrong guess
        error = np.sqrt(share * (1.0 - share) / (self.guesses + prior + 0.5))
        result: Floats = share - SUBTRACTED_ERRORS * error
        return result


def _agreement(wrong: Floats, expected: Floats) -> Floats:
    """Return a weight from 1 to 0: small if wrong guesses are improbably few for the model, by a Poisson tail."""
    result: Floats = np.minimum(
        1.0, special.pdtr(wrong, np.maximum(expected, 1e-9)) / MIN_PROBABILITY
    )
    return result


def calibrated(score: Floats, zeros: Floats, ones: Floats) -> Floats:
    """Return a cautious probability of the second data set at each score.

    The probability is from a logistic regression on a piecewise linear function of the score with four bends, and is
    moved towards one half. ``score`` is ascending, and ``zeros`` and ``ones`` count its occurrences on each data set.
    The outermost scores are clipped to the next ones, because the data say nothing beyond.
    """
    totals = zeros + ones
    total = float(totals.sum())
    before = np.cumsum(totals)
    ends = min(CLIPPED_ROUNDS, total // 50)
    low, high = (
        score[min(int(np.searchsorted(before, at, "right")), len(score) - 1)]
        for at in (ends, total - ends - 1)
    )
    clipped = np.minimum(np.maximum(score, max(-12.0, low)), min(12.0, high))
    mean = float(totals @ clipped) / total
    z = (clipped - mean) / (
        math.sqrt(float(totals @ (clipped - mean) ** 2) / total) + 1e-300
    )
    bends = z[
        np.minimum(
            np.searchsorted(before, total * np.array([0.03, 0.2, 0.8, 0.97])),
            len(z) - 1,
        )
    ]
    beyond = z - bends[:, None]
    columns = [
        np.ones((1, len(z))),
        z[None],
        np.minimum(beyond[:2], 0.0),
        np.maximum(beyond[2:], 0.0),
    ]
    table = np.concatenate(columns).T
    penalty = np.array(
        [0.01, 0.01, BEND_PENALTY, BEND_PENALTY, BEND_PENALTY, BEND_PENALTY]
    )
    weights, curvature = fitted(table, zeros, ones, penalty)
    logit = table @ weights
    error = np.sqrt(np.einsum("ij,ij->i", table @ np.linalg.inv(curvature), table))
    result: Floats = special.expit(
        np.sign(logit) * np.maximum(np.abs(logit) - CAUTION * error, 0.0)
    )
    return result
