"""A worker process that was started before the code of a few checks was loaded here: both share their blocks.

A run of one claim is over before workers that are started when its checks are known would be ready.
"""

from __future__ import annotations

import sys
from collections import deque
from concurrent.futures import CancelledError, Executor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from dpverify.harness.run.task_pool import Outcomes, run_in_pool
from dpverify.harness.run.tasks import BlockOutcome, Job, Task, describe, prepare_worker, run_in_worker, run_task

TURN = 2e-4  # seconds after which a thread here lets another one have its turn; with the usual 5 ms the worker waits


def together(jobs: list[Job], tasks: deque[Task]) -> deque[Task]:
    """Sort tasks so that checks of one name follow each other: what is worked out for one may serve the next."""
    first = {job.check: place for place, job in reversed(list(enumerate(jobs)))}
    return deque(sorted(tasks, key=lambda task: (first[jobs[task[0]].check], task)))


def run_with_early_worker(jobs: list[Job], tasks: deque[Task], worker: Executor) -> Outcomes:
    """Run the last task here while the worker runs the first ones, until they meet."""
    found: SimpleQueue[tuple[Task, BlockOutcome] | None] = SimpleQueue()  # None after the worker's last
    lost: list[Task] = []

    def feed() -> None:
        """Hand out tasks one by one; all that this thread does is wait."""
        with suppress(IndexError):  # no task is left
            while not lost:
                task = tasks.popleft()
                try:
                    found.put((task, worker.submit(run_in_worker, *task).result()))
                except (BrokenProcessPool, CancelledError):
                    lost.append(task)
                except Exception as error:  # noqa: BLE001  as in run_task: it is this check's error
                    found.put((task, BlockOutcome(None, 0.0, describe(error))))
        found.put(None)

    with suppress(BrokenProcessPool):  # as it died before, the first task says so too
        worker.submit(prepare_worker, jobs)
    turn = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        Thread(target=feed, daemon=True).start()
        feeding = True
        while feeding:
            own = None
            with suppress(IndexError):
                own = None if lost else tasks.pop()
            if own is not None:
                yield own, run_task(jobs[own[0]], own[1])
            while feeding and (own is None or not found.empty()):
                if (ready := found.get()) is None:
                    feeding = False
                else:
                    yield ready
        # What killed the worker must not kill this process: the rest goes the careful way.
        yield from run_in_pool(jobs, deque([*lost, *tasks]), 1)
    finally:
        sys.setswitchinterval(turn)
        tasks.clear()
