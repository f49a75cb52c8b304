"""Derivations of the privacy records: Gaussian divergence, variances put in, a minimum, appendix C's last display."""

from __future__ import annotations

from typing import Any

from sympy import E, Expr, Integral, Rational, Symbol, exp, log, oo, pi, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.derive.steps import Link
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Range, Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

x = Symbol("x", real=True)

POSITIVE = real(0, 9, open_lo=True)
RANGES: dict[str, Range] = {
    "alpha": real(1, 9, open_lo=True),
    **dict.fromkeys(("order", "whole"), integer(2, 9)),
    "tau": real(0, 1, open_lo=True),
    "delta": real(0, 1, open_lo=True, open_hi=True),
    "beta": real(0, 1, open_lo=True, open_hi=True),
    "gamma": real(0, 1, open_lo=True),
    "n": integer(1, 99),
    "m": integer(1, 9),
    "n_party": integer(1, 99),
    "b": integer(1, 9),
    "b_0": integer(1, 9),
    "T": integer(1, 99),
    "t": integer(0, 99),
    "iterations": integer(1, 99),
}


def ranges(statement: Statement) -> dict[str, Variable]:
    """Where the letters of a statement are sampled."""
    return {name: RANGES.get(name, POSITIVE) for name in statement.free}


def derive_gaussian(statement: Statement) -> Derivation:
    """Derive two Gaussians' divergence, alpha Delta^2/(2 sigma^2), from the integral, by completing the square."""
    z, Delta, s = (sympy_symbols(statement)[name] for name in ("alpha", "Delta", "sigma"))
    shift = Symbol("apart", nonnegative=True)
    density = s * sqrt(2 * pi)
    integrand = exp(-(x**2) / (2 * s**2)) ** z * exp(-((x - shift) ** 2) / (2 * s**2)) ** (1 - z) / density
    exponent = z * (z - 1) * shift**2 / (2 * s**2)
    centre = (1 - z) * shift
    squared = exp(exponent - (x - centre) ** 2 / (2 * s**2)) / density
    steps = (
        Step(log(Integral(squared, (x, -oo, oo))) / (z - 1), "=", note="complete the square"),
        Step(log(exp(exponent)) / (z - 1), "=", "gaussian-integral", {"k": exponent, "c": centre, "s": s}),
        Step(z * shift**2 / (2 * s**2), "="),
        Step(z * Delta**2 / (2 * s**2), "<=", "power-monotone", {"a": shift, "b": Delta, "p": 2}),
    )
    start = log(Integral(integrand, (x, -oo, oo))) / (z - 1)
    conditions = (*sympy_conditions(statement), shift <= Delta)
    return Derivation(
        "complete the square",
        "ours",
        {**ranges(statement), "apart": real(0, Delta)},
        conditions,
        start,
        steps,
        local=("apart",),
    )


def derive_by_algebra(statement: Statement) -> Derivation:
    """Derive a right side that the left one equals once the definitions are put in."""
    start, end = sympy_sides(statement)
    return one_chain(statement, start, Step(end, "="))


def derive_last(statement: Statement) -> Derivation:
    """Derive the end of appendix C, as printed or amended: log(1 + u) <= u, a tangent; then the factors cancel."""
    start, end = sympy_sides(statement)
    inside = next(iter(start.atoms(log))).args[0]
    outside = start.subs(log(inside), HOLE)
    tangent = Step(outside.subs(HOLE, inside - 1), "<=", "log-tangent", {"x": inside}, context=outside)
    return one_chain(statement, start, tangent, Step(end, "="))


def derive_larger_log(statement: Statement) -> Derivation:
    """Derive that one logarithm is at most another, by what stands in them."""
    start, end = sympy_sides(statement)
    (smaller,), (larger,) = start.atoms(log), end.atoms(log)
    return one_chain(statement, start, Step(end, "<=", "log-monotone", {"a": smaller.args[0], "b": larger.args[0]}))


def derive_conditions(statement: Statement) -> Derivation:
    """Derive C.2 from the end's condition where 2 sigma^2/3 >= 6/5: log(alpha) is below its tangent at 6."""
    start, end = sympy_sides(statement)
    order, sigma, tau = (sympy_symbols(statement)[name] for name in ("order", "sigma", "tau"))
    left = order - log(order)
    order_bound = log(1 / (tau * (1 + sigma**2)))
    factor = 2 * sigma**2 / 3
    tangent = order - (log(6) + order / 6 - 1)
    return one_chain(
        statement,
        start,
        Step.order(HOLE, start, tangent * Rational(6, 5)),
        Step(
            (order - log(6) - log(order / 6)) * Rational(6, 5),
            "<=",
            "log-tangent",
            {"x": order / 6},
            context=(order - log(6) - HOLE) * Rational(6, 5),
        ),
        Step(left * Rational(6, 5), "="),
        Step.order(left * HOLE, Rational(6, 5), factor),
        Step.order((HOLE - log(order)) * factor, order, order_bound),
        Step(end, "="),
    )


def derive_min(statement: Statement) -> Derivation:
    """Derive the minimum after C.1 by two chords of exp: up to y = 1/sigma^2 = 3/4 and from there to 10/7."""
    start, end = sympy_sides(statement)
    y = 1 / sympy_symbols(statement)["sigma"] ** 2
    first = 4 * (exp(y) - 1)
    second = 2 * exp(y)
    middle = Rational(3, 4)
    last = Rational(10, 7)

    def chord(context: Any, above: Any, width: Any) -> tuple[Step, Step]:
        line = context.xreplace({HOLE: 1 - (1 - exp(width)) * above / width})
        instance = {"x": E, "y": above, "d": width}
        return Step(line, "<=", "power-chord", instance, context=context), Step.order(HOLE, line, end)

    flat = Step.within(HOLE, first, "above-min", {"a": first, "b": second})
    steep = Step.within(HOLE, second, "above-min", {"a": second, "b": first})
    split = Step(2 * exp(middle) * exp(y - middle), "=")
    cases = (
        Case(y <= middle, (flat, *chord(4 * (HOLE - 1), y, middle))),
        Case(y > middle, (steep, split, *chord(2 * exp(middle) * HOLE, y - middle, last - middle))),
    )
    return one_chain(statement, start, Cases(end, "<=", cases))


def derive_order(statement: Statement) -> Derivation:
    """Derive that the choice of alpha gives epsilon for every iterate: the order put in, and at most T iterations."""
    symbols = sympy_symbols(statement)
    iterations, steps, beta, epsilon = (symbols[name] for name in ("iterations", "T", "beta", "epsilon"))
    start, end = sympy_sides(statement)
    remainder = (1 - beta) * epsilon
    put_in = Step(beta * epsilon * iterations / steps + remainder, "=")
    order_step = Step.order(beta * epsilon * HOLE / steps + remainder, iterations, steps)
    return one_chain(statement, start, put_in, order_step, Step(end, "="))


def one_chain(statement: Statement, start: Any, *steps: Link) -> Derivation:
    """Make a derivation of a statement's own letters."""
    begin: Expr = start
    return Derivation("algebra", "ours", ranges(statement), sympy_conditions(statement), begin, tuple(steps))
