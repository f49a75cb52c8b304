"""Run checks in this process or in several, with results that do not depend on how many there are.

Parts of a check are joined in the order of its blocks, and only a few blocks are under way at a time, so that memory
grows neither with the number of blocks nor with that of checks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dpverify.harness.run.task_pair import run_beside
from dpverify.harness.run.task_pool import Outcomes, Task, run_in_pool
from dpverify.harness.run.tasks import BlockOutcome, Job, describe, run_task, single_threaded
from dpverify.ledger.results import CheckResult

INTERRUPTED = "interrupted before it was decided"


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    done, total : int
        Blocks.
    label : str
        The check whose block was last to end.
    """

    done: int
    total: int
    label: str


Report = Callable[[Progress], None]


@dataclass
class _Desk:
    """Where the parts of one job come together."""

    job: Job
    blocks: int
    folded: int = 0
    total: Any = None
    seconds: float = 0.0
    error: str = ""
    waiting: dict[int, BlockOutcome] = field(default_factory=dict)
    result: CheckResult | None = None

    def take(self, block: int, outcome: BlockOutcome) -> None:
        """Take in the outcome of a block; finish after the last."""
        self.waiting[block] = outcome
        while self.folded in self.waiting:
            ready = self.waiting.pop(self.folded)
            self.folded += 1
            self.seconds += ready.seconds
            self.error = self.error or ready.error
            if not self.error:
                self._guarded(lambda: self._fold(ready.part))  # noqa: B023  called at once, in this turn of the loop
        if self.folded == self.blocks:
            self.finish()

    def _fold(self, part: Any) -> None:
        self.total = self.job.find().fold(self.total, part)

    def finish(self) -> None:
        """Turn the parts into a result."""
        if not self.error:
            self._guarded(self._finish)
        if self.result is None or self.error:
            self.result = failed(self.job, self.error)
        self.result = msgspec.structs.replace(self.result, seconds=round(self.seconds, 3))
        self.total = None

    def _finish(self) -> None:
        self.result = self.job.find().finish(self.job.context, self.total)

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001  as in run_task: it is this check's error
            self.error = describe(error)


def failed(job: Job, error: str) -> CheckResult:
    """Result of a check that broke: inconclusive, with the error text.

    An error of ours, never a verdict on the paper.
    """
    return CheckResult(
        name=job.check, method=job.find().method, status="inconclusive", message=f"error: {error}", error=error
    )


def not_due(job: Job) -> CheckResult:
    """Result of a check that runs in larger budgets only."""
    check = job.find()
    return CheckResult(name=job.check, method=check.method, status="untested", message=check.runs_from)


def run_jobs(
    jobs: Sequence[Job], workers: int, progress: Report | None = None, beside: Executor | None = None
) -> tuple[list[CheckResult], bool]:
    """Run checks.

    One per job, in their order; the same for any number of workers. Whether Ctrl-C came first; what was not decided by
    then is inconclusive.
    """
    if workers < 1:
        raise ValueError(f"jobs must be at least 1, got jobs={workers}.")
    with single_threaded():
        desks = [_open(job) for job in jobs]
        opened = [desk.job for desk in desks]
        tasks = deque((place, block) for place, desk in enumerate(desks) for block in range(desk.blocks))
        total = len(tasks)
        if workers > 1:
            run = run_in_pool(opened, tasks, workers)
        else:
            run = _run_here(opened, tasks) if beside is None else run_beside(opened, tasks, beside)
        interrupted = False
        try:
            for done, (place, block, outcome) in enumerate(run, 1):
                desks[place].take(block, outcome)
                if progress is not None:
                    progress(Progress(done, total, desks[place].job.label))
        except KeyboardInterrupt:
            interrupted = True
        finally:
            run.close()
    return [_close(desk) for desk in desks], interrupted


def _open(job: Job) -> _Desk:
    try:
        if not job.due:
            return _Desk(job, 0, result=not_due(job))
        desk = _Desk(job, job.find().blocks(job.context))
    except Exception as error:  # noqa: BLE001  as in run_task: a plan that cannot be made is this check's error
        desk = _Desk(job, 0, error=describe(error))
    if desk.blocks == 0:
        desk.finish()
    return desk


def _close(desk: _Desk) -> CheckResult:
    if desk.result is None:
        return CheckResult(
            name=desk.job.check, method=desk.job.find().method, status="inconclusive", message=INTERRUPTED
        )
    return desk.result


def _run_here(jobs: list[Job], tasks: deque[Task]) -> Outcomes:
    for place, block in tasks:
        yield place, block, run_task(jobs[place], block)
