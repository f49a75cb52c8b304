"""Calling the mechanism under audit, and refusing what cannot be audited in one line."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpverify.foreign import ForeignError, foreign_code
from dpverify.privacy.audit.records import AuditError, Bits, Floats

Mechanism = Callable[..., Any]
Places: TypeAlias = NDArray[np.int64]

MOST_FLOATS = 1 << 25  # floats of the training rounds, at most: 256 MB, of which a few copies are made

BLOCK_FLOATS = 1 << 22  # floats of one block, at most

BLOCK_CALLS = 4096  # calls of one block, at most, where the mechanism returns one output per call


class Coins(NamedTuple):
    """On which data set each output of a block is drawn."""

    bits: Bits
    places: tuple[Places | slice, Places | slice]  # outputs on the first data set, and on the second

    def part(self, x: Floats) -> tuple[Floats, Floats]:
        """Part outputs by the data sets that they were drawn on."""
        low, high = (x[rows] if isinstance(rows, slice) else x.take(rows, axis=0) for rows in self.places)
        return low, high


def coins(bits: Bits) -> Coins:
    """Find the places once."""
    return Coins(bits, (np.flatnonzero(~bits), np.flatnonzero(bits)))  # a mask takes three times as long


def halves(size: int) -> Coins:
    """Draw the first half of a block on the first data set."""
    bits = np.zeros(size, dtype=np.bool_)
    bits[size // 2 :] = True
    return Coins(bits, (slice(size // 2), slice(size // 2, size)))


class Source:
    """A ``mechanism(dataset, rng)``, or one with a parameter ``size`` and so many independent rows, on a pair."""

    def __init__(self, mechanism: Mechanism, datasets: object) -> None:
        if not callable(mechanism):
            raise AuditError(f"mechanism: {_short(mechanism)}: must be a function (dataset, rng)")
        if not isinstance(datasets, (tuple, list)) or len(datasets) != 2:
            raise AuditError(f"datasets: {_short(datasets)}: must be a pair of neighbouring data sets")
        self.datasets: tuple[Any, Any] = (datasets[0], datasets[1])
        self.batched = takes_size(mechanism)
        self.shape: tuple[int, ...] | None = None
        self.calls = 0
        self._mechanism = mechanism
        self._kept = copy.deepcopy(self.datasets)

    @property
    def dimension(self) -> int:
        """Numbers in an output; 0 before the first call."""
        return 0 if self.shape is None else math.prod(self.shape)

    def draw(self, coins: Coins, rng: Generator) -> Floats:
        """Run the mechanism once per coin, on the data set that it says; the outputs, flattened, in that order."""
        out = self._draw_batches(coins, rng) if self.batched else self._draw_calls(coins.bits, rng)
        self._check_datasets()
        return out

    def _draw_calls(self, bits: Bits, rng: Generator) -> Floats:
        out: Floats | None = None
        for i, bit in enumerate(bits.tolist()):
            value = self._call(int(bit), rng, {})
            if self.shape is None:
                self.shape = _checked_shape(value.shape)
            if value.shape != self.shape:
                raise self._changed(value.shape, int(bit))
            if out is None:
                out = np.empty((len(bits), self.dimension))
            out[i] = value.reshape(-1)
        if out is None:
            return np.empty((0, self.dimension))
        if not np.isfinite(out).all():
            bad = int(np.argmin(np.isfinite(out).all(axis=1)))
            raise _not_finite(out[bad], self.calls - len(bits) + bad + 1, int(bits[bad]))
        return out

    def _draw_batches(self, coins: Coins, rng: Generator) -> Floats:
        out: Floats | None = None
        for which, rows in enumerate(coins.places):
            size = rows.stop - (rows.start or 0) if isinstance(rows, slice) else int(rows.size)
            if size == 0:
                continue
            values = self._batch(which, size, rng)
            if out is None:
                out = np.empty((len(coins.bits), self.dimension))
            if out.shape[1] == 1:
                out[:, 0][rows] = values[:, 0]  # in half the time
            else:
                out[rows] = values
        return np.empty((0, self.dimension)) if out is None else out

    def _batch(self, which: int, size: int, rng: Generator) -> Floats:
        """Call once for many outputs, shape (size, d)."""
        value = self._call(which, rng, {"size": size})
        if value.ndim == 0 or value.shape[0] != size:
            raise AuditError(
                f"mechanism: returned an array of shape {value.shape} for size={size} on data set {which}: "
                "its first axis must be the size"
            )
        if self.shape is None:
            self.shape = _checked_shape(value.shape[1:])
        if value.shape[1:] != self.shape:
            raise self._changed(value.shape[1:], which)
        values = value.reshape(size, -1).astype(np.float64, copy=False)
        if not np.isfinite(values).all():
            raise _not_finite(values[int(np.argmin(np.isfinite(values).all(axis=1)))], self.calls, which)
        return values

    def _check_datasets(self) -> None:
        """Refuse a mechanism that has changed its data sets."""
        for before, now in zip(self._kept, self.datasets, strict=True):
            if not _same(before, now):
                raise AuditError("mechanism: changes its data set in place: must leave it as it is")

    def _call(self, which: int, rng: Generator, extra: dict[str, int]) -> NDArray[Any]:
        self.calls += 1
        try:
            with foreign_code("mechanism"):
                value = np.asarray(self._mechanism(self.datasets[which], rng, **extra))
        except ForeignError as error:
            raise AuditError(f"mechanism: {error.reason} (call {self.calls}, data set {which})") from error
        if value.dtype.kind not in "fiub":
            text = _short(value.tolist())
            raise AuditError(f"mechanism: returned {text} (call {self.calls}, data set {which}): must be real numbers")
        return value

    def _changed(self, shape: tuple[int, ...], which: int) -> AuditError:
        return AuditError(
            f"mechanism: returned an output of shape {shape} (call {self.calls}, data set {which}) after one of shape "
            f"{self.shape}: must not change its shape"
        )


def takes_size(mechanism: Mechanism) -> bool:
    """Whether a mechanism has a parameter named ``size``."""
    if type(mechanism) is FunctionType and not mechanism.__dict__:  # else it may be wrapped
        code = mechanism.__code__
        return "size" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    try:
        return "size" in inspect.signature(mechanism).parameters
    except (TypeError, ValueError):
        return False


def _checked_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    if 0 in shape:
        raise AuditError(f"mechanism: returned an output of shape {shape}: must not be empty")
    return shape


def _not_finite(row: Floats, call: int, which: int) -> AuditError:
    value = row[int(np.argmin(np.isfinite(row)))]
    return AuditError(f"mechanism: returned {value} (call {call}, data set {which}): must be finite")


def _same(before: object, now: object) -> bool:
    try:
        if isinstance(before, np.ndarray) and isinstance(now, np.ndarray):
            return np.array_equal(before, now) or (
                before.dtype.kind in "fc" and np.array_equal(before, now, equal_nan=True)  # takes ten times as long
            )
        if isinstance(before, (tuple, list)) and isinstance(now, (tuple, list)):
            return len(before) == len(now) and all(map(_same, before, now))
        if isinstance(before, (int, float, str, bytes)):
            return type(before) is type(now) and (before == now or before != before)  # noqa: PLR0124 NaN is not itself
    except (TypeError, ValueError):
        return True
    return True  # nothing is known of other types


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
