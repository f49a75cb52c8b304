"""The manifest names the commit of the checkout that the package lies in, and says where it differs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from dpverify.harness.run import manifest

NAME = Path("dpverify", "harness", "run", "manifest.py")


def git(root: Path, *words: str) -> str:
    owner = "-c", "user.name=A", "-c", "user.email=a@example.org"
    return subprocess.run(
        ["git", *owner, *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit_of(root: Path) -> str:
    """What the manifest's code says when it lies in another checkout."""
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['commit']())"
    command = [sys.executable, "-c", code, str(root / NAME)]
    return subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_commit_is_that_of_the_checkout(tmp_path: Path) -> None:
    (tmp_path / NAME).parent.mkdir(parents=True)
    shutil.copy(manifest.__file__, tmp_path / NAME)
    assert commit_of(tmp_path) == ""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    assert commit_of(tmp_path) == git(tmp_path, "rev-parse", "HEAD")
    with (tmp_path / NAME).open("a") as file:
        file.write("# changed\n")
    assert commit_of(tmp_path).endswith("+changes")
