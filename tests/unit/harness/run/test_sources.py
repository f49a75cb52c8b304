from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.harness.derivation_check import TextProof
from dpverify.harness.finite_check import FiniteCheck
from dpverify.harness.formula_proof import FormulaProof
from dpverify.harness.formula_search import FormulaSearch
from dpverify.harness.run.sources import (
    entries_of,
    find_check,
    load_checks,
    recorded_share,
)
from dpverify.ledger.errors import SpecError

FILE = """from dpverify.harness import PaperChecks, SearchCheck

CHECKS = PaperChecks("{key}", __name__)
CHECKS.add(SearchCheck("lemma-1", "{name}"))
"""


def test_checks_are_loaded_from_a_module_and_function() -> None:
    loaded = load_checks("tests.unit.harness.demo.demo_checks:load", "demo")
    assert loaded is not None
    assert loaded.key == "demo"
    assert load_checks("tests.unit.harness.demo.demo_checks:load", "other") is None


def test_checks_are_loaded_from_a_package_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "two_papers"
    folder.mkdir()
    for name, text in (
        ("__init__", ""), ("a", FILE.format(key="first", name="mine")), ("b", FILE.format(key="second", name="its")),
        ("c", FILE.format(key="third", name="x") + "import nowhere\n"),
    ):  # fmt: skip
        (folder / f"{name}.py").write_text(text)
    assert find_check("two_papers", "first", "lemma-1", "mine").name == "mine"
    assert find_check("two_papers", "second", "lemma-1", "its").name == "its"
    assert recorded_share("two_papers", "smoke") is None
    with pytest.raises(
        SpecError,
        match=r"two_papers\.c: its checks .* ModuleNotFoundError: .* \(c\.py, line 5\)",
    ):
        load_checks("two_papers", "third")
    for missing in ("no_such_package", "no_such_package:load", "two_papers:load"):
        with pytest.raises(SpecError, match=missing):
            load_checks(missing, "first")


def test_a_claim_without_a_check_is_searched_and_proved_if_possible() -> None:
    searched = {"proof": FormulaProof, "points": FiniteCheck, "search": FormulaSearch}
    kinds = {"derivation": TextProof, **searched}
    assert {
        entry.check.name: type(entry.check) for entry in entries_of(None, "lemma-9")
    } == kinds
    assert {entry.check.claim for entry in entries_of(None, "lemma-9")} == {"lemma-9"}
    assert all("held" in entry.check.variants for entry in entries_of(None, "lemma-9"))
    demo = load_checks("tests.unit.harness.demo.demo_checks:load", "demo")
    assert searched.keys().isdisjoint(
        entry.check.name for entry in entries_of(demo, "walk")
    )
    assert isinstance(
        find_check(
            "tests.unit.harness.demo.demo_checks:load", "demo", "walk", "derivation"
        ),
        TextProof,
    )
    assert [entry.check.name for entry in entries_of(demo, "none-is-written")] == list(
        kinds
    )
