from __future__ import annotations

import sys
from collections import deque
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from threading import Event, current_thread
from threading import enumerate as enumerate_threads
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest

from dpverify.harness.run import task_pair
from dpverify.harness.run.task_pair import TURN, ask_beside, run_beside
from dpverify.harness.run.task_pool import bundle_of
from dpverify.harness.run.tasks import BlockOutcome


class Beside(Executor):
    """Stands for the process beside; it runs what it is given at once, until it dies."""

    def __init__(self, calls: float = float("inf")) -> None:
        self.calls = calls
        self.turns: set[float] = set()

    def submit(self, function: Any, /, *args: Any, **_: Any) -> Future[Any]:
        future = Future[Any]()
        self.turns.add(sys.getswitchinterval())
        self.calls -= 1
        if self.calls < 0:
            future.set_exception(BrokenProcessPool())
        else:
            future.set_result(function(*args))
        return future


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Four checks, the first and the third of one name."""
    monkeypatch.setattr(task_pair, "run_task", lambda job, block: BlockOutcome((job.check, block), 0.0))
    monkeypatch.setattr(task_pair, "prepare_worker", lambda _: None)
    monkeypatch.setattr(
        task_pair, "run_bundle", lambda place, blocks: [BlockOutcome((place, block), 0.0) for block in blocks]
    )
    return [SimpleNamespace(check=name) for name in ("search", "derivation", "search", "law")]


def every_task() -> deque[tuple[int, int]]:
    return deque((place, block) for place in range(4) for block in range(2))


def test_checks_of_one_name_are_put_together(jobs: list[Any]) -> None:
    tasks = every_task()
    task_pair._put_together(jobs, tasks)
    assert [place for place, _ in tasks] == [0, 0, 2, 2, 1, 1, 3, 3]
    assert [block for _, block in tasks] == [0, 1] * 4


def test_every_task_is_run_once_and_turns_are_short_while_it_lasts(jobs: list[Any]) -> None:
    before, beside = sys.getswitchinterval(), Beside()
    run = run_beside(jobs, every_task(), beside)
    found = [next(run)]
    assert sys.getswitchinterval() == pytest.approx(TURN)
    found.extend(run)
    assert sorted((place, block) for place, block, _ in found) == sorted(every_task())
    assert sys.getswitchinterval() == before


def test_turns_are_as_before_when_the_run_is_left(jobs: list[Any]) -> None:
    before = sys.getswitchinterval()
    run = run_beside(jobs, every_task(), Beside())
    next(run)
    run.close()
    assert sys.getswitchinterval() == before


@pytest.mark.parametrize("beside", [None, Beside(), Beside(0)])
def test_an_answer_comes_from_beside_or_from_here(beside: Executor | None) -> None:
    assert ask_beside(beside, sum, [1, 2, 3])() == 6


def test_a_run_can_be_left_while_a_bundle_is_taken(jobs: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """As after Ctrl-C; an error of the thread that hands out bundles would be printed, and fail this test."""
    taking = Event()

    def slowly(*args: Any) -> Any:
        taking.set()
        sleep(0.05)
        return bundle_of(*args)

    monkeypatch.setattr(task_pair, "bundle_of", slowly)
    tasks = every_task()
    run = run_beside(jobs, tasks, Beside())
    next(run)
    taking.clear()
    assert taking.wait(10)
    run.close()
    assert not tasks
    for thread in enumerate_threads():
        if thread is not current_thread():
            thread.join(10)
