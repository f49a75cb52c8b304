"""Whiten and sum a block of trajectories, one piece at a time, in the same small arrays.

Whitening divides trajectories by the factor of their covariance, in O(T) operations if the inverse is sparse. Row t of
the inverse predicts step t from earlier steps. For a tree it uses one earlier step, so that the row has two nonzero
entries. The entries come from the exact covariance, not from the tested kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special
from scipy.linalg import blas

from dpverify.harness.statistics.pieces import Floats, Pieces, parts_of
from dpverify.harness.statistics.trajectory_kernels import (
    AT_ONCE,
    WORD,
    Bits,
    count_opposite,
    count_opposite_coordinates,
    divide_sparse,
    spread_signs,
    sum_up,
    words_together,
)

Entries = tuple[NDArray[np.int64], NDArray[np.int64], Floats]

# entries of the inverse below this share of the
# largest in their row are rounding errors of 0
ROUNDING = 1e-13
SPARSE = 16  # a row of a sparse inverse has at most this many entries on average

_whitening_cache: list[tuple[Floats, Floats, Whitening]] = []


@dataclass(frozen=True)
class Whitening:
    """The factor that whitens trajectories of one covariance, and its sparse inverse."""

    factor: Floats  # lower Cholesky factor
    # the inverse by rows: starts, columns, values; None if it is not sparse
    entries: Entries | None

    def whiten(self, sample: Floats) -> Floats:
        """Return the trajectories divided by the factor; NaN if the trajectories are not finite."""
        self.check(sample)
        out = np.empty(sample.shape)
        self.whiten_into(np.ascontiguousarray(sample, dtype=np.float64), out)
        return out

    def whiten_into(self, sample: Floats, out: Floats) -> None:
        """Write the whitened values into ``out``. Both arrays are contiguous, of shape (n, T, d)."""
        if self.entries is None:
            out[:] = _solve(self.factor, sample)
        else:
            divide_sparse(*self.entries, sample, out)

    def step(self, sample: Floats, t: int) -> Floats:
        """Return one whitened step."""
        if self.entries is None:
            return self.whiten(sample)[:, t]
        starts, places, weights = self.entries
        row = slice(starts[t], starts[t + 1])
        whitened: Floats = np.tensordot(
            sample[:, places[row]], weights[row], axes=(1, 0)
        )
        return whitened

    def check(self, sample: Floats) -> None:
        """Raise a ValueError if a sample does not have the shape (n, T, d)."""
        steps = len(self.factor)
        if sample.ndim != 3 or sample.shape[1] != steps:
            raise ValueError(
                f"sample must have shape (n, {steps}, d), got sample.shape={sample.shape}."
            )


def whitening(covariance: Floats) -> Whitening:
    """Factor a covariance. The last two are cached, because all blocks of a check use the same covariance."""
    frozen = not covariance.flags.writeable
    for remembered, values, result in _whitening_cache:
        if (frozen and remembered is covariance) or np.array_equal(values, covariance):
            return result
    result = Whitening(factor := cholesky_factor(covariance), _sparse_inverse(factor))
    values = covariance.copy()
    _whitening_cache[:] = [
        (covariance if frozen else values, values, result),
        *_whitening_cache[:1],
    ]
    return result


def cholesky_factor(covariance: Floats) -> Floats:
    """Return the lower triangular matrix L for which ``L @ L.T`` is the covariance."""
    if (
        covariance.ndim != 2
        or covariance.shape[0] != covariance.shape[1]
        or covariance.shape[0] == 0
    ):
        raise ValueError(
            f"covariance must be a square matrix, got covariance.shape={covariance.shape}."
        )
    if not np.all(np.isfinite(covariance)):
        raise ValueError("covariance must be finite, got a NaN or an infinity.")
    if not np.allclose(covariance, covariance.T, rtol=1e-12, atol=0.0):
        raise ValueError("covariance must be symmetric.")
    try:
        factor: Floats = linalg.cholesky(covariance, lower=True)
    except linalg.LinAlgError as error:
        raise ValueError(f"covariance must be positive definite: {error}.") from error
    return factor


def _sparse_inverse(factor: Floats) -> Entries | None:
    inverse = linalg.solve_triangular(factor, np.eye(len(factor)), lower=True)
    present = np.abs(inverse) > ROUNDING * np.abs(inverse).max(axis=1, keepdims=True)
    np.fill_diagonal(present, True)
    if present.sum() > SPARSE * len(factor):
        return None
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return starts, np.nonzero(present)[1].astype(np.int64), inverse[present]


def _solve(factor: Floats, sample: Floats) -> Floats:
    """Divide trajectories by a factor whose inverse is dense."""
    n, steps, d = sample.shape
    rows = np.array(sample.transpose(1, 0, 2), dtype=np.float64, order="C").reshape(
        steps, n * d
    )
    # Solve the transpose of L W = X, because these arrays have BLAS's order. This
    # avoids a copy and is twice as fast.
    white: Floats = blas.dtrsm(
        1.0, np.ascontiguousarray(factor).T, rows.T, side=1, lower=0, overwrite_b=1
    ).T
    return white.reshape(steps, n, d).transpose(1, 0, 2)


Pairs: TypeAlias = Literal["products", "signs"]
"""How pairs of steps are compared: by inner products, or, many times faster, by how often their signs are opposite."""

GRID_END = 8.0
GRID_CELLS = 512
# where the marginal law is tested
GRID = np.linspace(-GRID_END, GRID_END, GRID_CELLS + 1)
GRID_CDF: Floats = special.ndtr(GRID)


@dataclass(frozen=True)
class TrajectoryStatistics:
    """Sums over n runs of T steps in d coordinates. Whitened values are iid N(0, 1) under the exact law."""

    n: int  # replications
    lengths: Floats  # sums of the squared whitened values over replications
    sums: Floats  # sums of the whitened values over replications
    # sums of the squared values before whitening, over replications and coordinates
    squares: Floats
    # inner products of the whitened steps, and of the whitened coordinates, summed over
    # everything else; None for signs
    gram: Floats | None
    coordinates: Floats | None
    # How often two whitened steps, or coordinates, have opposite signs; None if there
    # are inner products. The count of steps s < t, counted from 0, is at ``t (t - 1) /
    # 2 + s``, and likewise for coordinates.
    opposite: NDArray[np.int64] | None
    opposite_coordinates: NDArray[np.int64] | None
    # whitened values in each cell of the grid, from a share of the replications
    counts: NDArray[np.int64]

    def __add__(self, other: TrajectoryStatistics) -> TrajectoryStatistics:
        """Return the statistics of both blocks together."""
        pairs = {
            field.name: (getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)
        }
        joined: dict[str, Any] = {
            name: None if a is None or b is None else a + b
            for name, (a, b) in pairs.items()
        }
        return TrajectoryStatistics(**joined)


def simulated_variance(statistics: TrajectoryStatistics) -> list[float]:
    """Return the mean square of the trajectory at each step."""
    cells = statistics.n * statistics.sums.shape[1]
    return [value / cells for value in statistics.squares.tolist()]


NO_ENTRIES: Entries = (
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int64),
    np.empty(0),
)
NO_PRODUCTS = np.empty((0, 0))


def collect(
    by: Whitening,
    sample: NDArray[Any] | Pieces,
    *,
    pairs: Pairs = "products",
    share: float = 1.0,
) -> TrajectoryStatistics:
    """Whiten one block and return its sums."""
    sums: _Sums | None = None
    for part in parts_of(sample):
        by.check(part)
        if sums is None:
            sums = _Sums(by, part.shape[2], pairs, share)
        sums.add(np.ascontiguousarray(part, dtype=np.float64))
    if sums is None:
        raise ValueError("sample must hold at least 1 replication, got 0.")
    return sums.result()


class _Sums:
    """The sums of a block so far, and the memory for a piece."""

    def __init__(self, by: Whitening, d: int, pairs: Pairs, share: float) -> None:
        steps = len(by.factor)
        self.by = by
        self.steps = steps
        self.d = d
        self.share = share
        self.n = 0
        self.squares, self.sums, self.lengths = np.zeros((3, steps * d))
        self.counts = np.zeros(GRID.size + 1, dtype=np.int64)
        self.gram = _Gram(steps, d) if pairs == "products" else None
        self.signs = _Signs(steps, d)
        self.room = np.empty((0, steps, d))

    def add(self, part: Floats) -> None:
        """Add a piece, shape (n, T, d)."""
        if self.gram is not None:
            white = self._sum_up(part, self.gram.coordinates)
            self._check_squares()
            self.gram.add(white)
            return
        begin = 0
        while begin < len(part):
            end = begin + WORD - self.signs.used
            self._sum_up(part[begin:end], NO_PRODUCTS)
            self.signs.count_replications(min(end, len(part)) - begin)
            begin = end

    def _sum_up(self, part: Floats, coordinates: Floats) -> Floats:
        n = len(part)
        if len(self.room) < n:
            self.room = np.empty(part.shape)
        white = self.room[:n]
        entries = self.by.entries
        few = math.ceil(self.share * n)
        if entries is None:
            self.by.whiten_into(part, white)
        sums = (self.squares, self.sums, self.lengths)
        signs = (self.signs.used, self.signs.group)
        sum_up(
            *(entries or NO_ENTRIES),
            part,
            white,
            *sums,
            few,
            GRID_END,
            self.counts,
            coordinates,
            *signs,
        )
        self.n += n
        return white

    def _check_squares(self) -> None:
        """Raise a ValueError if a value is not finite, which makes a sum of squares not finite."""
        if not np.all(np.isfinite(self.squares)):
            raise ValueError(
                "sample must be finite, and its squares too, got a NaN or an infinity."
            )

    def result(self) -> TrajectoryStatistics:
        """Return the sums."""
        self._check_squares()
        if self.gram is None:
            self.signs.compare()
        return TrajectoryStatistics(
            n=self.n,
            lengths=self.lengths.reshape(self.steps, self.d),
            sums=self.sums.reshape(self.steps, self.d),
            squares=self.squares.reshape(self.steps, self.d).sum(axis=1),
            gram=None if self.gram is None else self.gram.total,
            coordinates=None if self.gram is None else self.gram.coordinates,
            opposite=None if self.gram is not None else self.signs.counts,
            opposite_coordinates=None
            if self.gram is not None
            else self.signs.coordinates,
            counts=self.counts,
        )


class _Gram:
    """Inner products of all pairs of steps, and of coordinates."""

    def __init__(self, steps: int, d: int) -> None:
        self.total, self.part = np.zeros((steps, steps)), np.empty((steps, steps))
        self.coordinates = np.zeros((d, d))
        self.room = np.empty((steps, 0))

    def add(self, white: Floats) -> None:
        """Add the inner products of a piece, shape (n, T, d)."""
        n, steps, d = white.shape
        if self.room.shape[1] != n * d:
            self.room = np.empty((steps, n * d))
        np.copyto(self.room.reshape(steps, n, d), white.transpose(1, 0, 2))
        np.matmul(self.room, self.room.T, out=self.part)
        self.total += self.part


class _Signs:
    """Opposite signs of all pairs of steps and of coordinates, counted when enough signs are gathered."""

    def __init__(self, steps: int, d: int) -> None:
        self.d = d
        self.used = 0
        self.words = 0
        self.counts = np.zeros(steps * (steps - 1) // 2, dtype=np.int64)
        self.coordinates = np.zeros(d * (d - 1) // 2, dtype=np.int64)
        self.group: Bits = np.zeros(steps * d, dtype=np.uint64)
        self.bits: Bits = np.zeros((words_together(d), steps), dtype=np.uint64)

    def count_replications(self, n: int) -> None:
        """Record n further replications in the group."""
        self.used += n
        if self.used == WORD:
            self._spread()
            if self.words + self.d > len(self.bits):
                self._count()

    def compare(self) -> None:
        """Compare the remaining signs."""
        self._spread()
        self._count()

    def _spread(self) -> None:
        count_opposite_coordinates(self.group, self.d, self.coordinates)
        spread_signs(self.group, self.words, self.bits)
        self.words = self.words + self.d
        self.used = 0

    def _count(self) -> None:
        count_opposite(self.bits, -(-self.words // AT_ONCE) * AT_ONCE, self.counts)
        self.bits[: self.words] = 0
        self.words = 0
