"""Steps that take sums apart, and the letters, functions and definitions of the identities' derivations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Function, Integer, Lambda, Piecewise, Sum, Symbol

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.define import define
from dpverify.symbolic.derive.steps import ALGEBRA, PREMISE, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.whole_functions import AnyFunction, FunctionOf

ALPHA = Symbol("alpha", positive=True)
GAMMA = Symbol("gamma", positive=True)
N, T, t = (Symbol(name, integer=True, positive=True) for name in ("N", "T", "t"))
q, r, k = (Symbol(name, integer=True, nonnegative=True) for name in ("epochs", "rest", "k"))
i = Symbol("i", integer=True)
j = Symbol("j", integer=True)

BETA = 1 - ALPHA
KEEP = 1 - GAMMA

grad, anchor_grad, anchor_before, momentum, full_grad, full_momentum, G_win, Delta_win, r_win = (
    Function(name, real=True)
    for name in (
        "grad",
        "anchor_grad",
        "anchor_before",
        "momentum",
        "full_grad",
        "full_momentum",
        "G_win",
        "Delta_win",
        "r_win",
    )
)

_A = Symbol("first", integer=True)
_B = Symbol("last", integer=True)


def weighted(term: Any, first: Any, last: Any) -> Any:
    """Sum of a term in the index i, each with the power of 1 - alpha that its distance from the last index gives."""
    return Sum(BETA ** (last - i) * term, (i, first, last))


def functions(statement: Statement) -> dict[str, Variable]:
    """The paper's functions as they are defined: those of gradients take any values."""
    one_order = statement.reading.get("ordering") == "once"
    window = (_A, _B)
    return {
        "grad": AnyFunction(),
        "anchor_grad": AnyFunction(),
        "full_grad": AnyFunction(),
        "anchor_before": FunctionOf("anchor_before", (_B,), anchor_grad(_B - N)) if one_order else AnyFunction(),
        "momentum": FunctionOf("momentum", (_B,), _recursion(momentum, grad, 0, Integer(0))),
        "full_momentum": FunctionOf("full_momentum", (_B,), _recursion(full_momentum, full_grad, 1, full_grad(1))),
        "G_win": FunctionOf("G_win", window, weighted(anchor_grad(i), _A, _B)),
        "Delta_win": FunctionOf("Delta_win", window, weighted(anchor_grad(i) - anchor_before(i), _A, _B)),
        "r_win": FunctionOf("r_win", window, weighted(grad(i) - anchor_grad(i), _A, _B)),
    }


def _recursion(function: Any, term: Any, first: int, start: Any) -> Any:
    return Piecewise((start, first >= _B), (BETA * function(_B - 1) + ALPHA * term(_B), True))


def variables(statement: Statement, **ranges: Variable) -> Mapping[str, Variable]:
    """The letters of a derivation, with N and both weights, and the paper's functions."""
    weights = {"alpha": real(0, 1, open_lo=True), "gamma": real(0, 1, open_lo=True, open_hi=True)}
    return {**weights, "N": integer(1, 4), **ranges, **functions(statement)}


def definitions(statement: Statement, *names: str) -> dict[str, Premise]:
    """Definitions of functions as premises, by name; ``momentum/start`` is one part of a recursion."""
    return {name: define(statement, name.partition("/")[0], part=name.partition("/")[2]) for name in names}


def by(context: Any, new: Any, rule: str = ALGEBRA, **where: Any) -> Step:
    """An equality that puts something new in the place of ``HOLE``."""
    return Step(context.xreplace({HOLE: new}), "=", rule, where, context=context)


def known(context: Any, new: Any, premise: str, **where: Any) -> Step:
    """An equality by a premise."""
    return Step(context.xreplace({HOLE: new}), "=", PREMISE, where, (premise,), context=context)


def split(context: Any, body: Any, lo: Any, hi: Any, at: Any) -> Step:
    """Split a sum behind an index."""
    parts = Sum(body, (i, lo, at)) + Sum(body, (i, at + 1, hi))
    return by(context, parts, "sum-split", f=Lambda(i, body), lo=lo, hi=hi, m=at)


def joined(context: Any, body: Any, lo: Any, hi: Any, at: Any) -> Step:
    """Join two sums, the second of which begins behind an index, or is a last term."""
    return by(context, Sum(body, (i, lo, hi)), "sum-split", f=Lambda(i, body), lo=lo, hi=hi, m=at)


def taken_out(context: Any, base: Any, power: Any, rest: Any, term: Any, lo: Any, hi: Any) -> tuple[Step, Step]:
    """Take ``base**power`` out of the sum of ``base**(power + rest)*term``."""
    inside = context.xreplace({HOLE: Sum(HOLE * term, (i, lo, hi))})
    body = Lambda(i, base**rest * term)
    return (
        by(inside, base**power * base**rest, "power-split", x=base, m=power, n=rest),
        by(context, base**power * Sum(body(i), (i, lo, hi)), "sum-scale", c=base**power, f=body, lo=lo, hi=hi),
    )
