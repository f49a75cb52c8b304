"""A paper outside of dpverify, from the command that writes it to its verdicts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpverify.cli import main
from dpverify.ledger.errors import SpecError
from dpverify.ledger.load import outside_papers
from tests.for_each import for_each
from tests.unit.one_core import one_core

ROOT = Path(__file__).parents[3]
CLAIM = """
[[claim]]
id = "lemma-2"
where = "Lemma 2"
source = "full"
quote = "the same with one half"
kind = "inequality"
lhs = "log2(t + 1)"
relation = "<="
printed = "1/2 + log2(t)"
"""


def ask(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    command = [sys.executable, "-m", *words]
    with one_core():
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.mark.slow
def test_a_new_paper_is_judged_by_verify_and_by_pytest(tmp_path: Path) -> None:
    assert main(["new-paper", "judged2026", str(tmp_path)]) == 0
    first = ask(tmp_path, "dpverify", "verify", "--paper", "judged2026")
    assert first.returncode == 0, first.stderr
    assert "3 verdicts on 3 claims: 1 proved, 1 not refuted, 1 refuted." in first.stdout
    records = tmp_path / "judged2026" / "specs" / "judged2026" / "claims.toml"
    # no check is written for it, and nobody pins it
    records.write_text(records.read_text() + CLAIM)
    second = ask(tmp_path, "dpverify", "verify", "judged2026:lemma-2")
    assert second.returncode == 1
    assert "refuted       judged2026:lemma-2" in second.stdout
    assert "WITHOUT A PIN: judged2026:lemma-2: refuted." in second.stdout
    tested = ask(
        tmp_path,
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "judged2026",
        "-k",
        "lemma-2",
    )
    assert (
        "judged2026:lemma-2[printed|pin]: refuted, and no verdict pins it"
        in tested.stdout
    )
    checks = tmp_path / "judged2026" / "noise" / "checks" / "tree.py"
    checks.write_text('\nCHECKS = PaperChecks("judged2026", __name__)')
    broken = ask(tmp_path, "dpverify", "verify", "judged2026:lemma-2")
    assert broken.returncode == 2
    assert broken.stderr.count("\n") == 1
    assert "NameError" in broken.stderr


@for_each(
    ("key", "message"),
    [
        ("Mine", "'Mine'"),
        ("tran2022", "is a paper of dpverify"),
        ("old", "must not exist yet"),
        ("numpy", "is the name of an existing Python module"),
    ],
)
def test_a_paper_is_written_over_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, message: str
) -> None:
    (tmp_path / "old").mkdir()
    assert main(["new-paper", key, str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_a_project_that_is_there_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.dpverify]\npapers = []\n")
    assert main(["new-paper", "beside2026", str(tmp_path)]) == 0
    assert 'add: [tool.dpverify] papers = ["beside2026"]' in capsys.readouterr().err
    assert outside_papers(tmp_path) == {}


@for_each(
    ("table", "message"),
    [
        ("papers = 3", "must be a list"),
        ('papers = ["gone"]', r"there must be gone/specs/gone/claims\.toml"),
    ],
)
def test_a_project_that_names_no_paper_is_refused(
    tmp_path: Path, table: str, message: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.dpverify]\n{table}\n")
    with pytest.raises(SpecError, match=message):
        outside_papers(tmp_path / "below")


def test_two_papers_with_one_key_are_refused(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        assert main(["new-paper", "same2026", str(tmp_path / folder)]) == 0
    (tmp_path / "pyproject.toml").write_text(
        '[tool.dpverify]\npapers = ["one/same2026", "two/same2026"]\n'
    )
    with pytest.raises(
        SpecError, match=r"same2026.*two papers have this key: .*one.* and .*two"
    ):
        outside_papers(tmp_path)


def test_a_claim_of_a_paper_that_is_not_known_here_says_what_makes_one_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["list", "mine2026:lemma-1"]) == 2
    assert (
        "no paper mine2026 is known here (for your own paper, work below the folder of its pyproject.toml"
        in capsys.readouterr().err
    )
    assert (
        main(
            [
                "verify",
                "--specs",
                str(ROOT / "docs" / "examples" / "specs"),
                "--checks",
                "no_such_module",
            ]
        )
        == 2
    )
    assert "checks: 'no_such_module'" in capsys.readouterr().err


def test_an_installed_paper_is_known_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["new-paper", "installed2026", str(tmp_path)]) == 0
    (tmp_path / "pyproject.toml").unlink()
    info = tmp_path / "installed2026-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: installed2026\nVersion: 1\n"
    )
    (info / "entry_points.txt").write_text(
        "[dpverify.papers]\ninstalled2026 = installed2026\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert outside_papers(tmp_path) == {
        "installed2026": tmp_path / "installed2026" / "specs" / "installed2026"
    }
