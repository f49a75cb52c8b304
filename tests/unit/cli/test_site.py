"""``dpverify site``: what it builds from, its exit code, and what it refuses, with a builder of the test's own."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpverify.cli.app import main
from dpverify.harness.run.sources import PAPERS
from dpverify.ledger.load import bundled
from dpverify.ledger.specs import Specs
from dpverify.site import build
from tests.for_each import for_each

EXTRA = ("sphinx", "myst_parser", "furo", "latex2mathml")


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Which packages of the extra are installed; all of them."""
    found, real = set(EXTRA), importlib.util.find_spec

    def spec(name: str, *rest: Any) -> Any:
        return (
            (SimpleNamespace() if name in found else None)
            if name in EXTRA
            else real(name, *rest)
        )

    monkeypatch.setattr(importlib.util, "find_spec", spec)
    return found


@for_each(("warnings", "code"), [([], 0), (["README.md: a link", "b.md: another"], 1)])
@pytest.mark.usefixtures("there")
def test_what_sphinx_warns_of_is_said_and_gives_exit_code_1(
    warnings: list[str],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given: list[Any] = []

    def built(*arguments: Any) -> list[str]:
        given.append(arguments)
        return warnings

    monkeypatch.setattr(build, "build_site", built)
    assert main(["site", "--out", str(tmp_path / "site")]) == code
    said = capsys.readouterr()
    assert said.out == f"wrote {tmp_path / 'site' / 'README.html'}\n"
    assert [each for each in warnings if each not in said.err] == []
    assert len(said.err.splitlines()) == len(warnings)
    words = [
        "site",
        "--out",
        str(tmp_path / "site"),
        "--report",
        str(tmp_path),
        "--checks",
        "mine2026",
    ]
    assert main(words) == code
    assert [(out, report, checks) for out, report, _, _, checks in given] == [
        (tmp_path / "site", bundled("reports"), PAPERS),
        (tmp_path / "site", tmp_path, "mine2026"),
    ]
    _, _, specs, commands, _ = given[0]
    assert isinstance(specs, Specs)
    assert "tran2022" in specs.papers
    assert commands.startswith("# dpverify")
    assert "dpverify selftest" in commands


def test_without_the_extra_it_says_what_is_missing(
    there: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there -= {"furo", "sphinx"}
    assert main(["site", "--out", str(tmp_path / "site")]) == 2
    said = capsys.readouterr().err
    assert "without sphinx, furo" in said
    assert said.count("\n") == 1
    assert "pip install -e '.[site]'" in said


@pytest.mark.usefixtures("there")
def test_a_file_is_no_folder_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["site", "--out", str(tmp_path / "file")]) == 2
    assert "--out" in capsys.readouterr().err
