from __future__ import annotations

import re

from dpverify.ledger import load_specs
from dpverify.report import markdown as md
from dpverify.report.markdown import complete_formula, has_words, with_formulas_marked
from tests.for_each import for_each

DAMAGED = {
    "theorem-3-2-start",
    "theorem-3-2-sampling",
    "theorem-3-2-noise",
    "theorem-3-2",
}
"""Claims of zhang2021 whose quotation has a formula with a brace too few, as the text that it was read from."""

_MATH = re.compile(r"\$`(.*?)`\$|```math\n(.*?)```", re.DOTALL)


def formulas(markdown: str) -> list[str]:
    return [
        (inline or display).replace("\n> ", "\n")
        for inline, display in _MATH.findall(markdown)
    ]


def words(markdown: str) -> str:
    return _MATH.sub(" ", markdown)


QUOTES = {
    claim.key: claim.record.quote
    for key in load_specs().papers
    for claim in load_specs().claims(key)
}


def test_no_quotation_shows_raw_tex_and_no_formula_has_words() -> None:
    assert len(QUOTES) > 470
    for claim, quotation in QUOTES.items():
        shown = md.quote(quotation)
        raw = re.search(r"\\?\\[a-zA-Z]+|\\?\$|[_^]\{", words(shown))
        assert raw is None, f"{claim}: {raw}"
        assert not [formula for formula in formulas(shown) if has_words(formula)], claim


def test_a_formula_that_nothing_can_typeset_is_readable_text() -> None:
    damaged = [
        claim
        for claim, quotation in QUOTES.items()
        if "`E[" in with_formulas_marked(quotation)
    ]
    assert {claim.partition(":")[2] for claim in damaged} == DAMAGED
    assert with_formulas_marked(r"as $\frac{a}{\gamma$ is") == "as `a/γ` is"
    assert with_formulas_marked(r"as $\frac{a}{`\gamma$ is") == "as ``a/(`γ)`` is"


def test_every_formula_of_a_quotation_is_whole() -> None:
    for claim, quotation in QUOTES.items():
        for formula in formulas(md.quote(quotation)):
            for opening, closing in ((r"\left", r"\right"), (r"\begin", r"\end")):
                found = [
                    len(re.findall(rf"\{word}(?![a-zA-Z])", formula))
                    for word in (opening, closing)
                ]
                assert found[0] == found[1], f"{claim}: {formula}"


@for_each(
    ("quotation", "marked"),
    [
        ("If $a_1$ then $$b$$", "If $a_1$ then $$b$$"),
        (
            r"\geq 0.7$ , where  $b_0$  and  $b$  are batch sizes",
            r"$\geq 0.7$ , where  $b_0$  and  $b$  are batch sizes",
        ),
        (r"the sum is $\sum_{i} c_i", r"the sum is $\sum_{i} c_i$"),
        (r"&\leq \frac{a}{b} \\", r"$$\begin{split} &\leq \frac{a}{b} \end{split}$$"),
        (r"\le 2 \end{aligned}$$ for all", r"$$\le 2$$ for all"),
        (
            r"\hat{w} is from w_1, \dots, w_T with",
            r"$\hat{w}$ is from $w_1, \dots, w_T$ with",
        ),
        ("no formula, 5 of 6", "no formula, 5 of 6"),
    ],
)
def test_formulas_are_marked(quotation: str, marked: str) -> None:
    assert with_formulas_marked(quotation) == marked


@for_each(
    ("latex", "whole"),
    [
        (r"\frac{a}{b} \right) \\", r"\frac{a}{b} )"),
        (r"\left(a\right)", r"\left(a\right)"),
        (r"\begin{aligned} a &= b \\", r"\begin{split} a &= b \end{split}"),
        (
            r"\begin{aligned} a &= b \end{aligned}",
            r"\begin{aligned} a &= b \end{aligned}",
        ),
    ],
)
def test_a_cut_formula_is_mended(latex: str, whole: str) -> None:
    assert complete_formula(latex) == whole
