"""The models that compete for a rule, and what they see of a round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.foreign import ForeignError, foreign_code
from dpverify.privacy.audit.records import AuditError, Bits, Floats
from dpverify.privacy.audit.scores import (
    Key,
    Learner,
    Score,
    bent,
    cells,
    diagonal,
    distance,
    linear,
    quadratic,
    shares,
    smooth,
    table,
    trees,
)

UserScore = Callable[[Floats], object]

TREE_LEAST, TREE_DIMENSION = 1000, 64
"""Training rounds in each half from which, and numbers in an output up to which, trees are tried."""

BENT_DIMENSION = 4  # numbers in an output up to which bent lines are tried

LOOKED_AT, KEPT = 256, 16
"""Coordinates in which repeated values are looked for, and with which a table is made, at most."""

WIDTHS = (2.0**-10, 2.0**-20)  # widths of cells, in units of the distance between the quartiles


class View(NamedTuple):
    """What a rule sees of a round: its output, or also the residual of the round before."""

    # mean output on each data set, where the round before is seen; only every second round is then judged, so that
    # judged rounds share nothing
    means: tuple[Floats, Floats] | None = None
    first: int = 0  # where the first pair of rounds begins: 0 or 1

    def rounds(self, x: Floats, b: Bits) -> tuple[Floats, Bits]:
        """Turn outputs and coins into what is judged."""
        if self.means is None:
            return x, b
        end = self.first + 2 * ((len(b) - self.first) // 2)
        before = slice(self.first, end, 2)
        now = slice(self.first + 1, end, 2)
        residual = x[before] - np.where(b[before, None], self.means[1], self.means[0])
        return np.concatenate([x[now], residual], axis=1), b[now]


def candidates(
    x: Floats, b: Bits, serial: bool, user: UserScore | None, ordered: Floats | None = None
) -> Iterator[tuple[View, Learner]]:
    """List the models, simple ones first; ``serial``: whether rounds are calls, so that one may tell of the next.

    ``ordered``: each coordinate in its order, as of :func:`in_order`, where that is there.
    """
    if user is not None:
        yield View(), Learner("the score that was given", lambda *_: checked(user))
        return
    m, d = x.shape
    yield View(), Learner("linear discriminant", linear)
    if d <= BENT_DIMENSION:
        yield View(), Learner("bent lines in each coordinate", bent)
    if d > 1:
        yield View(), Learner("quadratic discriminant of independent coordinates", diagonal)
    yield View(), Learner("distance from the common mean", distance)
    yield View(), Learner("quadratic discriminant", quadratic)
    if d > 1:
        yield View(), Learner("shares between quantiles", shares)
    else:
        yield View(), Learner("smoothed shares", smooth)
    ordered = in_order(x) if ordered is None else ordered
    repeated = repeating(ordered)
    if repeated.size:
        yield View(), _table("values seen before", lambda y: y[:, repeated])
    if d <= KEPT:
        for key in cells(ordered, WIDTHS):
            yield View(), _table("small cells", key)
    if serial:
        means = x[~b].mean(axis=0), x[b].mean(axis=0)
        for first in (0, 1):
            yield View(means, first), Learner("linear discriminant with the output of the call before", linear)
    if m // 2 >= TREE_LEAST and 1 < d <= TREE_DIMENSION:
        yield View(), Learner("boosted trees", trees, steady=False, slow=True)


def in_order(x: Floats) -> Floats:
    """Sort each coordinate that is looked at by itself: shape (d, m)."""
    return np.sort(x[:, :LOOKED_AT].T, axis=1)


def repeating(ordered: Floats) -> NDArray[np.int64]:
    """Coordinates in which some value occurs twice, the most repetitive first; each is in order, (d, m)."""
    repeats = np.count_nonzero(ordered[:, 1:] == ordered[:, :-1], axis=1)
    order = np.argsort(-repeats, kind="stable")[:KEPT]
    coordinates: NDArray[np.int64] = order[repeats[order] > 0].astype(np.int64)
    return coordinates


def checked(user: UserScore) -> Score:
    """Wrap a user's score so that what it returns is refused in one line where it is no score."""

    def score(y: Floats) -> Floats:
        try:
            with foreign_code("score"):
                value = np.asarray(user(y), dtype=np.float64)
        except ForeignError as error:
            raise AuditError(f"score: {error.reason}") from error
        if value.shape != (len(y),):
            raise AuditError(f"score: returned shape {value.shape} for {len(y)} outputs: must be one number for each")
        if np.isnan(value).any():
            raise AuditError("score: returned nan: must be a number")
        return value

    return score


def _table(name: str, key: Key) -> Learner:
    return Learner(name, partial(table, key=key), steady=False, key=key)
