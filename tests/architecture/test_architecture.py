"""Tests of the project's architecture rules on the current code."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from tests.architecture import rules

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dpverify"


def test_import_linter_contracts_hold(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # the linter adds to it
    status = lint_imports(
        config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True
    )
    assert status == 0, capsys.readouterr().out


def test_every_folder_of_a_paper_is_held_by_a_contract() -> None:
    """Exceptions are ``checks``, which may import both, and ``accounting``, with neither kernels nor algebra."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "tool"
    ]["importlinter"]
    by_id = {contract["id"]: contract for contract in config["contracts"]}
    held = {
        *by_id["kernels-without-algebra"]["source_modules"],
        *by_id["algebra-without-kernels"]["source_modules"],
    }
    for file in sorted((PACKAGE / "papers").glob("*/**/*.py")):
        folders = file.relative_to(ROOT).parent.parts
        names = {".".join(folders[:depth]) for depth in range(3, len(folders) + 1)}
        meets = (
            {"checks", "algorithms"} & set(folders)
            or file.stem == "checks"
            or folders[-1] == "accounting"
        )
        bare = file.name == "__init__.py" and len(folders) == 3
        assert bare or meets or names & held, (
            f"{file.relative_to(ROOT)} is in no contract of pyproject.toml"
        )


def test_no_file_is_too_long() -> None:
    assert list(rules.long_files(rules.python_files(PACKAGE))) == []


def test_no_folder_is_too_full() -> None:
    assert list(rules.full_folders(rules.python_files(PACKAGE))) == []


def test_no_two_classes_have_one_name() -> None:
    assert list(rules.shared_class_names(rules.python_files(PACKAGE))) == []


def test_the_linter_writes_no_cache_among_the_files_of_the_project() -> None:
    """A cache in ``specs`` would change the inputs of all stored answers each time the linter runs."""
    configurations = sorted(ROOT.glob("[a-z]*/**/ruff.toml"))
    assert configurations
    for file in configurations:
        cache = tomllib.loads(file.read_text(encoding="utf-8"))["cache-dir"]
        assert (file.parent / cache).resolve().parent == ROOT, file


def test_there_are_not_too_many_items(request: pytest.FixtureRequest) -> None:
    """The limit applies to a run that collects the whole suite. A table of cases is one item: see tests/README.md."""
    assert list(rules.many_items([item.nodeid for item in request.session.items])) == []


def test_only_what_a_package_exports_has_sections_in_its_docstring() -> None:
    """Types and a few sentences are enough elsewhere. ``cli`` is excluded: docstrings of commands are their help."""
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
        found += [
            f"{module}.{name}" for top, name in named if (module, top) not in exported
        ]
    assert sorted(found) == []


def offences(
    paths: Iterable[Path], rule: Callable[[str], Iterable[object]]
) -> list[str]:
    """Return all violations of a rule about a file's text, with the file."""
    return [
        f"{path.relative_to(ROOT)}: {offence}"
        for path in paths
        for offence in rule(path.read_text(encoding="utf-8"))
    ]


def test_only_checks_import_checks() -> None:
    paths = rules.python_files(PACKAGE / "papers")
    outside = [path for path in paths if "checks" not in path.with_suffix("").parts]
    assert offences(outside, rules.imports_of_checks) == []


def test_one_place_owns_the_jit_options() -> None:
    paths = rules.python_files(PACKAGE)
    others = [path for path in paths if path != PACKAGE / "kernels" / "jit.py"]
    assert offences(others, rules.jit_uses) == [], "use @kernel of dpverify.kernels.jit"
    assert offences(paths, rules.fastmath_uses) == [], (
        "fastmath changes the numbers that are verified"
    )


def test_the_report_draws_no_sample() -> None:
    assert offences(rules.python_files(PACKAGE / "report"), rules.random_uses) == []
