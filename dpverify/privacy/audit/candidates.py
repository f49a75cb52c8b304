"""Candidate models of guessing rules: their inputs and scores, and tables of the values that occur on each data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.foreign import ForeignError, foreign_code
from dpverify.privacy.audit.groups import Rows
from dpverify.privacy.audit.records import AuditError, Bits, Floats
from dpverify.privacy.audit.scores import (
    Score,
    bent,
    diagonal,
    distance,
    linear,
    quadratic,
    shares,
    smooth,
    trees,
)

Key = Callable[[Floats], Floats]


class Learner(NamedTuple):
    """A way to learn a score."""

    name: str  # description, such as "linear discriminant"
    learn: Callable[[Rows], Score]
    # Whether learning from twice as many rounds gives the same
    # score up to estimation errors. Otherwise thresholds for scores
    # from half of the rounds are not valid for other scores.
    steady: bool = True
    # the keys that a table looks up, for a table that detects rare events
    key: Key | None = None
    # Whether learning is so slow that only one model is learned, on the first half,
    # with thresholds from the second half. Otherwise each half has a model, and the
    # thresholds come from the scores that it gives to the other half.
    slow: bool = False

    @property
    def rare(self) -> bool:
        """Whether the model learns from all training rounds, however many."""
        return self.key is not None


def cells(ordered: Floats, widths: Sequence[float]) -> list[Key]:
    """Return functions that map outputs to small cells, to detect nearly exact releases; see :func:`table`.

    ``ordered`` holds the sorted coordinates, shape (d, m).
    """
    places = np.array([0.25, 0.5, 0.75]) * (ordered.shape[1] - 1)
    below = places.astype(np.int64)
    before = ordered[:, below]
    after = ordered[:, np.minimum(below + 1, ordered.shape[1] - 1)]
    lower, shift, upper = (before + (after - before) * (places - below)).T

    def of(width: float) -> Key:
        step = np.where(upper > lower, (upper - lower) * width, 1.0)
        return lambda y: np.floor(np.clip((y - shift) / step, -1e15, 1e15))

    return [of(width) for width in widths]


def table(rows: Rows, key: Key) -> Score:
    """Learn which keys occur on which data set; the score is the largest log ratio of the keys, 0 for a new key."""
    keys = key(rows.x)
    balance = max(1.0, float(rows.ones.sum())) / max(1.0, float(rows.zeros.sum()))
    tables: list[tuple[Floats, Floats]] = []
    for j in range(keys.shape[1]):
        values, where = np.unique(keys[:, j], return_inverse=True)
        counts_of_one, zero = (
            np.bincount(where, weights, len(values))
            for weights in (rows.ones, rows.zeros)
        )
        tables.append((values, np.log((counts_of_one + 0.5) / (zero * balance + 0.5))))

    def score(y: Floats) -> Floats:
        best = np.zeros(len(y))
        looked_up = key(y)
        for j, (values, odds) in enumerate(tables):
            place = np.minimum(
                np.searchsorted(values, looked_up[:, j]), len(values) - 1
            )
            log_ratios = np.where(values[place] == looked_up[:, j], odds[place], 0.0)
            best = np.where(np.abs(log_ratios) > np.abs(best), log_ratios, best)
        return best

    return score


UserScore = Callable[[Floats], object]

MIN_TREE_ROUNDS, MAX_TREE_DIMENSION = 1000, 64
"""Smallest number of training rounds in each half, and largest size of an output, for which trees are tried."""

MAX_BENT_DIMENSION = 4  # largest size of an output for which bent lines are tried

SEARCHED_COORDINATES, TABLE_COORDINATES = 256, 16
"""Largest number of coordinates that are searched for repeated values, and that a table uses."""

WIDTHS = (2.0**-10, 2.0**-20)  # widths of cells, in units of the interquartile range


class View(NamedTuple):
    """The input of a rule in a round: the output, optionally with the residual of the previous round's output."""

    # Mean output on each data set, if the previous round is an input. Then only every
    # second round is judged, so that judged rounds share no outputs.
    means: tuple[Floats, Floats] | None = None
    first: int = 0  # index at which the first pair of rounds starts: 0 or 1

    def rounds(self, x: Floats, b: Bits) -> tuple[Floats, Bits]:
        """Return the inputs of the rule and the coins of the judged rounds."""
        if self.means is None:
            return x, b
        end = self.first + 2 * ((len(b) - self.first) // 2)
        before = slice(self.first, end, 2)
        now = slice(self.first + 1, end, 2)
        residual = x[before] - np.where(b[before, None], self.means[1], self.means[0])
        return np.concatenate([x[now], residual], axis=1), b[now]


def candidates(
    x: Floats,
    b: Bits,
    serial: bool,
    user: UserScore | None,
    ordered: Floats | None = None,
) -> Iterator[tuple[View, Learner]]:
    """Yield the models with their inputs, simple ones first.

    ``serial``: whether each round is a separate call, so that noise may depend on the previous call. ``ordered``: the
    result of :func:`in_order`, if it is already known.
    """
    if user is not None:
        yield View(), Learner("the score that was given", lambda *_: validated(user))
        return
    m, d = x.shape
    yield View(), Learner("linear discriminant", linear)
    if d <= MAX_BENT_DIMENSION:
        yield View(), Learner("bent lines in each coordinate", bent)
    if d > 1:
        yield (
            View(),
            Learner("quadratic discriminant of independent coordinates", diagonal),
        )
    yield View(), Learner("distance from the common mean", distance)
    yield View(), Learner("quadratic discriminant", quadratic)
    if d > 1:
        yield View(), Learner("shares between quantiles", shares)
    else:
        yield View(), Learner("smoothed shares", smooth)
    ordered = sorted_coordinates(x) if ordered is None else ordered
    repeated = repeating_coordinates(ordered)
    if repeated.size:
        yield View(), _table("values seen before", lambda y: y[:, repeated])
    if d <= TABLE_COORDINATES:
        for key in cells(ordered, WIDTHS):
            yield View(), _table("small cells", key)
    if serial:
        means = x[~b].mean(axis=0), x[b].mean(axis=0)
        for first in (0, 1):
            yield (
                View(means, first),
                Learner(
                    "linear discriminant with the output of the call before", linear
                ),
            )
    if m // 2 >= MIN_TREE_ROUNDS and 1 < d <= MAX_TREE_DIMENSION:
        yield View(), Learner("boosted trees", trees, steady=False, slow=True)


def sorted_coordinates(x: Floats) -> Floats:
    """Return the examined coordinates, each sorted, shape (d, m)."""
    return np.sort(x[:, :SEARCHED_COORDINATES].T, axis=1)


def repeating_coordinates(ordered: Floats) -> NDArray[np.int64]:
    """Return the coordinates in which a value repeats, most repetitive first; ``ordered`` is from :func:`in_order`."""
    repeats = np.count_nonzero(ordered[:, 1:] == ordered[:, :-1], axis=1)
    order = np.argsort(-repeats, kind="stable")[:TABLE_COORDINATES]
    coordinates: NDArray[np.int64] = order[repeats[order] > 0].astype(np.int64)
    return coordinates


def validated(user: UserScore) -> Score:
    """Wrap a user's score so that an invalid result raises an AuditError."""

    def score(y: Floats) -> Floats:
        try:
            with foreign_code("score"):
                value = np.asarray(user(y), dtype=np.float64)
        except ForeignError as error:
            raise AuditError(f"score: {error.reason}") from error
        if value.shape != (len(y),):
            raise AuditError(
                f"score: returned shape {value.shape} for {len(y)} outputs: must be one number for each"
            )
        if np.isnan(value).any():
            raise AuditError("score: returned nan: must be a number")
        return value

    return score


def _table(name: str, key: Key) -> Learner:
    return Learner(name, partial(table, key=key), steady=False, key=key)
