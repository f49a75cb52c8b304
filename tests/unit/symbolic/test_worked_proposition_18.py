"""Proposition 18: COMPOSE(a, b) has popcount(p) + popcount(v) nodes, with p + v = b - a + 1 and p >= 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sympy
from sympy import Symbol, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.perturb import perturbations
from dpverify.symbolic.derive.steps import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2, PopCount
from dpverify.symbolic.expressions.ranges import integer
from dpverify.symbolic.expressions.translation import sympy_conditions, sympy_symbols
from tests.unit.symbolic.conclusions import conclude, refusal

DOMAINS = {"a": "integer, a >= 1", "b": "integer, b >= 1"}
PRINTED = "2*(1 + floor(log2(b - a + 1)))"
p = Symbol("p", integer=True, positive=True)
v = Symbol("v", integer=True, nonnegative=True)


@pytest.fixture
def statement(make_statement: Any) -> Statement:
    return make_statement(None, "<=", PRINTED, DOMAINS, ("a <= b",))  # type: ignore[no-any-return]  # a fixture


@pytest.fixture
def prefix(make_statement: Any) -> Statement:
    return make_statement(None, "<=", "1 + log2(b)", {"b": DOMAINS["b"]})  # type: ignore[no-any-return]  # a fixture


def build(statement: Statement) -> Derivation:
    """Each of the two runs has at most as many nodes as its length has binary digits."""
    a, b = (sympy_symbols(statement)[name] for name in "ab")
    n = b - a + 1
    digits = floor(Log2(n))
    bound = 2 * (1 + digits)
    both = Case(
        v >= 1,
        (
            Step(1 + digits + 1 + floor(Log2(v)), "<=", "popcount-width", {"n": v}),
            Step(1 + digits + 1 + digits, "<=", "order", {"a": v, "b": n}),
        ),
    )
    one = Case(
        v <= 0,
        (
            Step(1 + digits + Log2(v + 1), "<=", "popcount-log2", {"n": v}),
            Step(
                1 + digits,
                "<=",
                "order",
                {"a": v, "b": 0},
                context=1 + digits + Log2(HOLE + 1),
            ),
            Step(bound, "<=", "drop-nonnegative", {"a": 1 + digits, "b": 1 + digits}),
        ),
    )
    return Derivation(
        name="two runs of nodes",
        whose="ours",
        variables={
            "a": integer(1, 500),
            "b": integer(a, a + 1000),
            "p": integer(1, n),
            "v": integer(n - p, n - p),
        },
        assumptions=(*sympy_conditions(statement), sympy.Eq(p + v, n)),
        start=PopCount(p) + PopCount(v),
        steps=(
            Step(1 + floor(Log2(p)) + PopCount(v), "<=", "popcount-width", {"n": p}),
            Step(1 + digits + PopCount(v), "<=", "order", {"a": p, "b": n}),
            Cases(bound, "<=", (both, one)),
        ),
        local=("p", "v"),
    )


def build_sharp(statement: Statement) -> Derivation:
    """popcount(n) <= log2(n + 1), and log2 is concave."""
    right = build(statement)
    a, b = (sympy_symbols(statement)[name] for name in "ab")
    return replace(
        right,
        name="concavity",
        steps=(
            Step(Log2(p + 1) + PopCount(v), "<=", "popcount-log2", {"n": p}),
            Step(Log2(p + 1) + Log2(v + 1), "<=", "popcount-log2", {"n": v}),
            Step(
                2 * Log2((p + v) / 2 + 1),
                "<=",
                "log2-concave",
                {"x": p + 1, "y": v + 1},
            ),
            Step(2 * Log2(1 + (b - a + 1) / 2), "="),
        ),
    )


def build_prefix(prefix: Statement) -> Derivation:
    """COMPOSE(1, b) has popcount(b) nodes."""
    b = sympy_symbols(prefix)["b"]
    return Derivation(
        name="popcount of b",
        whose="ours",
        variables={"b": integer(1, 4000)},
        assumptions=sympy_conditions(prefix),
        start=PopCount(b),
        steps=(
            Step(1 + floor(Log2(b)), "<=", "popcount-width", {"n": b}),
            Step(1 + Log2(b), "<=", "floor-below", {"x": Log2(b)}),
        ),
    )


def test_the_derivations_are_complete(statement: Statement, prefix: Statement) -> None:
    for derivation in (build(statement), build_sharp(statement), build_prefix(prefix)):
        result = check_derivation(derivation)
        assert [
            (step.status, step.note) for step in result.steps if step.status != "proved"
        ] == []
        assert result.complete, derivation.name


def test_what_they_say_of_the_printed_bounds(
    make_statement: Any, statement: Statement, prefix: Statement
) -> None:
    assert conclude(build(statement), statement) == "equal"
    assert conclude(build_prefix(prefix), prefix) == "equal"
    sharp = make_statement(
        None, "<=", "2*log2(1 + (b - a + 1)/2)", DOMAINS, ("a <= b",)
    )
    assert conclude(build_sharp(statement), sharp) == "equal"
    assert conclude(build(statement), sharp) in {"stronger", "undecided", "differs"}


def test_what_local_variables_are_for(statement: Statement) -> None:
    """The lengths p and v belong to the counted quantity; if nothing says so, the statement would have to name them."""
    derivation = build(statement)
    assert refusal(replace(derivation, local=()), statement).startswith(
        "the statement says nothing of p"
    )


def test_constants_moved_against_the_derivations_break_them(
    statement: Statement, prefix: Statement
) -> None:
    for derivation in (build_sharp(statement), build_prefix(prefix)):
        for fault in perturbations(derivation, last_only=True):
            assert not check_derivation(fault.derivation, points=60).complete, (
                f"not seen: {fault.fault}"
            )


def test_wrong_steps_do_not_pass(statement: Statement) -> None:
    right = build(statement)
    a, b = (sympy_symbols(statement)[name] for name in "ab")
    first, second, split = right.steps
    assert isinstance(split, Cases)
    assert isinstance(second, Step)
    digits = floor(Log2(b - a))
    wrong: dict[str, tuple[Any, ...]] = {
        "v may be 0": (
            first,
            second,
            Step(split.expr, "<=", "popcount-width", {"n": v}),
        ),
        "the length is one less": (
            first,
            replace(second, expr=1 + digits + PopCount(v), where={"a": p, "b": b - a}),
        ),
        "log2 without rounding": (replace(first, expr=Log2(p) + PopCount(v)),),
        "the case v = 0 is left out": (
            first,
            second,
            replace(split, cases=split.cases[:1]),
        ),
    }
    for name, steps in wrong.items():
        assert not check_derivation(replace(right, steps=steps), points=60).complete, (
            name
        )


def test_the_printed_prefix_bound_without_its_one_fails(make_statement: Any) -> None:
    """The main text's count is log2(b); b = 1 is a counterexample."""
    claim = make_statement(None, "<=", "log2(b)", {"b": DOMAINS["b"]})
    b = sympy_symbols(claim)["b"]
    wrong = replace(
        build_prefix(claim), steps=(Step(Log2(b), "<=", "popcount-log2", {"n": b}),)
    )
    result = check_derivation(wrong)
    assert result.steps[-1].status == "fails"
    assert "is false" in result.steps[-1].note
