"""The bound of a claim as an expression and as a function of numbers, which refuses what its conditions exclude."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy

import dpverify as dv
from dpverify.api.conditions import chosen_statement
from dpverify.ledger import Specs
from dpverify.ledger.formula import Call, parse_relation, walk
from dpverify.ledger.records import ORDERS
from dpverify.symbolic import evaluate_statement
from tests.for_each import for_each

DP: dict[str, Any] = {
    "N": 60_000,
    "T": 60_000,
    "alpha": 0.001,
    "epsilon": 2,
    "delta": 1e-5,
    "sigma": 4,
}


@pytest.fixture(scope="module")
def specs() -> Specs:
    return dv.load_specs()


@pytest.fixture(scope="module")
def theorem(specs: Specs) -> dv.ClaimFormula:
    return dv.formula("tran2022:theorem-4-dp", "amended", specs=specs)


def test_numbers_and_expression_agree(specs: Specs) -> None:
    lemma = dv.formula("tran2022:lemma-12", "amended", specs=specs)
    point = {"G": 1, "T": 1000, "V": 7, "alpha": 0.01, "d": 10, "sigma": 2.5}
    value = lemma(**point, t=1000)
    assert value == pytest.approx(
        0.04 * 2.5 * math.sqrt(70 * math.log2(1001)), rel=1e-14
    )
    expression = lemma.expression.subs(
        {symbol: point[symbol.name] for symbol in lemma.expression.free_symbols}
    )
    assert value == pytest.approx(
        float(expression.rewrite(sympy.log).evalf(20)), rel=1e-14
    )
    assert lemma.left == "expected_noise_norm"
    assert lemma.relation == "<="
    assert lemma.status == "proved given"


def test_a_rational_value_is_exact(specs: Specs) -> None:
    visits = dv.formula("tran2022:theorem-4-v", "amended", specs=specs)
    assert visits.exact(N=3, T=4, depth=2) == Fraction(5)
    assert visits(N=3, T=4, depth=2) == 5.0


def test_letters_are_those_that_the_bound_and_its_conditions_need(
    theorem: dv.ClaimFormula,
) -> None:
    assert [*theorem.letters] == ["N", "T", "alpha", "delta", "epsilon", "sigma"]
    assert theorem.letters["N"].startswith("integer, N >= 1 (number of examples")
    assert theorem(**DP) == theorem(**DP, depth=16) == 1e-5


@for_each(
    ("changed", "words"),
    [
        ({"sigma": 3}, "sigma >= 2*sqrt(log(1/delta))/epsilon: 3 >= ≈3.393 is false"),
        ({"epsilon": 49}, "epsilon <= 7/3*log(1/delta): 49 <= ≈26.86 is false"),
        ({"alpha": 0}, "0 < alpha: 0 < 0 is false"),
        ({"N": 2.5}, "N is an integer, got N=5/2"),
        ({"depth": 3}, "floor(log2(T)) <= depth: 15 <= 3 is false"),
        ({"T": 1000}, "4*T >= N: 4000 >= 60000 is false"),
    ],
)
def test_a_violated_condition_is_named_with_its_values(
    theorem: dv.ClaimFormula, changed: dict[str, float], words: str
) -> None:
    with pytest.raises(dv.ConditionError, match=re.escape(words)) as caught:
        theorem(**{**DP, **changed})
    assert words in caught.value.violations


def test_every_violated_condition_is_named(theorem: dv.ClaimFormula) -> None:
    with pytest.raises(dv.ConditionError) as caught:
        theorem(**{**DP, "T": 1000, "sigma": 1})
    assert len(caught.value.violations) == 2


def test_the_printed_condition_is_that_of_the_paper(specs: Specs) -> None:
    printed = dv.formula("tran2022:theorem-4-dp", specs=specs)
    assert (printed.status, printed.severity) == ("refuted", "privacy")
    assert (
        printed(N=1, T=1, alpha=1, epsilon=49, delta=0.5, sigma=Fraction(1, 29)) == 0.5
    )
    with pytest.raises(dv.ConditionError, match=re.escape("delta >= exp(-epsilon)")):
        printed(N=60_000, T=60_000, alpha=0.001, epsilon=2, delta=1e-5, sigma=4)


@for_each("third", [1 / 3, np.float64(1 / 3), "1/3", Fraction(1, 3)])
def test_a_float_stands_for_the_simplest_fraction_with_its_value(
    theorem: dv.ClaimFormula, third: float
) -> None:
    """1/3 as a float is below 1/3, which alpha >= 1/N would exclude for N = 3."""
    assert theorem(**{**DP, "N": 3, "T": np.int64(3), "alpha": third}) == 1e-5


@for_each("value", [True, math.nan, math.inf, "x", "1/0", None, [1]])
def test_what_is_no_number_is_an_error(theorem: dv.ClaimFormula, value: float) -> None:
    with pytest.raises(ValueError, match=r"sigma must be a finite number"):
        theorem(**{**DP, "sigma": value})


def test_a_missing_letter_is_named_with_what_the_conditions_leave_for_it(
    theorem: dv.ClaimFormula,
) -> None:
    with pytest.raises(
        ValueError,
        match=r"needs alpha \(.*from 1.667e-5 to 1; sigma \(.*from 3.393 to ∞",
    ):
        theorem(N=60_000, T=60_000, epsilon=2, delta=1e-5)


@for_each(("name", "words"), [("x", "has no letter x"), ("V", "defines V itself")])
def test_an_unknown_letter_is_an_error(
    theorem: dv.ClaimFormula, name: str, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        theorem(**DP, **{name: 1})


def test_limits_lie_inside_the_conditions(theorem: dv.ClaimFormula) -> None:
    for delta in (1e-5, 1e-6, 0.003, 0.01):
        low, high = theorem.limits("sigma", epsilon=1.5, delta=delta)
        assert high == math.inf
        assert theorem(**{**DP, "epsilon": 1.5, "delta": delta, "sigma": low}) == delta
        with pytest.raises(dv.ConditionError):
            theorem(
                **{**DP, "epsilon": 1.5, "delta": delta, "sigma": low * (1 - 1e-12)}
            )
    assert theorem.limits("T", N=10) == (3.0, math.inf)
    assert theorem.limits("alpha", N=10) == (0.1, 1.0)


def test_limits_say_what_they_cannot_do(theorem: dv.ClaimFormula) -> None:
    with pytest.raises(ValueError, match=r"epsilon must be given as well: sigma >="):
        theorem.limits("sigma", delta=1e-5)
    with pytest.raises(ValueError, match="cannot be solved for N"):
        theorem.limits("N", alpha=0.1, T=10)
    with pytest.raises(ValueError, match="letter must be one of N, T"):
        theorem.limits("V")
    with pytest.raises(dv.ConditionError, match=r"epsilon > 0"):
        theorem.limits("sigma", epsilon=-1, delta=1e-5)
    requires = (*theorem.statement.requires, parse_relation("sigma < 1"))
    narrow = replace(theorem, statement=replace(theorem.statement, requires=requires))
    with pytest.raises(
        dv.ConditionError, match="no value of sigma meets all conditions"
    ):
        narrow.limits("sigma", epsilon=2, delta=1e-5)


def test_readings_that_differ_must_be_chosen(specs: Specs) -> None:
    with pytest.raises(
        ValueError, match="choose one by keyword: ordering = fresh or once"
    ):
        dv.formula("tran2022:theorem-4-terms", "amended", specs=specs)
    fresh = dv.formula(
        "tran2022:theorem-4-terms", "amended", specs=specs, ordering="fresh"
    )
    once = dv.formula(
        "tran2022:theorem-4-terms", "amended", specs=specs, ordering="once"
    )
    assert (fresh.reading, once.reading) == (
        {"ordering": "fresh"},
        {"ordering": "once"},
    )
    assert fresh(N=5, node_start=5, node_end=6) == 2
    assert once(N=5, node_start=5, node_end=6) == 1
    with pytest.raises(dv.SpecError, match="reading ordering offers fresh, once"):
        dv.formula("tran2022:theorem-4-terms", specs=specs, ordering="never")


def test_what_a_claim_does_not_have_is_an_error(specs: Specs) -> None:
    with pytest.raises(
        ValueError,
        match=r"no amended statement is recorded .ordering = once.; available: printed",
    ):
        dv.formula(
            "tran2022:theorem-4-sensitivity", "amended", specs=specs, ordering="once"
        )
    with pytest.raises(
        ValueError, match="variant must be one of printed, amended, held"
    ):
        dv.formula("tran2022:lemma-12", "corrected", specs=specs)  # type: ignore[arg-type]  # what a user might write
    words = next(
        spec.key
        for spec in specs.claims("tran2022")
        if spec.record.statement and not spec.record.reading
    )
    with pytest.raises(ValueError, match="is stated in words and has no formula"):
        dv.formula(words, specs=specs)


def test_an_order_of_growth_has_an_expression_and_no_value(specs: Specs) -> None:
    rate = dv.formula("tran2022:abstract-improvement", specs=specs)
    assert rate.relation in ORDERS
    assert {str(symbol) for symbol in rate.expression.free_symbols} == {
        "N",
        "d",
        "epsilon",
    }
    with pytest.raises(ValueError, match="order of growth, whose constant is unknown"):
        rate(N=100, d=1, epsilon=1)


def uses_functions(bound: dv.ClaimFormula) -> bool:
    """Whether the right side applies a function of the paper, such as full_grad."""
    assert bound.statement.rhs is not None
    return any(
        isinstance(node, Call) and node.name in bound.statement.functions
        for node in walk(bound.statement.rhs)
    )


def test_a_function_that_stands_for_vectors_has_an_expression_and_no_value(
    specs: Specs,
) -> None:
    momentum = dv.formula("tran2022:section-3-momentum-unrolled", specs=specs)
    assert momentum.expression.has(sympy.Sum)
    with pytest.raises(
        ValueError, match=r"has no value here: the function grad has no value"
    ):
        momentum(alpha=0.5, t=3)


def test_it_shows_itself(theorem: dv.ClaimFormula) -> None:
    assert len(repr(theorem)) < 200
    assert "delta_at_epsilon <= delta [proved given]" in repr(theorem)
    assert "if 4*T >= N" in str(theorem)
    assert "sigma: real, sigma > 0" in str(theorem)
    assert r"- if $4 T \ge N$" in theorem._repr_markdown_()


@for_each("paper", ["tran2022", "wang2019", "zhang2021"])
def test_formulas_give_the_value_that_was_judged(specs: Specs, paper: str) -> None:
    """At the recorded counterexamples of formulas: the same right side, and no condition in the way."""
    compared = 0
    for result in dv.recorded(paper).filter(status="refuted"):
        bound = (
            dv.formula(result.claim, "printed", specs=specs, **result.reading)
            if result.latex
            else None
        )
        if (
            bound is None
            or bound.relation in ORDERS
            or bound.statement.quantity
            or uses_functions(bound)
        ):
            continue
        for example in result.counterexamples[:1]:
            point = {
                name: number.exact
                for name, number in example.parameters.items()
                if name in bound.statement.free
            }
            if (
                example.note
                or None in point.values()
                or not set(bound.letters) <= set(point)
            ):
                continue
            exact = {name: value for name, value in point.items() if value is not None}
            assert bound(**exact) == pytest.approx(
                float(example.rhs.float), rel=1e-9
            ), result.claim
            expected = evaluate_statement(
                bound.statement, {name: Fraction(text) for name, text in exact.items()}
            )
            assert str(bound.exact(**exact)) == str(expected[1])
            compared += 1
    assert compared > 2


@pytest.mark.slow
@for_each("paper", ["tran2022", "wang2019", "zhang2021"])
def test_every_formula_has_an_expression(specs: Specs, paper: str) -> None:
    statements = [
        statement for spec in specs.claims(paper) for statement in spec.statements()
    ]
    for statement in statements:
        if statement.rhs is not None:
            chosen = chosen_statement(
                specs.claim(statement.key), statement.variant, statement.reading
            )
            bound = dv.ClaimFormula(chosen, "untested", None, "")
            assert isinstance(bound.expression, sympy.Basic)
            assert statement.key in repr(bound)
