"""Derivations of how far one example moves an estimate (section 4.1, Remark 4.3, B.4), and of Lemma D.1 on subsets."""

from __future__ import annotations

from sympy import Abs, Eq, Symbol

from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.derivations import ranges
from dpverify.papers.wang2019.utility.derivations import one_replaced
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

REPLACED = ("own", "other", "own_change", "other_change")
"""Components of the gradients of two examples, one in place of the other, and how far they change in a step."""


def derive_replaced(statement: Statement) -> Derivation:
    """Derive how far one example moves an estimate: four lengths are at their most."""
    symbols, (_, end) = sympy_symbols(statement), sympy_sides(statement)
    gamma = symbols["gamma"]
    b = symbols["b"]
    gradient_bound, change_bound = (symbols[name] for name in (("G", "zeta") if "G" in symbols else ("C_1", "C_2")))
    original, replacement, original_change, replacement_change = (Symbol(name, real=True) for name in REPLACED)
    at_most = {
        original: gradient_bound,
        replacement: gradient_bound,
        original_change: change_bound,
        replacement_change: change_bound,
    }
    steps = one_replaced(
        gamma, b, (original_change, replacement_change, change_bound), (original, replacement, gradient_bound)
    )
    if not end.has(b):
        steps.append(Step.order(2 * ((1 - gamma) * change_bound + gamma * gradient_bound) * HOLE, 1 / b, 1))
    return Derivation(
        "one example replaced",
        "ours",
        ranges(statement) | dict.fromkeys(REPLACED, real(-3, 3)),
        (*sympy_conditions(statement), *(Abs(symbol) <= bound for symbol, bound in at_most.items())),
        Abs((1 - gamma) * (original_change - replacement_change) + gamma * (original - replacement)) / b,
        (*steps, Step(end, "=")),
        local=REPLACED,
    )


def derive_subsets(statement: Statement) -> Derivation:
    """Derive Lemma D.1: a subset's mean has (n - b)/(b (n - 1)) times the mean square of vectors that add up to 0."""
    symbols, (_, end) = sympy_symbols(statement), sympy_sides(statement)
    n = symbols["n"]
    b = symbols["b"]
    squares = Symbol("squares", positive=True)
    total = Symbol("total", real=True)
    start = n * (b / n * squares + b * (b - 1) / (n * (n - 1)) * (total - squares)) / (b**2 * squares)
    sampled = ranges(statement) | {"squares": real(0, 9, open_lo=True), "total": real(0, 0)}
    steps = (Step((n - b) / (n - 1) / b, "="), Step.order(HOLE / b, (n - b) / (n - 1), 1), Step(end, "="))
    return Derivation(
        "chances of one and of two",
        "ours",
        sampled,
        (*sympy_conditions(statement), Eq(total, 0)),
        start,
        steps,
        local=("squares", "total"),
    )
