"""The provers never prove what a point refutes: random expressions, random facts, exact evaluation as the judge."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import sympy
from sympy import Max, Symbol, exp, floor, log, sqrt

from dpverify.symbolic.exact.numbers import EvaluationError, compare, to_value
from dpverify.symbolic.expressions.evaluation import compile_expr
from dpverify.symbolic.expressions.functions import Log2
from dpverify.symbolic.prove.comparisons import are_equal
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.prove.signs import is_nonnegative, is_positive
from tests.for_each import for_each

x, y = Symbol("x", real=True), Symbol("y", positive=True)
n, m = (
    Symbol("n", integer=True, positive=True),
    Symbol("m", integer=True, nonnegative=True),
)
RELATIONS = [
    x >= 0,
    x <= 1,
    y <= 1,
    y >= 1,
    x > 0,
    x < 1,
    m <= n,
    y <= x,
    x <= y,
    n >= 2,
    x * y <= 1,
]
ZERO = to_value(0)


def expression(rng: Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(
            [
                x,
                y,
                n,
                m,
                sympy.Integer(1),
                sympy.Rational(rng.randint(-3, 3), rng.choice([1, 2, 3])),
            ]
        )
    inner, other = expression(rng, depth - 1), expression(rng, depth - 1)
    return rng.choice(
        [
            inner + other,
            inner * other,
            inner - other,
            exp(inner),
            inner**2,
            1 / (1 + inner**2),
            Max(inner, other),
            floor(inner),
            log(1 + inner**2),
            Log2(rng.choice([y + 1, n, m + 1, n + y])),
            rng.choice([y, n, 1 - x, x, sympy.Rational(1, 2), sympy.Integer(2)])
            ** rng.choice([n, m, 2 * m, y, n - 1]),
            sqrt(rng.choice([y, n, y + m])),
        ]
    )


def point(rng: Random) -> dict[str, Any]:
    return {
        "x": to_value(Fraction(rng.randint(-30, 30), rng.choice([1, 2, 7, 10]))),
        "y": to_value(Fraction(rng.randint(1, 40), rng.choice([1, 3, 10, 50]))),
        "n": to_value(rng.randint(1, 7)),
        "m": to_value(rng.randint(0, 6)),
    }


def inside(facts: Facts, env: dict[str, Any]) -> bool:
    return all(value(f, env) >= 0 for f in facts.nonnegative) and all(
        value(f, env) > 0 for f in facts.positive
    )


def value(expr: Any, env: dict[str, Any]) -> Any:
    return compile_expr(expr)(dict(env), 200)


def samples(rng: Random, facts: Facts) -> list[dict[str, Any]]:
    return [env for env in (point(rng) for _ in range(60)) if inside(facts, env)]


def cases(seed: int, count: int) -> list[tuple[Any, Facts, list[dict[str, Any]]]]:
    rng = Random(seed)
    found: list[tuple[Any, Facts, list[dict[str, Any]]]] = []
    while len(found) < count:
        expr = expression(rng, rng.randint(1, 2))
        if not expr.free_symbols or expr.has(sympy.nan, sympy.zoo, sympy.I, sympy.oo):
            continue
        facts = Facts().assume(rng.sample(RELATIONS, rng.randint(0, 3)))
        found.append((expr, facts, samples(rng, facts)))
    return found


@for_each("seed", range(3))
def test_no_sign_is_proven_that_a_point_refutes(seed: int) -> None:
    proven = 0
    for expr, facts, points in cases(seed, 70):
        for strict, prove in ((True, is_positive), (False, is_nonnegative)):
            if not prove(expr, facts):
                continue
            proven += 1
            for env in points:
                try:
                    answer = compare(value(expr, env), ">" if strict else ">=", ZERO)
                except EvaluationError:
                    continue
                assert answer is not False, f"{expr} under {facts} at {env}"
    assert proven > 30, "the test must not be empty"


@for_each("seed", range(3))
def test_no_equality_is_proven_that_a_point_refutes(seed: int) -> None:
    rng = Random(seed)
    proven = 0
    for expr, facts, points in cases(200 + seed, 25):
        other = expression(rng, 1)
        for left, right in (
            (expr * other, sympy.expand(expr * other)),
            (expr, sympy.factor(expr)),
            (expr, expr + other),
        ):
            if not are_equal(left, right, facts):
                continue
            proven += 1
            for env in points[:20]:
                try:
                    answer = compare(value(left, env), "=", value(right, env))
                except (EvaluationError, TypeError):
                    continue
                assert answer is not False, f"{left} = {right} under {facts} at {env}"
    assert proven > 20, "the test must not be empty"
