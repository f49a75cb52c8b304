from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from dpverify.harness.run import task_pool, tasks
from dpverify.harness.run.task_pool import PER_WORKER
from dpverify.harness.run.tasks import BlockOutcome


def test_a_worker_runs_a_block_of_its_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_jobs", ["first", "second"])
    monkeypatch.setattr(tasks, "run_task", lambda job, block: BlockOutcome((job, block), 0.0))
    assert tasks.run_in_worker(1, 3).part == ("second", 3)


class OneAfterTheOther:
    """Stands for a pool: what was handed out first is done first, and only when the engine waits for it."""

    def __init__(self) -> None:
        self.handed_out: list[tuple[int, int]] = []
        self.answers: deque[Future[Any]] = deque()

    def submit(self, run: object, place: int, block: int) -> Future[Any]:
        del run
        self.handed_out.append((place, block))
        self.answers.append(Future())
        return self.answers[-1]

    def wait(self, under_way: object, return_when: str) -> tuple[set[Future[Any]], set[Future[Any]]]:
        del under_way, return_when
        future = self.answers.popleft()
        future.set_result(BlockOutcome(None, 1.0))
        return {future}, set()


def handed_out(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], workers: int = 2, proofs: tuple[int, ...] = ()
) -> list[tuple[int, int]]:
    pool = OneAfterTheOther()
    monkeypatch.setattr(task_pool, "process_pool", lambda *_, wait: nullcontext(pool))
    monkeypatch.setattr(task_pool, "wait", pool.wait)
    every = [(place, block) for place, blocks in enumerate(sizes) for block in range(blocks)]
    methods = ["derivation" if place in proofs else "search" for place in range(len(sizes))]
    jobs: Any = [SimpleNamespace(find=partial(SimpleNamespace, method=method)) for method in methods]
    found = [task for task, _ in task_pool.run_in_pool(jobs, deque(every), workers)]
    assert sorted(found) == every
    return pool.handed_out


def test_other_checks_begin_until_the_first_block_of_a_check_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    order = handed_out(monkeypatch, (3, 3, 1, 2, 2, 2))
    assert order[: PER_WORKER * 2] == [(5, 0), (0, 0), (4, 0), (1, 0)]
    assert order[PER_WORKER * 2 :] == [(5, 1), (0, 1), (4, 1), (0, 2), (3, 0), (1, 1), (2, 0), (1, 2), (3, 1)]


def test_who_has_no_checks_of_its_own_goes_on_from_the_other_end(monkeypatch: pytest.MonkeyPatch) -> None:
    order = handed_out(monkeypatch, (1, 1, 1, 2, 1, 1), proofs=(0,))
    assert order == [(0, 0), (1, 0), (5, 0), (2, 0), (4, 0), (3, 0), (3, 1)]


def test_no_worker_waits_for_the_first_block_of_the_only_check(monkeypatch: pytest.MonkeyPatch) -> None:
    assert handed_out(monkeypatch, (6,)) == [(0, block) for block in range(6)]
    assert handed_out(monkeypatch, (1, 6))[:4] == [(1, 0), (0, 0), (1, 1), (1, 2)]


def test_one_of_two_workers_takes_derivations_first_and_the_other_takes_them_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order = handed_out(monkeypatch, (1,) * 7, proofs=(1, 3, 5, 6))
    assert [place for place, _ in order] == [1, 0, 3, 2, 5, 4, 6]
