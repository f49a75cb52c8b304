"""A machine's changes in a toy checkout: one module whose tests notice, one whose tests do not, one already known."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.selftest import modules as module
from dpverify.selftest.modules import change_modules

CODE = "def area(x):\n    return x * x\n"
TEST = """
import runpy
def test_it(): assert runpy.run_path("dpverify/{name}.py")["area"](3) {says}
"""
NAMES = {"held": "== 9", "loose": "> 0", "broken": "== 8"}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("dpverify.selftest.detection.LIBRARIES", ("pytest",))
    root = tmp_path / "toy"
    for folder in ("dpverify", "tests/unit", "specs/faults"):
        (root / folder).mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    for name, says in NAMES.items():
        (root / "dpverify" / f"{name}.py").write_text(CODE)
        (root / "tests" / "unit" / f"test_{name}.py").write_text(
            TEST.format(name=name, says=says)
        )
    return root


@pytest.mark.slow
def test_a_change_is_noticed_by_tests_that_hold_and_were_green(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, told = toy / "state", list[str]()
    run = change_modules(
        toy, state, jobs=2, report=lambda done, total, label: told.append(label)
    )
    assert [each.module for each in run.noticed] == ["dpverify.held"]
    assert {each.module for each in run.unseen} == {"dpverify.loose", "dpverify.broken"}
    assert "dpverify.held: noticed" in told
    assert "dpverify.loose: NOT NOTICED" in told
    (broken,) = [each for each in run.unseen if each.module == "dpverify.broken"]
    assert broken.error == "none of its guards is green before the change"
    monkeypatch.setattr(module, "run_guards", None)  # nothing is run again
    assert change_modules(toy, state).changes == run.changes
    assert (
        change_modules(toy, toy / "other", earlier_outcomes=run.changes).changes
        == run.changes
    )
    (toy / "tests" / "unit" / "test_held.py").write_text("")
    assert change_modules(toy, state, "dpverify.broken").unseen
    with pytest.raises(TypeError):  # its tests are others now
        change_modules(toy, state)


@pytest.mark.slow
def test_guards_that_did_not_run_decide_nothing(toy: Path) -> None:
    """A guard of which all is skipped, or that was ended, says nothing of the module, and is asked again."""
    state, guard = toy / "state", toy / "tests" / "unit" / "test_held.py"
    held = guard.read_text()
    guard.write_text(
        "import pytest\npytest.skip('not here', allow_module_level=True)\n"
    )
    (unseen,) = change_modules(toy, state, "dpverify.held").unseen
    assert unseen.error == "its guards did not run to their end before the change"
    assert not state.exists()
    guard.write_text(held)
    assert change_modules(toy, state, "dpverify.held").noticed


def test_a_run_that_is_ended_keeps_what_it_decided(toy: Path) -> None:
    def ended(done: int, total: int, label: str) -> None:
        if label.startswith("dpverify."):
            raise KeyboardInterrupt

    run = change_modules(toy, toy / "state", report=ended)
    assert len(run.changes) == 1
    assert len(run.waiting) == len(NAMES) - 1
    assert not change_modules(toy, toy / "state").waiting


AREA = 'import runpy\narea = runpy.run_path("dpverify/deep/{name}.py")["area"](3)\n'
AT_IMPORT = AREA + "assert area == 9\ndef test_it(): pass\n"
UNFIT = AREA + "def test_it():\n    if area != 9: raise AttributeError\n"
BLIND, SEES = (
    AREA + "def test_it(): assert area > 0\n",
    AREA + "def test_it(): assert area == 9\n",
)


def deep(toy: Path, name: str, **tests: str) -> None:
    """A module in a folder of its own, with tests beside each other."""
    for folder in (toy / "dpverify" / "deep", toy / "tests" / "unit" / "deep"):
        folder.mkdir(exist_ok=True)
    (toy / "dpverify" / "deep" / f"{name}.py").write_text(CODE)
    for test, code in tests.items():
        (toy / "tests" / "unit" / "deep" / f"test_{test}.py").write_text(
            code.format(name=name)
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "nearest", [BLIND, UNFIT, AT_IMPORT], ids=["blind", "unfit", "not loaded"]
)
def test_where_the_nearest_notice_nothing_all_tests_of_the_folder_are_asked(
    toy: Path, nearest: str
) -> None:
    """Each by itself: one that cannot be loaded, or does not fit, keeps no other from noticing."""
    deep(toy, "far", far=nearest, at_import=AT_IMPORT, bent=UNFIT, third=SEES)
    state, told = toy / "state", list[tuple[int, int]]()
    run = change_modules(
        toy,
        state,
        "dpverify.deep.*",
        report=lambda done, total, label: told.append((done, total)),
    )
    (far,) = run.noticed
    saw = {
        each.check.removeprefix("tests/unit/deep/test_"): each.saw
        for each in far.sightings
    }
    assert (saw["at_import.py"], saw["bent.py"], saw["third.py"]) == (
        "did not run",
        "did not run",
        "assertion failed",
    )
    assert not run.broken
    assert not run.unseen
    assert told == [(0, 1), (1, 1), (0, 1), (1, 1)]
    before = state.read_bytes()
    assert change_modules(toy, state, "dpverify.deep.*").changes == run.changes
    assert (
        change_modules(
            toy, toy / "other", "dpverify.deep.*", earlier_outcomes=run.changes
        ).changes
        == run.changes
    )
    assert state.read_bytes() == before
    assert not (toy / "other").exists()


@pytest.mark.slow
def test_where_nothing_runs_after_any_change_that_is_said(toy: Path) -> None:
    deep(toy, "needed", needed=AT_IMPORT, bent=UNFIT)
    run = change_modules(toy, toy / "state", "dpverify.deep.*")
    assert [each.module for each in run.broken] == ["dpverify.deep.needed"]
    assert (run.noticed, run.unseen) == ([], [])
    # who loads it is asked, and does not notice
    deep(toy, "needed", needed=AT_IMPORT, bent=BLIND)
    run = change_modules(toy, toy / "state", "dpverify.deep.*")
    assert [each.module for each in run.unseen] == ["dpverify.deep.needed"]
    assert run.broken == []


@pytest.mark.slow
def test_a_module_whose_folder_has_not_been_asked_yet_waits(toy: Path) -> None:
    deep(toy, "far", far=BLIND, third=SEES)

    def ended(done: int, total: int, label: str) -> None:
        if label.endswith("NOT NOTICED"):
            raise KeyboardInterrupt

    run = change_modules(toy, toy / "state", "dpverify.deep.*", report=ended)
    assert run.changes == []
    assert "dpverify.deep.far" in run.waiting
    assert change_modules(toy, toy / "state", "dpverify.deep.*").noticed
