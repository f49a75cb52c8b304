from __future__ import annotations

from collections import deque

import pytest

from dpverify.harness import engine, tasks
from dpverify.harness.engine import BUNDLE_BLOCKS, BUNDLE_SECONDS, PER_WORKER
from dpverify.harness.tasks import BlockOutcome


def bundles(queue: deque[tuple[int, int]], slowest: dict[int, float], workers: int) -> list[list[tuple[int, int]]]:
    found = []
    while queue:
        found.append(engine._bundle(queue, slowest, workers))
    return found


def test_the_first_blocks_of_a_check_go_alone() -> None:
    assert bundles(deque((0, block) for block in range(5)), {}, 2) == [[(0, block)] for block in range(5)]


def test_short_blocks_travel_together_and_long_ones_alone() -> None:
    queue = deque((0, block) for block in range(1000))
    assert len(engine._bundle(queue.copy(), {0: BUNDLE_SECONDS / 10}, 2)) == 10
    assert len(engine._bundle(queue.copy(), {0: 0.0}, 2)) == BUNDLE_BLOCKS
    assert len(engine._bundle(queue.copy(), {0: BUNDLE_SECONDS}, 2)) == 1
    assert len(engine._bundle(queue.copy(), {0: 100.0}, 2)) == 1


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
