"""Proposition 16: sort the set bits, bound each by its rank, compare term by term."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sympy import Function, Lambda, Mod, Sum, Symbol

from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.perturb import perturbations
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.expressions.functions import PopCount
from dpverify.symbolic.expressions.ranges import SetBits, integer, real
from dpverify.symbolic.expressions.translation import (
    sympy_conditions,
    sympy_sides,
    sympy_symbols,
)
from tests.unit.symbolic.conclusions import conclude

DOMAINS = {
    "gamma": "real, 0 < gamma < 1",
    "R": "integer, R >= 0",
    "s": "integer, 0 <= s <= 2**(R + 1) - 1",
}
LHS = "sum(bit(s, i)*gamma**(2*mod(s, 2**i)), i, 0, R)"
i, j, k = (Symbol(name, integer=True) for name in "ijk")
pos = Function("pos", integer=True, nonnegative=True)


@pytest.fixture
def statement(make_statement: Any) -> Statement:
    return make_statement(LHS, "<=", "1 + sum(gamma**(2**i), i, 1, R)", DOMAINS)  # type: ignore[no-any-return]  # a fixture


def build(statement: Statement) -> Derivation:
    """The k-th set bit is at position k - 1 or above, so its remainder is at least 2**(k - 1) - 1."""
    g, R, s = (sympy_symbols(statement)[name] for name in ("gamma", "R", "s"))
    n = PopCount(s)
    by_rank = g ** (2 * (2 ** (k - 1) - 1))
    by_bit = g ** (2 * (2**i - 1))
    return Derivation(
        name="sorted set bits",
        whose="ours",
        variables={
            "gamma": real(0, 1, open_lo=True, open_hi=True),
            "R": integer(0, 9),
            "s": integer(0, 2 ** (R + 1) - 1),
            "pos": SetBits(s),
        },
        assumptions=sympy_conditions(statement),
        start=sympy_sides(statement)[0],
        steps=(
            Step(
                Sum(g ** (2 * Mod(s, 2 ** pos(k))), (k, 1, n)),
                "=",
                "set-bits",
                {"s": s, "R": R, "pos": pos, "f": Lambda(i, g ** (2 * Mod(s, 2**i)))},
            ),
            Step(
                Sum(g ** (2 * Sum(2 ** pos(j), (j, 1, k - 1))), (k, 1, n)),
                "=",
                "remainder-below-set-bit",
                {"s": s, "k": k, "pos": pos},
            ),
            Step(
                Sum(g ** (2 * Sum(2 ** (j - 1), (j, 1, k - 1))), (k, 1, n)),
                "<=",
                "set-bits-apart",
                {"s": s, "k": j, "pos": pos},
            ),
            Step(Sum(by_rank, (k, 1, n)), "=", "geometric-sum", {"x": 2, "m": k - 1}),
            Step(
                Sum(by_rank, (k, 1, R + 1)), "<=", "popcount-digits", {"s": s, "R": R}
            ),
            Step(Sum(by_bit, (i, 0, R)), "=", note="k = i + 1"),
            Step(
                1 + Sum(by_bit, (i, 1, R)),
                "=",
                "sum-split-first",
                {"lo": 0, "hi": R, "f": Lambda(i, by_bit)},
            ),
            Step(
                1 + Sum(g ** (2**i), (i, 1, R)),
                "<=",
                "power-decreasing",
                {"x": g, "p": 2 * (2**i - 1), "q": 2**i},
            ),
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
    assert conclude(derivation, statement) == "equal"


def test_it_ends_a_step_earlier_with_a_sharper_bound(
    make_statement: Any, statement: Statement
) -> None:
    short = replace(build(statement), steps=build(statement).steps[:-1])
    sharper = make_statement(
        LHS, "<=", "1 + sum(gamma**(2*(2**i - 1)), i, 1, R)", DOMAINS
    )
    assert conclude(short, sharper) == "equal"
    too_sharp = make_statement(LHS, "<=", "1 + sum(gamma**(3*2**i), i, 1, R)", DOMAINS)
    assert conclude(short, too_sharp) != "weaker"


def test_every_constant_moved_against_the_derivation_breaks_it(
    statement: Statement,
) -> None:
    for fault in perturbations(build(statement), last_only=True):
        assert not check_derivation(fault.derivation, points=60).complete, (
            f"not seen: {fault.fault}"
        )


def test_wrong_steps_do_not_pass(statement: Statement) -> None:
    right = build(statement)
    g, R, s = (sympy_symbols(statement)[name] for name in ("gamma", "R", "s"))
    steps: Any = right.steps
    wrong: dict[str, tuple[int, Any]] = {
        "bits counted from 1": (
            0,
            replace(
                steps[0], expr=Sum(g ** (2 * Mod(s, 2 ** pos(k))), (k, 0, PopCount(s)))
            ),
        ),
        "the remainder includes its own bit": (
            1,
            replace(
                steps[1],
                expr=Sum(g ** (2 * Sum(2 ** pos(j), (j, 1, k))), (k, 1, PopCount(s))),
            ),
        ),
        "positions one too high": (
            2,
            replace(
                steps[2],
                expr=Sum(g ** (2 * Sum(2**j, (j, 1, k - 1))), (k, 1, PopCount(s))),
            ),
        ),
        "one digit too few": (
            4,
            replace(steps[4], expr=Sum(g ** (2 * (2 ** (k - 1) - 1)), (k, 1, R))),
        ),
        "terms compared the wrong way": (7, replace(steps[7], relation=">=")),
        "the sum starts too early": (
            7,
            replace(steps[7], expr=1 + Sum(g ** (2**i), (i, 0, R))),
        ),
        "an exponent too large": (
            7,
            replace(steps[7], expr=1 + Sum(g ** (2 ** (i + 1)), (i, 1, R))),
        ),
    }
    for name, (position, step) in wrong.items():
        changed = (*steps[:position], step, *steps[position + 1 :])
        try:
            complete = check_derivation(
                replace(right, steps=changed), points=60
            ).complete
        except ValueError:
            continue
        assert not complete, name


def test_the_termwise_step_needs_terms_from_one_on(statement: Statement) -> None:
    """At i = 0 the exponents are 0 and 1: gamma**0 <= gamma**1 is false, and the condition is not proven."""
    right = build(statement)
    g, R = (sympy_symbols(statement)[name] for name in ("gamma", "R"))
    from_zero = Step(
        Sum(g ** (2**i), (i, 0, R)),
        "<=",
        "power-decreasing",
        {"x": g, "p": 2 * (2**i - 1), "q": 2**i},
    )
    result = check_derivation(replace(right, steps=(*right.steps[:6], from_zero)))
    assert result.steps[-1].status == "fails"


def test_without_the_declaration_the_rule_does_not_apply(statement: Statement) -> None:
    right = build(statement)
    s = sympy_symbols(statement)["s"]
    other = {**right.variables, "pos": SetBits(s + 1)}
    result = check_derivation(replace(right, variables=other))
    assert not result.complete
