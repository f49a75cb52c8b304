"""Theorem 4.4 as printed, in the regime where it holds: the bound of note-utility at the printed choices."""

from __future__ import annotations

from sympy import Le, Min, Rational, Symbol, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.utility.theorem_derivations import GRADIENT
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import FromPremises, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_definitions, sympy_symbols

ZETA = Symbol("zeta", positive=True)


def derive_regime(statement: Statement) -> Derivation:
    """Derive the printed rate of Theorem 4.4 in the regime of note-printed-choices: beta away from 0 and 1.

    The conditions of privacy are not used.
    """
    every = _at_any_accuracy(statement)
    full = sympy_definitions(statement)
    end = every.last.xreplace({ZETA: full["zeta"]})
    premises = {every.name: cite(every, zeta=full["zeta"])}
    steps = (Step(end, "<=", "premise", {}, (every.name,)),)
    rounded = {
        "T": 4 * full["L"] * full["gap"] / full["zeta"] ** 2,
        "b": full["G"] ** 2 / full["zeta"],
        "b_0": full["G"] ** 2 / (full["zeta"] ** 2 * full["L"] * full["gap"]),
    }
    where = {
        "G": real(1, 2, open_lo=True),
        "L": real(1, 2),
        "gap": real(2, 4),
        "epsilon": real(Rational(3, 10), 1),
        "beta": real(Rational(1, 10), Rational(9, 10)),
        "delta": real(Rational(1, 1000), Rational(1, 20)),
        "d": integer(1, 3),
        "n": integer(10**8, 10**9),
        "gradient": FromPremises(),
        **{str(full[name]): integer(least, least + 1) for name, least in rounded.items()},
    }
    used = tuple(condition for condition in sympy_conditions(statement) if not condition.has(Min))
    return Derivation(
        "our bound at the printed accuracy", "ours", where, used, GRADIENT, steps, premises, local=("gradient",)
    )


def _at_any_accuracy(statement: Statement) -> Derivation:
    """Derive the rate of note-printed-choices for every zeta that is no better than the printed accuracy."""
    names = ("L", "gap", "T", "G", "b", "b_0", "d", "n", "epsilon", "delta", "beta")
    L, gap, T, G, b, b_0, d, n, epsilon, delta, beta = (sympy_symbols(statement)[name] for name in names)
    zeta = ZETA
    gamma = sqrt(2) * zeta
    least = 4 * L * gap / zeta**2
    alpha = log(1 / delta) / ((1 - beta) * epsilon) + 1
    cost = 14 * T * alpha / (beta * n**2 * epsilon)
    noise = {"variance": cost * ((1 - gamma) * zeta + gamma * G) ** 2, "variance_0": cost * G**2}
    same = {"L": L, "gap": gap, "T": T, "zeta": zeta, "G": G, "b": b, "b_0": b_0, "d": d, "n": n}
    bound = refer(statement, "note-utility", GRADIENT, gamma=gamma, **same, **noise)
    choices = refer(statement, "note-printed-choices", epsilon=epsilon, delta=delta, beta=beta, **same)
    conditions = (
        G > 1,
        gamma <= 1,
        epsilon <= log(1 / delta),
        zeta <= L * gap,
        G**2 * L * gap * d * log(1 / delta) <= zeta**4 * (n * epsilon) ** 2,
        least <= T,
        Le(T, least + 1),
        G**2 / zeta <= b,
        G**2 / (zeta**2 * L * gap) <= b_0,
        b <= n,
        b_0 <= n,
        delta < 1,
        Rational(1, 10) <= beta,
        beta <= Rational(9, 10),
        alpha > 1,
        noise["variance"] > 0,
        noise["variance_0"] > 0,
    )
    steps = (
        Step(bound.rhs, "<=", "premise", {}, ("wang2019:note-utility",)),
        Step(choices.lhs, "="),
        Step(choices.rhs, "<=", "premise", {}, ("wang2019:note-printed-choices",)),
        Step.within(
            41 * zeta * sqrt(HOLE),
            1 / Rational(9, 100),
            "reciprocal-monotone",
            {"a": Rational(9, 100), "b": beta * (1 - beta)},
        ),
    )
    least_n = G * sqrt(L * gap * d * log(1 / delta)) / (zeta**2 * epsilon)
    where = {
        "G": real(1, 2, open_lo=True),
        "L": real(1, 2),
        "gap": real(2, 4),
        "epsilon": real(Rational(3, 10), 1),
        "beta": real(Rational(1, 10), Rational(9, 10)),
        "delta": real(Rational(1, 1000), Rational(1, 20)),
        "d": integer(1, 3),
        "zeta": real(Rational(1, 100), Rational(1, 10)),
        "T": integer(least, least + 1),
        "b": integer(G**2 / zeta, G**2 / zeta + 1),
        "b_0": integer(G**2 / (zeta**2 * L * gap), G**2 / (zeta**2 * L * gap) + 1),
        "n": integer(least_n + b + b_0, 2 * (least_n + b + b_0)),
        "gradient": FromPremises(),
    }
    premises = {"wang2019:note-utility": bound, "wang2019:note-printed-choices": choices}
    return Derivation(
        "our bound at the printed choices", "ours", where, conditions, GRADIENT, steps, premises, local=("gradient",)
    )
