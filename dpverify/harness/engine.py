"""Run checks in this process or in several, with results that do not depend on how many there are.

Parts of a check are joined in the order of its blocks, and only a few blocks are under way at a time, so that memory
grows neither with the number of blocks nor with that of checks. Short blocks travel in bundles: to send one and wake a
worker costs a good part of a millisecond. Until the first block of a check is back, other workers begin other checks,
where there are any: in two processes at once, the first blocks would compile the same kernels twice.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import msgspec

from dpverify.harness.tasks import BlockOutcome, Job, describe, prepare_worker, run_bundle, run_task, single_threaded
from dpverify.ledger.results import CheckResult

PER_WORKER = 2
"""Bundles under way per worker."""
BUNDLE_SECONDS, BUNDLE_BLOCKS = 0.05, 16
"""A bundle takes about as long as this, judged by the slowest block of its check so far, and has at most this many."""
DIED = "the worker process died while it ran this check"
INTERRUPTED = "interrupted before it was decided"

Task = tuple[int, int]  # number of the job, number of the block
Outcomes = Generator[tuple[int, int, BlockOutcome], None, None]


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

    Parameters
    ----------
    job : Job
        What was run.
    error : str
        What went wrong.

    Returns
    -------
    CheckResult
        An error of ours, never a verdict on the paper.
    """
    return CheckResult(
        name=job.check, method=job.find().method, status="inconclusive", message=f"error: {error}", error=error
    )


def not_due(job: Job) -> CheckResult:
    """Result of a check that runs in larger budgets only.

    Parameters
    ----------
    job : Job
        What is not run.

    Returns
    -------
    CheckResult
        Untested, with the budget from which on it runs.
    """
    check = job.find()
    return CheckResult(name=job.check, method=check.method, status="untested", message=check.runs_from)


def run_jobs(
    jobs: Sequence[Job], workers: int, progress: Report | None = None, beside: Executor | None = None
) -> tuple[list[CheckResult], bool]:
    """Run checks.

    Parameters
    ----------
    jobs : sequence of Job
        What to run.
    workers : int
        Processes; 1 runs everything in this one.
    progress : callable or None
        Told after each block.
    beside : concurrent.futures.Executor or None
        One worker process that shares the work of this one, where ``workers`` is 1.

    Returns
    -------
    results : list of CheckResult
        One per job, in their order; the same for any number of workers.
    interrupted : bool
        Whether Ctrl-C came first; what was not decided by then is inconclusive.

    Raises
    ------
    ValueError
        If ``workers`` is below 1.
    """
    if workers < 1:
        raise ValueError(f"jobs must be at least 1, got jobs={workers}.")
    with single_threaded():
        desks = [_open(job) for job in jobs]
        tasks = deque((place, block) for place, desk in enumerate(desks) for block in range(desk.blocks))
        total = len(tasks)
        if workers > 1:
            run = _run_in_pool(desks, tasks, workers)
        else:
            run = _run_here(desks, tasks) if beside is None else _run_beside(desks, tasks, beside)
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


def _run_here(desks: list[_Desk], tasks: deque[Task]) -> Outcomes:
    for place, block in tasks:
        yield place, block, run_task(desks[place].job, block)


def _run_beside(desks: list[_Desk], tasks: deque[Task], beside: Executor) -> Outcomes:
    """Run the last task here while the first ones run in the process beside, until they meet."""
    found: SimpleQueue[tuple[list[Task], list[BlockOutcome]] | None] = SimpleQueue()
    lost: list[Task] = []
    lock = Lock()

    def feed() -> None:
        """Hand out bundles one by one; all that this thread does is wait."""
        slowest: dict[int, float] = {}
        while True:
            with lock:
                if not tasks:
                    break
                bundle = _bundle(tasks, slowest, 1)
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
        beside.submit(prepare_worker, [desk.job for desk in desks])
    feeder = Thread(target=feed, daemon=True)
    feeder.start()
    try:
        feeding = True
        while feeding:
            with lock:
                task = tasks.pop() if tasks and not lost else None
            if task is not None:
                yield *task, run_task(desks[task[0]].job, task[1])
            while feeding and (task is None or not found.empty()):
                if (ready := found.get()) is None:
                    feeding = False
                    continue
                for (place, block), outcome in zip(*ready, strict=True):
                    yield place, block, outcome
        # What killed the process beside must not kill this one: the rest goes the careful way.
        yield from _run_in_pool(desks, deque([*lost, *tasks]), 1)
    finally:
        tasks.clear()


def _run_in_pool(desks: list[_Desk], tasks: deque[Task], workers: int) -> Outcomes:
    """Run tasks in worker processes; after a worker's death, one at a time, to find the task that kills."""
    while tasks:
        suspects: list[Task] = []
        yield from _run_pool_once(desks, tasks, workers, suspects)
        for task in suspects:
            alone, dead = deque([task]), list[Task]()
            yield from _run_pool_once(desks, alone, 1, dead)
            if dead:
                yield *task, BlockOutcome(None, 0.0, DIED)


def _run_pool_once(desks: list[_Desk], tasks: deque[Task], workers: int, suspects: list[Task]) -> Outcomes:
    """Run tasks until all are done or a worker dies; then say which were under way."""
    before = set(multiprocessing.active_children())
    jobs = [desk.job for desk in desks]
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), prepare_worker, (jobs,))
    under_way: dict[Future[list[BlockOutcome]], list[Task]] = {}
    slowest: dict[int, float] = {}
    aside: dict[int, list[Task]] = {}
    finished = False
    try:
        while (tasks or under_way) and not suspects:
            while tasks and len(under_way) < PER_WORKER * workers and not suspects:
                bundle = _bundle(tasks, slowest, workers)
                _set_aside(bundle[0], tasks, aside)
                try:
                    under_way[pool.submit(run_bundle, bundle[0][0], [block for _, block in bundle])] = bundle
                except BrokenProcessPool:
                    suspects.extend(bundle)
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=under_way.__getitem__):
                bundle = under_way.pop(future)
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    suspects.extend(bundle)
                    continue
                found = future.result() if error is None else [BlockOutcome(None, 0.0, describe(error))] * len(bundle)
                _put_back(bundle[0][0], tasks, aside)
                for (place, block), outcome in zip(bundle, found, strict=True):
                    slowest[place] = max(slowest.get(place, 0.0), outcome.seconds)
                    yield place, block, outcome
        for place in sorted(aside, reverse=True):
            _put_back(place, tasks, aside)
        for bundle in under_way.values():
            suspects.extend(bundle)
        suspects.sort()
        finished = True
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if not finished:
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
        for child in set(multiprocessing.active_children()) - before:
            child.join(10)


def _set_aside(first: Task, tasks: deque[Task], aside: dict[int, list[Task]]) -> None:
    """Keep the other blocks of a check back while its first one is under way, unless nothing else is left to do."""
    place, block = first
    if block == 0:
        aside[place] = []
        while tasks and tasks[0][0] == place:
            aside[place].append(tasks.popleft())
    if not tasks:
        for waiting in sorted(aside, reverse=True):
            _put_back(waiting, tasks, aside)


def _put_back(place: int, tasks: deque[Task], aside: dict[int, list[Task]]) -> None:
    """Put the blocks of a check that were set aside, if any, before all others."""
    tasks.extendleft(reversed(aside.pop(place, [])))


def _bundle(tasks: deque[Task], slowest: dict[int, float], workers: int) -> list[Task]:
    """Take the next tasks, of one check; one alone until it is known how long they take, and fewer near the end."""
    place, _ = tasks[0]
    most = 1
    if place in slowest:
        most = min(int(BUNDLE_SECONDS / max(slowest[place], 1e-6)), BUNDLE_BLOCKS, len(tasks) // (PER_WORKER * workers))
    taken = [tasks.popleft()]
    while tasks and len(taken) < most and tasks[0][0] == place:
        taken.append(tasks.popleft())
    return taken
