"""The exact terms of Lemma 7 beside their bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpverify.papers.tran2022.noise.checks.sr_noise_figure import variance_figures
from dpverify.papers.tran2022.noise.sr_noise_variance_bounds import NodeVariances, variance_terms


def test_exact_terms_are_below_the_corrected_total_and_sum_to_it_at_most() -> None:
    """The corrected total, term by term, at slow decay: no term alone is beyond its own share."""
    columns = variance_figures()["variance-terms"]
    for part in ("1", "2", "3", "4", "5", "total"):
        assert max(columns[f"exact-{part}"]) <= columns[f"corrected-{part}"][0] <= columns[f"printed-{part}"][0]
    nodes = NodeVariances(*(Fraction(v) for v in (16 * 12, 16 * 16 * 383 // 16, 1, 1)))
    assert columns["exact-2"][40] == pytest.approx(
        float(_value(variance_terms(41, 16, Fraction(1, 16), Fraction(1, 5), nodes)[1]))
    )


def _value(x: Any) -> Any:
    return x if isinstance(x, Fraction) else x.mid()
