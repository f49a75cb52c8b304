from __future__ import annotations

import pytest

pytest.importorskip("latex2mathml")
pytest.importorskip("sphinx")

from dpverify.site.mathml import typeset


def test_a_formula_becomes_mathml() -> None:
    assert "<mfrac>" in typeset(r"\frac{a}{b}", "block")


def test_a_formula_of_a_damaged_quotation_is_shown_as_it_stands() -> None:
    damaged = r"\left(1 + \frac{a < b}{c"
    assert typeset(damaged, "block") == r"<code>\left(1 + \frac{a &lt; b}{c</code>"
