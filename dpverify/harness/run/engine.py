"""Run checks in this process or in several, with results that do not depend on the number of processes.

The parts of a check are joined in the order of its blocks. Few of these are under way at a time, to save memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, get_args

import msgspec
import numpy as np
from threadpoolctl import threadpool_limits

from dpverify.foreign import ForeignError, foreign_code, replacements
from dpverify.harness.admissible import reject_inadmissible
from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run.cluster import Cluster
from dpverify.harness.run.store import BlockCache
from dpverify.harness.run.task_pool import (
    Outcomes,
    grouped_by_check,
    run_in_pool,
    run_with_early_worker,
)
from dpverify.harness.run.tasks import STAGE_SEPARATOR, Job, Task, describe, run_task
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.records import Status
from dpverify.ledger.results import INTERRUPTED

MOST_BLOCKS = 1_000_000  # limit for one check


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    done: int  # finished blocks
    total: int
    label: str  # the check to which the last finished block belongs
    # result of that check, if this was its last block
    result: CheckResult | None = None
    compiling: float = 0.0  # core seconds so far in which kernels were compiled


ReportRun = Callable[[Progress], None]


@dataclass
class _RunningJob:
    """A job with its finished parts, which are joined in the order of the blocks."""

    job: Job
    blocks: int
    folded: int = 0
    total: Any = None
    seconds: float = 0.0
    error: str = ""
    waiting: dict[int, BlockOutcome] = field(default_factory=dict)
    result: CheckResult | None = None

    def add(self, block: int, outcome: BlockOutcome) -> None:
        """Add the outcome of a block, and finish after the last block."""
        self.waiting[block] = outcome
        while self.folded in self.waiting:
            ready = self.waiting.pop(self.folded)
            self.folded += 1
            self.seconds += ready.seconds
            self.error = self.error or ready.error
            if not self.error:
                with self._record_errors("fold"):
                    self.total = self.job.find().fold(self.total, ready.part)
        if self.folded == self.blocks:
            self.finish()

    def finish(self) -> None:
        """Convert the parts to a result."""
        if not self.error:
            with self._record_errors("finish"):
                check = self.job.find()
                context = self.job.context
                self.result = reject_inadmissible(
                    check,
                    context.statement,
                    _checked_type(check.finish(context, self.total)),
                )
        # an error of ours, never a verdict on the paper
        if self.result is None or self.error:
            self.result = _without_verdict(
                self.job, "inconclusive", f"error: {self.error}", self.error
            )
        self.result = msgspec.structs.replace(
            self.result, seconds=round(self.seconds, 3)
        )
        self.total = None

    def close(self) -> CheckResult:
        """Return the result, marked if the job was interrupted."""
        return self.result or _without_verdict(self.job, "inconclusive", INTERRUPTED)

    @contextmanager
    def _record_errors(self, stage: str) -> Iterator[None]:
        try:
            with foreign_code(f"{stage}{STAGE_SEPARATOR}{self.job.label}"):
                yield
        except ForeignError as error:  # as in run_task: it is this check's error
            self.error = describe(error.__cause__ or error)
        self.error = replacements() or self.error

    @classmethod
    def planned(
        cls, job: Job, known_results: Mapping[str, CheckResult | str]
    ) -> _RunningJob:
        """Plan a job. It is finished if it has no blocks, or if its result or error is known."""
        planned = cls(job, 0, result=_known_result(job, known_results))
        if planned.result is not None:
            return planned
        with planned._record_errors("plan"):
            if not job.is_due:
                planned.result = _without_verdict(job, "untested", job.find().runs_from)
                return planned
            planned.blocks = _counted(job.find().blocks(job.context))
        if planned.blocks == 0:
            planned.finish()
        return planned


def run_jobs(
    jobs: Sequence[Job],
    workers: int,
    progress: ReportRun | None = None,
    early: Executor | None = None,
    cache: BlockCache | None = None,
    cluster: Cluster | None = None,
    limit: float = 0.0,
    known_results: Mapping[str, CheckResult | str] | None = None,
) -> tuple[list[CheckResult], bool]:
    """Run checks in one or more processes. Return a result per job, in their order, and whether Ctrl-C ended the run.

    ``cache``: its blocks are not run again, and new blocks are stored in it. ``cluster``: runs the blocks instead of
    processes of this machine; its loss counts as Ctrl-C. ``limit``: time limit of a block in seconds, 0 for none. With
    a limit, blocks run only in worker processes, which are terminated at the limit. ``known_results``: results and
    errors of checks that are not run again, by their labels.
    """
    if workers < 1:
        raise ValueError(f"jobs must be at least 1, got jobs={workers}.")
    # the order of sums, and therefore the last digit, depends on the number of threads
    with threadpool_limits(1):
        running = [_RunningJob.planned(job, known_results or {}) for job in jobs]
        tasks = deque(
            sorted(_to_run(running, cache), key=lambda task: jobs[task[0]].rank)
        )
        total = len(tasks)
        run = (
            cluster.outcomes(list(jobs), tasks, limit)
            if cluster
            else _outcomes(list(jobs), tasks, workers, early, limit)
        )
        interrupted = False
        compiling = 0.0
        try:
            for done, ((place, block), outcome) in enumerate(run, 1):
                if cache is not None:
                    cache.save(place, block, outcome)
                running[place].add(block, outcome)
                compiling += outcome.compiling
                if progress is not None:
                    progress(
                        Progress(
                            done,
                            total,
                            jobs[place].label,
                            running[place].result,
                            compiling,
                        )
                    )
        except KeyboardInterrupt:
            interrupted = True
        finally:
            run.close()
    is_decided = all(
        running_job.result and not running_job.result.error for running_job in running
    )
    if (
        cache is not None
        and not cache.is_incomplete
        and not cache.store.failure
        and is_decided
    ):
        cache.whole = sum(running_job.blocks > 0 for running_job in running)
    return [running_job.close() for running_job in running], interrupted or bool(
        cluster and cluster.failure
    )


def stored_results(jobs: Sequence[Job], cache: BlockCache) -> list[CheckResult] | None:
    """Return the results of checks from stored blocks, or None if a block is missing."""
    with threadpool_limits(1):
        running = [_RunningJob.planned(job, {}) for job in jobs]
        missing = next(_to_run(running, cache), None)
    return [running_job.close() for running_job in running] if missing is None else None


def _counted(blocks: object) -> int:
    """Return a number of blocks, or raise a ValueError if it is invalid."""
    if not isinstance(blocks, int | np.integer) or not 0 <= blocks <= MOST_BLOCKS:
        raise ValueError(
            f"blocks must return a whole number from 0 to {MOST_BLOCKS}, got {blocks!r}."
        )
    return int(blocks)


def _checked_type(result: object) -> CheckResult:
    """Return the result of a check, or raise a TypeError if the object is not one."""
    if not isinstance(result, CheckResult) or result.status not in get_args(Status):
        raise TypeError(
            f"finish must return a CheckResult with a status, got {result!r}."
        )
    return result


def stopped(job: Job, known_results: Mapping[str, CheckResult | str]) -> CheckResult:
    """Return the known result of a check that is not run any more."""
    return _RunningJob(job, 0, result=_known_result(job, known_results)).close()


def _known_result(
    job: Job, known_results: Mapping[str, CheckResult | str]
) -> CheckResult | None:
    """Return the known result of a check, if any. A known error is an error of ours, never a verdict on the paper."""
    error = known_results.get(job.label)
    return (
        _without_verdict(job, "inconclusive", f"error: {error}", error)
        if isinstance(error, str)
        else error
    )


def _without_verdict(
    job: Job, status: Status, message: str, error: str = ""
) -> CheckResult:
    return CheckResult(
        name=job.check,
        method=job.find().method,
        status=status,
        message=message,
        error=error,
    )


def _to_run(running: Sequence[_RunningJob], cache: BlockCache | None) -> Iterator[Task]:
    """Yield the blocks that are not stored. Stored blocks are added to their jobs."""
    for place, running_job in enumerate(running):
        finished_blocks = (
            {}
            if cache is None or running_job.blocks == 0
            else cache.stored_blocks(place)
        )
        for block in range(running_job.blocks):
            if block in finished_blocks:
                running_job.add(block, finished_blocks[block])
            else:
                yield place, block
        if cache is not None:
            cache.reused += bool(finished_blocks) and running_job.result is not None


def _outcomes(
    jobs: list[Job],
    tasks: deque[Task],
    workers: int,
    early: Executor | None,
    limit: float,
) -> Outcomes:
    if workers > 1 or limit > 0.0:
        yield from run_in_pool(jobs, tasks, workers, limit)
    elif early is not None:
        yield from run_with_early_worker(jobs, grouped_by_check(jobs, tasks), early)
    else:
        for place, block in tasks:
            yield (place, block), run_task(jobs[place], block)
