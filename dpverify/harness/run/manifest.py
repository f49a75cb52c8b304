"""The environment of a run: versions, machine, commit.

It omits times and paths, so that a rerun gives the same text.
"""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dpverify import __version__

PACKAGES = ("numpy", "scipy", "numba", "sympy", "python-flint", "hypothesis", "msgspec")
GIT_SECONDS = 10


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect results, or "not installed"."""
    version_of = {"python": platform.python_version(), "dpverify": __version__}
    for package in PACKAGES:
        try:
            version_of[package] = version(package)
        except PackageNotFoundError:
            version_of[package] = "not installed"
    return version_of


def machine() -> dict[str, str]:
    """Return system, architecture and number of cores, without the machine's name."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": str(os.cpu_count() or 1),
    }


def commit() -> str:
    """Return the commit of the checkout, with "+changes" if tracked files differ from it, or "" outside a checkout."""
    checkout = Path(__file__).resolve().parents[3]
    if not (checkout / ".git").exists():
        return ""
    command = [
        "git",
        "describe",
        "--always",
        "--abbrev=40",
        "--exclude=*",
        "--dirty=+changes",
    ]
    try:
        done = subprocess.run(
            command,
            cwd=checkout,
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
