"""Statements of tran2022 that one or two rules give: a chord, a condition put in, two orders, a logarithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sympy import Integer, Integral, Lambda, Mod, Rational, Sum, Symbol, exp, log, oo, pi, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

j: Final = Symbol("j", integer=True)
LINE: Final = Symbol("u", real=True)  # Place of an answer on the line through the two means


def derive_chord(statement: Statement) -> Derivation:
    """Derive ``tran2022:proposition-13-chord``, the rule of the same content: a convex function under its chord."""
    x = sympy_symbols(statement)["x"]
    start, end = sympy_sides(statement)
    step = Step(end, "<=", "exp-chord", {"x": x})
    return Derivation("chord", "ours", {"x": real(0, 1)}, sympy_conditions(statement), start, (step,))


def derive_special_step(statement: Statement) -> Derivation:
    """Derive ``tran2022:proposition-14-special-step``: gamma <= 1/2 in the logarithm, and the condition on alpha."""
    symbols = sympy_symbols(statement)
    alpha, gamma, n = symbols["alpha"], symbols["gamma"], symbols["N"]
    start, end = sympy_sides(statement)
    steps = (
        Step(1 + log(2), "<=", "log-monotone", {"a": 1 / (1 - gamma), "b": Integer(2)}),
        Step(end, "<=", "order", {"a": 1 + log(2), "b": n * alpha}),
    )
    ranges = {"N": integer(2, 60), "gamma": real(0, Rational(1, 2), open_lo=True), "alpha": real((1 + log(2)) / n, 1)}
    return Derivation("the condition put in", "ours", ranges, sympy_conditions(statement), start, steps)


def derive_factor_bound(statement: Statement) -> Derivation:
    """Derive ``tran2022:theorem-10-factor-bound``: the distance of two answers is at most the sensitivity."""
    symbols = sympy_symbols(statement)
    gap, most = symbols["query_gap"], symbols["query_sensitivity"]
    start, end = sympy_sides(statement)
    steps = (
        Step(start.subs(gap, most), "<=", "power-monotone", {"a": gap, "b": most, "p": Integer(2)}),
        Step(end, "="),
    )
    ranges = {
        "z": real(1, 9, open_lo=True),
        "rho": real(0, 2, open_lo=True),
        "query_sensitivity": real(0, 4, open_lo=True),
        "query_gap": real(0, most),
    }
    return Derivation("sensitivity put in", "ours", ranges, sympy_conditions(statement), start, steps)


def derive_count_first_log(statement: Statement) -> Derivation:
    """Derive ``tran2022:theorem-8-count-first-log``, amended: from N = 2 on log2(N) is at least 1."""
    n = sympy_symbols(statement)["N"]
    start, end = sympy_sides(statement)
    steps = (
        Step(1 + Log2(2 * n), "<=", "floor-below", {"x": Log2(2 * n)}),
        Step(2 + Log2(n), "="),
        Step(2 * Log2(n) + Log2(n), "<=", "log2-monotone", {"a": Integer(2), "b": n}, context=2 * HOLE + Log2(n)),
        Step(end, "="),
    )
    return Derivation("one logarithm", "ours", {"N": integer(2, 3000)}, sympy_conditions(statement), start, steps)


def completed_square(z: Any, shift: Any, s: Any, wrap: Callable[[Any], Any]) -> tuple[Any, tuple[Step, ...]]:
    """The integral of p^z q^(1-z) for two Gaussians ``shift`` apart, inside ``wrap``, and the steps to its value."""
    density = s * sqrt(2 * pi)
    integrand = exp(-(LINE**2) / (2 * s**2)) ** z * exp(-((LINE - shift) ** 2) / (2 * s**2)) ** (1 - z) / density
    rest, centre = z * (z - 1) * shift**2 / (2 * s**2), (1 - z) * shift
    squared = exp(rest - (LINE - centre) ** 2 / (2 * s**2)) / density
    return wrap(Integral(integrand, (LINE, -oo, oo))), (
        Step(wrap(Integral(squared, (LINE, -oo, oo))), "=", note="complete the square"),
        Step(wrap(exp(rest)), "=", "gaussian-integral", {"k": rest, "c": centre, "s": s}),
    )


def derive_factor(statement: Statement) -> Derivation:
    """Derive ``tran2022:theorem-10-factor``, an integral over one answer, by completing the square (C.1)."""
    symbols = sympy_symbols(statement)
    z, rho, gap, most = (symbols[name] for name in ("z", "rho", "query_gap", "query_sensitivity"))
    start, steps = completed_square(z, gap, most / rho, lambda e: e)
    ranges = {
        "z": real(1, 5, open_lo=True),
        "rho": real(0, 2, open_lo=True),
        "query_sensitivity": real(0, 4, open_lo=True),
        "query_gap": real(0, 4),
    }
    return Derivation("complete the square", "ours", ranges, sympy_conditions(statement), start, steps)


def derive_mod(statement: Statement) -> Derivation:
    """Derive ``tran2022:proposition-16-mod``: the sum is ``2^(R+1) - 1``, whose binary digits are all 1."""
    symbols = sympy_symbols(statement)
    top, low = symbols["top_bit"], symbols["low_bits"]
    start, end = sympy_sides(statement)
    steps = (
        Step(Mod(2 ** (top + 1) - 1, 2**low), "=", "geometric-sum", {"x": Integer(2), "m": top + 1}),
        Step(end, "=", "remainder-all-ones", {"n": top + 1, "k": low}),
    )
    ranges = {"top_bit": integer(0, 40), "low_bits": integer(0, top + 1)}
    return Derivation("all ones", "ours", ranges, sympy_conditions(statement), start, steps)


def derive_geometric(statement: Statement) -> Derivation:
    """Derive ``tran2022:theorem-4-geometric``: a geometric series, alpha N >= 1, and ``1/(1 - exp(-1)) <= 2``."""
    symbols = sympy_symbols(statement)
    alpha, n, clip = symbols["alpha"], symbols["N"], symbols["G"]
    start, end = sympy_sides(statement)
    ratio, factor = (1 - alpha) ** n, 2 * alpha * clip
    (finite,) = start.atoms(Sum)
    last = finite.limits[0][2]
    steps = (
        Step(factor * finite, "=", "guarded-sum", {"f": Lambda(j, ratio**j), "lo": 0, "hi": last}),
        Step(factor / (1 - ratio), "<=", "geometric-sum-bound", {"x": ratio, "m": last}),
        Step(factor / (1 - exp(-alpha * n)), "<=", "one-minus-exp", {"x": alpha}),
        Step(factor / (1 - exp(-1)), "<=", "exp-monotone", {"a": -alpha * n, "b": Integer(-1)}),
        Step(end, "<=", "order", {"a": 1 / (1 - exp(-1)), "b": Integer(2)}, context=factor * HOLE),
    )
    ranges = {
        "N": integer(1, 60),
        "alpha": real(1 / n, 1),
        "G": real(0, 5, open_lo=True),
        "node_start": integer(1, 99),
        "node_end": integer(symbols["node_start"], 300),
    }
    conditions = (alpha <= 1, alpha * n >= 1, symbols["node_start"] <= symbols["node_end"])
    return Derivation("geometric series", "ours", ranges, conditions, start, steps)
