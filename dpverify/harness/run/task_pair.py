"""Blocks of a few checks in this process and in one beside it that was started before."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TypeVar

from dpverify.harness.run.task_pool import Outcomes, Task, bundle_of, run_in_pool
from dpverify.harness.run.tasks import BlockOutcome, Job, describe, prepare_worker, run_bundle, run_task

Given = TypeVar("Given")
Found = TypeVar("Found")
TURN = 2e-4
"""Seconds after which a thread here lets another one have its turn; with the usual 5 ms the process beside waits."""


def run_beside(jobs: list[Job], tasks: deque[Task], beside: Executor) -> Outcomes:
    """Run the last task here while the first ones run in the process beside, until they meet.

    Shapes: yields (int, int, BlockOutcome).
    """
    found: SimpleQueue[tuple[list[Task], list[BlockOutcome]] | None] = SimpleQueue()
    lost: list[Task] = []
    lock = Lock()
    _put_together(jobs, tasks)

    def feed() -> None:
        """Hand out bundles one by one; all that this thread does is wait."""
        slowest: dict[int, float] = {}
        while True:
            with lock:
                if not tasks:
                    break
                bundle = bundle_of(tasks, slowest, 1)
            place = bundle[0][0]
            try:
                outcomes = beside.submit(run_bundle, place, [block for _, block in bundle]).result()
            except (BrokenProcessPool, CancelledError):
                lost.extend(bundle)
                break
            except Exception as error:  # noqa: BLE001  as in run_task: it is this check's error
                outcomes = [BlockOutcome(None, 0.0, describe(error))] * len(bundle)
            slowest[place] = max(slowest.get(place, 0.0), *(outcome.seconds for outcome in outcomes))
            found.put((bundle, outcomes))
        found.put(None)

    with suppress(BrokenProcessPool):  # as it died before, the first bundle says so too
        beside.submit(prepare_worker, jobs)
    feeder = Thread(target=feed, daemon=True)
    try:
        with _short_turns():
            feeder.start()
            feeding = True
            while feeding:
                with lock:
                    task = tasks.pop() if tasks and not lost else None
                if task is not None:
                    yield *task, run_task(jobs[task[0]], task[1])
                while feeding and (task is None or not found.empty()):
                    if (ready := found.get()) is None:
                        feeding = False
                        continue
                    for (place, block), outcome in zip(*ready, strict=True):
                        yield place, block, outcome
        # What killed the process beside must not kill this one: the rest goes the careful way.
        yield from run_in_pool(jobs, deque([*lost, *tasks]), 1)
    finally:
        with lock:  # or the feeder, about to take one, would find none
            tasks.clear()


def ask_beside(beside: Executor | None, function: Callable[[Given], Found], given: Given) -> Callable[[], Found]:
    """Have something worked out in the process beside, in the time that it has until it gets checks.

    Gives the answer; what the process beside could not work out is worked out here.
    """
    if beside is None:
        found = function(given)  # now: later, Ctrl-C would cost what has been found by then
        return lambda: found
    asked: Future[Found] | None = None
    with suppress(BrokenProcessPool):
        asked = beside.submit(function, given)

    def answer() -> Found:
        if asked is not None:
            with suppress(BrokenProcessPool, CancelledError):
                return asked.result()
        return function(given)

    return answer


def _put_together(jobs: list[Job], tasks: deque[Task]) -> None:
    """Put tasks of checks of one name beside each other: what a process has worked out for one may serve the next."""
    first: dict[str, int] = {}
    for place, job in enumerate(jobs):
        first.setdefault(job.check, place)
    together = sorted(tasks, key=lambda task: (first[jobs[task[0]].check], task))
    tasks.clear()
    tasks.extend(together)


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let the threads of this process take turns more often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
