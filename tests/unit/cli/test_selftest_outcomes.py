"""What ``dpverify selftest`` says and writes of what its runners found, with runners of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dpverify.cli.app import main
from dpverify.processes import usable_cores
from dpverify.selftest import checks as rates
from dpverify.selftest import modules
from dpverify.selftest import run as runner
from dpverify.selftest.records import (
    CheckRates,
    FaultOutcome,
    MutantsRun,
    RatesRun,
    SearchedInequality,
    SearchRun,
    Selftest,
    Sighting,
    Trial,
)
from tests.for_each import for_each

ROOT = Path(__file__).parents[3]
BLIND, SEEN = (
    Sighting(check="tests/t.py", saw="nothing"),
    Sighting(check="p:c", saw="pin contradicted"),
)
Capture = pytest.CaptureFixture[str]


def outcome(name: str, *sightings: Sighting) -> FaultOutcome:
    return FaultOutcome(
        id=name,
        kind="noise",
        what="it",
        module="m",
        seconds=3.4,
        sightings=list(sightings),
    )


def faults(*found: FaultOutcome) -> Selftest:
    return Selftest(
        versions={},
        commit="",
        machine={},
        kinds={"noise": "N"},
        modules=["m"],
        faults=list(found),
        catalogue=9,
    )


def searched(*found: bool) -> SearchRun:
    """Of true inequalities: whether each was refuted."""
    trials = [
        {"smoke": [Trial(seed=0, points=9, found={"x": "1"} if each else {}, bits=1)]}
        for each in found
    ]
    hunted = [
        SearchedInequality(
            name="t", kind="", says="x < 1", requires=[], bits=0, trials=each
        )
        for each in trials
    ]
    return SearchRun(kinds={}, seconds={"smoke": 1.0}, inequalities=hunted)


def rated(*wrong: bool) -> RatesRun:
    checks = [
        CheckRates(
            check="p:c[law]", pinned="not refuted", alpha=1e-6, power=0.99, detects="", says=["not refuted"] * 2,
            planted=2, seen=1, power_at_least=0.0, wrong=each,
        )
        for each in wrong
    ]  # fmt: skip
    return RatesRun(budget="smoke", seeds=2, checks=checks)


def changed(*waiting: str, of: str = "dpverify.a") -> MutantsRun:
    done = msgspec.structs.replace(outcome(of, SEEN), module=of)
    return MutantsRun(commit="", modules=[of, *waiting], changes=[done])


Given = dict[str, Any]


def answers(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, run: object
) -> Given:
    """Let a runner answer with a run, or raise it; what it was asked for."""
    given: Given = {}

    def runs(*arguments: object, **words: object) -> object:
        given.update(words, arguments=arguments)
        if isinstance(run, Exception):
            raise run
        return run

    monkeypatch.setattr(where, name, runs)
    return given


ASKS: dict[str, tuple[list[str], Any, str, Callable[[bool], object], int, str]] = {
    "faults": (
        [],
        runner,
        "selftest",
        lambda red: faults(outcome("f", BLIND if red else SEEN)),
        1,
        "selftest",
    ),
    "search": (["--search"], rates, "judge_search", searched, 1, "search"),
    "rates": (["--rates", "2"], rates, "measure_rates", rated, 1, "rates"),
    "modules": (
        ["--modules"],
        modules,
        "change_modules",
        lambda red: changed(*["dpverify.b"] * red),
        130,
        "mutants",
    ),
}


@for_each("red", [False, True])
@for_each("name", ASKS)
def test_the_exit_code_is_that_of_what_was_found_and_all_is_written(
    name: str,
    red: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    words, where, function, makes, code, page = ASKS[name]
    run = makes(red)
    answers(monkeypatch, where, function, run)
    report = tmp_path / "report"
    asked = [
        "selftest",
        "--root",
        str(ROOT),
        "--state",
        str(tmp_path / "state"),
        *words,
    ]
    assert main([*asked, "--report", str(report), "--json", "-"]) == (
        code if red else 0
    )
    said = capsys.readouterr()
    assert msgspec.json.decode(said.out, type=type(run)) == run  # and nothing else
    assert said.err.strip()
    assert (report / f"{page}.md").is_file()
    assert (
        msgspec.json.decode(
            (report / "data" / f"{page}.json").read_bytes(), type=type(run)
        )
        == run
    )
    assert main([*asked, "--json", str(tmp_path / "run.json")]) == (code if red else 0)
    assert capsys.readouterr().out.strip()
    assert (
        msgspec.json.decode((tmp_path / "run.json").read_bytes(), type=type(run)) == run
    )


def test_missed_faults_are_named_first(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    answers(
        monkeypatch,
        runner,
        "selftest",
        faults(outcome("a", SEEN), outcome("b", SEEN, BLIND)),
    )
    assert main(["selftest", "--root", str(ROOT)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "b (3 s): MISSED by tests/t.py",
        "a (3 s): noticed",
        "2 faults, 1 noticed, 1 missed",
    ]


def test_code_that_is_red_without_a_fault_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    answers(monkeypatch, runner, "selftest", runner.FailingGuardsError([BLIND]))
    assert main(["selftest", "--root", str(ROOT)]) == 1
    said = capsys.readouterr()
    assert "without a fault: tests/t.py: nothing" in said.err
    assert said.out == ""


def test_runs_are_asked_for_what_the_words_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    state, root = str(tmp_path / "mine"), ["selftest", "--root", str(ROOT)]
    given = answers(monkeypatch, modules, "change_modules", changed("dpverify.b"))
    # what waits was not asked for
    assert main([*root, "--modules", "--only", "dpverify.a", "--jobs", "3"]) == 0
    assert (given["arguments"], given["jobs"]) == (
        (ROOT, ROOT / ".selftest-modules", "dpverify.a"),
        3,
    )
    assert main([*root, "--modules", "--state", state]) == 130
    assert (given["arguments"], given["jobs"]) == (
        (ROOT, Path(state), "*"),
        usable_cores(),
    )
    assert main([*root, "--modules", "--only", "dpverify.c"]) == 2
    assert (
        "no module that the catalogue leaves out has such a name"
        in capsys.readouterr().err
    )
    given = answers(monkeypatch, rates, "measure_rates", rated(False))
    assert main([*root, "--rates", "7", "--only", "p:c", "--jobs", "2"]) == 0
    assert given["arguments"][1:4] == (7, 2, "p:c")
    answers(monkeypatch, rates, "measure_rates", rated())
    assert main([*root, "--rates", "7"]) == 2
    assert main([*root, "--rates", "0"]) == 2
    assert main([*root, "--search", "--only", "no such inequality"]) == 2
    given = answers(monkeypatch, runner, "selftest", faults())
    assert main([*root, "--state", state, "--only", "permutation-never"]) == 0
    assert given["arguments"][2] == Path(state)
    assert [fault.id for fault in given["arguments"][1]] == ["permutation-never"]


@for_each("words", [[], ["--modules"]])
def test_a_damaged_state_is_refused_and_nothing_is_run(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    calls = [
        answers(monkeypatch, where, name, None)
        for where, name in ((runner, "selftest"), (modules, "change_modules"))
    ]
    state = tmp_path / "state"
    state.write_text("something else")
    assert main(["selftest", "--root", str(ROOT), "--state", str(state), *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert calls == [{}, {}]
    assert state.read_text() == "something else"


def test_what_is_recorded_of_modules_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = answers(monkeypatch, modules, "change_modules", changed())
    words = [
        "selftest",
        "--root",
        str(ROOT),
        "--modules",
        "--state",
        str(tmp_path / "state"),
        "--report",
        str(tmp_path),
    ]
    assert main(words) == 0
    assert list(given["earlier_outcomes"]) == []
    assert main(words) == 0
    assert list(given["earlier_outcomes"]) == changed().changes
