from __future__ import annotations

from typing import Any

import pytest
import sympy
from sympy import Lambda, Sum, Symbol, exp, oo

from dpverify.symbolic.exact.numbers import compare
from dpverify.symbolic.expressions.evaluation import compile_expr
from dpverify.symbolic.expressions.functions import Norm
from dpverify.symbolic.expressions.ranges import (
    AnyVector,
    GaussianNorm,
    Points,
    SetBits,
    Variable,
    real,
)
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules import CATALOGUE, find_rule
from dpverify.symbolic.rules.base import Holds, IsVector, substitute
from tests.for_each import for_each

x = Symbol("x", real=True)
alpha = Symbol("alpha", positive=True)


def points_of(name: str) -> Points:
    rule = CATALOGUE[name]
    conditions = [
        relation_test(c.relation) for c in rule.conditions if isinstance(c, Holds)
    ]
    if "k" in rule.variables and "pos" in rule.variables:
        conditions.append(
            relation_test(
                Symbol("k", integer=True)
                <= sympy.Function("count")(Symbol("s", integer=True))
            )
        )
    return Points(rule.ranges, [c for c in conditions if c is not None], 150, 1)


def relation_test(relation: Any) -> Any:
    if relation.has(sympy.Function("count")):
        return lambda env: env["k"] <= int(env["s"].p).bit_count()
    if isinstance(relation, sympy.Ne):
        return lambda env: (
            not compare(
                compile_expr(relation.lhs - relation.rhs)(env, 128),
                "=",
                compile_expr(sympy.S.Zero)(env, 64),
            )
        )
    left, right = compile_expr(relation.lhs), compile_expr(relation.rhs)
    return lambda env: compare(
        left(dict(env), 128), relation.rel_op, right(dict(env), 128)
    )


@for_each("name", sorted(CATALOGUE))
def test_rule_holds_at_every_point_of_its_domain(name: str) -> None:
    rule = CATALOGUE[name]
    points = points_of(name)
    assert points.is_complete, (
        f"{name}: only {len(points.samples)} points meet its conditions"
    )
    says = rule.sides
    sides = [
        compile_expr(substitute(side, rule.functions)) for side in (says.lhs, says.rhs)
    ]
    strict = 0
    for env in points.samples:
        lhs, rhs = (side(dict(env), 200) for side in sides)
        assert compare(lhs, says.relation, rhs) is not False, (
            f"{name} fails at {env}: {lhs} {says.relation} {rhs}"
        )
        strict += compare(lhs, "<", rhs) is True
    if says.relation == "<=":
        assert strict > 20, (
            f"{name} is hardly ever a strict inequality on its test domain"
        )


@for_each("name", sorted(CATALOGUE))
def test_rule_has_a_proof_note_and_typed_parts(name: str) -> None:
    rule = CATALOGUE[name]
    assert len(rule.proof) > 10
    says = rule.sides
    assert says.relation in {"<=", "="}
    names = {
        s.name
        for side in (says.lhs, says.rhs)
        for s in side.free_symbols
        if not isinstance(s, sympy.Dummy)
    }
    assert names <= rule.variables


@for_each(
    ("name", "where", "assumed"),
    [
        ("exp-chord", {"x": x}, [x >= 0]),
        ("exp-chord", {"x": x}, [x <= 1]),
        ("geometric-series", {"x": alpha}, [alpha <= 1]),
        ("geometric-sum", {"x": alpha, "m": Symbol("m", integer=True)}, [alpha < 1]),
        ("log-monotone", {"a": x, "b": x + 1}, []),
        ("power-decreasing", {"x": alpha, "p": 2, "q": 3}, [alpha <= 1]),
        ("power-decreasing", {"x": alpha, "p": 3, "q": 2}, []),
        ("sqrt-subadditive", {"a": x, "b": alpha}, []),
        (
            "sum-termwise",
            {"lo": 0, "hi": 9, "f": Lambda(x, x**2), "g": Lambda(x, x)},
            [],
        ),
        ("sum-extend", {"lo": -5, "hi": 0, "more": 9, "f": Lambda(x, x)}, []),
        (
            "sum-split-first",
            {"lo": 0, "hi": Symbol("n", integer=True), "f": Lambda(x, x)},
            [],
        ),
        ("popcount-log2", {"n": alpha}, []),
        ("jensen-sqrt", {"X": x}, []),
        ("minkowski", {"u": x, "w": alpha}, []),
        ("bernoulli", {"x": alpha, "n": Symbol("y", positive=True)}, []),
        ("sum-constant", {"lo": 0, "hi": alpha, "c": x}, []),
        ("set-bits-apart", {"s": 5, "k": 1, "pos": sympy.Function("pos")}, []),
        ("bernoulli", {"x": 1, "n": sympy.Rational(1, 2)}, []),
        ("bernoulli", {"x": x, "n": alpha}, [x >= 0]),
        (
            "sum-termwise",
            {"lo": 0, "hi": alpha, "f": Lambda(x, x), "g": Lambda(x, x)},
            [],
        ),
        (
            "sum-extend",
            {"lo": 0, "hi": alpha, "more": alpha + 1, "f": Lambda(x, x)},
            [],
        ),
        ("sum-split-first", {"lo": 0, "hi": alpha, "f": Lambda(x, x)}, []),
        ("bits-sum", {"s": 3, "R": alpha + 1}, []),
        ("bit-times", {"s": Symbol("s", integer=True), "k": 1, "x": alpha}, []),
    ],
)
def test_an_instance_outside_the_conditions_is_not_met(
    name: str, where: dict[str, Any], assumed: list[Any]
) -> None:
    instance = find_rule(name).instance(where)
    facts = Facts().assume(assumed)
    assert not all(condition.is_met(facts, {}) for condition in instance.conditions)


@for_each(
    ("name", "where", "assumed"),
    [
        ("exp-chord", {"x": x}, [x >= 0, x <= 1]),
        ("geometric-series", {"x": (1 - alpha) ** 7}, [alpha <= 1]),
        ("power-decreasing", {"x": alpha, "p": 3, "q": 2}, [alpha <= 1]),
        (
            "sum-termwise",
            {"lo": 0, "hi": 9, "f": Lambda(x, x), "g": Lambda(x, x**2 + 1)},
            [],
        ),
        ("sum-extend", {"lo": 0, "hi": 3, "more": 9, "f": Lambda(x, x)}, []),
    ],
)
def test_an_instance_inside_the_conditions_is_met(
    name: str, where: dict[str, Any], assumed: list[Any]
) -> None:
    instance = find_rule(name).instance(where)
    facts = Facts().assume(assumed)
    assert [str(c) for c in instance.conditions if not c.is_met(facts, {})] == []


def test_declarations_are_asked_for() -> None:
    d, v, s, k = (Symbol(n, integer=True, positive=True) for n in "dvsk")
    norm = Symbol("Z")
    law = find_rule("gaussian-second-moment").instance({"X": norm, "d": d, "v": v})
    assert law.conditions[0].is_met(Facts(), {"Z": GaussianNorm(d, v)})
    assert not law.conditions[0].is_met(Facts(), {"Z": GaussianNorm(d, v + 1)})
    assert not law.conditions[0].is_met(Facts(), {"Z": AnyVector()})
    apart = find_rule("set-bits-apart").instance(
        {"s": s, "k": k, "pos": sympy.Function("place")}
    )
    assert apart.conditions[0].is_met(Facts(), {"place": SetBits(s)})
    assert not apart.conditions[0].is_met(Facts(), {"place": SetBits(s + 1)})


def test_missing_and_unknown_variables_are_named() -> None:
    with pytest.raises(ValueError, match=r"exp-chord has the variables x, got none"):
        find_rule("exp-chord").instance({})
    with pytest.raises(ValueError, match=r"got x, y"):
        find_rule("exp-chord").instance({"x": x, "y": x})
    with pytest.raises(ValueError, match="one-minus-exp"):
        find_rule("one-minus-exponential")


def test_substitution_is_simultaneous() -> None:
    a, b = Symbol("a", real=True), Symbol("b", real=True)
    instance = find_rule("am-gm").instance({"a": b, "b": a + b})
    assert instance.lhs == 2 * b * (a + b)
    split = find_rule("sum-split-first").instance(
        {"lo": 0, "hi": 5, "f": Lambda(x, x + Symbol("lo", integer=True))}
    )
    assert split.rhs.has(Symbol("lo", integer=True))


def test_bound_indices_are_not_captured() -> None:
    i = Symbol("i", integer=True)
    instance = find_rule("geometric-series").instance({"x": exp(-i)})
    assert isinstance(instance.lhs, Sum)
    assert instance.lhs.free_symbols == {i}
    assert instance.lhs.limits[0][1:] == (0, oo)


def test_a_linear_combination_of_vectors_has_numbers_in_front() -> None:
    u, v, x = (sympy.Symbol(name) for name in "uvx")
    declared: dict[str, Variable] = {
        "u": AnyVector(),
        "v": AnyVector(),
        "x": real(0, 1),
        "X": GaussianNorm(x, x),
    }
    assert all(
        IsVector(e).is_met(Facts(), declared)
        for e in (u, u - 2 * x * v, x * (u + v) / (1 + x))
    )
    gaussian = sympy.Symbol("X") * u
    for one in (
        x,
        u**2 / v,
        u * v,
        u + 1,
        abs(u),
        sympy.sqrt(u * v),
        Norm(u) * v,
        gaussian,
    ):
        assert not IsVector(one).is_met(Facts(), declared)
