"""Execution of long commands other than verify: independent pieces of work, in this process or on a cluster, cached.

The result of a piece depends only on the request and the number of the piece. Stored and new pieces therefore give the
same result, bit for bit, as one uninterrupted run, and no piece counts twice.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run.cluster import Cluster, fingerprint
from dpverify.harness.run.store import BlockCache, Storable, Store
from dpverify.harness.run.task_pool import DIED, Outcomes
from dpverify.harness.run.tasks import Runnable, Task
from dpverify.kernels.check import ArgumentError
from dpverify.shared_types import ReportProgress


class Work(Storable, Runnable, Protocol):
    """Work that is divided into pieces."""


@dataclass
class Backend:
    """Execution backend with a result cache. By default pieces run in this process, without a cache."""

    store: Store | None = None
    cluster: Cluster | None = None
    fresh: bool = False  # ignore stored results
    min_seconds: float = 0.0  # results of pieces that took less are not stored
    temporary: bool = False  # delete the stored results when all pieces are finished
    # time limit of a piece on the cluster, in
    # seconds, in a process of its own; 0 for no limit
    limit: float = 0.0
    reused: int = 0  # number of pieces whose stored results were used
    stale: bool = False  # whether the only stored results are from other code

    def outcomes(self, work: Work, pieces: int) -> Iterator[tuple[int, Any]]:
        """Yield number and result of each piece: first the stored ones, in their order, then the others as they finish.

        If the cluster is lost, raises KeyboardInterrupt, as for Ctrl-C. The error of a piece is raised here.
        """
        cache = (
            None
            if self.store is None
            else BlockCache(self.store, [work], [fingerprint()["code"]], self.fresh)
        )
        finished_pieces = {} if cache is None else cache.stored_blocks(0)
        self.stale |= cache is not None and cache.stale > 0
        tasks = deque[Task]()
        for piece in range(pieces):
            if piece in finished_pieces:
                self.reused += 1
                yield piece, finished_pieces[piece].part
            else:
                tasks.append((0, piece))
        run = (
            _run_locally(work, tasks)
            if self.cluster is None
            else self.cluster.outcomes([work], tasks, self.limit)
        )
        with threadpool_limits(1):  # the last digit depends on the number of threads
            for (_, piece), outcome_of_run in run:
                outcome = self._confirmed(work, piece, outcome_of_run)
                if cache is not None and outcome.seconds >= self.min_seconds:
                    cache.save(0, piece, outcome)
                yield piece, outcome.part
        if self.cluster is not None and self.cluster.failure:
            raise KeyboardInterrupt
        if self.temporary and self.store is not None and not self.store.failure:
            self.store.drop([work])

    def run(
        self,
        work: Work,
        pieces: int,
        label: Callable[[int, Any], str],
        report: ReportProgress | None = None,
    ) -> tuple[dict[int, Any], bool]:
        """Run pieces; after Ctrl-C, or if the cluster was lost, return the finished ones and True."""
        finished = dict[int, Any]()
        try:
            for number, part in self.outcomes(work, pieces):
                finished[number] = part
                if report is not None:
                    report(len(finished), pieces, label(number, part))
        except KeyboardInterrupt:
            return finished, True
        return finished, False

    def _confirmed(self, work: Work, piece: int, outcome: BlockOutcome) -> BlockOutcome:
        """Run a piece that failed on a worker again in this process, so that its error is raised here."""
        if not outcome.error:
            return outcome
        if self.cluster is not None and outcome.error == DIED:
            times = "" if self.limit > 0.0 else ", four times"
            raise ArgumentError(
                "cluster", self.cluster.address, f"must run {work.label}: {DIED}{times}"
            )
        if self.cluster is not None and 0.0 < self.limit <= outcome.seconds:
            rule = f"must run each block of {work.label} within {self.limit:g} s"
            raise ArgumentError("cluster", self.cluster.address, rule)
        return BlockOutcome(work.run(piece), outcome.seconds)

    def words(self) -> list[str]:
        """Return messages for the user about lost clusters and stored results, one per line."""
        sentences = []
        if self.cluster is not None and self.cluster.failure:
            sentences.append(self.cluster.failure)
        if self.store is not None and self.store.failure:
            sentences.append(f"the run went on without its store: {self.store.failure}")
        if self.reused:
            sentences.append(
                f"{self.reused} pieces of the work were taken from the store; --fresh does all anew"
            )
        elif self.stale:
            sentences.append(
                "what the store has of this was made by other code: it is stale, and all was done anew"
            )
        return sentences


def _run_locally(work: Work, tasks: deque[Task]) -> Outcomes:
    for task in tasks:
        begin = time.perf_counter()
        part = work.run(task[1])
        yield task, BlockOutcome(part, time.perf_counter() - begin)
