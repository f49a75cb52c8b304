"""Blocks of checks in worker processes, and what to do where a worker dies.

Until the first block of a check is back, other workers begin other checks: two would compile the same kernels twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool

from dpverify.harness.run.tasks import BlockOutcome, Job, Task, describe, prepare_worker, run_in_worker
from dpverify.processes import process_pool

PER_WORKER = 2  # blocks under way per worker
DIED = "the worker process died while it ran this check"

Outcomes = Generator[tuple[Task, BlockOutcome], None, None]


def run_in_pool(jobs: list[Job], tasks: deque[Task], workers: int) -> Outcomes:
    """Run tasks in workers; after a worker's death, one at a time, to find the task that kills."""
    while tasks:
        for suspect in (yield from _run_until_death(jobs, tasks, workers)):
            if (yield from _run_until_death(jobs, deque([suspect]), 1)):
                yield suspect, BlockOutcome(None, 0.0, DIED)


def _run_until_death(
    jobs: list[Job], tasks: deque[Task], workers: int
) -> Generator[tuple[Task, BlockOutcome], None, list[Task]]:
    """Run tasks until all are done or a worker dies; return those that were under way then."""
    under_way: dict[Future[BlockOutcome], Task] = {}
    suspects: list[Task] = []
    with process_pool(workers, prepare_worker, (jobs,), wait=True) as pool:
        while (tasks or under_way) and not suspects:
            while tasks and len(under_way) < PER_WORKER * workers and not suspects:
                task = _next(tasks, {place for place, block in under_way.values() if block == 0})
                try:
                    under_way[pool.submit(run_in_worker, *task)] = task
                except BrokenProcessPool:
                    suspects.append(task)
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=under_way.__getitem__):
                task = under_way.pop(future)
                if isinstance(error := future.exception(), BrokenProcessPool):
                    suspects.append(task)
                else:
                    yield task, future.result() if error is None else BlockOutcome(None, 0.0, describe(error))
        return sorted([*suspects, *under_way.values()])


def _next(tasks: deque[Task], begun: set[int]) -> Task:
    """Take the next task, if possible of a check that is not among those whose first block is under way."""
    index = next((index for index, (place, _) in enumerate(tasks) if place not in begun), 0)
    task = tasks[index]
    del tasks[index]
    return task
