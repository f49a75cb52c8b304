"""The guide to adding a paper does what it says, command by command, in a copy of the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "adding-a-paper.md"
LONGEST = 150
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_guide_is_short() -> None:
    assert len(GUIDE.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.slow
def test_its_commands_make_a_paper_and_add_a_claim(tmp_path: Path) -> None:
    for folder in ("dpverify", "specs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    said = []
    for block in BLOCKS:
        command = ["bash", "-euo", "pipefail", "-c", block]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        said.append(done.stdout)
    copied, added, pinned = said
    assert re.search(r"^3 verdicts on 3 claims: 1 proved, 1 not refuted, 1 refuted\.", copied, re.MULTILINE), copied
    assert "mine2026:lemma-2" in added
    assert re.search(r"^1 verdicts? on 1 claim: 1 not refuted\.$", added, re.MULTILINE), added
    assert re.search(r"\b2 passed\b", pinned), pinned
