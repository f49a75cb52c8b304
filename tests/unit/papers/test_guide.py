"""The guide to adding a paper does what it says, command by command, in a copy of the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.for_each import for_each
from tests.unit.one_core import one_core

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "adding-a-paper.md"
YOURS = ROOT / "docs" / "your-paper.md"
WHOLE = ROOT / "docs" / "a-whole-paper.md"
FIRST_DAY = ROOT / "CONTRIBUTING.md"
LONGEST = 150


@for_each("guide", [GUIDE, YOURS, WHOLE])
def test_a_guide_is_short(guide: Path) -> None:
    assert len(guide.read_text(encoding="utf-8").splitlines()) <= LONGEST


def _left_out(folder: str, names: list[str]) -> list[str]:
    """What a copy of the checkout does without: compiled kernels. Python's own code is kept, and is not made anew."""
    return [
        name
        for name in names
        if folder.endswith("__pycache__") and not name.endswith(".pyc")
    ]


def follow(guide: Path, folder: Path, code: Path) -> list[str]:
    """Run the commands of a guide in a folder; what each block printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(code),
        "COLUMNS": "200",
    }
    said = []
    for block in re.findall(
        r"^```sh\n(.*?)^```$",
        guide.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    ):
        command = ["bash", "-euo", "pipefail", "-c", block]
        with one_core():
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        said.append(done.stdout)
    return said


@pytest.mark.slow
def test_its_commands_make_a_paper_and_add_a_claim(tmp_path: Path) -> None:
    for folder in ("dpverify", "specs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=_left_out)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    copied, added, pinned = follow(GUIDE, tmp_path, tmp_path)
    assert re.search(
        r"^3 verdicts on 3 claims: 1 proved, 1 not refuted, 1 refuted\.",
        copied,
        re.MULTILINE,
    ), copied
    assert "mine2026:lemma-2" in added
    assert re.search(
        r"^1 verdicts? on 1 claim: 1 not refuted\.$", added, re.MULTILINE
    ), added
    assert re.search(r"\b2 passed\b", pinned), pinned


@pytest.mark.slow
def test_a_paper_of_ones_own_is_judged_from_its_formulas(tmp_path: Path) -> None:
    first, refuted, pinned, simulated = follow(YOURS, tmp_path, ROOT)
    assert "3 verdicts on 3 claims: 1 proved, 1 not refuted, 1 refuted." in first
    assert "WITHOUT A PIN: mine2026:corollary-3: refuted." in refuted
    assert "not refuted" in pinned.splitlines()[0]
    assert re.search(r"\b3 passed\b", pinned), pinned
    assert "not refuted   mine2026:lemma-4  not refuted by simulation" in simulated
    assert "corollary-3" in (tmp_path / "pages" / "mine2026.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
def test_a_claim_and_an_algorithm_of_the_first_day(tmp_path: Path) -> None:
    for folder in ("docs", "dpverify", "specs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=_left_out)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    proved, tested = follow(FIRST_DAY, tmp_path, tmp_path)
    assert (
        "proved, given nothing: the stand-alone checker accepts the certificate"
        in proved
    )
    assert "1 verdict on 1 claim: 1 proved." in proved
    assert "no fault found" in tested.lower()
