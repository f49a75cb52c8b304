"""Rules: when a score says "first data set", "second data set" or nothing. Chosen on training rounds only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from dpverify.privacy.audit.counting import lower_epsilon
from dpverify.privacy.audit.logistic import fitted
from dpverify.privacy.audit.records import Bits, Floats

GRID = 48  # thresholds tried on each side

PRIOR = 300.0  # rounds that the calibrated score is worth against the count of right guesses beyond a threshold

BELIEVED = 1e-5  # chance of the counts under the calibrated score below which that score counts for less

FURTHEST = 20  # rounds at each end whose scores the calibration draws in

CAUTION = 1.0  # standard errors by which a calibrated chance is drawn towards one half

BEND = 30.0  # how many rounds it takes to bend the calibration away from a straight line


class AuditRule(NamedTuple):
    """Two thresholds on a score."""

    first: float  # the rule says "first" where the score is at most ``first``, "second" where it is at least ``second``
    second: float
    expected: float  # the bound that the training rounds promise; an estimate, of no meaning for the confidence

    def guess(self, score: Floats, bits: Bits) -> tuple[int, int]:
        """Count right and wrong guesses."""
        second, first = score >= self.second, score <= self.first
        guessed = int(np.count_nonzero(second)) + int(np.count_nonzero(first))
        right = int(np.count_nonzero(second & bits)) + int(np.count_nonzero(first & ~bits))
        return right, guessed - right


def choose_rule(score: Floats, bits: Bits, trials: int, delta: float, alpha: float, sure: float) -> AuditRule:
    """Choose the thresholds with the largest expected bound; a rule that never guesses where there is nothing to gain.

    Counts alone, at the level ``sure``, are too few in the tails: they and the calibrated score judge together.
    """
    m = len(score)
    if m < 2 or float(score.min()) == float(score.max()):
        return AuditRule(-np.inf, np.inf, 0.0)
    order = np.argsort(score, kind="stable")
    score, bits = score[order], bits[order]
    ones = np.concatenate([[0.0], np.cumsum(bits)])
    likely = np.concatenate([[0.0], np.cumsum(calibrated(score, bits))])
    sizes = np.unique(np.round(np.geomspace(1, m, GRID)).astype(np.int64))
    seconds, firsts = score[m - sizes], score[sizes - 1]
    up, down = np.searchsorted(score, seconds, "left"), np.searchsorted(score, firsts, "right")

    sides = (
        _Side((m - up).astype(np.float64), ones[-1] - ones[up], likely[-1] - likely[up]),
        _Side(down.astype(np.float64), down - ones[down], down - likely[down]),
    )

    # one row per threshold for "second", one column per threshold for "first"; the last of each: never
    def both(upper: Floats, lower: Floats) -> Floats:
        table: Floats = np.append(upper, 0.0)[:, None] + np.append(lower, 0.0)[None, :]
        return table

    guesses, right = both(*(side.guesses for side in sides)), both(*(side.right for side in sides))
    hoped = both(*(side.guesses * side.share() for side in sides)) * (trials / m)
    bound = np.maximum(
        lower_epsilon(hoped, guesses * (trials / m) - hoped, trials, delta, alpha),
        lower_epsilon(right, guesses - right, m, delta, sure),  # a rare leak, of which the model knows nothing
    )
    seconds, firsts = np.append(seconds, np.inf), np.append(firsts, -np.inf)
    bound = np.where(firsts[None, :] < seconds[:, None], bound, -1.0)
    i, j = np.unravel_index(int(bound.argmax()), bound.shape)
    if not bound[i, j] > 0.0:
        return AuditRule(-np.inf, np.inf, 0.0)
    return AuditRule(float(firsts[j]), float(seconds[i]), float(bound[i, j]))


class _Side(NamedTuple):
    """Guesses beyond each threshold on one side, in training rounds."""

    guesses: Floats
    right: Floats
    likely: Floats  # right ones, as the calibrated score has it

    def share(self) -> Floats:
        """Share of right guesses that may be hoped for, each side by itself: a few right ones alone are luck."""
        prior = PRIOR * _agreement(self.guesses - self.right, self.guesses - self.likely)
        expected = self.right + prior * self.likely / np.maximum(self.guesses, 1.0)
        result: Floats = expected / (self.guesses + prior + 0.5)  # half a wrong guess is spare
        return result


def _agreement(wrong: Floats, expected: Floats) -> Floats:
    """From 1 to 0: whether wrong guesses are as many as a model expects, or too few, by the tail of Poisson's law."""
    result: Floats = np.minimum(1.0, special.pdtr(wrong, np.maximum(expected, 1e-9)) / BELIEVED)
    return result


def calibrated(score: Floats, bits: Bits) -> Floats:
    """Chance of the second data set at each score, cautiously: logistic regression on a line with four bends.

    ``score`` is sorted. Its few furthest values count as the next ones: nothing is known beyond.
    """
    ends = min(FURTHEST, len(score) // 50)
    clipped = np.clip(score, max(-12.0, score[ends]), min(12.0, score[-1 - ends]))
    z = (clipped - clipped.mean()) / (clipped.std() + 1e-300)
    bends = np.quantile(z, [0.03, 0.2, 0.8, 0.97])
    columns = [
        np.ones_like(z),
        z,
        *(np.minimum(z - k, 0.0) for k in bends[:2]),
        *(np.maximum(z - k, 0.0) for k in bends[2:]),
    ]
    table = np.stack(columns, axis=1)
    penalty = np.array([0.01, 0.01, BEND, BEND, BEND, BEND])
    weights, curvature = fitted(table, bits, penalty)
    logit = table @ weights
    error = np.sqrt(np.einsum("ij,ij->i", table @ np.linalg.inv(curvature), table))
    result: Floats = special.expit(np.sign(logit) * np.maximum(np.abs(logit) - CAUTION * error, 0.0))
    return result
