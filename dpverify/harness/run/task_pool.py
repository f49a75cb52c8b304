"""Blocks of checks in worker processes, and what to do where a worker dies.

Until the first block of a check is back, other workers begin other checks: two would compile the same kernels twice.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from threading import Thread

from dpverify.harness.run.tasks import BlockOutcome, Job, Task, describe, prepare_worker, run_in_worker, run_task
from dpverify.processes import end_workers, process_pool, spooled

PER_WORKER = 2  # blocks under way per worker
TURN = 2e-4  # seconds after which a thread here lets another one have its turn; with the usual 5 ms the worker waits
DIED = "the worker process died while it ran this check"

Outcomes = Generator[tuple[Task, BlockOutcome], None, None]


def run_in_pool(jobs: list[Job], tasks: deque[Task], workers: int, limit: float = 0.0) -> Outcomes:
    """Run tasks in workers; after a worker's death, one at a time, to find the task that kills.

    ``limit``: seconds after which a task that has not returned is ended with its worker; 0 for none.
    """
    while tasks:
        for suspect in (yield from _run_until_death(jobs, tasks, workers, limit)):
            if (yield from _run_until_death(jobs, deque([suspect]), 1, limit)):
                yield suspect, BlockOutcome(None, 0.0, DIED)


class _Limit:
    """Ends workers whose task takes longer than so many seconds."""

    def __init__(self, seconds: float, pools: list[Executor]) -> None:
        self.seconds = seconds
        self.pools = pools
        self.ended: set[Task] = set()
        self._since = [time.monotonic()] * len(pools)  # when each worker began its task
        self._started = [pool.submit(os.getpid) for pool in pools] if seconds else []  # its start does not count

    @property
    def pause(self) -> float | None:
        """Seconds to wait for tasks before the next look."""
        return min(1.0, self.seconds / 10.0) if self.seconds else None

    def begin(self, worker: int) -> None:
        """Count the time of a worker anew: it begins a task."""
        self._since[worker] = time.monotonic()

    def look(self, under_way: dict[Future[BlockOutcome], tuple[Task, int]]) -> None:
        """End the workers that are late, each with the first of the tasks that it was given."""
        for worker, pool in enumerate(self.pools):
            tasks = [task for task, number in under_way.values() if number == worker]
            if self.seconds and not self._started[worker].done():
                self.begin(worker)
            if self.seconds and tasks and time.monotonic() - self._since[worker] > self.seconds:
                self.ended.add(tasks[0])
                self.begin(worker)
                end_workers(pool)

    def outcome(self) -> BlockOutcome:
        """What a task gave that was ended."""
        return BlockOutcome(None, self.seconds, f"the check did not return within {self.seconds:g} s")


def _run_until_death(
    jobs: list[Job], tasks: deque[Task], workers: int, limit: float
) -> Generator[tuple[Task, BlockOutcome], None, list[Task]]:
    """Run tasks until all are done or a worker dies; return those that were under way in it then.

    Half of the workers take derivations first, and the others take them last: what is worked out in one derivation
    serves the next in the same process. Whoever has no more of its own goes on from the other end, where checks use
    other kernels: neighbours would have two processes compile the same ones at once.
    """
    under_way: dict[Future[BlockOutcome], tuple[Task, int]] = {}
    suspects: list[Task] = []
    proofs = {place for place, job in enumerate(jobs) if job.find().method == "derivation"}
    others = set(range(len(jobs))) - proofs
    with ExitStack() as stack:
        file = stack.enter_context(spooled(jobs))
        pools = [stack.enter_context(process_pool(1, prepare_worker, (file,), wait=True)) for _ in range(workers)]
        late = _Limit(limit, list(pools))
        while under_way or (tasks and not suspects):
            for more in range(PER_WORKER * workers):  # one for each worker first, then the second ones
                worker = more % workers
                has = sum(number == worker for _, number in under_way.values())
                if tasks and not suspects and has <= more // workers:
                    begun = {place for (place, block), _ in under_way.values() if block == 0}
                    task = _next(tasks, begun, proofs if worker < workers // 2 else others)
                    if not has:
                        late.begin(worker)
                    try:
                        under_way[pools[worker].submit(run_in_worker, *task)] = task, worker
                    except BrokenProcessPool:
                        suspects.append(task)
            done, _ = wait(under_way, late.pause, return_when=FIRST_COMPLETED)
            late.look({} if done else under_way)
            for future in sorted(done, key=under_way.__getitem__):
                task, worker = under_way.pop(future)
                late.begin(worker)
                if isinstance(error := future.exception(), BrokenProcessPool):
                    if task in late.ended:
                        yield task, late.outcome()
                    else:
                        suspects.append(task)
                else:
                    yield task, future.result() if error is None else BlockOutcome(None, 0.0, describe(error))
    return sorted(suspects)


def _next(tasks: deque[Task], begun: set[int], wanted: set[int]) -> Task:
    """Take the next task of a check that is wanted, or else the first of the last check.

    If possible, it is not one of those whose first block is under way.
    """
    index, last = 0, -1
    for at, (place, _) in enumerate(tasks):
        if place in begun:
            continue
        if place in wanted:
            index = at
            break
        if place != last:
            index, last = at, place
    task = tasks[index]
    del tasks[index]
    return task


def together(jobs: list[Job], tasks: deque[Task]) -> deque[Task]:
    """Sort tasks so that checks of one name follow each other: what is worked out for one may serve the next."""
    first = {job.check: place for place, job in reversed(list(enumerate(jobs)))}
    return deque(sorted(tasks, key=lambda task: (first[jobs[task[0]].check], task)))


def run_with_early_worker(jobs: list[Job], tasks: deque[Task], worker: Executor) -> Outcomes:
    """Run the last tasks here, and the first in a worker that began while the checks were loaded, until they meet."""
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
                except BaseException as error:  # noqa: BLE001  as in run_task: it is this check's error
                    found.put((task, BlockOutcome(None, 0.0, describe(error))))
        found.put(None)

    spool = ExitStack()
    file = spool.enter_context(spooled(jobs))
    with suppress(BrokenProcessPool):  # as it died before, the first task says so too
        worker.submit(prepare_worker, file)
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
        spool.close()
