"""Long commands besides verify, in pieces that do not depend on each other: run here or on a cluster, and kept.

What a piece gives follows from what is asked and its number, so that pieces which are taken from the store, whoever ran
them, and pieces that are run now make the same whole, bit for bit, as one run that nothing ended; none counts twice.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from dpverify.harness.finished.block_outcome import BlockOutcome
from dpverify.harness.run.cluster import Cluster, fingerprint
from dpverify.harness.run.store import Keepable, KeptBlocks, Store
from dpverify.harness.run.task_pool import DIED, Outcomes
from dpverify.harness.run.tasks import Runnable, Task
from dpverify.kernels.check import ArgumentError


class Work(Keepable, Runnable, Protocol):
    """Work in pieces."""


@dataclass
class Means:
    """Where pieces are run and where they are kept; by default here, and nowhere."""

    store: Store | None = None
    cluster: Cluster | None = None
    fresh: bool = False  # take nothing from the store
    least: float = 0.0  # seconds of a piece below which it is done again rather than kept
    passing: bool = False  # whether pieces are kept only until all are done: a later run is to be a new one
    limit: float = 0.0  # seconds that a piece may take on the cluster, in a process of its own; 0 for none
    taken: int = 0  # pieces that were there already
    stale: bool = False  # whether there were pieces by other code only

    def outcomes(self, work: Work, pieces: int) -> Iterator[tuple[int, Any]]:
        """Give number and part of each piece: those that are kept first, in their order, then the others as they end.

        Where the cluster is lost it ends as by Ctrl-C, with a KeyboardInterrupt. An error of a piece is raised here.
        """
        kept_blocks = (
            None if self.store is None else KeptBlocks(self.store, [work], [fingerprint()["code"]], self.fresh)
        )
        finished_pieces = {} if kept_blocks is None else kept_blocks.found(0)
        self.stale |= kept_blocks is not None and kept_blocks.stale > 0
        tasks = deque[Task]()
        for piece in range(pieces):
            if piece in finished_pieces:
                self.taken += 1
                yield piece, finished_pieces[piece].part
            else:
                tasks.append((0, piece))
        run = _here(work, tasks) if self.cluster is None else self.cluster.outcomes([work], tasks, self.limit)
        with threadpool_limits(1):  # the last digit depends on the number of threads
            for (_, piece), outcome_of_run in run:
                outcome = self._sound(work, piece, outcome_of_run)
                if kept_blocks is not None and outcome.seconds >= self.least:
                    kept_blocks.keep(0, piece, outcome)
                yield piece, outcome.part
        if self.cluster is not None and self.cluster.failure:
            raise KeyboardInterrupt
        if self.passing and self.store is not None and not self.store.failure:
            self.store.drop([work])

    def _sound(self, work: Work, piece: int, outcome: BlockOutcome) -> BlockOutcome:
        """Run a piece here that failed on a worker, so that its error is the same as in one process."""
        if not outcome.error:
            return outcome
        if self.cluster is not None and outcome.error == DIED:
            times = "" if self.limit > 0.0 else ", four times"
            raise ArgumentError("cluster", self.cluster.address, f"must run {work.label}: {DIED}{times}")
        if self.cluster is not None and 0.0 < self.limit <= outcome.seconds:
            rule = f"must run each block of {work.label} within {self.limit:g} s"
            raise ArgumentError("cluster", self.cluster.address, rule)
        return BlockOutcome(work.run(piece), outcome.seconds)

    def words(self) -> list[str]:
        """Say what a person should know of them, a line each, once all is done."""
        sentences = []
        if self.cluster is not None and self.cluster.failure:
            sentences.append(self.cluster.failure)
        if self.store is not None and self.store.failure:
            sentences.append(f"the run went on without its store: {self.store.failure}")
        if self.taken:
            sentences.append(f"{self.taken} pieces of the work were taken from the store; --fresh does all anew")
        elif self.stale:
            sentences.append("what the store has of this was made by other code: it is stale, and all was done anew")
        return sentences


def _here(work: Work, tasks: deque[Task]) -> Outcomes:
    for task in tasks:
        begin = time.perf_counter()
        part = work.run(task[1])
        yield task, BlockOutcome(part, time.perf_counter() - begin)
