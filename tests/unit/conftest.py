"""What several folders of tests share."""

from __future__ import annotations

import multiprocessing
import multiprocessing.spawn
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def child_program(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Make children start with a line of a shell in place of Python."""
    program = tmp_path / "python"
    before = multiprocessing.spawn.get_executable()

    def use(line: str) -> None:
        tracker = (
            f'case "$*" in *resource_tracker*) exec "{sys.executable}" "$@";; esac'
        )
        program.write_text(f"#!/bin/sh\n{tracker}\n{line}\n", encoding="utf-8")
        program.chmod(0o700)
        multiprocessing.set_executable(str(program))

    yield use
    multiprocessing.set_executable(
        before.decode() if isinstance(before, bytes) else str(before)
    )
