"""Whole commands, and whole runs as forms: what the cold and the warm one come to. A stand-in says what they found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpverify.bench.case import Usage, select
from dpverify.bench.cases import verification
from dpverify.bench.cases.verification import (
    CASES,
    IN_TURN,
    ColdThenWarm,
    CommandError,
    VerifyRun,
    cold_at_once,
    read_results,
    run_python,
)
from dpverify.bench.measure import ONE_THREAD
from dpverify.processes import usable_cores


def run(used: Usage, status: str = "proved", seconds: float = 1.0) -> VerifyRun:
    return VerifyRun(used, seconds, [("toy:lemma-1", "{}", status)])


@pytest.fixture
def verify(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Iterator[VerifyRun]], list[Path]]:
    """Runs that take and find what is handed over, one after the other; the folders that they are given."""

    def stand_in(found: Iterator[VerifyRun]) -> list[Path]:
        folders: list[Path] = []

        def verified(*_: str, cache: Path) -> VerifyRun:
            assert cache.is_dir()
            folders.append(cache)
            return next(found)

        monkeypatch.setattr(verification, "verify", verified)
        return folders

    return stand_in


def test_seconds_of_the_checks_and_verdicts_of_a_run() -> None:
    check = {"name": "search", "seconds": 0.5}
    first: dict[str, Any] = {
        "claim": "toy:lemma-1",
        "reading": {},
        "checks": [check],
        "amendment": None,
    }
    other = {
        "claim": "toy:lemma-2",
        "reading": {"a": "b"},
        "checks": [],
        "amendment": {"checks": [check, check]},
    }
    seconds, verdicts = read_results(
        [first | {"status": "refuted"}, other | {"status": "proved"}]
    )
    assert seconds == 1.5
    assert verdicts == [
        ("toy:lemma-1", "{}", "refuted"),
        ("toy:lemma-2", '{"a": "b"}', "proved"),
    ]


def test_compilation_is_what_the_cold_run_took_more(
    verify: Callable[[Iterator[VerifyRun]], list[Path]],
) -> None:
    cold, warm = (
        Usage(2**30, seconds=90.0, core_seconds=150.0),
        Usage(2**29, seconds=50.0, core_seconds=80.0),
    )
    verify(iter([run(cold, seconds=6.0), run(warm, seconds=4.0)] * 2))
    runs = ColdThenWarm("--budget", "smoke")
    for _ in range(2):
        assert runs.cold() == cold
        assert runs.warm() == warm
        assert runs.compilation().seconds == 40.0
        assert runs.compilation_on_one_core().seconds == 70.0
        assert runs.checks().seconds == 4.0 / usable_cores()


def test_the_warm_run_has_what_the_cold_one_left_and_the_next_cold_one_has_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left: list[int] = []

    def verified(*_: str, cache: Path) -> VerifyRun:
        left.append(len(list(cache.iterdir())))
        (cache / f"kernel-{len(left)}").touch()
        return run(Usage(seconds=1.0))

    monkeypatch.setattr(verification, "verify", verified)
    runs = ColdThenWarm()
    for form in (runs.cold, runs.warm, runs.cold, runs.warm):
        form()
    assert left == [0, 1, 0, 1]


def test_a_warm_run_that_finds_something_else_is_refused(
    verify: Callable[[Iterator[VerifyRun]], list[Path]],
) -> None:
    used = Usage(seconds=1.0)
    verify(iter([run(used), run(used, "refuted")]))
    runs = ColdThenWarm()
    runs.cold()
    with pytest.raises(CommandError, match="came to different verdicts"):
        runs.warm()


def test_processes_at_once_share_one_folder_and_must_agree(
    verify: Callable[[Iterator[VerifyRun]], list[Path]],
) -> None:
    used = Usage(5, seconds=1.0)
    folders = verify(iter([run(used)] * 7 + [run(used, "refuted")]))
    assert cold_at_once("toy:lemma-1", 4).peak == 5
    assert len(folders) == 4
    assert len(set(folders)) == 1
    with pytest.raises(
        CommandError,
        match="4 processes that compiled at once came to 2 different verdicts",
    ):
        cold_at_once("toy:lemma-1", 4)


def test_whole_runs_are_measured_when_asked_for_alone() -> None:
    assert "verification" not in {group.name for group in select([])}
    for asked in (select([], long=True), select(["verification"])):
        assert [case.name for case in asked[-1].cases] == [case.name for case in CASES]
    smoke, standard = CASES[:2]
    assert (smoke.passes, standard.passes) == (1, 1)
    assert tuple(smoke.sparse) == IN_TURN  # in this order, and never twice in a pass


def test_a_command_and_its_peak_memory() -> None:
    used = run_python("-c", "x = bytearray(200 * 2**20)")
    assert 200 * 2**20 < used.peak < 300 * 2**20


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(
        CommandError, match=r"^python -c .*: exit code 3: no such thing"
    ):
        run_python(
            "-c", "import sys; print('no such thing', file=sys.stderr); sys.exit(3)"
        )
    assert isinstance(run_python("-c", "import sys; sys.exit(3)", codes=(0, 3)), Usage)


def test_commands_have_the_threads_of_a_prompt_this_package_and_the_folder_of_kernels_that_they_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "1")  # as in a process that measures
    look = f"import dpverify, json, os; json.dump(dict(os.environ), open(r'{tmp_path}/seen', 'w'))"
    run_python("-c", look, cache=tmp_path)
    seen = json.loads((tmp_path / "seen").read_text())
    assert not set(ONE_THREAD) & set(seen)
    assert seen[verification.CACHE_VARIABLE] == str(tmp_path)


def test_the_seconds_of_cores_of_a_command_count_the_processes_that_it_waited_for() -> (
    None
):
    busy = "import time; end = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    used = run_python(
        "-c",
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])",
    )
    assert used.core_seconds >= 0.2
    assert used.seconds is not None
    assert used.seconds >= 0.2
