"""Blocks of the noise law: as many trajectories as a case says, other ones in each block; and tasks that sleep."""

from __future__ import annotations

from time import perf_counter

import pytest

from dpverify.bench.cases import monte_carlo, sleeps
from tests.for_each import for_each
from tests.unit.bench.cases.tiny import case_of, told


@pytest.mark.slow
def test_each_thread_has_a_block_of_its_own() -> None:
    name = "monte-carlo/noise-law-threads-2"
    first, second = told(name)[monte_carlo.CHECK]
    assert first.n + second.n == case_of(name).work
    assert (first.sums != second.sums).all()


@pytest.mark.slow
def test_blocks_are_added_up() -> None:
    name = "monte-carlo/replications-replications-128"
    both = told(name)[monte_carlo.CHECK]
    assert both.n == case_of(name).work
    assert both.squares.mean() / both.n > 0


def test_a_target_in_words_is_that_of_its_number() -> None:
    targets = [
        target
        for case in monte_carlo.CASES
        for target in case.targets
        if target.words[:1].isdigit()
    ]
    rates = {target.words: 1 / (target.at_most or 0) for target in targets}
    assert len(rates) == 2
    for words, rate in rates.items():
        assert rate == pytest.approx(float(words.split()[0]))


def test_several_threads_are_read_by_the_time_that_passes() -> None:
    assert [case_of(f"monte-carlo/noise-law-threads-{n}").clock for n in (1, 2)] == [
        "process",
        "wall",
    ]


@pytest.mark.slow
@for_each("name", ["engine", "engine-from-the-start"])
def test_all_tasks_are_done_within_the_time_that_is_told(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monte_carlo, "WORKERS", 1)
    begin = perf_counter()
    found = told(f"monte-carlo/{name}")
    took = perf_counter() - begin
    assert found.pop(monte_carlo.SLEEP) is None
    assert found
    for used in found.values():
        assert 4 * sleeps.SECONDS <= used.seconds < took
