"""The algebra of appendices D.1 and E.1 between the Renyi bounds and sigma: identities, and a tangent."""

from __future__ import annotations

from sympy import Rational, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derivation import Derivation, Step
from dpverify.symbolic.functions import HOLE
from dpverify.symbolic.ranges import real
from dpverify.symbolic.to_sympy import sympy_conditions, sympy_sides, sympy_symbols


def derive_order(statement: Statement) -> Derivation:
    """Derive what an order z gives, by putting it in.

    Parameters
    ----------
    statement : Statement
        ``tran2022:theorem-4-order`` or ``tran2022:theorem-8-order``.

    Returns
    -------
    Derivation
        One step of algebra.
    """
    start, end = sympy_sides(statement)
    ranges = {"delta": real(0, 1, open_lo=True, open_hi=True), "sigma": real(Rational(1, 9), 99)}
    return Derivation("put the order in", "ours", ranges, sympy_conditions(statement), start, (Step(end, "="),))


def derive_root(statement: Statement) -> Derivation:
    """Derive ``sqrt(x + y) >= sqrt(x) + y/(2 sqrt(x + y))``, a tangent of the square root.

    Parameters
    ----------
    statement : Statement
        ``tran2022:theorem-4-root``.

    Returns
    -------
    Derivation
        One step.
    """
    symbols = sympy_symbols(statement)
    start, end = sympy_sides(statement)
    step = Step(end, ">=", "sqrt-tangent", {"x": symbols["x"], "y": symbols["y"]})
    ranges = {"x": real(0, 99), "y": real(0, 99, open_lo=True)}
    return Derivation("tangent", "ours", ranges, sympy_conditions(statement), start, (step,))


def derive_condition(statement: Statement) -> Derivation:
    """Derive what the condition on delta is for, the right way round.

    Parameters
    ----------
    statement : Statement
        ``tran2022:theorem-4-condition``, amended.

    Returns
    -------
    Derivation
        Epsilon is put below ``log(1/delta)`` under the root.
    """
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
    ranges = {"delta": real(0, 1, open_lo=True, open_hi=True), "epsilon": real(0, 20, open_lo=True)}
    return Derivation("under the root", "ours", ranges, (epsilon <= ell,), start, (under, Step(end, "=")))
