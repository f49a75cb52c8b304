"""The lower bounds of pyproject.toml as constraints."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.for_each import for_each

SCRIPT = Path(__file__).parents[2] / ".ci" / "lowest.py"
LOWEST: Callable[[str], list[str]] = runpy.run_path(str(SCRIPT))["lowest"]


def project(*requirements: str) -> str:
    return f"[project]\ndependencies = {list(requirements)}\n"


def test_each_requirement_of_the_core_becomes_its_lowest_version() -> None:
    assert LOWEST(project("numpy>=2.1", "scikit-learn>=1.6,<2")) == [
        "numpy==2.1",
        "scikit-learn==1.6",
    ]
    assert "numba==0.66" in LOWEST(
        (SCRIPT.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    )


@for_each("requirement", ["numpy", "numpy<3", "numpy==2.1"])
def test_a_requirement_without_a_lower_bound_is_refused(requirement: str) -> None:
    with pytest.raises(ValueError, match="must state a lower bound"):
        LOWEST(project(requirement))
