"""Rules: when a score says "first data set", "second data set" or nothing. Chosen on training rounds only."""

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

GRID = np.linspace(0.0, 1.0, 48)  # powers of the number of rounds beyond which thresholds are tried, on each side

PRIOR = 300.0  # rounds that the calibrated score is worth against the count of right guesses beyond a threshold

DOUBT = (
    1.0  # standard errors that are taken off the share of right guesses which is hoped for: the best of many is lucky
)

BELIEVED = 1e-5  # chance of the counts under the calibrated score below which that score counts for less

FURTHEST = 20  # rounds at each end whose scores the calibration draws in

CAUTION = 1.0  # standard errors by which a calibrated chance is drawn towards one half

BEND = 30.0  # how many rounds it takes to bend the calibration away from a straight line


class AuditRule(NamedTuple):
    """Two thresholds on a score."""

    first: float  # the rule says "first" where the score is at most ``first``, "second" where it is at least ``second``
    second: float
    expected: float  # the bound that the training rounds promise, of no meaning for the confidence

    def guess(self, score: Floats, bits: Bits) -> tuple[int, int]:
        """Count right and wrong guesses."""
        second = score >= self.second
        first = score <= self.first
        guessed = int(np.count_nonzero(second)) + int(np.count_nonzero(first))
        right = int(np.count_nonzero(second & bits)) + int(np.count_nonzero(first & ~bits))
        return right, guessed - right


def choose_rule(
    score: Floats, rows: Rows, rounds: int, trials: int, delta: float, alpha: float, sure: float
) -> AuditRule:
    """Choose the thresholds with the largest expected bound; a rule that never guesses where there is nothing to gain.

    ``score`` of each row of ``rows``, of so many ``rounds``. Counts alone, at the level ``sure``, are too few in the
    tails: they and the calibrated score judge together.
    """
    groups = grouped(score, rows.zeros, rows.ones)
    if len(groups.low) < 2:
        return AuditRule(-np.inf, np.inf, 0.0)
    totals = groups.zeros + groups.ones
    likely = totals * calibrated(groups.mean, groups.zeros, groups.ones)
    # guesses, guesses of the second data set, and how many of these are likely right: below each group and the end
    table = np.zeros((3, len(totals) + 1))
    np.cumsum(np.stack([totals, groups.ones, likely]), axis=1, out=table[:, 1:])
    total = table[0, -1]
    sizes = table[0, -1] ** GRID
    # where "second" begins, and where "first" has ended; the last of each: never
    up = _different(np.searchsorted(table[0, 1:-1], total - sizes, "right"), len(totals))
    down = _different(np.searchsorted(table[0, 1:-1], sizes) + 1, 0)
    beyond, (guesses, second, hoped) = table[:, -1:] - table[:, up], table[:, down]
    sides = _Sides(*np.concatenate([beyond, np.stack([guesses, guesses - second, guesses - hoped])], axis=1))
    seconds = np.append(groups.low, np.inf)[up]
    firsts = np.append(-np.inf, groups.high)[down]

    # one row per threshold for "second", one column per threshold for "first"
    def pairs(values: Floats) -> Floats:
        sums: Floats = np.add.outer(values[: len(up)], values[len(up) :])
        return sums

    guesses = pairs(sides.guesses)
    right = pairs(sides.right)
    hoped = pairs(sides.guesses * sides.share())
    each = trials / rounds
    # counts alone are for a rare leak, of which the model knows nothing
    by_score = nearly_lower_epsilon(hoped * each, (guesses - hoped) * each, trials, delta, alpha)
    by_count = nearly_lower_epsilon(right, guesses - right, rounds, delta, sure)
    nearly = np.where(firsts >= seconds[:, None], -1.0, np.maximum(by_score, by_count))
    i, j = divmod(int(nearly.argmax()), len(down))
    if by_score[i, j] >= by_count[i, j]:
        hope = hoped[i, j]
        bound = float(lower_epsilon(hope * each, (guesses[i, j] - hope) * each, trials, delta, alpha))
    else:
        bound = float(lower_epsilon(right[i, j], guesses[i, j] - right[i, j], rounds, delta, sure))
    return AuditRule(float(firsts[j]), float(seconds[i]), bound) if bound > 0.0 else AuditRule(-np.inf, np.inf, 0.0)


def _different(places: NDArray[np.int64], never: int) -> NDArray[np.int64]:
    """Drop repetitions from places in order, and append another."""
    different: NDArray[np.int64] = places[np.append(True, places[1:] != places[:-1])]
    return np.append(different, never)


class _Sides(NamedTuple):
    """Guesses beyond each threshold, of one side and then of the other, in training rounds."""

    guesses: Floats
    right: Floats
    likely: Floats  # right ones, as the calibrated score has it

    def share(self) -> Floats:
        """Share of right guesses that may be hoped for, each side by itself: a few right ones alone are luck."""
        prior = PRIOR * _agreement(self.guesses - self.right, self.guesses - self.likely)
        expected = self.right + prior * self.likely / np.maximum(self.guesses, 1.0)
        share = expected / (self.guesses + prior + 0.5)  # half a wrong guess is spare
        error = np.sqrt(share * (1.0 - share) / (self.guesses + prior + 0.5))
        result: Floats = share - DOUBT * error
        return result


def _agreement(wrong: Floats, expected: Floats) -> Floats:
    """From 1 to 0: whether wrong guesses are as many as a model expects, or too few, by the tail of Poisson's law."""
    result: Floats = np.minimum(1.0, special.pdtr(wrong, np.maximum(expected, 1e-9)) / BELIEVED)
    return result


def calibrated(score: Floats, zeros: Floats, ones: Floats) -> Floats:
    """Chance of the second data set at each score, cautiously: logistic regression on a line with four bends.

    ``score`` ascends and was seen so often on each data set. Its few furthest values count as the next ones: nothing is
    known beyond.
    """
    totals = zeros + ones
    total = float(totals.sum())
    before = np.cumsum(totals)
    ends = min(FURTHEST, total // 50)
    low, high = (
        score[min(int(np.searchsorted(before, at, "right")), len(score) - 1)] for at in (ends, total - ends - 1)
    )
    clipped = np.minimum(np.maximum(score, max(-12.0, low)), min(12.0, high))
    mean = float(totals @ clipped) / total
    z = (clipped - mean) / (math.sqrt(float(totals @ (clipped - mean) ** 2) / total) + 1e-300)
    bends = z[np.minimum(np.searchsorted(before, total * np.array([0.03, 0.2, 0.8, 0.97])), len(z) - 1)]
    beyond = z - bends[:, None]
    columns = [np.ones((1, len(z))), z[None], np.minimum(beyond[:2], 0.0), np.maximum(beyond[2:], 0.0)]
    table = np.concatenate(columns).T
    penalty = np.array([0.01, 0.01, BEND, BEND, BEND, BEND])
    weights, curvature = fitted(table, zeros, ones, penalty)
    logit = table @ weights
    error = np.sqrt(np.einsum("ij,ij->i", table @ np.linalg.inv(curvature), table))
    result: Floats = special.expit(np.sign(logit) * np.maximum(np.abs(logit) - CAUTION * error, 0.0))
    return result
