"""Prove side conditions: signs, ranges and convergence of the parts of an expression, and conditions of rules.

Before the checker reads an expression, these properties of its parts must be facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dpverify.symbolic.certify.checker import Expr, comparison_text, k, text_of, to_expr
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList


def converges(goals: Goals, place: FactList, series: Expr) -> None:
    """Prove that a series of one product converges."""
    term, inner = place.scope.term(*series)
    form = inner.form(term)
    if len(form) == 1:
        _, summand = inner.taken_out(form, f"%{place.scope.depth}")
        closed = place.scope.closed("oo", summand)
        if len(summand) == 1 and closed not in place.scope.converging:
            _geometric(goals, place, to_expr(closed), min(summand))


def _geometric(goals: Goals, place: FactList, series: Expr, powers: Any) -> None:
    """Prove that a series converges because its terms have a constant ratio in [0, 1)."""
    index = k.letter(f"%{place.scope.depth}")
    after = {index[1]: k.row("+", index, k.rational(1))}
    inner = place.inside("oo").scope
    steps = [(a, inner.form(k.put(to_expr(x), after) - to_expr(x))) for a, x in powers]
    ratio = to_expr(k.monomial([(a, x) for a, x in steps if x]))
    prepare(goals, place, ratio)
    if goals.prove_expr(place, ratio) and goals.prove_expr(
        place, (k.rational(1) - ratio), True
    ):
        place.fact("converges", series, "ratio", ratio)


def prepare(goals: Goals, place: FactList, expr: Expr) -> None:
    """Prove what is possible about the parts of an expression: signs of bases, exponents and ranges."""
    if expr in place.prepared:
        return
    place.prepared.add(expr)
    op, *args = expr
    try:
        if op in ("sum", "integral"):
            _prepare_bound(goals, place, expr)
            return
        for arg in args:
            if isinstance(arg, k.Row):
                prepare(goals, place, arg)
        if op == "^":
            _prepare_power(goals, place, *args)
        elif op in ("log", "exp"):
            goals.prove_expr(place, args[0], op == "log")
    except k.Refused:
        return


def _prepare_bound(goals: Goals, place: FactList, expr: Expr) -> None:
    op, index, lo, hi, body = expr
    length = place.scope.span(*expr)
    for end in {"line": (), "oo": (lo,)}.get(length, (lo, hi)):
        prepare(goals, place, end)
    if not isinstance(length, str):
        goals.prove_expr(place, k.row("+", length, k.rational(1)))
    inner = place.inside(length)
    at = k.letter(inner.index)
    term = k.put(body, {index: at if op == "integral" else k.row("+", at, lo)})
    prepare(goals, inner, term)
    if (
        op == "sum"
        and any(atom[0] == "max" for m in inner.form(term) for atom, _ in m)
        and goals.prove_expr(inner, term)
    ):
        place.termwise(expr)  # its form has separate terms
    if length == "oo":
        converges(goals, place, expr)


def _prepare_power(
    goals: Goals, place: FactList, base_expr: Expr, exponent_expr: Expr
) -> None:
    base = place.form(base_expr)
    exponent = place.form(exponent_expr)
    value = exponent.constant()
    if value is not None and value.q == 1 and value >= 0:
        return
    proven = goals.prove(place, base, True) or (
        (value is None or value > 0) and goals.prove(place, base)
    )
    if not proven and (value is None or value.q > 1):
        prove_unexpanded(goals, place, base_expr)
    if value is None:
        goals.prove(place, exponent)
    elif value.q == 1:
        goals.prove_nonzero(place, base)
    if len(base) == 1 and (value is None or value.q != 1):
        for atom, _ in min(base):
            goals.prove(place, k.alone(atom))


def prove_unexpanded(goals: Goals, place: FactList, expr: Expr) -> str:
    """Prove the sign of sums, products and squares before they are expanded. Return ``>``, ``>=`` or an empty text."""
    op, *args = expr
    for relation in (">", ">="):
        if goals.prove_expr(place, expr, relation == ">"):
            return relation
    if op == "^" and place.form(args[1]).constant() == 2:
        return ">=" * place.square(args[0])
    if op == "sum":
        term, _ = place.scope.term(*expr)
        inner = place.inside(place.scope.span(*expr))
        return ">=" * bool(
            prove_unexpanded(goals, inner, term) and place.termwise(expr)
        )
    signs = (
        [prove_unexpanded(goals, place, arg) for arg in args] if op in "+*" else [""]
    )
    terms = [["1", [arg]] for arg in args] if op == "+" else [["1", args]]
    strict = (
        any(sign == ">" for sign in signs)
        if op == "+"
        else all(sign == ">" for sign in signs)
    )
    relation = ">" if strict else ">="
    return relation * (all(signs) and place.fact(relation, expr, "combine", [], terms))


class Unproven(NamedTuple):
    """A condition of a rule's instance that is not proved."""

    kind: str
    relation: str = ""
    expr: Expr | None = None

    def __str__(self) -> str:
        if self.expr is None:
            return self.kind
        if self.kind == "integer":
            return f"{text_of(self.expr)} is an integer"
        if self.relation == "!=":  # which the language of formulas does not have
            return f"{text_of(self.expr)} is not 0"
        return comparison_text(self.relation, self.expr)


def unproven(
    goals: Goals, place: FactList, rule: Any, values: Mapping[str, Any]
) -> list[Unproven]:
    """Prove the conditions of a rule's instance; return those that are not proved."""
    unproved = []
    for kind, *args in rule.conditions:
        at = place
        relation = args[0]
        expr = None
        try:
            if kind == "forall":
                series = k.row(
                    *(k.put(a, values) if isinstance(a, k.Row) else a for a in args[1])
                )
                expr, _ = place.scope.term(*series)
                at = place.inside(place.scope.span(*series))
            elif kind == "fact":
                expr = k.put(args[1], values)
            elif kind == "integer":
                expr = k.put(args[0], values)
                prepare(goals, place, expr)
            if expr is not None and kind != "integer":
                prepare(goals, at, expr)
                if not goals.prove_relation(at, relation, expr) and relation in (
                    ">=",
                    ">",
                ):
                    prove_unexpanded(goals, at, expr)
            met = place.proof.met(place.scope, values, kind, *args)
        except k.Refused:
            met = False
        if not met:
            unproved.append(
                Unproven(kind, relation if isinstance(relation, str) else "", expr)
            )
    return unproved
