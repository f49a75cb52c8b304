"""The house's rules, read off the code as it is."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from tests.architecture import rules
from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dpverify"


def test_import_linter_contracts_hold(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # the linter adds to it
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert status == 0, capsys.readouterr().out


def test_every_folder_of_a_paper_is_held_by_a_contract() -> None:
    """Beside ``checks``, where the sources meet, and ``accounting``, which holds neither kernels nor algebra."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    by_id = {contract["id"]: contract for contract in config["contracts"]}
    held = {*by_id["kernels-without-algebra"]["source_modules"], *by_id["algebra-without-kernels"]["source_modules"]}
    for file in sorted((PACKAGE / "papers").glob("*/**/*.py")):
        folders = file.relative_to(ROOT).parent.parts
        names = {".".join(folders[:depth]) for depth in range(3, len(folders) + 1)}
        meets = {"checks", "algorithms"} & set(folders) or file.stem == "checks" or folders[-1] == "accounting"
        bare = file.name == "__init__.py" and len(folders) == 3
        assert bare or meets or names & held, f"{file.relative_to(ROOT)} is in no contract of pyproject.toml"


def test_no_file_is_too_long() -> None:
    assert list(rules.long_files(rules.python_files(PACKAGE))) == []


def test_no_folder_is_too_full() -> None:
    assert list(rules.full_folders(rules.python_files(PACKAGE))) == []


def test_no_two_classes_have_one_name() -> None:
    assert list(rules.shared_class_names(rules.python_files(PACKAGE))) == []


def test_only_what_a_package_exports_has_sections_in_its_docstring() -> None:
    """Elsewhere types and one to three sentences are enough. The help of commands is made from their docstrings."""
    paths = rules.python_files(PACKAGE)
    exported = rules.exported(ROOT, paths)
    found = []
    for path in paths:
        if PACKAGE / "cli" in path.parents:
            continue
        relative = path.relative_to(ROOT).with_suffix("")
        parts = relative.parent.parts if relative.name == "__init__" else relative.parts
        module = ".".join(parts)
        named = rules.sections(path.read_text(encoding="utf-8"))
        found += [f"{module}.{name}" for top, name in named if (module, top) not in exported]
    assert sorted(found) == []


@for_each("path", rules.python_files(PACKAGE / "papers"), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_checks_import_checks(path: Path) -> None:
    inside = "checks" in path.with_suffix("").parts
    assert inside or list(rules.imports_of_checks(path.read_text(encoding="utf-8"))) == []


@for_each("path", rules.python_files(PACKAGE), ids=lambda path: str(path.relative_to(ROOT)))
def test_one_place_owns_the_jit_options(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    if path != PACKAGE / "kernels" / "jit.py":
        assert list(rules.jit_uses(source)) == [], "use @kernel of dpverify.kernels.jit"
    assert list(rules.fastmath_uses(source)) == [], "fastmath changes the numbers that are verified"


@for_each("path", rules.python_files(PACKAGE / "report"), ids=lambda path: path.name)
def test_the_report_draws_no_sample(path: Path) -> None:
    assert list(rules.random_uses(path.read_text(encoding="utf-8"))) == []
