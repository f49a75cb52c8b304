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
    monkeypatch.setattr("dpverify.selftest.children.LIBRARIES", ("pytest",))
    root = tmp_path / "toy"
    for folder in ("dpverify", "tests/unit", "specs/faults"):
        (root / folder).mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    for name, says in NAMES.items():
        (root / "dpverify" / f"{name}.py").write_text(CODE)
        (root / "tests" / "unit" / f"test_{name}.py").write_text(TEST.format(name=name, says=says))
    return root


@pytest.mark.slow
def test_a_change_is_noticed_by_tests_that_hold_and_were_green(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, told = toy / "state", list[str]()
    run = change_modules(toy, state, jobs=2, report=lambda done, total, label: told.append(label))
    assert [each.module for each in run.noticed] == ["dpverify.held"]
    assert {each.module for each in run.unseen} == {"dpverify.loose", "dpverify.broken"}
    assert "dpverify.held: noticed" in told
    assert "dpverify.loose: NOT NOTICED" in told
    (broken,) = [each for each in run.unseen if each.module == "dpverify.broken"]
    assert broken.error == "none of its guards is green before the change"
    monkeypatch.setattr(module, "look", None)  # nothing is run again
    assert change_modules(toy, state).changes == run.changes
    assert change_modules(toy, toy / "other", known=run.changes).changes == run.changes
    (toy / "tests" / "unit" / "test_held.py").write_text("")
    assert change_modules(toy, state, "dpverify.broken").unseen
    with pytest.raises(TypeError):  # its tests are others now
        change_modules(toy, state)


@pytest.mark.slow
def test_guards_that_did_not_run_decide_nothing(toy: Path) -> None:
    """A guard of which all is skipped, or that was ended, says nothing of the module, and is asked again."""
    state, guard = toy / "state", toy / "tests" / "unit" / "test_held.py"
    held = guard.read_text()
    guard.write_text("import pytest\npytest.skip('not here', allow_module_level=True)\n")
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


@pytest.mark.slow
def test_where_the_nearest_notice_nothing_all_tests_of_the_folder_are_asked(toy: Path) -> None:
    """And where nothing starts after any change, that is said; what was found widely is not asked again."""
    for name, code in {"far": CODE, "needed": "def area(x):\n    return x * x\n\nassert area(3) == 9\n"}.items():
        for folder in ("dpverify/deep", "tests/unit/deep"):
            (toy / folder).mkdir(exist_ok=True)
        (toy / "dpverify" / "deep" / f"{name}.py").write_text(code)
    for name, says in {"test_far": "> 0", "test_other": "== 9"}.items():
        test = TEST.format(name="deep/far", says=says)
        (toy / "tests" / "unit" / "deep" / f"{name}.py").write_text(test)
    test = 'import runpy\nrunpy.run_path("dpverify/deep/needed.py")\ndef test_it(): pass\n'
    (toy / "tests" / "unit" / "deep" / "test_needed.py").write_text(test)
    state = toy / "state"
    run = change_modules(toy, state, "dpverify.deep.*", jobs=2)
    (far,) = run.noticed
    assert far.module == "dpverify.deep.far"
    assert [(each.check[11:], each.noticed) for each in far.sightings][-1] == ("deep/test_other.py", True)
    assert [each.module for each in run.broken] == ["dpverify.deep.needed"]
    assert not run.unseen
    before = state.read_bytes()
    assert change_modules(toy, state, "dpverify.deep.*").changes == run.changes
    assert state.read_bytes() == before
