"""Run blocks of checks in worker processes, and handle workers that die.

Until the first block of a check has returned, other workers begin other checks, because two workers would compile the
same kernels twice.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import cast

from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run.tasks import (
    Job,
    Runnable,
    Task,
    describe,
    prepare_worker,
    run_in_worker,
    run_task,
)
from dpverify.processes import (
    START_SECONDS,
    end_workers,
    process_pool,
    spool,
    workers_of,
)

PER_WORKER = 2  # blocks under way per worker
# thread switch interval in seconds here; with the usual 5 ms, the worker would wait
SWITCH_INTERVAL = 2e-4
NO_WORKER_STARTED = f"no worker process started within {START_SECONDS:g} s"
DIED = "the worker process died while it ran this check"

Outcomes = Generator[tuple[Task, BlockOutcome], None, None]


def run_in_pool(
    jobs: list[Job], tasks: deque[Task], workers: int, limit: float = 0.0
) -> Outcomes:
    """Run tasks in workers. After a worker's death, run its tasks one at a time, to find the task that kills workers.

    ``limit``: time limit of a task in seconds, at which it is terminated with its worker; 0 for none.
    """
    while tasks:
        for suspect in (yield from _run_until_death(jobs, tasks, workers, limit)):
            if (yield from _run_until_death(jobs, deque([suspect]), 1, limit)):
                yield suspect, BlockOutcome(None, 0.0, DIED)


def run_limited(jobs: Sequence[Runnable], task: Task, limit: float) -> BlockOutcome:
    """Run a task in a separate process, which is terminated if the task does not return within ``limit`` seconds."""
    config: dict[str, object] = getattr(
        multiprocessing.current_process(), "_config", {}
    )
    # a worker of Dask below a nanny is a daemon, which may not start processes
    daemon = config.pop("daemon", None)
    try:
        return dict(
            run_in_pool(
                cast("list[Job]", [jobs[task[0]]]), deque([(0, task[1])]), 1, limit
            )
        )[0, task[1]]
    finally:
        if daemon is not None:
            config["daemon"] = daemon


class _WorkerWatch:
    """Watch workers. Terminate those that do not start, and those whose task takes longer than ``seconds``."""

    def __init__(self, seconds: float, pools: list[Executor]) -> None:
        self.seconds = seconds
        self.pools = pools
        self.late: set[Task] = set()  # tasks that were terminated with their workers
        # workers that were terminated because they did not start
        self.unstarted: set[int] = set()
        self._begun = time.monotonic()
        self._since = [self._begun] * len(pools)  # when each worker began its task
        # the start of a worker does not count as time of its task
        self._started = [pool.submit(os.getpid) for pool in pools]

    @property
    def wait_seconds(self) -> float | None:
        """Seconds to wait for tasks before the next inspection."""
        if self.seconds:
            return min(1.0, self.seconds / 10.0)
        return None if all(started.done() for started in self._started) else 1.0

    def begin(self, worker: int) -> None:
        """Restart the time of a worker, which begins a task."""
        self._since[worker] = time.monotonic()

    def terminate_late_workers(
        self, under_way: dict[Future[BlockOutcome], tuple[Task, int]]
    ) -> None:
        """Terminate workers that did not start, and late workers, together with the first task that each was given."""
        now = time.monotonic()
        for worker, pool in enumerate(self.pools):
            tasks = [task for task, number in under_way.values() if number == worker]
            if not self._started[worker].done():
                self.begin(worker)
                if now - self._begun > START_SECONDS:
                    self.unstarted.add(worker)
                    end_workers(pool)
            elif self.seconds and tasks and now - self._since[worker] > self.seconds:
                self.late.add(tasks[0])
                self.begin(worker)
                end_workers(pool)
            elif (
                self.seconds
                and tasks
                and not any(process.is_alive() for process in workers_of(pool))
            ):
                # processes that foreign code has started may hide the worker's death
                end_workers(pool)

    def outcome(self) -> BlockOutcome:
        """Return the outcome of a terminated task."""
        return BlockOutcome(
            None, self.seconds, f"the check did not return within {self.seconds:g} s"
        )


def _run_until_death(
    jobs: list[Job], tasks: deque[Task], workers: int, limit: float
) -> Generator[tuple[Task, BlockOutcome], None, list[Task]]:
    """Run tasks until all are done or a worker dies. Return the tasks that were under way in it.

    Half of the workers prefer derivations, and the others avoid them, because one derivation's cached results serve the
    next in the same process. A worker without preferred tasks takes tasks from the other end of the queue, where checks
    use other kernels. Adjacent tasks would make two processes compile the same kernels at once.
    """
    under_way: dict[Future[BlockOutcome], tuple[Task, int]] = {}
    suspects: list[Task] = []
    # otherwise the jobs run in order, and their code is not loaded here
    several = workers > 1
    proofs = {
        place
        for place, job in enumerate(jobs)
        if several and job.find().method == "derivation"
    }
    other_jobs = set(range(len(jobs))) - proofs
    with ExitStack() as stack:
        file = stack.enter_context(spool(jobs))
        prepare = partial(prepare_worker, foreign=limit > 0.0)
        # otherwise a thread left behind by foreign code would be waited for
        ours = limit == 0.0
        pools = [
            stack.enter_context(process_pool(1, prepare, (file,), wait=ours))
            for _ in range(workers)
        ]
        watch = _WorkerWatch(limit, list(pools))
        while under_way or (tasks and not suspects):
            # first one for each worker, then a second one
            for submitted in range(PER_WORKER * workers):
                worker = submitted % workers
                has = sum(number == worker for _, number in under_way.values())
                if (
                    tasks
                    and not suspects
                    and has <= submitted // workers
                    and worker not in watch.unstarted
                ):
                    begun = {
                        place for (place, block), _ in under_way.values() if block == 0
                    }
                    task = _next(
                        tasks, begun, proofs if worker < workers // 2 else other_jobs
                    )
                    if not has:
                        watch.begin(worker)
                    try:
                        under_way[pools[worker].submit(run_in_worker, *task)] = (
                            task,
                            worker,
                        )
                    except BrokenProcessPool:
                        suspects.append(task)
            if tasks and len(watch.unstarted) == workers:
                yield from (
                    (task, BlockOutcome(None, 0.0, NO_WORKER_STARTED))
                    for task in _drain(tasks)
                )
            done, _ = wait(under_way, watch.wait_seconds, return_when=FIRST_COMPLETED)
            watch.terminate_late_workers({} if done else under_way)
            for future in sorted(done, key=under_way.__getitem__):
                task, worker = under_way.pop(future)
                watch.begin(worker)
                if isinstance(error := future.exception(), BrokenProcessPool):
                    if task in watch.late:
                        yield task, watch.outcome()
                    elif worker in watch.unstarted:
                        tasks.appendleft(task)
                    else:
                        suspects.append(task)
                else:
                    yield (
                        task,
                        future.result()
                        if error is None
                        else BlockOutcome(None, 0.0, describe(error)),
                    )
    return sorted(suspects)


def _drain(tasks: deque[Task]) -> Iterator[Task]:
    """Remove and yield all tasks, in their order."""
    while tasks:
        yield tasks.popleft()


def _next(tasks: deque[Task], started_jobs: set[int], wanted_jobs: set[int]) -> Task:
    """Remove and return the next task of a wanted check, or else the first task of the last check.

    If possible, this is not a task of a check whose first block is under way.
    """
    index = 0
    last = -1
    for at, (place, _) in enumerate(tasks):
        if place in started_jobs:
            continue
        if place in wanted_jobs:
            index = at
            break
        if place != last:
            index = at
            last = place
    task = tasks[index]
    del tasks[index]
    return task


def grouped_by_check(jobs: list[Job], tasks: deque[Task]) -> deque[Task]:
    """Sort tasks so that checks with the same name follow each other, because they may share cached results."""
    first = {job.check: place for place, job in reversed(list(enumerate(jobs)))}
    return deque(sorted(tasks, key=lambda task: (first[jobs[task[0]].check], task)))


def run_with_early_worker(
    jobs: list[Job], tasks: deque[Task], worker: Executor
) -> Outcomes:
    """Run the last tasks here, and the first in a worker that started while the checks were loaded, until they meet."""
    # None after the worker's last outcome
    outcomes: SimpleQueue[tuple[Task, BlockOutcome] | None] = SimpleQueue()
    lost: list[Task] = []

    def feed() -> None:
        """Submit tasks one by one. This thread only waits."""
        with suppress(IndexError):  # no task is left
            while not lost:
                task = tasks.popleft()
                try:
                    outcomes.put((task, worker.submit(run_in_worker, *task).result()))
                except (BrokenProcessPool, CancelledError):
                    lost.append(task)
                except BaseException as error:  # noqa: BLE001  as in run_task: it is this check's error
                    outcomes.put((task, BlockOutcome(None, 0.0, describe(error))))
        outcomes.put(None)

    stack = ExitStack()
    file = stack.enter_context(spool(jobs))
    prepared: Future[None] | None = None
    # if the worker has died before, the first task also fails
    with suppress(BrokenProcessPool):
        prepared = worker.submit(prepare_worker, file)
    begun = time.monotonic()
    turn = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        Thread(target=feed, daemon=True).start()
        feeding = True
        while feeding:
            task_here = None
            with suppress(IndexError):
                task_here = None if lost else tasks.pop()
            if task_here is not None:
                yield task_here, run_task(jobs[task_here[0]], task_here[1])
            while feeding and (task_here is None or not outcomes.empty()):
                try:
                    ready = outcomes.get(timeout=1.0)
                except Empty:
                    if (
                        prepared is not None
                        and not prepared.done()
                        and time.monotonic() - begun > START_SECONDS
                    ):
                        end_workers(worker)
                    continue
                if ready is None:
                    feeding = False
                else:
                    yield ready
        # The task that killed the worker must not kill this process, so the remaining
        # tasks run in a pool.
        yield from run_in_pool(jobs, deque([*lost, *tasks]), 1)
    finally:
        sys.setswitchinterval(turn)
        tasks.clear()
        stack.close()
