"""What an expression needs to have a value everywhere, and to be written in one way: signs of bases and exponents."""

from __future__ import annotations

from dpverify.symbolic.certify.checker import checker
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import Expr, FactList


def prepare(goals: Goals, place: FactList, expr: Expr) -> None:
    """Prove what can be proven of the parts of an expression."""
    if expr in place.prepared:
        return
    place.prepared.add(expr)
    op, *args = place.e.rows[expr]
    try:
        if op in ("sum", "integral"):
            _bound(goals, place, op, args)
            return
        if op in ("q", "letter", "pi", "oo", "-oo"):
            return
        for arg in args[1:] if op == "apply" else args:
            prepare(goals, place, arg)
        if op in ("^", "sqrt"):
            _power(goals, place, op, args)
        elif op in ("log", "log2"):
            goals.expr(place, args[0], True)
        elif op == "mod":
            goals.expr(place, args[1], True)
        elif op == "exp":
            goals.expr(place, args[0])
    except checker().Refused:
        return


def _bound(goals: Goals, place: FactList, op: str, args: list[int]) -> None:
    index, lo, hi, body = args
    e = place.e
    if op == "integral":
        inner, start = place.inside("line"), e.letter(f"%{place.scope.depth}")
    else:
        endless = e.rows[hi] == ("oo",)
        for end in (lo,) if endless else (lo, hi):
            prepare(goals, place, end)
        inner = place.inside("oo" if endless else e.minus(hi, lo))
        start = e.plus(e.letter(inner.index), lo)
        if not endless:
            goals.expr(place, e.plus(hi, e.rational(1), e.turned(lo)))
    prepare(goals, inner, e.put(body, {index: start}))


def _power(goals: Goals, place: FactList, op: str, args: list[int]) -> None:
    k = checker()
    base = place.form(args[0])
    exponent = place.form(args[1]) if op == "^" else k.constant(k.fmpq(1, 2))
    value = k.as_constant(exponent)
    if value is not None and value.q == 1 and value >= 0:
        return
    if not goals.prove(place, base, True) and (value is None or value > 0):
        goals.prove(place, base)
    if value is None:
        goals.prove(place, exponent)
    elif value.q == 1 and place.scope.sign(base) != 2:
        goals.apart(place, base)
    if (value is None or value.q != 1) and base:
        first, *others = base
        for atom in (a for a, _ in first if all(a in [b for b, _ in m] for m in others)):
            goals.prove(place, place.scope.forms.power_of(place.scope.forms.atoms[atom]))
