from __future__ import annotations

import gc
from time import perf_counter, sleep

import numpy as np
import pytest

from dpverify.bench import measure
from dpverify.bench.case import Case, Forms, Missing, Usage
from dpverify.bench.measure import calls_for, measure_case
from dpverify.bench.memory import added_memory


def of(made: Forms, **fields: object) -> Case:
    limit = next(iter(made))
    return Case("toy", "A toy", lambda *, seed: made, limit=limit, **fields)  # type: ignore[arg-type]  # any field


def calls(order: list[str], name: str) -> object:
    def form() -> Usage:
        order.append(name)
        return Usage(0)

    return form


def test_forms_are_called_in_turns_and_the_order_rotates() -> None:
    order: list[str] = []
    forms = {name: calls(order, name) for name in "abc"}
    found = measure_case(of(forms, clock="wall"), rounds=3, turn=1)  # type: ignore[arg-type]  # forms are forms
    assert "".join(order) == "abc" + "bca" + "cab" + "abc"
    assert {name: len(times.seconds) for name, times in found.times.items()} == {"a": 3, "b": 3, "c": 3}


def test_a_fast_form_is_repeated_until_it_can_be_measured() -> None:
    found = measure_case(of({"pass": lambda: None}), rounds=2)
    times = found.times["pass"]
    assert times.repeats > 1000
    assert times.repeats * min(times.seconds) > measure.SHORTEST / 3
    assert calls_for(lambda: sleep(0.002), perf_counter, 0.01)[0] <= 12


def test_a_form_that_sleeps_does_not_count_for_ever() -> None:
    assert calls_for(lambda: sleep(0.05), lambda: 0.0, 0.01)[0] <= 4


def test_the_time_of_twice_the_work_is_twice_the_time() -> None:
    def work(times: int) -> None:
        for _ in range(times):
            sum(range(2000))

    found = measure_case(of({"once": lambda: work(20), "twice": lambda: work(40)}), rounds=5)
    ratio = found.medians()["twice"] / found.medians()["once"]
    assert 1.6 < ratio < 2.4


def test_slow_rounds_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "ROUND_BUDGET", 0.1)
    assert len(measure_case(of({"sleep": lambda: sleep(0.06)}, clock="wall"), rounds=9).times["sleep"].seconds) == 1
    assert len(measure_case(of({"sleep": lambda: sleep(0.02)}, clock="wall"), rounds=9).times["sleep"].seconds) in {
        3,
        4,
    }


def test_beside_a_limit_of_ours_the_library_draws() -> None:
    forms: Forms = {"limit": lambda: None, "ours": lambda: None}
    found, plain = (measure_case(of(forms, limit_is_ours=ours), rounds=3) for ours in (True, False))
    assert list(found.times) == ["limit", "ours"]
    assert found.yardstick is not None
    assert len(found.yardstick.seconds) == 3
    assert 1e-5 < min(found.yardstick.seconds) < 1.0
    assert plain.yardstick is None


def test_a_case_may_ask_for_fewer_rounds_and_never_for_more() -> None:
    forms: Forms = {"run": lambda: Usage(0)}
    made = [len(measure_case(of(forms, rounds=most), rounds=5).times["run"].seconds) for most in (2, 9, None)]
    assert made == [2, 5, 5]


def test_a_sparse_form_is_called_once_in_the_first_passes_only() -> None:
    order: list[str] = []
    case = of({"limit": lambda: None, "slow": calls(order, "slow")}, sparse=("slow",))  # type: ignore[dict-item]  # a form
    found = [measure_case(case, rounds=1, turn=turn) for turn in range(5)]
    assert order == ["slow"] * 3
    assert ["slow" in each.times for each in found] == [True, True, True, False, False]


def test_what_a_command_tells_is_kept() -> None:
    told = Usage(2**20, parts={"check": 0.5}, seconds=7.0)
    times = measure_case(of({"run": lambda: told}), rounds=2).times["run"]
    assert (times.seconds, times.peaks, times.parts) == ([7.0, 7.0], [2**20] * 2, {"check": [0.5, 0.5]})


def test_a_missing_form_says_why() -> None:
    found = measure_case(of({"limit": lambda: None, "theirs": Missing("theirs is not installed")}), rounds=1)
    assert found.missing == {"theirs": "theirs is not installed"}
    assert list(found.times) == ["limit"]


@pytest.mark.parametrize("fields", [{"sparse": ("no",)}, {"forms": ("limit",)}])
def test_names_must_be_those_that_prepare_gives(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="prepare gives"):
        measure_case(of({"limit": lambda: None, "ours": lambda: None}, **fields))


def test_no_garbage_is_collected_meanwhile() -> None:
    seen: list[bool] = []
    measure_case(of({"look": lambda: seen.append(gc.isenabled())}), rounds=1, turn=1)
    assert set(seen) == {False}
    assert gc.isenabled()


@pytest.mark.parametrize("mebibytes", [4, 64])
def test_added_memory_is_what_the_call_touches(mebibytes: int) -> None:
    kept = np.ones(2**23)  # resident before, and no part of it

    def work() -> float:
        return float(np.ones(mebibytes * 2**17).sum() + kept[0])

    found = added_memory(work) / 2**20
    assert mebibytes - 1 <= found <= mebibytes + 3


def test_the_first_pass_takes_the_memory_of_every_form() -> None:
    forms = {"small": lambda: np.ones(2**10).sum(), "large": lambda: np.ones(2**22).sum()}
    first, second = (measure_case(of(forms), rounds=1, turn=turn).times for turn in (0, 1))
    assert first["small"].added is not None
    assert first["large"].added is not None
    assert first["small"].added < 2**20
    assert 31 * 2**20 < first["large"].added < 36 * 2**20
    assert second["large"].added is None


def test_a_call_that_allocates_nothing_adds_next_to_nothing() -> None:
    assert added_memory(lambda: None) < 2**20


def test_a_sparse_form_has_its_memory_from_the_call_that_is_timed() -> None:
    order: list[str] = []

    def large() -> float:
        order.append("large")
        return float(np.ones(2**22).sum())

    forms: Forms = {"limit": lambda: None, "large": large, "command": lambda: Usage(0)}
    times = measure_case(of(forms, sparse=("large", "command")), rounds=1, turn=0).times
    assert order == ["large"]
    assert times["large"].added is not None
    assert 31 * 2**20 < times["large"].added < 36 * 2**20
    assert times["command"].added is None  # it is no process: nothing is known of its memory
