"""Derivations of appendix C's lines on the sum over j = 3 .. alpha: a geometric sum, its ratio, and C.2."""

from __future__ import annotations

from typing import Any

from sympy import exp, log

from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.derivations import one_chain
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols


def derive_ratio(statement: Statement) -> Derivation:
    """Derive that the ratio is below 1: by C.2 its logarithm is at most -log(1 + sigma^2) - (alpha - 1)/sigma^2."""
    start, _ = sympy_sides(statement)
    return one_chain(statement, start, *_below(statement, start, 1))


def _below(statement: Statement, start: Any, third: int) -> tuple[Step, ...]:
    """Bound ``tau alpha exp(third (alpha - 1)/(2 sigma^2))`` by ``1/(1 + sigma^2)``, for a third of at most 3."""
    order, tau, sigma = (sympy_symbols(statement)[name] for name in ("order", "tau", "sigma"))
    loss, room = (order - 1) / (2 * sigma**2), -log(1 + sigma**2)
    inside = room - log(1 / (tau * order * (1 + sigma**2))) + third * loss
    end = room - (3 - third) * loss
    return (
        Step(exp(inside), "="),
        Step(exp(end), "<=", "exp-monotone", {"a": inside, "b": end}, note="C.2"),
        Step(exp(room), "<=", "exp-monotone", {"a": end, "b": room}),
        Step(1 / (1 + sigma**2), "="),
    )
