from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any

import pytest

from dpverify.harness.run import task_pool, tasks
from dpverify.harness.run.task_pool import BUNDLE_BLOCKS, BUNDLE_SECONDS, PER_WORKER, bundle_of
from dpverify.harness.run.tasks import BlockOutcome


def bundles(queue: deque[tuple[int, int]], slowest: dict[int, float], workers: int) -> list[list[tuple[int, int]]]:
    found = []
    while queue:
        found.append(bundle_of(queue, slowest, workers))
    return found


def test_the_first_blocks_of_a_check_go_alone() -> None:
    assert bundles(deque((0, block) for block in range(5)), {}, 2) == [[(0, block)] for block in range(5)]


def test_short_blocks_travel_together_and_long_ones_alone() -> None:
    queue = deque((0, block) for block in range(1000))
    assert len(bundle_of(queue.copy(), {0: BUNDLE_SECONDS / 10}, 2)) == 10
    assert len(bundle_of(queue.copy(), {0: 0.0}, 2)) == BUNDLE_BLOCKS
    assert len(bundle_of(queue.copy(), {0: BUNDLE_SECONDS}, 2)) == 1
    assert len(bundle_of(queue.copy(), {0: 100.0}, 2)) == 1


def test_bundles_hold_every_task_once_in_order_and_of_one_check() -> None:
    every = [(place, block) for place, blocks in enumerate((30, 1, 100)) for block in range(blocks)]
    found = bundles(deque(every), {0: 0.001, 2: 0.004}, 2)
    assert [task for bundle in found for task in bundle] == every
    assert all(len({place for place, _ in bundle}) == 1 for bundle in found)


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_bundles_shrink_so_that_no_worker_waits_for_the_last(workers: int) -> None:
    sizes = [len(bundle) for bundle in bundles(deque((0, block) for block in range(300)), {0: 1e-4}, workers)]
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) == BUNDLE_BLOCKS
    assert sizes[-PER_WORKER * workers :] == [1] * (PER_WORKER * workers)


def test_a_bundle_runs_block_after_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_jobs", ["first", "second"])
    monkeypatch.setattr(tasks, "run_task", lambda job, block: BlockOutcome((job, block), 0.0))
    assert [outcome.part for outcome in tasks.run_bundle(1, [3, 4])] == [("second", 3), ("second", 4)]


class OneAfterTheOther:
    """Stands for a pool: what was handed out first is done first, and only when the engine waits for it."""

    def __init__(self) -> None:
        self.handed_out: list[tuple[int, list[int]]] = []
        self.answers: deque[tuple[Future[Any], int]] = deque()

    def submit(self, run: object, place: int, blocks: list[int]) -> Future[Any]:
        del run
        self.handed_out.append((place, blocks))
        self.answers.append((Future(), len(blocks)))
        return self.answers[-1][0]

    def wait(self, under_way: object, return_when: str) -> tuple[set[Future[Any]], set[Future[Any]]]:
        del under_way, return_when
        future, blocks = self.answers.popleft()
        future.set_result([BlockOutcome(None, 1.0)] * blocks)
        return {future}, set()


def handed_out(monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], workers: int = 2) -> list[tuple[int, int]]:
    pool = OneAfterTheOther()
    monkeypatch.setattr(task_pool, "process_pool", lambda *_, wait: nullcontext(pool))
    monkeypatch.setattr(task_pool, "wait", pool.wait)
    every = [(place, block) for place, blocks in enumerate(sizes) for block in range(blocks)]
    jobs: Any = [None] * len(sizes)
    found = [(place, block) for place, block, _ in task_pool._run_pool_once(jobs, deque(every), workers, [])]
    assert sorted(found) == every
    return [(place, block) for place, blocks in pool.handed_out for block in blocks]


def test_other_checks_begin_until_the_first_block_of_a_check_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    order = handed_out(monkeypatch, (3, 3, 1, 2, 2, 2))
    assert order[: PER_WORKER * 2] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert order[PER_WORKER * 2 :] == [(0, 1), (1, 1), (1, 2), (3, 1), (0, 2), (4, 0), (5, 0), (4, 1), (5, 1)]


def test_no_worker_waits_for_the_first_block_of_the_only_check(monkeypatch: pytest.MonkeyPatch) -> None:
    assert handed_out(monkeypatch, (6,)) == [(0, block) for block in range(6)]
    assert handed_out(monkeypatch, (1, 6))[:4] == [(0, 0), (1, 0), (1, 1), (1, 2)]
