"""Proposition 14 and Corollary 15, derived: a geometric series against an exponential.

Proposition 14 is Proposition 13 with ``y = alpha N - log(1/(1-gamma))`` for ``alpha N``. Where y = 0 the printed right
sides divide by 0 and claim nothing: the letter ``gap``, any number in (0, y], leaves this place out; no step uses its
value.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import sympy
from sympy import Integer, Lambda, Rational, Sum, Symbol, exp, log, oo

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols

ONE: Final = Integer(1)
HALF: Final = Rational(1, 2)
GAP: Final = Symbol("gap", positive=True)
i: Final = Symbol("i", integer=True)


class Shifted(NamedTuple):
    """Symbols of a statement about the shifted series, its exponent y, and where they are sampled."""

    symbols: dict[str, Any]
    y: Any
    variables: dict[str, Variable]
    conditions: tuple[Any, ...]


def _shifted(statement: Statement) -> Shifted:
    symbols = sympy_symbols(statement)
    alpha = symbols["alpha"]
    gamma = symbols["gamma"]
    n = symbols["N"]
    y = alpha * n - log(1 / (1 - gamma))
    ranges: dict[str, Variable] = {
        "N": integer(1, 60),
        "gamma": real(0, HALF, open_lo=True),
        "alpha": real(log(1 / (1 - gamma)) / n, 1),
        "window": integer(1, 12),
        "gap": real(0, Rational(1, 10**15), open_lo=True),
    }
    variables = {name: ranges[name] for name in ranges if name in symbols or name == "gap"}
    return Shifted(symbols, y, variables, (alpha <= 1, gamma < 1, y >= GAP))


def derive_proposition_14(statement: Statement) -> Derivation:
    """Derive Proposition 14; the two lines of appendix F that the paper misprints are not used."""
    at = _shifted(statement)
    start, steps = _to_bound(at.symbols["alpha"], 1 - at.symbols["gamma"], at.symbols["N"])
    return Derivation("chord or tail", "ours", at.variables, at.conditions, start, steps, local=("gap",))


def derive_corollary_15(statement: Statement) -> Derivation:
    """Derive Corollary 15: from its end the sum is ``(1-gamma)^(window-1)`` times Proposition 14's first terms."""
    at = _shifted(statement)
    alpha, gamma, n, window = (at.symbols[name] for name in ("alpha", "gamma", "N", "window"))
    start, _ = sympy_sides(statement)
    factor = (1 - gamma) ** (window - 1)
    shifted = Lambda(i, (1 - gamma) ** (-i) * (1 - alpha) ** (n * i))
    series, steps = _to_bound(alpha, 1 - gamma, n, factor)
    rates = {"c": 1 - gamma, "x": (1 - alpha) ** n, "hi": window - 1}
    all_terms = {"lo": 0, "hi": window - 1}
    chain = (
        Step(factor * Sum(shifted(i), (i, 0, window - 1)), "=", "convolution-from-end", rates),
        Step(series, "<=", "sum-to-infinity", {**all_terms, "f": shifted}),
        *steps,
    )
    return Derivation("from the end", "ours", at.variables, at.conditions, start, chain, local=("gap",))


def _to_bound(alpha: Any, keep: Any, n: Any, factor: Any = ONE) -> tuple[Any, tuple[Step, ...]]:
    """Proposition 14's series, times a factor, and the steps to ``max(1, 1/y)/(1 - exp(-1))`` times it."""
    start = factor * Sum(keep ** (-i) * (1 - alpha) ** (n * i), (i, 0, oo))
    decays = factor * Sum(keep ** (-i) * exp(-alpha) ** (n * i), (i, 0, oo))
    bound = factor * sympy.Max(1, 1 / (alpha * n - log(1 / keep))) / (1 - exp(-1))
    return start, (
        Step(decays, "<=", "one-minus-exp", {"x": alpha}),
        Step(bound, "<=", "exponential-series", {"c": keep, "x": alpha * n}),
    )
