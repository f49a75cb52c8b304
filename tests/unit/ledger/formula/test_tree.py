from __future__ import annotations

from dpverify.ledger.formula import Formula, free_names, parse, to_text
from dpverify.ledger.formula.tree import Name, substitute


def test_an_index_is_free_outside_of_its_sum_only() -> None:
    assert free_names(parse("sum(x*i, i, 1, n)")) == {"x", "n"}
    assert free_names(parse("sum(x*i, i, 1, n) + i")) == {"x", "n", "i"}


def test_a_formula_takes_the_place_of_another_but_for_indices() -> None:
    new: dict[Formula, Formula] = {Name("i"): parse("3"), Name("x"): parse("y + 1")}
    assert to_text(substitute(parse("x*i"), new)) == "(y + 1)*3"
    assert (
        to_text(substitute(parse("sum(x*i, i, 1, x)"), new))
        == "sum((y + 1)*i, i, 1, y + 1)"
    )
    assert to_text(substitute(parse("z"), new)) == "z"
