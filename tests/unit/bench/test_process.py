"""What happens between the run and the processes that measure; real processes, on cases that take no time."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from dpverify.bench import run as running
from dpverify.bench.case import BenchCase, Group
from dpverify.bench.measure import ONE_THREAD, Measured, measure_afresh
from dpverify.bench.run import Amount, run
from dpverify.harness.run.store import Store
from tests.unit.bench import toys
from tests.unit.bench.runs import case, measured

FORMS = ("limit", "ours")


def test_a_process_that_dies_costs_one_case(capfd: pytest.CaptureFixture[str]) -> None:
    cases = [
        BenchCase("good", "Good", toys.good, FORMS),
        BenchCase("wrong", "Wrong", toys.wrong, FORMS),
        BenchCase("dies", "Dies", toys.dies, FORMS),
        BenchCase("after", "After", toys.good, FORMS),
        BenchCase("last", "Last", toys.dies, FORMS),
    ]
    good, wrong, dies, after, last = measure_afresh(
        cases, seed=1, rounds=2, pass_number=0
    )
    assert wrong.error == "ValueError: of two lines"
    assert "exit code 7" in dies.error
    assert "exit code 7" in last.error
    for found in (good, after):
        assert not found.error
        rounds = [len(times.seconds) for times in found.times.values()]
        # one where a round took long: the machine may be busy
        assert rounds in ([2, 2], [1, 1])
    assert capfd.readouterr() == ("", "")


def test_linear_algebra_has_one_thread_where_we_measure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ONE_THREAD:
        monkeypatch.delenv(name, raising=False)
    (found,) = measure_afresh(
        [BenchCase("threads", "Threads", toys.threads, FORMS)],
        seed=1,
        rounds=1,
        pass_number=0,
    )
    assert found.error == f"ValueError: {' '.join(sorted(ONE_THREAD))}"


def test_a_process_that_is_not_heard_to_its_end_ends() -> None:
    answers = measure_afresh(
        [BenchCase(name, "Good", toys.good, FORMS) for name in "ab"],
        seed=1,
        rounds=1,
        pass_number=0,
    )
    assert not next(answers).error
    answers.close()
    assert list(answers) == []


class Stand:
    """In the place of the processes; writes down what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, list[str]]] = []
        self.seeds: set[int] = set()
        self.stops: tuple[str, ...] = ("interrupted",)

    def __call__(
        self, cases: Sequence[BenchCase], *, seed: int, rounds: int, pass_number: int
    ) -> Generator[Measured, None, None]:
        self.asked.append((pass_number, [each.name for each in cases]))
        self.seeds.add(seed)
        for each in cases:
            if each.name in self.stops and pass_number == 1:
                raise KeyboardInterrupt
            yield (
                Measured(error="no")
                if each.name == "broken"
                else measured({"limit": [1.0], "ours": [2.0]})
            )


def test_passes_go_through_all_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand()
    monkeypatch.setattr(running, "measure_afresh", stand)
    groups = [
        Group("noise", "Noise", (case("a"), case("broken"), case("rare", passes=1))),
        Group("audit", "Audit", (case("b"),)),
    ]
    told: list[tuple[int, int, str]] = []
    found = run(groups, Amount(2, 5), progress=lambda *each: told.append(each))
    assert stand.asked == [
        (0, ["a", "broken", "rare"]),
        (0, ["b"]),
        (1, ["a"]),
        (1, ["b"]),
    ]
    assert len(stand.seeds) == 1  # the input is the same in every pass
    assert {
        each.name: len(each.forms[0].samples) for each in found.cases if each.forms
    } == {"a": 2, "rare": 1, "b": 2}
    assert [each.error for each in found.cases if each.name == "broken"] == ["no"]
    assert found.groups == {"noise": "Noise", "audit": "Audit"}
    assert [done for done, _, _ in told] == list(range(6))
    assert told[-1] == (5, 7, "pass 2 of 2: audit/b")


def test_an_interrupted_run_keeps_what_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "measure_afresh", Stand())
    found = run(
        [Group("noise", "Noise", (case("a"), case("interrupted"), case("b")))],
        Amount(3, 5),
    )
    assert found.runs[0].interrupted
    assert {each.name: len(each.forms[0].samples) for each in found.cases} == {
        "a": 2,
        "interrupted": 1,
        "b": 1,
    }


def test_a_run_that_was_ended_goes_on_and_a_whole_one_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    groups = [Group("noise", "Noise", (case("a"), case("interrupted"), case("b")))]
    path, stand = tmp_path / "evidence.sqlite", Stand()
    monkeypatch.setattr(running, "measure_afresh", stand)
    whole = run(
        [Group("noise", "Noise", (case("a"), case("b")))],
        Amount(3, 5),
        store=Store(path),
    )
    assert (whole.runs[0].earlier, whole.runs[0].interrupted) == (0, False)
    first = run(groups, Amount(3, 5), store=Store(path))
    assert first.runs[0].interrupted
    again = run(groups, Amount(3, 5), store=Store(path))
    assert (again.runs[0].earlier, again.runs[0].interrupted) == (4, True)
    assert run(groups, Amount(3, 5), seed=1, store=Store(path)).runs[0].earlier == 0
    assert run(groups, Amount(3, 5), store=Store(path), fresh=True).runs[0].earlier == 0
    stand.asked.clear()
    stand.stops = ()
    second = run(groups, Amount(3, 5), store=Store(path))
    assert stand.asked == [(1, ["interrupted", "b"]), (2, ["a", "interrupted", "b"])]
    assert (second.runs[0].earlier, second.runs[0].interrupted) == (4, False)
    assert {each.name: len(each.forms[0].samples) for each in second.cases} == {
        "a": 3,
        "interrupted": 3,
        "b": 3,
    }
    assert run(groups, Amount(3, 5), store=Store(path)).runs[0].earlier == 0
    stand.stops = ("interrupted",)
    run(groups, Amount(3, 5), store=Store(path))
    monkeypatch.setattr(running, "fingerprint", lambda: {"code": "another"})
    assert run(groups, Amount(3, 5), store=Store(path)).runs[0].earlier == 0
