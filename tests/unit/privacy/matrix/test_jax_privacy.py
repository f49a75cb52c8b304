"""Sensitivities of jax_privacy against certified bounds; none is too small."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SCRIPT = (
    Path(__file__).parents[4]
    / "docs"
    / "examples"
    / "peers"
    / "jax_matrix_sensitivity.py"
)


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    pytest.importorskip("jax_privacy", reason="the extra `jax` is not installed")
    return runpy.run_path(str(SCRIPT))


def test_no_sensitivity_of_the_library_is_too_small(script: dict[str, Any]) -> None:
    places = [place for steps in (8, 33) for _, place in script["comparisons"](steps)]
    assert len(places) > 50
    assert "too small" not in places


def test_a_sensitivity_that_is_too_small_is_seen(script: dict[str, Any]) -> None:
    bounds = SimpleNamespace(lower=2.0, upper=2.0, exact=True)
    assert script["judge"](1.999, bounds) == "too small"
    assert script["judge"](2.0, bounds) == "right"
