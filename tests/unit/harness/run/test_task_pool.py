"""Who runs which block: workers beside each other, and an early worker with this process, also where one dies."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run import task_pool, tasks
from dpverify.harness.run.task_pool import PER_WORKER
from dpverify.processes import process_pool
from tests.for_each import for_each


def test_a_worker_runs_a_block_of_its_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_jobs", ["first", "second"])
    monkeypatch.setattr(
        tasks, "run_task", lambda job, block: BlockOutcome((job, block), 0.0)
    )
    assert tasks.run_in_worker(1, 3).part == ("second", 3)


class OneAfterTheOther:
    """Stands for a pool: what was handed out first is done first, and only when the engine waits for it."""

    def __init__(self) -> None:
        self.handed_out: list[tuple[int, int]] = []
        self.answers: deque[Future[Any]] = deque()

    def submit(self, run: object, *task: int) -> Future[Any]:
        if run is os.getpid:
            started = Future[Any]()
            started.set_result(1)
            return started
        place, block = task
        self.handed_out.append((place, block))
        self.answers.append(Future())
        return self.answers[-1]

    def wait(
        self, under_way: object, timeout: float | None, return_when: str
    ) -> tuple[set[Future[Any]], set[Future[Any]]]:
        assert timeout is None
        del under_way, return_when
        future = self.answers.popleft()
        future.set_result(BlockOutcome(None, 1.0))
        return {future}, set()


def handed_out(
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...],
    workers: int = 2,
    proofs: tuple[int, ...] = (),
) -> list[tuple[int, int]]:
    pool = OneAfterTheOther()
    monkeypatch.setattr(task_pool, "process_pool", lambda *_, wait: nullcontext(pool))
    monkeypatch.setattr(task_pool, "wait", pool.wait)
    every = [
        (place, block) for place, blocks in enumerate(sizes) for block in range(blocks)
    ]
    methods = [
        "derivation" if place in proofs else "search" for place in range(len(sizes))
    ]
    jobs: Any = [
        SimpleNamespace(find=partial(SimpleNamespace, method=method))
        for method in methods
    ]
    found = [task for task, _ in task_pool.run_in_pool(jobs, deque(every), workers)]
    assert sorted(found) == every
    return pool.handed_out


def test_other_checks_begin_until_the_first_block_of_a_check_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order = handed_out(monkeypatch, (3, 3, 1, 2, 2, 2))
    assert order[: PER_WORKER * 2] == [(5, 0), (0, 0), (4, 0), (1, 0)]
    assert order[PER_WORKER * 2 :] == [
        (5, 1),
        (0, 1),
        (4, 1),
        (0, 2),
        (3, 0),
        (1, 1),
        (2, 0),
        (1, 2),
        (3, 1),
    ]


def test_who_has_no_checks_of_its_own_goes_on_from_the_other_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order = handed_out(monkeypatch, (1, 1, 1, 2, 1, 1), proofs=(0,))
    assert order == [(0, 0), (1, 0), (5, 0), (2, 0), (4, 0), (3, 0), (3, 1)]


def test_no_worker_waits_for_the_first_block_of_the_only_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert handed_out(monkeypatch, (6,)) == [(0, block) for block in range(6)]
    assert handed_out(monkeypatch, (1, 6))[:4] == [(1, 0), (0, 0), (1, 1), (1, 2)]


def test_one_of_two_workers_takes_derivations_first_and_the_other_takes_them_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order = handed_out(monkeypatch, (1,) * 7, proofs=(1, 3, 5, 6))
    assert [place for place, _ in order] == [1, 0, 3, 2, 5, 4, 6]


def test_where_all_that_is_wanted_has_begun_the_last_check_begins() -> None:
    tasks = deque([(0, 1), (1, 0), (1, 1)])
    assert task_pool._next(tasks, {0}, {0}) == (1, 0)
    assert list(tasks) == [(0, 1), (1, 1)]


class EarlyWorker:
    """Stands for a worker that is at its first block until this process has run so many, or that dies there."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, blocks: int, *, dies: bool = False
    ) -> None:
        self.blocks, self.dies, self.done = blocks, dies, Event()
        self.here: list[tuple[str, int]] = []
        monkeypatch.setattr(task_pool, "run_task", self.run_here)

    def run_here(self, job: str, block: int) -> BlockOutcome:
        self.here.append((job, block))
        if len(self.here) == self.blocks:
            self.done.set()
        return BlockOutcome("here", 0.0)

    def submit(self, run: object, *_: object) -> Any:
        if run is tasks.prepare_worker:
            return None
        if self.dies:
            raise BrokenProcessPool
        return SimpleNamespace(
            result=lambda: (self.done.wait(20), BlockOutcome("worker", 0.0))[1]
        )


def test_this_process_takes_the_last_blocks_while_an_early_worker_is_at_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker: Any = EarlyWorker(monkeypatch, blocks=3)
    jobs: list[Any] = ["a", "b", "c"]
    found = task_pool.run_with_early_worker(
        jobs, deque([(0, 0), (1, 0), (1, 1), (2, 0)]), worker
    )
    assert [(task, outcome.part) for task, outcome in found] == [
        ((2, 0), "here"),
        ((1, 1), "here"),
        ((1, 0), "here"),
        ((0, 0), "worker"),
    ]
    assert worker.here == [("c", 0), ("b", 1), ("b", 0)]


def test_what_killed_an_early_worker_goes_to_one_worker_with_what_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def in_pool(
        _: object, left: deque[tuple[int, int]], workers: int
    ) -> Iterator[tuple[tuple[int, int], BlockOutcome]]:
        yield from ((task, BlockOutcome(f"one of {workers}", 0.0)) for task in left)

    monkeypatch.setattr(task_pool, "run_in_pool", in_pool)
    worker: Any = EarlyWorker(monkeypatch, blocks=9, dies=True)
    every = [(0, 0), (1, 0), (2, 0)]
    found = {
        task: outcome.part
        for task, outcome in task_pool.run_with_early_worker([], deque(every), worker)
    }
    assert sorted(found) == every
    assert found[0, 0] == "one of 1"


class Foreign:
    """A job whose blocks do something of their own."""

    def __init__(self, do: str) -> None:
        self.do = do

    def find(self) -> SimpleNamespace:
        return SimpleNamespace(method="search")

    def run(self, block: int) -> str:
        match self.do:
            case "hang":
                ctypes.PyDLL(None).sleep(600)  # in C, with the interpreter's lock
            case "leave":
                os._exit(0)
            case "exit":
                sys.exit(0)
        return f"{self.do} {block}"


FOREIGN: Any = Foreign("return")


@for_each("workers", [1, 2])
def test_blocks_that_hang_leave_or_exit_cost_their_own_checks_only(
    workers: int,
) -> None:
    jobs: list[Any] = [
        Foreign(do) for do in ("hang", "return", "leave", "return", "exit", "return")
    ]
    tasks = deque(
        (place, block)
        for place in range(len(jobs))
        for block in range(2 if place == 1 else 1)
    )
    found = dict(task_pool.run_in_pool(jobs, tasks, workers, limit=5.0))
    assert {task: outcome.part for task, outcome in found.items() if not outcome.error} == {
        (1, 0): "return 0", (1, 1): "return 1", (3, 0): "return 0", (5, 0): "return 0"
    }  # fmt: skip
    assert found[0, 0].error == "the check did not return within 5 s"
    assert found[2, 0].error == task_pool.DIED
    assert found[4, 0].error.startswith("SystemExit: 0")


@pytest.mark.parametrize("line", ["exec sleep 600", "kill -STOP $$"])
@pytest.mark.parametrize("workers", [1, 2])
def test_where_no_worker_starts_all_checks_say_so(
    line: str,
    workers: int,
    child_program: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(task_pool, "START_SECONDS", 1.0)
    child_program(line)
    tasks = deque((place, 0) for place in range(7))
    found = dict(task_pool.run_in_pool([FOREIGN] * 7, tasks, workers))
    assert {outcome.error for outcome in found.values()} == {
        task_pool.NO_WORKER_STARTED
    }
    assert len(found) == 7


def test_where_one_of_two_workers_does_not_start_the_other_does_its_work(
    tmp_path: Path,
    child_program: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(task_pool, "START_SECONDS", 30.0)
    child_program(
        f'mkdir "{tmp_path}/first" && exec sleep 600; exec "{sys.executable}" "$@"'
    )
    found = dict(
        task_pool.run_in_pool([FOREIGN] * 7, deque((place, 0) for place in range(7)), 2)
    )
    assert {task: outcome.part for task, outcome in found.items()} == {
        (place, 0): "return 0" for place in range(7)
    }


def test_an_early_worker_that_does_not_start_is_ended(
    child_program: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_pool, "START_SECONDS", 1.0)
    monkeypatch.setattr(
        task_pool,
        "run_in_pool",
        lambda _, tasks, __: ((task, BlockOutcome("pool", 0.0)) for task in tasks),
    )
    child_program("exec sleep 600")
    with process_pool(1, wait=False) as pool:
        found = dict(
            task_pool.run_with_early_worker(
                [FOREIGN] * 3, deque([(0, 0), (1, 0), (2, 0)]), pool
            )
        )
    assert sorted(found) == [(0, 0), (1, 0), (2, 0)]
    assert found[0, 0].part == "pool"


def test_a_daemon_runs_a_task_in_a_process_of_its_own_which_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    jobs: list[Any] = [Foreign("return"), Foreign("hang")]
    assert task_pool.run_limited(jobs, (0, 1), 60.0).part == "return 1"
    assert (
        task_pool.run_limited(jobs, (1, 0), 2.0).error
        == "the check did not return within 2 s"
    )
    assert multiprocessing.current_process().daemon
