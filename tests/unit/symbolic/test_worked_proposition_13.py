"""Proposition 13: a geometric series, 1 - x <= exp(-x), and two cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sympy
from sympy import Max, Sum, Symbol, exp, oo

from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.perturb import perturbations
from dpverify.symbolic.derive.steps import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.translation import (
    sympy_conditions,
    sympy_sides,
    sympy_symbols,
)
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import conclude, refusal

DOMAINS = {"alpha": "real, 0 < alpha <= 1", "N": "integer, N >= 1"}
SERIES = "sum((1 - alpha)**(N*i), i, 0, oo)"
i = Symbol("i", integer=True)


@pytest.fixture
def statement(make_statement: Any) -> Statement:
    return make_statement(SERIES, "<=", "1/(1 - exp(-1))*max(1, 1/(alpha*N))", DOMAINS)  # type: ignore[no-any-return]  # a fixture


def build(statement: Statement) -> Derivation:
    """Sum the series, bound its ratio, and bound the result on both sides of alpha*N = 1."""
    alpha, N = (sympy_symbols(statement)[name] for name in ("alpha", "N"))
    x, c = alpha * N, 1 / (1 - exp(-1))
    bound = c * Max(1, 1 / x)
    small = Case(
        x <= 1,
        (
            Step(c / x, "<=", "exp-chord", {"x": x}),
            Step(bound, "<=", "below-max", {"a": 1 / x, "b": 1}),
        ),
    )
    large = Case(
        x >= 1,
        (
            Step(c, "<=", "order", {"a": 1, "b": x}, context=1 / (1 - exp(-HOLE))),
            Step(bound, "<=", "below-max", {"a": 1, "b": 1 / x}),
        ),
    )
    return Derivation(
        name="two cases",
        whose="ours",
        variables={"alpha": real(0, 1, open_lo=True), "N": integer(1, 60)},
        assumptions=sympy_conditions(statement),
        start=sympy_sides(statement)[0],
        steps=(
            Step(
                1 / (1 - (1 - alpha) ** N),
                "=",
                "geometric-series",
                {"x": (1 - alpha) ** N},
            ),
            Step(1 / (1 - exp(-x)), "<=", "one-minus-exp", {"x": alpha}),
            Cases(bound, "<=", (small, large)),
        ),
    )


def test_the_derivation_is_complete_and_gives_the_printed_bound(
    statement: Statement,
) -> None:
    derivation = build(statement)
    result = check_derivation(derivation)
    assert [
        (step.status, step.note) for step in result.steps if step.status != "proved"
    ] == []
    assert result.complete
    assert all(250 < step.points <= 300 for step in result.steps[1:])
    assert conclude(derivation, statement) == "equal"


@for_each(
    ("rhs", "relation"),
    [
        ("2*max(1, 1/(alpha*N))", "weaker"),
        ("max(1, 1/(alpha*N))/(1 - exp(-1)) + 1/100", "weaker"),
        ("1/(1 - exp(-1))*(1 + 1/(alpha*N))", "weaker"),
        ("1.5*max(1, 1/(alpha*N))", "stronger"),
        ("1.6*max(1, 0.9/(alpha*N))", "differs"),
        ("2", "differs"),
    ],
)
def test_other_printed_bounds_are_told_apart(
    make_statement: Any, statement: Statement, rhs: str, relation: str
) -> None:
    assert (
        conclude(build(statement), make_statement(SERIES, "<=", rhs, DOMAINS))
        == relation
    )


def test_a_statement_on_a_larger_domain_does_not_follow(
    make_statement: Any, statement: Statement
) -> None:
    rhs = "1/(1 - exp(-1))*max(1, 1/(alpha*N))"
    wide = make_statement(
        SERIES, "<=", rhs, {"alpha": "real, 0 < alpha < 2", "N": "integer, N >= 1"}
    )
    assert refusal(build(statement), wide).startswith("it assumes alpha <= 1")
    signs = make_statement(
        SERIES, "<=", rhs, {"alpha": "real, 0 <= alpha <= 1", "N": "integer, N >= 1"}
    )
    assert conclude(build(statement), signs) == "undecided"
    reals = make_statement(
        SERIES, "<=", rhs, {"alpha": "real, 0 < alpha <= 1", "N": "real, N >= 1"}
    )
    # no step uses that N is an integer
    assert conclude(build(statement), reals) == "equal"


def test_a_statement_about_something_else_does_not_follow(
    make_statement: Any, statement: Statement
) -> None:
    rhs = "1/(1 - exp(-1))*max(1, 1/(alpha*N))"
    other = make_statement("sum((1 - alpha)**i, i, 0, oo)", "<=", rhs, DOMAINS)
    assert "starts from" in refusal(build(statement), other)
    below = make_statement(SERIES, ">=", rhs, DOMAINS)
    assert "do not add up" in refusal(build(statement), below)


def test_every_constant_moved_against_the_derivation_breaks_it(
    statement: Statement,
) -> None:
    faulty = list(perturbations(build(statement)))
    assert len(faulty) >= 8
    for fault in faulty:
        result = check_derivation(fault.derivation, points=60)
        assert not result.complete, f"not seen: {fault.fault}"


def test_wrong_steps_do_not_pass(statement: Statement) -> None:
    right = build(statement)
    alpha, N = (sympy_symbols(statement)[name] for name in ("alpha", "N"))
    x, c = alpha * N, 1 / (1 - exp(-1))
    first, second, split = right.steps
    assert isinstance(first, Step)
    assert isinstance(split, Cases)
    wrong: dict[str, tuple[Any, ...]] = {
        "the ratio is not the N-th power": (
            replace(first, where={"x": 1 - alpha}),
            second,
            split,
        ),
        "the exponent lost its N": (
            first,
            Step(1 / (1 - exp(-alpha)), "<=", "one-minus-exp", {"x": alpha}),
            split,
        ),
        "the inequality is turned": (
            first,
            Step(1 / (1 - exp(-x)), ">=", "one-minus-exp", {"x": alpha}),
            split,
        ),
        "no rule is cited": (first, Step(1 / (1 - exp(-x)), "<="), split),
        "the wrong rule is cited": (
            first,
            Step(1 / (1 - exp(-x)), "<=", "exp-chord", {"x": alpha}),
            split,
        ),
        "the chord outside [0, 1]": (
            first,
            second,
            Step(c / x, "<=", "exp-chord", {"x": x}),
        ),
        "the cases leave a gap": (
            first,
            second,
            replace(split, cases=_with_gap(split, x)),
        ),
        "only one case": (first, second, replace(split, cases=split.cases[:1])),
    }
    for name, steps in wrong.items():
        try:
            complete = check_derivation(replace(right, steps=steps), points=60).complete
        except ValueError:
            continue  # a chain that is turned is refused before it is checked
        assert not complete, name


def _with_gap(split: Cases, x: Any) -> tuple[Case, ...]:
    small, large = split.cases
    return Case(x <= sympy.Rational(99, 100), small.steps), large


def test_cases_may_overlap(statement: Statement) -> None:
    right = build(statement)
    alpha, N = (sympy_symbols(statement)[name] for name in ("alpha", "N"))
    *before, split = right.steps
    assert isinstance(split, Cases)
    small, large = split.cases
    # The chord needs x <= 1, so only the other case can be stretched; there the bound
    # exp(-x) <= exp(-1) breaks.
    stretched = replace(
        split, cases=(small, Case(alpha * N >= sympy.Rational(9, 10), large.steps))
    )
    result = check_derivation(replace(right, steps=(*before, stretched)))
    assert not result.complete
    assert any(
        step.status == "fails" and "N*alpha >= 9/10" in step.note
        for step in result.steps
    )


def test_the_series_at_alpha_one_is_one() -> None:
    from fractions import Fraction

    from dpverify.symbolic.expressions.evaluation import evaluate_expr

    alpha, N = Symbol("alpha", positive=True), Symbol("N", integer=True, positive=True)
    series = Sum((1 - alpha) ** (N * i), (i, 0, oo))
    assert evaluate_expr(series, {"alpha": Fraction(1), "N": 5}) == 1
