"""The algebra of appendices D.1 and E.1 between the Renyi bounds and sigma: identities, and a tangent."""

from __future__ import annotations

from sympy import Rational, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

RANGES = {"delta": real(0, 1, open_lo=True, open_hi=True), "epsilon": real(0, 20, open_lo=True)}
WITH_SIGMA = {**RANGES, "sigma": real(Rational(1, 9), 99)}


def derive_order(statement: Statement) -> Derivation:
    """Derive what an order z gives, by putting it in."""
    start, end = sympy_sides(statement)
    ranges = {"delta": real(0, 1, open_lo=True, open_hi=True), "sigma": real(Rational(1, 9), 99)}
    return Derivation("put the order in", "ours", ranges, sympy_conditions(statement), start, (Step(end, "="),))


def derive_root(statement: Statement) -> Derivation:
    """Derive ``sqrt(x + y) >= sqrt(x) + y/(2 sqrt(x + y))``, a tangent of the square root."""
    symbols = sympy_symbols(statement)
    start, end = sympy_sides(statement)
    step = Step(end, ">=", "sqrt-tangent", {"x": symbols["x"], "y": symbols["y"]})
    ranges = {"x": real(0, 99), "y": real(0, 99, open_lo=True)}
    return Derivation("tangent", "ours", ranges, sympy_conditions(statement), start, (step,))


def derive_condition(statement: Statement) -> Derivation:
    """Derive what the condition on delta is for: epsilon is put below ``log(1/delta)`` under the root."""
    symbols = sympy_symbols(statement)
    epsilon, delta = symbols["epsilon"], symbols["delta"]
    ell = log(1 / delta)
    start, end = sympy_sides(statement)
    under = Step(
        sqrt(2 * ell + 2 * ell) / epsilon,
        "<=",
        "order",
        {"a": epsilon, "b": ell},
        context=sqrt(2 * ell + 2 * HOLE) / epsilon,
    )
    return Derivation("under the root", "ours", RANGES, (epsilon <= ell,), start, (under, Step(end, "=")))


def derive_theorem_8_condition(statement: Statement) -> Derivation:
    """Derive what Theorem 8's sigma is for, the condition on delta turned round: ``3/32 + sqrt(3/8) <= 1``."""
    symbols = sympy_symbols(statement)
    epsilon, delta, sigma = symbols["epsilon"], symbols["delta"], symbols["sigma"]
    ell = log(1 / delta)
    least = 4 * sqrt(ell) / epsilon
    start, end = sympy_sides(statement)
    linear = sqrt(Rational(3, 8)) * epsilon
    steps = (
        Step(start.subs(sigma, least), "<=", "order", {"a": least, "b": sigma}),
        Step(3 * epsilon**2 / (32 * ell) + linear, "="),
        Step(3 * epsilon**2 / (32 * epsilon) + linear, "<=", "order", {"a": epsilon, "b": ell}),
        Step(end, "<=", "order", {"a": Rational(3, 32) + sqrt(Rational(3, 8)), "b": 1}, context=HOLE * epsilon),
    )
    return Derivation("sigma put in", "ours", WITH_SIGMA, sympy_conditions(statement), start, steps)


def derive_sufficient(statement: Statement) -> Derivation:
    """Derive ``1/(a - b) <= a/epsilon`` for ``a^2 - b^2 = 2 epsilon``: the difference of two squares."""
    symbols = sympy_symbols(statement)
    epsilon, delta = symbols["epsilon"], symbols["delta"]
    ell = log(1 / delta)
    start, end = sympy_sides(statement)
    larger, smaller = sqrt(2 * ell + 2 * epsilon), sqrt(2 * ell)
    steps = (
        Step((larger + smaller) / (2 * epsilon), "=", note="(a - b)(a + b) = 2 epsilon"),
        Step(
            (larger + larger) / (2 * epsilon),
            "<=",
            "sqrt-monotone",
            {"a": 2 * ell, "b": 2 * ell + 2 * epsilon},
            context=(larger + HOLE) / (2 * epsilon),
        ),
        Step(end, "="),
    )
    return Derivation("difference of squares", "ours", RANGES, sympy_conditions(statement), start, steps)


def derive_quadratic(statement: Statement) -> Derivation:
    """Derive that the printed sigma solves the quadratic for epsilon: ``1/sigma`` is at most the positive root."""
    symbols = sympy_symbols(statement)
    epsilon, delta, sigma = symbols["epsilon"], symbols["delta"], symbols["sigma"]
    ell = log(1 / delta)
    start, end = sympy_sides(statement)
    step = Step(end, "<=", "quadratic-formula", {"x": 1 / sigma, "b": sqrt(2 * ell), "c": epsilon})
    return Derivation("quadratic formula", "ours", WITH_SIGMA, sympy_conditions(statement), start, (step,))
