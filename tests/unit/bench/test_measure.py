from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from dpverify.bench import measure
from dpverify.bench.case import BenchCase, Form, Forms, Missing, Usage
from dpverify.bench.measure import YARDSTICK, added_memory, calls_for, measure_case
from tests.for_each import for_each


class OwnClock:
    """A clock that only moves when it is told to: by what a form takes, not by what this machine does."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float) -> Form:
        def form() -> None:
            self.now += seconds

        return form


@pytest.fixture(autouse=True, scope="module")
def _garbage_of_these_tests_alone() -> Iterator[None]:
    """Each measurement collects garbage first: a second where other tests have left millions of objects."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> OwnClock:
    made = OwnClock()
    monkeypatch.setattr(measure, "CLOCKS", dict.fromkeys(measure.CLOCKS, made))
    monkeypatch.setattr(measure, "perf_counter", made)
    return made


def of(made: Forms, **fields: object) -> BenchCase:
    return BenchCase("toy", "A toy", lambda *, seed: made, tuple(made), **fields)  # type: ignore[arg-type]  # any field


def calls(order: list[str], name: str) -> Callable[[], Usage]:
    def form() -> Usage:
        order.append(name)
        return Usage()

    return form


def test_forms_are_called_in_turns_and_the_order_rotates() -> None:
    order: list[str] = []
    forms = {name: calls(order, name) for name in "abc"}
    found = measure_case(of(forms, clock="wall"), rounds=3, pass_number=1)
    assert "".join(order) == "abc" + "bca" + "cab" + "abc"
    assert {name: len(times.seconds) for name, times in found.times.items()} == {
        "a": 3,
        "b": 3,
        "c": 3,
    }


def test_a_fast_form_is_repeated_until_it_can_be_measured(clock: OwnClock) -> None:
    calls, took = calls_for(clock.takes(0.002), clock, 0.01)
    assert 5 <= calls <= 12
    assert took == pytest.approx(0.002 * calls)
    assert calls_for(clock.takes(0.5), clock, 0.01) == (1, 0.5)


def test_a_form_that_sleeps_does_not_count_for_ever(clock: OwnClock) -> None:
    assert calls_for(clock.takes(0.05), lambda: 0.0, 0.01)[0] <= 4


def test_the_time_of_twice_the_work_is_twice_the_time(clock: OwnClock) -> None:
    found = measure_case(
        of({"once": clock.takes(1e-4), "twice": clock.takes(2e-4)}), rounds=5
    )
    assert found.times["once"].seconds == pytest.approx([1e-4] * 5)
    assert found.times["twice"].seconds == pytest.approx([2e-4] * 5)


@pytest.mark.parametrize(("seconds", "rounds"), [(0.06, 9), (1.0, 2), (9.0, 1)])
def test_slow_rounds_are_fewer(seconds: float, rounds: int, clock: OwnClock) -> None:
    found = measure_case(of({"slow": clock.takes(seconds)}), rounds=9)
    assert found.times["slow"].seconds == pytest.approx([seconds] * rounds)


def test_in_turns_with_a_limit_of_ours_the_library_draws(clock: OwnClock) -> None:
    forms: Forms = {"limit": clock.takes(1.0), "ours": clock.takes(1.0)}

    def drawn() -> Form:
        return clock.takes(0.25)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "yardstick", drawn)
        found, plain = (
            measure_case(of(forms, limit_is_ours=ours), rounds=1)
            for ours in (True, False)
        )
    assert set(found.times) == {"limit", "ours", YARDSTICK}
    assert found.times[YARDSTICK].seconds == pytest.approx([0.25])
    assert set(plain.times) == {"limit", "ours"}
    drawn_numbers = measure.yardstick()()
    assert isinstance(drawn_numbers, np.ndarray)
    assert drawn_numbers.shape == (100_000,)


def test_a_case_may_ask_for_fewer_rounds_and_never_for_more() -> None:
    forms: Forms = {"run": Usage}
    made = [
        len(measure_case(of(forms, rounds=most), rounds=5).times["run"].seconds)
        for most in (2, 9, None)
    ]
    assert made == [2, 5, 5]


def test_a_sparse_form_is_called_once_in_the_first_passes_only() -> None:
    order: list[str] = []
    case = of({"limit": lambda: None, "slow": calls(order, "slow")}, sparse=("slow",))
    found = [
        measure_case(case, rounds=1, pass_number=pass_number)
        for pass_number in range(5)
    ]
    assert order == ["slow"] * 3
    assert ["slow" in each.times for each in found] == [True, True, True, False, False]


def test_what_a_command_tells_is_kept() -> None:
    times = measure_case(
        of({"run": lambda: Usage(2**20, seconds=7.0)}), rounds=2
    ).times["run"]
    assert (times.seconds, times.peaks, times.added) == ([7.0, 7.0], [2**20] * 2, None)


def test_a_missing_form_says_why() -> None:
    found = measure_case(
        of({"limit": lambda: None, "theirs": Missing("theirs is not installed")}),
        rounds=1,
    )
    assert found.missing == {"theirs": "theirs is not installed"}
    assert list(found.times) == ["limit"]


def test_names_must_be_those_that_prepare_gives() -> None:
    forms: Forms = {"limit": lambda: None, "ours": lambda: None}
    with pytest.raises(ValueError, match="prepare gives"):
        measure_case(of(forms, sparse=("no",)))
    with pytest.raises(ValueError, match="prepare gives"):
        measure_case(BenchCase("toy", "A toy", lambda *, seed: forms, ("limit",)))


def test_no_garbage_is_collected_meanwhile() -> None:
    seen: list[bool] = []
    measure_case(
        of({"look": lambda: seen.append(gc.isenabled())}), rounds=1, pass_number=1
    )
    assert set(seen) == {False}
    assert gc.isenabled()


@for_each("mebibytes", [4, 64])
def test_added_memory_is_what_the_call_touches(mebibytes: int) -> None:
    kept = np.ones(2**23)  # resident before, and no part of it

    def work() -> float:
        return float(np.ones(mebibytes * 2**17).sum() + kept[0])

    work()
    assert mebibytes - 1 <= (added_memory(work) or 0) / 2**20 <= mebibytes + 3


def test_the_first_passes_take_the_memory_of_every_form() -> None:
    forms = {
        "small": lambda: np.ones(2**10).sum(),
        "large": lambda: np.ones(2**22).sum(),
    }
    first, second = (
        measure_case(of(forms), rounds=1, pass_number=pass_number).times
        for pass_number in (0, 3)
    )
    assert first["small"].added is not None
    assert first["large"].added is not None
    assert first["small"].added < 2**20
    assert 31 * 2**20 < first["large"].added < 36 * 2**20
    assert second["large"].added is None


def test_a_call_that_allocates_nothing_adds_next_to_nothing() -> None:
    assert (added_memory(lambda: None) or 0) < 2**20


def test_no_call_is_made_for_memory_alone_that_takes_long_or_works_elsewhere(
    clock: OwnClock,
) -> None:
    order: list[str] = []

    def slow() -> None:
        order.append("slow")
        clock.now += 3.0

    forms: Forms = {
        "limit": clock.takes(1.0),
        "slow": slow,
        "command": calls(order, "command"),
    }
    times = measure_case(
        of(forms, sparse=("slow", "command")), rounds=1, pass_number=0
    ).times
    assert order == ["slow", "command"]
    assert times["limit"].added is not None
    assert times["slow"].added is None
    assert times["command"].added is None
