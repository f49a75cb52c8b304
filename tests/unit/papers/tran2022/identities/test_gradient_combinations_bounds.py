from fractions import Fraction
from typing import Any

from flint import fmpq

from dpverify.ledger import load_specs
from dpverify.papers.tran2022.identities.combinations_bounds import (
    Ordering,
    in_words,
    left_over,
    paper_functions,
)
from dpverify.symbolic.exact.combinations import first_difference, term
from dpverify.symbolic.exact.evaluate import evaluate_statement
from tests.for_each import for_each

HALF = Fraction(1, 2)
SPECS = load_specs()


@for_each("first_step", [0, 1])
@for_each("name", ["once", "reversed", "swapped"])
def test_every_epoch_draws_every_example_once(name: Any, first_step: Any) -> None:
    order = Ordering(name, 4, first_step)
    for epoch in range(5):
        steps = [t for t in range(30) if t >= first_step and order.epoch(t) == epoch]
        assert sorted(order.example(t) for t in steps) == [1, 2, 3, 4]


def test_orderings_differ_where_they_should() -> None:
    once, back, swap = (Ordering(name, 4) for name in ("once", "reversed", "swapped"))
    assert [once.example(t) for t in range(1, 9)] == [1, 2, 3, 4, 1, 2, 3, 4]
    assert [back.example(t) for t in range(5, 9)] == [4, 3, 2, 1]
    assert [swap.example(t) for t in range(5, 13)] == [2, 1, 3, 4, 1, 2, 3, 4]
    assert len({Ordering("free", 4).example(t) for t in range(1, 30)}) == 29


def test_windows_are_the_sums_of_section_4() -> None:
    functions = paper_functions(Ordering("once", 2), Fraction(2, 5))
    beta = Fraction(3, 5)
    g = functions["G_win"](2, 4)
    assert g.coefficient(("anchor", 0, 2)) == beta**2
    assert g.coefficient(("anchor", 1, 1)) == beta
    assert g.coefficient(("anchor", 1, 2)) == 1
    delta = functions["Delta_win"](4, 4)
    assert delta.coefficient(("anchor", 1, 2)) == 1
    assert delta.coefficient(("anchor", 0, 2)) == -1
    r = functions["r_win"](3, 4)
    assert r.coefficient(("iterate", 3, 1)) == beta
    assert r.coefficient(("anchor", 1, 2)) == -1
    assert functions["G_win"](3, 2).terms == {}


def test_momentum_begins_at_zero_and_full_momentum_where_it_is_told() -> None:
    functions = paper_functions(Ordering("once", 3), HALF)
    assert functions["momentum"](0).terms == {}
    assert functions["momentum"](3).coefficient(("iterate", 1, 1)) == Fraction(1, 8)
    assert functions["full_momentum"](2).coefficient(("full", 1)) == HALF
    zero = paper_functions(Ordering("once", 3), HALF, full_start="zero", before_first=1)
    assert zero["full_momentum"](2).coefficient(("full", 1)) == Fraction(1, 4)
    assert zero["full_grad"](0).coefficient(("full", 1)) == 1


def test_decay_of_alpha_one_keeps_the_last_step_only() -> None:
    functions = paper_functions(Ordering("once", 3), Fraction(1))
    assert list(functions["G_win"](1, 5).terms) == [("anchor", 1, 2)]
    assert list(functions["momentum"](4).terms) == [("iterate", 4, 1)]


@for_each("first_step", [0, 1])
def test_ledgers_own_lemma_17_under_both_orderings(first_step: Any) -> None:
    statement = SPECS.claim("tran2022:lemma-17").statement({"ordering": "fresh"})

    def difference(name: Any, n: int, steps: int) -> Any:
        order = Ordering(name, n, first_step)
        values = {"N": n, "T": steps, "alpha": Fraction(2, 5), "gamma": Fraction(1, 3)}
        left, right = evaluate_statement(
            statement, {**values, **paper_functions(order, Fraction(2, 5))}
        )
        return right - left  # type: ignore[operator]  # both are combinations, which evaluation passes through

    assert difference("once", 3, 17).terms == {}
    assert difference("reversed", 2, 3).terms == {}
    assert difference("reversed", 2, 4).terms
    for n, steps in ((2, 4), (3, 11), (4, 21)):
        for name in ("reversed", "swapped", "free"):
            functions = paper_functions(Ordering(name, n, first_step), Fraction(2, 5))
            missing = left_over(steps, n, Fraction(2, 5), Fraction(1, 3), functions)
            assert (fmpq(2, 5) * difference(name, n, steps) - missing).terms == {}


def test_first_difference_is_named_in_words() -> None:
    left, right = term("anchor", 0, 2) + term("iterate", 3, 1), term("anchor", 0, 2)
    assert first_difference(left, left) is None
    name = first_difference(left, right)
    assert name is not None
    assert in_words(name) == "the gradient of example 1 at w_3"
    assert (
        in_words(("anchor", 4, 2))
        == "the gradient of example 2 at the anchor of epoch 4"
    )
    assert in_words(("full", 7)) == "the full gradient at w_7"
