"""Proposition 13, derived: a geometric series against an exponential, and two cases."""

from __future__ import annotations

import sympy
from sympy import Integer, Sum, exp, oo

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols

ONE = Integer(1)
VARIABLES = {"N": integer(1, 300), "alpha": real(0, 1, open_lo=True)}


def _series(statement: Statement) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr, tuple[Step, ...]]:
    """Start of all these chains: the series, its two symbols, and the steps to ``1/(1 - exp(-alpha N))``."""
    symbols = sympy_symbols(statement)
    alpha, n = symbols["alpha"], symbols["N"]
    start, _ = sympy_sides(statement)
    (i,) = start.variables
    ratio = (1 - alpha) ** n
    steps = (
        Step(Sum(ratio**i, (i, 0, oo)), "=", note="(1-alpha)^(N i) is the i-th power of (1-alpha)^N"),
        Step(1 / (1 - ratio), "=", "geometric-series", {"x": ratio}),
        Step(1 / (1 - exp(-alpha * n)), "<=", "one-minus-exp", {"x": alpha}),
    )
    return start, alpha, n, steps


def derive_proposition_13(statement: Statement) -> Derivation:
    """Derive Proposition 13. From the series to ``max(1, 1/(alpha N)) / (1 - exp(-1))``.

    Source: appendix F; the cases are the paper's.
    """
    start, alpha, n, steps = _series(statement)
    x = alpha * n
    bound = sympy.Max(1, 1 / x) / (1 - exp(-1))
    small = (
        Step(1 / (x * (1 - exp(-1))), "<=", "exp-chord", {"x": x}, note="the chord of exp(-x) on [0, 1]"),
        Step(bound, "<=", "below-max", {"a": 1 / x, "b": ONE}),
    )
    large = (
        Step(1 / (1 - exp(-1)), "<=", "exp-monotone", {"a": -x, "b": -ONE}),
        Step(bound, "<=", "below-max", {"a": ONE, "b": 1 / x}),
    )
    cases = Cases(bound, "<=", (Case(x <= 1, small), Case(x >= 1, large)))
    return Derivation("two cases", "ours", VARIABLES, (alpha <= 1,), start, (*steps, cases))


def derive_case_1(statement: Statement) -> Derivation:
    """Derive ``tran2022:proposition-13-case-1``: alpha N <= 1; see :func:`derive_proposition_13`."""
    start, alpha, n, steps = _series(statement)
    chord = Step(1 / (alpha * n * (1 - exp(-1))), "<=", "exp-chord", {"x": alpha * n})
    return Derivation("chord", "ours", VARIABLES, (alpha <= 1, alpha * n <= 1), start, (*steps, chord))


def derive_case_2(statement: Statement) -> Derivation:
    """Derive ``tran2022:proposition-13-case-2`` and ``tran2022:equation-7``: alpha N >= 1."""
    start, alpha, n, steps = _series(statement)
    tail = Step(1 / (1 - exp(-1)), "<=", "exp-monotone", {"a": -alpha * n, "b": -ONE})
    return Derivation("tail", "ours", VARIABLES, (alpha <= 1, alpha * n >= 1), start, (*steps, tail))
