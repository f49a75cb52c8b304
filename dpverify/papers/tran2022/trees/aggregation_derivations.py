"""Theorem 10 and its conversion, derived."""

from __future__ import annotations

from typing import Any

from sympy import Rational, Sum, Symbol, exp, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.derive.events import CONVERSION, DIVERGENCE, converted, sampled
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Range, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_symbols

j = Symbol("j", integer=True)
DIVERGES = "tran2022:theorem-10"
DIVERGES_BY = "tran2022:gaussian-divergence-multi"
ONE_QUERY = "the divergence of two Gaussians of one covariance for each query"

VISITS_DELTA_RHO = {
    "delta": real(0, 1, open_lo=True, open_hi=True),
    "V": real(0, 30, open_lo=True),
    "rho": real(0, 3, open_lo=True),
}


def derive_theorem_10(statement: Statement) -> Derivation:
    """Derive the divergence of the aggregation mechanism from those of its touched queries.

    That the divergence of the adaptive mechanism is at most the sum of the largest divergences of its queries, given
    any earlier answers, is the integration of the last answer first (NOTES.md).
    """
    z, rho, visits = (sympy_symbols(statement)[name] for name in ("z", "rho", "V"))
    query_divergence, mu, delta = (Symbol(name, positive=True) for name in ("D_one", "mu", "Delta"))
    whole_claim = statement.key.endswith("theorem-10")
    n = Symbol("n", integer=True, nonnegative=True) if whole_claim else sympy_symbols(statement)["touched"]
    query_bound = z * mu**2 / (2 * (delta / rho) ** 2)
    total = Sum(z * delta**2 / (2 * (delta / rho) ** 2), (j, 1, n))
    name = ONE_QUERY
    premise = Premise(query_divergence, "=", query_bound)
    if whole_claim:
        name = DIVERGES_BY
        premise = refer(statement, DIVERGES_BY, query_divergence, z=z, mu_norm=mu, sigma=delta / rho)
    steps = (
        Step(
            Sum(query_bound, (j, 1, n)),
            "=",
            "premise",
            {},
            (name,),
            note="the divergence of each query, given the answers before it",
        ),
        Step(total, "<=", "power-monotone", {"a": mu, "b": delta, "p": 2}),
        Step(n * z * rho**2 / 2, "=", "sum-constant", {"c": z * rho**2 / 2, "lo": 1, "hi": n}),
        *([Step(visits * z * rho**2 / 2, "<=", "order", {"a": n, "b": visits})] if whole_claim else []),
    )
    return Derivation(
        "sum over the touched queries",
        "ours",
        {
            "z": real(1, 9, open_lo=True),
            "rho": real(0, 5, open_lo=True),
            n.name: integer(0, 40),
            "V": real(n, 41, open_lo=True),
            "Delta": real(0, 4, open_lo=True),
            "mu": real(0, delta, open_lo=True),
            "D_one": real(query_bound, query_bound),
        },
        (*sympy_conditions(statement), n <= visits, mu <= delta),
        Sum(query_divergence, (j, 1, n)),
        steps,
        {name: premise},
        local=("n", "mu", "Delta", "D_one") if whole_claim else ("mu", "Delta", "D_one"),
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


def derive_theorem_10_dp(statement: Statement) -> Derivation:
    """Derive the final (epsilon, delta) statement after Theorem 10, at the printed order."""
    rho, visits, delta = (sympy_symbols(statement)[name] for name in ("rho", "V", "delta"))
    ell = log(1 / delta)
    z = 1 + sqrt(ell) / (rho * sqrt(visits))
    epsilon = 2 * rho * sqrt(visits * ell)
    mu = rho * sqrt(visits)
    renyi = visits * z * rho**2 / 2
    conversion, *steps = _converted(statement, z, epsilon, renyi, DIVERGES)
    premises = {CONVERSION: conversion, DIVERGES: refer(statement, DIVERGES, DIVERGENCE, z=z)}
    steps += [
        Step(exp(mu * sqrt(ell) / 2 - Rational(3, 2) * ell), "="),
        Step.order(exp(HOLE * sqrt(visits) * sqrt(ell) / 2 - Rational(3, 2) * ell), rho, sqrt(ell / visits)),
        Step(delta, "="),
    ]
    return _to_delta(
        "the printed order", statement, VISITS_DELTA_RHO, z, renyi, visits * rho**2 / 2, premises, tuple(steps)
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


def derive_theorem_4_conversion(statement: Statement) -> Derivation:
    """Derive that ``z/(2 sigma^2)``-RDP is DP at ``epsilon = z/(2 sigma^2) + log(1/delta)/(z-1)`` (appendix D.1).

    That the divergence is at most ``z/(2 sigma^2)`` is what the claim supposes: it does not rest on Theorem 4.
    """
    z, sigma, delta = (sympy_symbols(statement)[name] for name in ("z", "sigma", "delta"))
    renyi = z / (2 * sigma**2)
    conversion, *steps = _converted(statement, z, renyi + log(1 / delta) / (z - 1), renyi)
    ranges = {
        "delta": real(0, 1, open_lo=True, open_hi=True),
        "z": real(1, 9, open_lo=True),
        "sigma": real(Rational(1, 4), 9),
    }
    return _to_delta(
        "solve for delta", statement, ranges, z, renyi, renyi, {CONVERSION: conversion}, (*steps, Step(delta, "="))
    )
