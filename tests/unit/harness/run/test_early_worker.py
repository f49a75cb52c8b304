from __future__ import annotations

import sys
from collections import deque
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace
from typing import Any

import pytest

from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run import task_pool as module
from dpverify.harness.run.task_pool import (
    SWITCH_INTERVAL,
    grouped_by_check,
    run_with_early_worker,
)
from tests.for_each import for_each


class Worker(Executor):
    """Stands for the worker process; it runs what it is given at once, until it dies."""

    def __init__(self, calls: float = float("inf")) -> None:
        self.calls = calls

    def submit(self, function: Any, /, *args: Any, **_: Any) -> Future[Any]:
        future = Future[Any]()
        self.calls -= 1
        if self.calls < 0:
            future.set_exception(BrokenProcessPool())
        else:
            future.set_result(function(*args))
        return future


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Four checks, the first and the third of one name."""
    monkeypatch.setattr(
        module, "run_task", lambda job, block: BlockOutcome((job.check, block), 0.0)
    )
    monkeypatch.setattr(module, "prepare_worker", lambda _: None)
    monkeypatch.setattr(
        module, "run_in_worker", lambda place, block: BlockOutcome((place, block), 0.0)
    )
    return [
        SimpleNamespace(check=name)
        for name in ("search", "derivation", "search", "law")
    ]


def every_task() -> deque[tuple[int, int]]:
    return deque((place, block) for place in range(4) for block in range(2))


def test_checks_of_one_name_are_put_together(jobs: list[Any]) -> None:
    tasks = grouped_by_check(jobs, every_task())
    assert [place for place, _ in tasks] == [0, 0, 2, 2, 1, 1, 3, 3]
    assert [block for _, block in tasks] == [0, 1] * 4


def test_every_task_is_run_once_and_turns_are_short_while_it_lasts(
    jobs: list[Any],
) -> None:
    before = sys.getswitchinterval()
    run = run_with_early_worker(jobs, every_task(), Worker())
    found = [next(run)]
    assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL)
    found.extend(run)
    assert sorted(task for task, _ in found) == sorted(every_task())
    assert sys.getswitchinterval() == before


def test_turns_are_as_before_and_no_task_is_left_when_the_run_is_left(
    jobs: list[Any],
) -> None:
    before, tasks = sys.getswitchinterval(), every_task()
    run = run_with_early_worker(jobs, tasks, Worker())
    next(run)
    run.close()
    assert sys.getswitchinterval() == before
    assert not tasks


@for_each("calls", [0, 1, 2, 4])
def test_what_a_dead_worker_left_goes_the_careful_way(
    calls: int, jobs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    careful: list[tuple[int, int]] = []

    def run_in_pool(_: object, tasks: deque[tuple[int, int]], workers: int) -> Any:
        assert workers == 1
        careful.extend(tasks)
        yield from ((task, BlockOutcome(None, 0.0)) for task in careful)

    monkeypatch.setattr(module, "run_in_pool", run_in_pool)
    run = run_with_early_worker(jobs, every_task(), Worker(calls))
    assert sorted(task for task, _ in run) == sorted(every_task())
    assert len(careful) >= (calls <= 1)
