"""Derivations for Theorem 3.4, corrected: stability by the draws, and the number of stages that balances all terms."""

from __future__ import annotations

from dataclasses import replace

from sympy import sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.empirical.derivations import chain
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols


def by_draws(statement: Statement) -> Derivation:
    """Derive Bernoulli's bound of the chance that the one example is drawn."""
    start, end = sympy_sides(statement)
    n, B, T = (sympy_symbols(statement)[name] for name in ("n", "B", "T"))
    context = 2 * (1 - HOLE)
    links = (Step(end, "<=", "bernoulli", {"n": T, "x": -B / n}, context=context),)
    derivation = chain(statement, start, *links)
    return replace(derivation, variables={"n": integer(1, 99), "B": integer(1, n), "T": integer(1, 99)})


def balanced(statement: Statement) -> Derivation:
    """Derive the rate: 2^K T^0 B is at most the root of n/(theta mu), and at least half of it."""
    start, end = sympy_sides(statement)
    names = ("K", "n", "B", "T_0", "theta", "mu", "gap", "sampled", "private")
    K, n, B, T_0, theta, mu, gap, sampled, private = (sympy_symbols(statement)[name] for name in names)
    rate = sqrt(1 / (theta * mu * n))
    share = 2**K * T_0 * B * theta * mu * rate
    draws = 4 * 2**K * T_0 * B / n
    risk = (gap + sampled) / 2**K
    derivation = chain(
        statement,
        start,
        Step.order(risk * HOLE + private + draws, 1, 2 * share),
        Step(2 * theta * mu * T_0 * B * (gap + sampled) * rate + private + 4 * rate * share, "="),
        Step.order(2 * theta * mu * T_0 * B * (gap + sampled) * rate + private + 4 * rate * HOLE, share, 1),
        Step(end, "="),
    )
    least = 1 / (4 * (2**K * T_0 * B) ** 2 * mu / n)
    where = {
        "K": integer(1, 4),
        "T_0": integer(1, 4),
        "n": integer(1, 99),
        "B": integer(1, n),
        "mu": real(0, 1, open_lo=True),
    }
    drawn = {
        name: where.get(name, derivation.variables[name])
        for name in ("K", "T_0", "n", "B", "mu", "gap", "sampled", "private")
    }
    return replace(derivation, variables={**drawn, "theta": real(least, 4 * least)})
