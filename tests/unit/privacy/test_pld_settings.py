"""Poisson sampling at drawn settings, next to the bounds of another library (``pld_settings.json`` says how)."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from dpverify.privacy.accounting import epsilon
from tests.for_each import for_each

RECORD = json.loads((Path(__file__).parent / "pld_settings.json").read_text("utf-8"))
SETTINGS: list[dict[str, Any]] = RECORD["settings"]
# rate, sigma, steps, delta: one grid gives bounds
# of these that hold, and are 2% to 77% apart
UNCLEAR_ON_ONE_GRID = [
    (1e-3, 0.9, 5000, 1e-9),
    (1e-3, 1.0, 5000, 1e-10),
    (1e-3, 0.9, 5000, 1e-12),
    (1.2e-4, 0.72, 340, 8.4e-8),
    # most steps have nearly the least loss: rounded
    # down to a grid, it took 2 to 60% off epsilon
    (0.01, 1.1 / 7, 1000, 1e-5),
    (5.6e-6, 0.457, 723, 3e-6),
    (3.8e-6, 0.594, 121, 3.8e-10),
    (2e-7, 0.4725, 1296, 5.85e-9),
    (3.561e-7, 0.39639, 4, 5.36e-8),
    # losses of a millionth, to which Chernoff's bound gives too large a tilt
    (1.05e-5, 7.96, 1, 1.43e-9),
    (1.27e-6, 13.66, 1, 6.42e-10),
]
# where a rare large loss makes delta, so that doubles round a good part of it away
RARE = [
    (1e-4, 0.9, 5000, 1e-10),
    (1.4e-5, 0.82, 4600, 5.2e-12),
    (2.4e-5, 0.73, 790, 2e-9),
    (1.7e-5, 0.62, 390, 3e-8),
    (3e-4, 1.0, 130, 5.8e-12),
]
EVERY = 1 if os.environ.get("DPVERIFY_ALL_SETTINGS") else 6  # all of them take minutes


@for_each("setting", SETTINGS[::EVERY], ids=str)
def test_bounds_are_near_and_no_other_bound_contradicts_them(
    setting: dict[str, Any],
) -> None:
    found = epsilon(
        setting["sigma"], setting["delta"], steps=setting["steps"], rate=setting["rate"]
    )
    assert found.upper < math.inf
    assert found.upper <= 1.01 * found.lower + 1e-3
    if "optimistic" in setting:
        assert setting["optimistic"] <= found.upper * (1.0 + 1e-6)
    if "pessimistic" in setting:
        assert found.lower <= setting["pessimistic"] * (1.0 + 1e-6)
    assert found.method


def test_other_grids_are_tried_where_one_is_not_sharp() -> None:
    for rate, sigma, steps, delta in UNCLEAR_ON_ONE_GRID:
        found = epsilon(sigma, delta, steps=steps, rate=rate)
        assert found.upper <= 1.002 * found.lower, (rate, sigma, steps, delta)
    # its tilt is a millionth
    huge = epsilon(0.051178, 0.000811, steps=520_480, rate=0.1879)
    assert 0.0 < huge.lower <= huge.upper <= 1.01 * huge.lower


def test_rare_large_losses_are_resolved() -> None:
    for rate, sigma, steps, delta in RARE:
        found = epsilon(sigma, delta, steps=steps, rate=rate)
        assert found.lower <= found.upper <= 1.002 * found.lower, (
            rate,
            sigma,
            steps,
            delta,
        )
    # dp-accounting 0.6.0 with the width 1e-5: 0.1077 optimistic, 0.13283 pessimistic
    found = epsilon(0.9, 1e-10, steps=5000, rate=1e-4)
    assert 0.1326 < found.lower <= found.upper < 0.13283


def test_settings_cover_the_range() -> None:
    assert len(SETTINGS) == 200
    for name, least, most in (
        ("rate", 1e-6, 0.5),
        ("sigma", 0.5, 10.0),
        ("steps", 10, 3e5),
        ("delta", 1e-9, 1e-4),
    ):
        values = [setting[name] for setting in SETTINGS]
        assert min(values) < least < most < max(values)
    assert sum("pessimistic" in setting for setting in SETTINGS) > 0.8 * len(SETTINGS)
