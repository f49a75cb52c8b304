"""What must be known of the parts of an expression before it is read: signs, ranges, convergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpverify.symbolic.certify.checker import Expr, k
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.readback import written

if TYPE_CHECKING:
    from dpverify.symbolic.certify.goals import Goals


def converges(goals: Goals, place: FactList, series: Expr) -> None:
    """Prove that a series of one product converges."""
    term, inner = place.scope.term(*series)
    form = inner.form(term)
    if len(form) == 1:
        _, summand = inner.taken_out(form, f"%{place.scope.depth}")
        closed = place.scope.closed("oo", summand)
        if len(summand) == 1 and closed not in place.scope.converging:
            _geometric(goals, place, written(closed), min(summand))


def _geometric(goals: Goals, place: FactList, series: Expr, powers: Any) -> None:
    """Each term of a series is the one before times a ratio between 0 and 1."""
    index = k.letter(f"%{place.scope.depth}")
    after = {index[1]: k.row("+", index, k.rational(1))}
    inner = place.inside("oo").scope
    steps = [(a, inner.form(k.put(written(x), after) - written(x))) for a, x in powers]
    ratio = written(k.monomial([(a, x) for a, x in steps if x]))
    prepare(goals, place, ratio)
    if goals.expr(place, ratio) and goals.expr(place, (k.rational(1) - ratio), True):
        place.fact("converges", series, "ratio", ratio)


def prepare(goals: Goals, place: FactList, expr: Expr) -> None:
    """Prove what can be proven of the parts of an expression: signs of bases, exponents and ranges."""
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
            goals.expr(place, args[0], op == "log")
    except k.Refused:
        return


def _prepare_bound(goals: Goals, place: FactList, expr: Expr) -> None:
    op, index, lo, hi, body = expr
    length = place.scope.span(*expr)
    for end in {"line": (), "oo": (lo,)}.get(length, (lo, hi)):
        prepare(goals, place, end)
    if not isinstance(length, str):
        goals.expr(place, k.row("+", length, k.rational(1)))
    inner = place.inside(length)
    at = k.letter(inner.index)
    term = k.put(body, {index: at if op == "integral" else k.row("+", at, lo)})
    prepare(goals, inner, term)
    if op == "sum" and any(atom[0] == "max" for m in inner.form(term) for atom, _ in m) and goals.expr(inner, term):
        place.termwise(expr)  # its form has the terms apart
    if length == "oo":
        converges(goals, place, expr)


def _prepare_power(goals: Goals, place: FactList, below: Expr, above: Expr) -> None:
    base = place.form(below)
    exponent = place.form(above)
    value = exponent.constant()
    if value is not None and value.q == 1 and value >= 0:
        return
    proven = goals.prove(place, base, True) or ((value is None or value > 0) and goals.prove(place, base))
    if not proven and (value is None or value.q > 1):
        as_written(goals, place, below)
    if value is None:
        goals.prove(place, exponent)
    elif value.q == 1:
        goals.apart(place, base)
    if len(base) == 1 and (value is None or value.q != 1):
        for atom, _ in min(base):
            goals.prove(place, k.alone(atom))


def as_written(goals: Goals, place: FactList, expr: Expr) -> str:
    """Prove the sign of sums, products and squares as they stand, before they are multiplied out: >, >= or nothing."""
    op, *args = expr
    for relation in (">", ">="):
        if goals.expr(place, expr, relation == ">"):
            return relation
    if op == "^" and place.form(args[1]).constant() == 2:
        return ">=" * place.square(args[0])
    if op == "sum":
        term, _ = place.scope.term(*expr)
        inner = place.inside(place.scope.span(*expr))
        return ">=" * bool(as_written(goals, inner, term) and place.termwise(expr))
    signs = [as_written(goals, place, arg) for arg in args] if op in "+*" else [""]
    terms = [["1", [arg]] for arg in args] if op == "+" else [["1", args]]
    strict = any(sign == ">" for sign in signs) if op == "+" else all(sign == ">" for sign in signs)
    relation = ">" if strict else ">="
    return relation * (all(signs) and place.fact(relation, expr, "combine", [], terms))
