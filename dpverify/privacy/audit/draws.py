"""The outputs of an audit in blocks, each with generators of its own: what one holds hangs on the seed and its number.

So blocks may be drawn anywhere and in any order, and those of an audit that was ended need not be drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from numpy.random import PCG64, Generator, SeedSequence

from dpverify.privacy.audit.records import AuditError, Floats
from dpverify.privacy.audit.sampling import Coins, Source, coins, halves

OUTPUTS, COINS, PROBE = range(3)  # streams of a seed

Pieces = Callable[["Draws", int], Iterable[tuple[int, Floats]]]
"""Runs so many blocks of draws, in any order."""


class Elsewhere(NamedTuple):
    """Where the blocks of an audit are drawn, if not here one after the other."""

    pieces: Pieces
    asked: str  # mechanism, data sets and code, so that no block of others is taken for one of these
    origin: Callable[[], tuple[Any, Any]]  # gives mechanism and data sets in another process; it can be pickled


class Draws:
    """Blocks of outputs; ``pairs``: equally many on both data sets, else a coin decides for each."""

    label = "an audit"
    terms = ()
    parts = ()

    def __init__(self, source: Source, seed: int, elsewhere: Elsewhere | None = None, *, pairs: bool = False) -> None:
        self.source = source
        self.seed = seed
        self.pairs = pairs
        self.sizes: tuple[int, ...] = ()
        self._elsewhere = elsewhere
        self._origin = None if elsewhere is None else elsewhere.origin
        self._said: tuple[tuple[int, int], Coins] | None = None

    @property
    def asked(self) -> str:
        """What is drawn, for a store of blocks."""
        mechanism = "" if self._elsewhere is None else self._elsewhere.asked
        return f"audit {mechanism} seed {self.seed} {'pairs' if self.pairs else 'coins'} {self.sizes}"

    def __getstate__(self) -> dict[str, object]:
        """For another process, which finds mechanism and data sets itself."""
        return {"seed": self.seed, "pairs": self.pairs, "sizes": self.sizes, "origin": self._origin}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Find mechanism and data sets; a worker may pass this on to a process of its own."""
        self.seed = state["seed"]
        self.pairs = state["pairs"]
        self.sizes = state["sizes"]
        self._origin = state["origin"]
        self.source = Source(*self._origin())
        self._elsewhere = None
        self._said = None

    def rng(self, stream: int, block: int = 0) -> Generator:
        """Give the generator of a block."""
        return Generator(PCG64(SeedSequence(self.seed, spawn_key=(stream, block))))

    def probe(self) -> None:
        """Call once on each data set, so that the shape of an output is known; the outputs are not used."""
        self.source.draw(halves(2), self.rng(PROBE))

    def coins(self, block: int) -> Coins:
        """Say on which data set each output of a block is drawn; the last answer is kept."""
        size = self.sizes[block]
        if self._said is None or self._said[0] != (block, size):
            if self.pairs and self.source.batched:
                sides = halves(size)
            elif self.pairs:
                sides = coins(self.rng(COINS, block).permutation(size) >= size // 2)
            else:
                sides = coins(self.rng(COINS, block).random(size) < 0.5)
            self._said = (block, size), sides
        return self._said[1]

    def run(self, block: int) -> Floats:
        """Draw a block, shape (size, d)."""
        return self.source.draw(self.coins(block), self.rng(OUTPUTS, block))

    def drawn(self, sizes: Iterable[int]) -> Iterator[tuple[Floats, Coins]]:
        """Draw blocks of these sizes, in their order."""
        self.sizes = tuple(sizes)
        pieces = _here if self._elsewhere is None else self._elsewhere.pieces
        waiting = dict[int, Floats]()
        turn = 0
        for block, x in pieces(self, len(self.sizes)):
            if x.shape != (self.sizes[block], self.source.dimension):
                raise AuditError(f"mechanism: returned outputs of shape {x.shape[1:]}: must not change its shape")
            waiting[block] = x
            while turn in waiting:
                yield waiting.pop(turn), self.coins(turn)
                turn += 1


def _here(draws: Draws, blocks: int) -> Iterator[tuple[int, Floats]]:
    for block in range(blocks):
        yield block, draws.run(block)


def chunks(total: int, size: int) -> list[int]:
    """Cut a number of outputs into blocks."""
    return [min(size, total - begin) for begin in range(0, total, size)]
