"""Derivations of appendix C's lines on the sum over j = 3 .. alpha: a geometric sum, its ratio, and C.2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Lambda, Sum, exp, log

from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.derivations import one_chain
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols


def derive_geometric(statement: Statement) -> Derivation:
    """Derive the sum's bound: from j = 3 on it is its first term times a geometric sum, which is below the series."""
    start, end = sympy_sides(statement)
    order, tau, sigma = (sympy_symbols(statement)[name] for name in ("order", "tau", "sigma"))
    loss = (order - 1) / (2 * sigma**2)
    ratio = tau * order * exp(loss)
    first = tau * order * exp(3 * loss)
    (terms,) = start.atoms(Sum)
    ((index, lo, hi),) = terms.limits
    of_terms = {"f": Lambda(index, terms.function), "lo": lo, "hi": hi}
    power = tau**index * order**index * exp(index * loss)
    around = (index, 0, hi - lo)
    scaled_sum = {"c": first, "f": Lambda(index, power), "lo": 0, "hi": hi - lo}
    return one_chain(
        statement,
        start,
        Step(terms, "=", "guarded-sum", of_terms),
        Step(Sum(terms.function.xreplace({index: index + lo}), around), "="),
        Step(Sum(first * power, around), "="),
        Step(first * Sum(power, around), "=", "sum-scale", scaled_sum),
        Step(first * Sum(ratio**index, around), "="),
        Step(end, "<=", "geometric-sum-bound", {"x": ratio, "m": hi - lo}, context=first * HOLE),
    )


def derive_ratio(statement: Statement) -> Derivation:
    """Derive that the ratio is below 1: by C.2 its logarithm is at most -log(1 + sigma^2) - (alpha - 1)/sigma^2."""
    start, _ = sympy_sides(statement)
    return one_chain(statement, start, *_below(statement, start, 1))


def ratio_below_one(statement: Statement) -> Derivation:
    """Derive that the ratio is at most ``1 - sigma^2/(1 + sigma^2)`` by C.2, which keeps it away from 1."""
    order, tau, sigma = (sympy_symbols(statement)[name] for name in ("order", "tau", "sigma"))
    ratio = tau * order * exp((order - 1) / (2 * sigma**2))
    return one_chain(statement, ratio, *_below(statement, ratio, 1), Step(1 - sigma**2 / (1 + sigma**2), "="))


def derive_c_2(statement: Statement) -> Derivation:
    """Derive C.2's bound: the first term is at most 1/(1 + sigma^2), and so is the ratio, which is thus not 1."""
    start, end = sympy_sides(statement)
    order, tau, sigma = (sympy_symbols(statement)[name] for name in ("order", "tau", "sigma"))
    below_one = ratio_below_one(statement)
    ratio = below_one.start
    first = tau * order * exp(3 * (order - 1) / (2 * sigma**2))
    term_bound = 1 / (1 + sigma**2)
    left = sigma**2 / (1 + sigma**2)
    chains = {
        "the ratio": below_one,
        "the first term": one_chain(statement, first, *_below(statement, first, 3)),
    }
    chain = one_chain(
        statement,
        start,
        Step(first / left, "<=", "reciprocal-monotone", {"a": left, "b": 1 - ratio}, context=first * HOLE),
        Step(term_bound / left, "<=", "premise", {}, ("the first term",), context=HOLE / left),
        Step(end, "="),
    )
    cited = {name: cite(replace(derivation, name=name)) for name, derivation in chains.items()}
    return replace(chain, premises=cited, shown=("the ratio",))


def _below(statement: Statement, start: Any, third: int) -> tuple[Step, ...]:
    """Bound ``tau alpha exp(third (alpha - 1)/(2 sigma^2))`` by ``1/(1 + sigma^2)``, for a third of at most 3."""
    order, tau, sigma = (sympy_symbols(statement)[name] for name in ("order", "tau", "sigma"))
    loss = (order - 1) / (2 * sigma**2)
    room = -log(1 + sigma**2)
    inside = room - log(1 / (tau * order * (1 + sigma**2))) + third * loss
    end = room - (3 - third) * loss
    return (
        Step(exp(inside), "="),
        Step(exp(end), "<=", "exp-monotone", {"a": inside, "b": end}, note="C.2"),
        Step(exp(room), "<=", "exp-monotone", {"a": end, "b": room}),
        Step(1 / (1 + sigma**2), "="),
    )
