"""Theorem 10 and its conversion, derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sympy import Integral, Symbol, exp, log, oo, pi, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.derive.events import CONVERSION, DIVERGENCE, converted, sampled
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Range, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_symbols

j = Symbol("j", integer=True)
LINE = Symbol("u", real=True)  # Place of an answer on the line through the two means
DIVERGES = "tran2022:theorem-10"
DIVERGES_BY = "tran2022:gaussian-divergence-multi"
ONE_QUERY = "the divergence of two Gaussians of one covariance for each query"

VISITS_DELTA_RHO = {
    "delta": real(0, 1, open_lo=True, open_hi=True),
    "V": real(0, 30, open_lo=True),
    "rho": real(0, 3, open_lo=True),
}


def completed_square(z: Any, shift: Any, s: Any, wrap: Callable[[Any], Any]) -> tuple[Any, tuple[Step, ...]]:
    """The integral of p^z q^(1-z) for two Gaussians ``shift`` apart, inside ``wrap``, and the steps to its value."""
    density = s * sqrt(2 * pi)
    integrand = exp(-(LINE**2) / (2 * s**2)) ** z * exp(-((LINE - shift) ** 2) / (2 * s**2)) ** (1 - z) / density
    rest = z * (z - 1) * shift**2 / (2 * s**2)
    centre = (1 - z) * shift
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


def derive_gaussian_divergence(statement: Statement) -> Derivation:
    """Derive ``z mu^2 / (2 sigma^2)`` for two Gaussians by completing the square (appendix C.1).

    For vectors the integral runs along the line through both means, and mu is their distance; across it the two
    densities are equal and integrate to 1.
    """
    shift = "mu_norm" if statement.key.endswith("-multi") else "mu"
    z, mu, s = (sympy_symbols(statement)[name] for name in ("z", shift, "sigma"))
    least = 0 if mu.is_nonnegative else -4
    start, steps = completed_square(z, mu, s, lambda e: log(e) / (z - 1))
    steps += (Step(z * mu**2 / (2 * s**2), "="),)
    return Derivation(
        "complete the square",
        "ours",
        {
            "z": real(1, 9, open_lo=True),
            shift: real(least, 4),
            "sigma": real(0, 5, open_lo=True),
        },
        sympy_conditions(statement),
        start,
        steps,
    )


def _converted(statement: Statement, z: Any, epsilon: Any, renyi: Any, claim: str = "") -> tuple[Premise, Step, Step]:
    """Two first steps of every conversion: ``delta(epsilon) <= exp((z-1)(D - epsilon))``, and the bound on D."""
    conversion = converted(statement, z, epsilon)
    first = Step(conversion.rhs, "<=", "premise", {}, (CONVERSION,))
    around = exp((z - 1) * (HOLE - epsilon))
    put_in = around.xreplace({HOLE: renyi})
    if claim:
        return conversion, first, Step(put_in, "<=", "premise", {}, (claim,), context=around)
    return conversion, first, Step(put_in, "<=", "order", {"a": DIVERGENCE, "b": renyi})


def _to_delta(
    name: str, statement: Statement, ranges: dict[str, Range], z: Any, renyi: Any, least: Any, premises: Any, steps: Any
) -> Derivation:
    """Chain from an event's excess to delta; the divergence D at the order z is sampled up to ``least``."""
    supposed = () if DIVERGES in premises else (renyi >= DIVERGENCE,)
    return Derivation(
        name,
        "ours",
        {**ranges, **sampled(z, least)},
        (*sympy_conditions(statement), *supposed),
        premises[CONVERSION].lhs,
        steps,
        premises,
        local=("D", "chance", "ratio"),
    )


def derive_theorem_10_dp_best(statement: Statement) -> Derivation:
    """Derive the corrected intermediate statement, at the best order (NOTES.md, "From Renyi to (epsilon, delta)")."""
    rho, visits, delta = (sympy_symbols(statement)[name] for name in ("rho", "V", "delta"))
    ell = log(1 / delta)
    mu = rho * sqrt(visits)
    z = 1 + sqrt(2 * ell) / mu
    epsilon = mu**2 / 2 + mu * sqrt(2 * ell)
    renyi = visits * z * rho**2 / 2
    conversion, *steps = _converted(statement, z, epsilon, renyi, DIVERGES)
    premises = {CONVERSION: conversion, DIVERGES: refer(statement, DIVERGES, DIVERGENCE, z=z)}
    last = (*steps, Step(delta, "="))
    return _to_delta("the best order", statement, VISITS_DELTA_RHO, z, renyi, visits * rho**2 / 2, premises, last)
