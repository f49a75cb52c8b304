"""Blocks of checks in worker processes: bundles of short ones, new checks first, and what to do where a worker dies.

Only a few blocks are under way at a time. Short blocks travel in bundles: to send one and wake a worker costs a good
part of a millisecond. Until the first block of a check is back, other workers begin other checks, where there are any:
in two processes at once, the first blocks would compile the same kernels twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool

from dpverify.harness.run.processes import process_pool
from dpverify.harness.run.tasks import BlockOutcome, Job, describe, prepare_worker, run_bundle

PER_WORKER = 2
"""Bundles under way per worker."""
BUNDLE_SECONDS, BUNDLE_BLOCKS = 0.05, 16
"""A bundle takes about as long as this, judged by the slowest block of its check so far, and has at most this many."""
DIED = "the worker process died while it ran this check"

Task = tuple[int, int]  # number of the job, number of the block
Outcomes = Generator[tuple[int, int, BlockOutcome], None, None]


def run_in_pool(jobs: list[Job], tasks: deque[Task], workers: int) -> Outcomes:
    """Run tasks in worker processes; after a worker's death, one at a time, to find the task that kills.

    Each task with its outcome, as they come.
    """
    while tasks:
        suspects: list[Task] = []
        yield from _run_pool_once(jobs, tasks, workers, suspects)
        for task in suspects:
            alone, dead = deque([task]), list[Task]()
            yield from _run_pool_once(jobs, alone, 1, dead)
            if dead:
                yield *task, BlockOutcome(None, 0.0, DIED)


def _run_pool_once(jobs: list[Job], tasks: deque[Task], workers: int, suspects: list[Task]) -> Outcomes:
    """Run tasks until all are done or a worker dies; then say which were under way."""
    under_way: dict[Future[list[BlockOutcome]], list[Task]] = {}
    slowest: dict[int, float] = {}
    aside: dict[int, list[Task]] = {}
    with process_pool(workers, prepare_worker, (jobs,), wait=True) as pool:
        while (tasks or under_way) and not suspects:
            while tasks and len(under_way) < PER_WORKER * workers and not suspects:
                bundle = bundle_of(tasks, slowest, workers)
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


def bundle_of(tasks: deque[Task], slowest: dict[int, float], workers: int) -> list[Task]:
    """Take the next tasks, of one check; one alone until it is known how long they take, and fewer near the end.

    What one worker gets at once.
    """
    place, _ = tasks[0]
    most = 1
    if place in slowest:
        most = min(int(BUNDLE_SECONDS / max(slowest[place], 1e-6)), BUNDLE_BLOCKS, len(tasks) // (PER_WORKER * workers))
    taken = [tasks.popleft()]
    while tasks and len(taken) < most and tasks[0][0] == place:
        taken.append(tasks.popleft())
    return taken
