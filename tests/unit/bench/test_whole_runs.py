"""Whole runs as forms: what the cold and the warm one come to. A stand-in says what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dpverify.bench import whole_runs
from dpverify.bench.case import Usage
from dpverify.bench.cases.verification import CASES, IN_TURN
from dpverify.bench.commands import CommandError
from dpverify.bench.cores import usable_cores
from dpverify.bench.registry import select
from dpverify.bench.whole_runs import ColdThenWarm, Crowd, check_seconds

Found = tuple[Usage, Mapping[str, Any]]


def run(status: str = "proved", seconds: float = 0.5) -> Mapping[str, Any]:
    check = {"name": "search", "seconds": seconds}
    other = {"claim": "toy:lemma-2", "reading": {"a": "b"}, "checks": [], "amendment": {"checks": [check]}}
    first: dict[str, Any] = {"claim": "toy:lemma-1", "reading": {}, "checks": [check], "amendment": None}
    return {"results": [first | {"status": status}, other | {"status": "proved"}]}


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterator[Found]], list[Path]]:
    """Runs that take and find what is handed over, one after the other; the folders that they are given."""

    def stand_in(found: Iterator[Found]) -> list[Path]:
        folders: list[Path] = []

        def verified(*_: str, cache: Path) -> Found:
            assert cache.is_dir()
            folders.append(cache)
            return next(found)

        monkeypatch.setattr(whole_runs, "_verify", verified)
        return folders

    return stand_in


def test_seconds_of_the_checks_of_a_run() -> None:
    assert check_seconds(run()) == {"toy:lemma-1[printed|search]": 0.5, "toy:lemma-2[a=b|amended|search]": 0.5}


def test_compilation_is_what_the_cold_run_took_more(verify: Callable[[Iterator[Found]], list[Path]]) -> None:
    cold, warm = Usage(2**30, seconds=90.0, core_seconds=150.0), Usage(2**29, seconds=50.0, core_seconds=80.0)
    verify(iter([(cold, run(seconds=3.0)), (warm, run(seconds=2.0))] * 2))
    runs = ColdThenWarm("--budget", "smoke")
    for _ in range(2):
        assert runs.cold().parts == {}
        told = runs.warm()
        assert (told.peak, sum(told.parts.values())) == (2**29, 4.0)
        assert runs.compilation().seconds == 40.0
        assert runs.compilation_on_one_core().seconds == 70.0
        assert runs.checks().seconds == 4.0 / usable_cores()


def test_the_warm_run_has_what_the_cold_one_left_and_the_next_cold_one_has_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left: list[int] = []

    def verified(*_: str, cache: Path) -> Found:
        left.append(len(list(cache.iterdir())))
        (cache / f"kernel-{len(left)}").touch()
        return Usage(0, seconds=1.0), run()

    monkeypatch.setattr(whole_runs, "_verify", verified)
    runs = ColdThenWarm()
    for form in (runs.cold, runs.warm, runs.cold, runs.warm):
        form()
    assert left == [0, 1, 0, 1]


def test_a_warm_run_that_finds_something_else_is_refused(verify: Callable[[Iterator[Found]], list[Path]]) -> None:
    used = Usage(0, seconds=1.0)
    verify(iter([(used, run()), (used, run("refuted"))]))
    runs = ColdThenWarm()
    runs.cold()
    with pytest.raises(CommandError, match="came to different verdicts"):
        runs.warm()


def test_processes_at_once_share_one_folder_and_must_agree(verify: Callable[[Iterator[Found]], list[Path]]) -> None:
    used = Usage(5, seconds=1.0)
    folders = verify(iter([(used, run())] * 4 + [(used, run())] * 3 + [(used, run("refuted"))]))
    crowd = Crowd("toy:lemma-1", 4)
    assert crowd.together().peak == 5
    assert len(folders) == 4
    assert len(set(folders)) == 1
    with pytest.raises(CommandError, match="4 processes that compiled at once came to 2 different verdicts"):
        crowd.together()


def test_whole_runs_are_measured_when_asked_for_alone() -> None:
    assert "verification" not in {group.name for group in select([])}
    for asked in (select([], long=True), select(["verification"])):
        assert [case.name for case in asked[-1].cases] == [case.name for case in CASES]
    smoke, standard = CASES[:2]
    assert (smoke.passes, standard.passes) == (1, 1)
    assert tuple(smoke.sparse) == IN_TURN  # in this order, and never twice in a pass
