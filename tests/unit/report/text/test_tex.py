from __future__ import annotations

import re

from dpverify.ledger import load_specs
from dpverify.report.text.tex import tex_text
from tests.for_each import for_each


@for_each(
    ("quote", "plain"),
    [
        (r"is  $\left(z, \frac{z}{2\sigma^2}\right)$  DP", "is (z, z/(2σ²)) DP"),
        (r"$w \in \mathbb{R}^d$ , $x$", "w ∈ \u211d^d, x"),
        (r"$\frac{a + b}{\sqrt{n}}$ and $\frac12$", "(a + b)/√n and 1/2"),
        (r"$\tilde{O}(N^{11/3})$", "O\u0303(N^(11/3))"),
        (
            r"$$\sigma \geq \frac{4\sqrt{\log(1/\delta)}}{\epsilon}$$ will do",
            "σ ≥ 4√(log(1/δ))/ε\nwill do",
        ),
        (r"$\sqrt{d\log n}$", "√(d log n)"),
        (r"& \leq \sum_{i=1}^{t} x_{i} \\ &= y \tag{5}", "≤ Σ_(i=1)^t x_i\n= y (5)"),
        ("**Theorem 4.** Suppose", "Theorem 4. Suppose"),
        (r"$\lfloor \log_2 N \rfloor$", "⌊log₂ N⌋"),
    ],
)
def test_quotes_are_plain_text(quote: str, plain: str) -> None:
    assert tex_text(quote) == plain


def test_no_quote_of_any_paper_shows_tex() -> None:
    shown = {claim.key: tex_text(claim.record.quote) for claim in load_specs().claims()}
    assert {
        key: text
        for key, text in shown.items()
        if re.search(r"[\\$\0]|\b(frac|sqrt|mathb[bf])\b", text)
    } == {}
