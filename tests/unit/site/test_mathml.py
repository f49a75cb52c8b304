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


def test_a_formula_has_no_row_around_the_whole_and_no_attribute_that_a_bracket_has_by_itself() -> (
    None
):
    assert typeset("R", "inline") == "<math><mi>R</mi></math>"
    assert (
        typeset("a,b", "block")
        == '<math display="block"><mi>a</mi><mo>,</mo><mi>b</mi></math>'
    )
    bracketed = typeset(r"\left(a\right]^2 (b)", "inline")
    assert '<mo form="prefix">(</mo><mi>a</mi><mo form="postfix">]</mo>' in bracketed
    assert '<mo stretchy="false">(</mo><mi>b</mi>' in bracketed
    assert bracketed.count("<mrow>") == bracketed.count("</mrow>") == 1
