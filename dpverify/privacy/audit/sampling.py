"""Calls of the mechanism under audit, in blocks. A mechanism that cannot be audited raises an AuditError.

Each block has its own random generators: its outputs depend only on the seed and the number of the block. So blocks may
be drawn anywhere and in any order, and the finished blocks of an interrupted audit need not be drawn again.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

from dpverify.foreign import ForeignError, foreign_code
from dpverify.privacy.audit.records import AuditError, Bits, Floats

Mechanism = Callable[..., Any]
Places: TypeAlias = NDArray[np.int64]

# most floats of the training rounds: 256 MB, of which a few copies are made
MOST_FLOATS = 1 << 25

BLOCK_FLOATS = 1 << 22  # most floats of one block

# most calls of one block, if the mechanism returns one output per call
BLOCK_CALLS = 4096


class Coins(NamedTuple):
    """The data set on which each output of a block is drawn."""

    bits: Bits
    # indices of outputs on the first data set, and on the second
    places: tuple[Places | slice, Places | slice]

    def part(self, x: Floats) -> tuple[Floats, Floats]:
        """Split outputs by the data sets on which they were drawn."""
        low, high = (
            x[rows] if isinstance(rows, slice) else x.take(rows, axis=0)
            for rows in self.places
        )
        return low, high


def coins(bits: Bits) -> Coins:
    """Return coins with the indices of both data sets."""
    # indexing by a mask would take three times as long
    return Coins(bits, (np.flatnonzero(~bits), np.flatnonzero(bits)))


def halves(size: int) -> Coins:
    """Return coins that draw the first half of a block on the first data set, and the second half on the second."""
    bits = np.zeros(size, dtype=np.bool_)
    bits[size // 2 :] = True
    return Coins(bits, (slice(size // 2), slice(size // 2, size)))


class Source:
    """A mechanism with its pair of data sets.

    The mechanism is ``mechanism(dataset, rng)``, or ``mechanism(dataset, rng, size)`` with ``size`` independent rows.
    """

    def __init__(self, mechanism: Mechanism, datasets: object) -> None:
        if not callable(mechanism):
            raise AuditError(
                f"mechanism: {_short(mechanism)}: must be a function (dataset, rng)"
            )
        if not isinstance(datasets, (tuple, list)) or len(datasets) != 2:
            raise AuditError(
                f"datasets: {_short(datasets)}: must be a pair of neighbouring data sets"
            )
        self.datasets: tuple[Any, Any] = (datasets[0], datasets[1])
        self.batched = takes_size(mechanism)
        self.shape: tuple[int, ...] | None = None
        self.calls = 0
        self._mechanism = mechanism
        self._original_datasets = copy.deepcopy(self.datasets)

    @property
    def dimension(self) -> int:
        """Size of an output; 0 before the first call."""
        return 0 if self.shape is None else math.prod(self.shape)

    def draw(self, coins: Coins, rng: Generator) -> Floats:
        """Run the mechanism once per coin, on the data set of that coin; return the flattened outputs in that order."""
        out = (
            self._draw_batches(coins, rng)
            if self.batched
            else self._draw_calls(coins.bits, rng)
        )
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
            first_bad = int(np.argmin(np.isfinite(out).all(axis=1)))
            raise _not_finite(
                out[first_bad],
                self.calls - len(bits) + first_bad + 1,
                int(bits[first_bad]),
            )
        return out

    def _draw_batches(self, coins: Coins, rng: Generator) -> Floats:
        out: Floats | None = None
        for index, rows in enumerate(coins.places):
            size = (
                rows.stop - (rows.start or 0)
                if isinstance(rows, slice)
                else int(rows.size)
            )
            if size == 0:
                continue
            values = self._batch(index, size, rng)
            if out is None:
                out = np.empty((len(coins.bits), self.dimension))
            if out.shape[1] == 1:
                # takes half the time of the general case
                out[:, 0][rows] = values[:, 0]
            else:
                out[rows] = values
        return np.empty((0, self.dimension)) if out is None else out

    def _batch(self, index: int, size: int, rng: Generator) -> Floats:
        """Call the mechanism once for many outputs, shape (size, d)."""
        value = self._call(index, rng, {"size": size})
        if value.ndim == 0 or value.shape[0] != size:
            raise AuditError(
                f"mechanism: returned an array of shape {value.shape} for size={size} on data set {index}: "
                "its first axis must be the size"
            )
        if self.shape is None:
            self.shape = _checked_shape(value.shape[1:])
        if value.shape[1:] != self.shape:
            raise self._changed(value.shape[1:], index)
        values = value.reshape(size, -1).astype(np.float64, copy=False)
        if not np.isfinite(values).all():
            raise _not_finite(
                values[int(np.argmin(np.isfinite(values).all(axis=1)))],
                self.calls,
                index,
            )
        return values

    def _check_datasets(self) -> None:
        """Raise an AuditError if the mechanism has changed its data sets."""
        for before, now in zip(self._original_datasets, self.datasets, strict=True):
            if not _same(before, now):
                raise AuditError(
                    "mechanism: changes its data set in place: must leave it as it is"
                )

    def _call(self, index: int, rng: Generator, extra: dict[str, int]) -> NDArray[Any]:
        self.calls += 1
        try:
            with foreign_code("mechanism"):
                value = np.asarray(self._mechanism(self.datasets[index], rng, **extra))
        except ForeignError as error:
            raise AuditError(
                f"mechanism: {error.reason} (call {self.calls}, data set {index})"
            ) from error
        if value.dtype.kind not in "fiub":
            text = _short(value.tolist())
            raise AuditError(
                f"mechanism: returned {text} (call {self.calls}, data set {index}): must be real numbers"
            )
        return value

    def _changed(self, shape: tuple[int, ...], index: int) -> AuditError:
        return AuditError(
            f"mechanism: returned an output of shape {shape} (call {self.calls}, data set {index}) after one of shape "
            f"{self.shape}: must not change its shape"
        )


def takes_size(mechanism: Mechanism) -> bool:
    """Return whether a mechanism has a parameter named ``size``."""
    # otherwise it may be wrapped
    if type(mechanism) is FunctionType and not mechanism.__dict__:
        code = mechanism.__code__
        return "size" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    try:
        return "size" in inspect.signature(mechanism).parameters
    except (TypeError, ValueError):
        return False


def _checked_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    if 0 in shape:
        raise AuditError(
            f"mechanism: returned an output of shape {shape}: must not be empty"
        )
    return shape


def _not_finite(row: Floats, call: int, index: int) -> AuditError:
    value = row[int(np.argmin(np.isfinite(row)))]
    return AuditError(
        f"mechanism: returned {value} (call {call}, data set {index}): must be finite"
    )


def _same(before: object, now: object) -> bool:
    try:
        if isinstance(before, np.ndarray) and isinstance(now, np.ndarray):
            return np.array_equal(before, now) or (
                # takes ten times as long
                before.dtype.kind in "fc"
                and np.array_equal(before, now, equal_nan=True)
            )
        if isinstance(before, (tuple, list)) and isinstance(now, (tuple, list)):
            return len(before) == len(now) and all(map(_same, before, now))
        if isinstance(before, (int, float, str, bytes)):
            return type(before) is type(now) and (before == now or before != before)  # noqa: PLR0124 NaN is not itself
    except (TypeError, ValueError):
        return True
    return True  # values of other types are not compared


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


OUTPUTS, COINS, PROBE = range(3)  # random streams of a seed

BlockRunner = Callable[["Draws", int], Iterable[tuple[int, Floats]]]
"""``pieces(draws, count)``: yields ``count`` blocks of draws with their indices, in any order."""


class AuditBackend(NamedTuple):
    """An execution backend for the blocks of an audit; without one they are drawn in this process, in order."""

    pieces: BlockRunner
    # identifies mechanism, data sets and code, so that
    # stored blocks of other audits are not reused
    request_key: str
    # returns mechanism and data sets in another process; can be pickled
    origin: Callable[[], tuple[Any, Any]]


class Draws:
    """Blocks of outputs on the two data sets.

    With ``pairs`` each block has equally many outputs on both data sets; otherwise a coin chooses the data set of each.
    """

    label = "an audit"
    terms = ()
    parts = ()

    def __init__(
        self,
        source: Source,
        seed: int,
        backend: AuditBackend | None = None,
        *,
        pairs: bool = False,
    ) -> None:
        self.source = source
        self.seed = seed
        self.pairs = pairs
        self.sizes: tuple[int, ...] = ()
        self._backend = backend
        self._origin = None if backend is None else backend.origin
        self._cached_coins: tuple[tuple[int, int], Coins] | None = None

    @property
    def request_key(self) -> str:
        """Key of the draws in a store of blocks."""
        mechanism = "" if self._backend is None else self._backend.request_key
        return f"audit {mechanism} seed {self.seed} {'pairs' if self.pairs else 'coins'} {self.sizes}"

    def __getstate__(self) -> dict[str, object]:
        """Return the state for another process, which obtains mechanism and data sets by itself."""
        return {
            "seed": self.seed,
            "pairs": self.pairs,
            "sizes": self.sizes,
            "origin": self._origin,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Obtain mechanism and data sets; ``origin`` is kept because a worker may start its own processes."""
        self.seed = state["seed"]
        self.pairs = state["pairs"]
        self.sizes = state["sizes"]
        self._origin = state["origin"]
        self.source = Source(*self._origin())
        self._backend = None
        self._cached_coins = None

    def rng(self, stream: int, block: int = 0) -> Generator:
        """Return the random generator of a block."""
        return Generator(PCG64(SeedSequence(self.seed, spawn_key=(stream, block))))

    def probe(self) -> None:
        """Call the mechanism once on each data set to learn the shape of an output; the outputs are not used."""
        self.source.draw(halves(2), self.rng(PROBE))

    def coins(self, block: int) -> Coins:
        """Return the data set of each output of a block; the last result is cached."""
        size = self.sizes[block]
        if self._cached_coins is None or self._cached_coins[0] != (block, size):
            if self.pairs and self.source.batched:
                sides = halves(size)
            elif self.pairs:
                sides = coins(self.rng(COINS, block).permutation(size) >= size // 2)
            else:
                sides = coins(self.rng(COINS, block).random(size) < 0.5)
            self._cached_coins = (block, size), sides
        return self._cached_coins[1]

    def run(self, block: int) -> Floats:
        """Draw a block, shape (size, d)."""
        return self.source.draw(self.coins(block), self.rng(OUTPUTS, block))

    def drawn(self, sizes: Iterable[int]) -> Iterator[tuple[Floats, Coins]]:
        """Yield blocks of these sizes with their coins, in order."""
        self.sizes = tuple(sizes)
        run_blocks = _run_in_order if self._backend is None else self._backend.pieces
        pending = dict[int, Floats]()
        next_block = 0
        for block, x in run_blocks(self, len(self.sizes)):
            if x.shape != (self.sizes[block], self.source.dimension):
                raise AuditError(
                    f"mechanism: returned outputs of shape {x.shape[1:]}: must not change its shape"
                )
            pending[block] = x
            while next_block in pending:
                yield pending.pop(next_block), self.coins(next_block)
                next_block += 1


def _run_in_order(draws: Draws, blocks: int) -> Iterator[tuple[int, Floats]]:
    for block in range(blocks):
        yield block, draws.run(block)


def chunks(total: int, size: int) -> list[int]:
    """Return the sizes of the blocks of at most ``size`` that make up ``total`` outputs."""
    return [min(size, total - begin) for begin in range(0, total, size)]
