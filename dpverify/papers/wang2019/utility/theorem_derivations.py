"""Derivation of what the printed choices of Theorem 4.4 give; the other utility theorems are proved in proofs.toml."""

from __future__ import annotations

from typing import Any

from sympy import Integer, Rational, Symbol, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

GRADIENT = Symbol("gradient", nonnegative=True)


def derive_printed_choices(statement: Statement) -> Derivation:
    """Derive what the printed choices give for G above 1: four parts of the mean squared error."""
    start, end = sympy_sides(statement)
    names = ("L", "gap", "T", "zeta", "G", "b", "b_0", "d", "n", "epsilon", "delta", "beta")
    L, gap, T, zeta, G, b, b_0, d, n, epsilon, delta, beta = (sympy_symbols(statement)[name] for name in names)
    drop, gamma = L * gap, sqrt(2) * zeta
    budget = log(1 / delta) / epsilon
    least = 4 * drop / zeta**2
    step, longest, shares = (1 - gamma) * zeta + gamma * G, (1 + sqrt(2)) * zeta * G, 1 / (beta * (1 - beta))
    noise_bound = 28 * shares * zeta**4 / drop

    def by_order(last: Any) -> Any:
        return 14 * d * G**2 * (budget / (1 - beta) + last) / (beta * n**2 * epsilon)

    def whole(square: Any, first: Any = drop / (T * zeta)) -> Any:
        return first + Rational(2, 3) * zeta + 2 * sqrt(square)

    def parts(
        over: Any, of_first: Any, of_later: Any, later: Any = step, steps: Any = T, noise: Any = noise_bound
    ) -> Any:
        return over / gamma * (G**2 * of_first / T + noise + later**2 * of_later + noise * steps * later**2 / G**2)

    def with_noise(noise: Any) -> Any:
        return whole(parts(1 / (2 - gamma), 1 / b_0, 1 / b, noise=noise))

    def inverse(context: Any, smaller: Any, larger: Any) -> Step:
        return Step.within(context, 1 / smaller, "reciprocal-monotone", {"a": smaller, "b": larger})

    first_batch = zeta**2 * drop / G**2
    later_batch = zeta / G**2
    growth = (1 + sqrt(2)) ** 2 * zeta / sqrt(2) * (least + 1)
    sampled = zeta**3 / (4 * sqrt(2)) + (1 + sqrt(2)) ** 2 * zeta**2 / sqrt(2)
    quarter = zeta / 4
    spent = 28 * shares / sqrt(2)
    of_later, small = (1 + sqrt(2)) ** 2 * zeta**2, Rational(1, 8) + (1 + sqrt(2)) ** 2 / sqrt(2)
    large = spent + spent * (1 + sqrt(2)) ** 2 * (2 * sqrt(2) + Rational(1, 2))

    def by_start(ratio: Any) -> Any:
        return sampled + spent * (ratio * zeta**2 + of_later * (4 * zeta + ratio * zeta**2))

    def by_accuracy(weight: Any) -> Any:
        of_steps = 1 + (1 + sqrt(2)) ** 2 * (2 * sqrt(2) * weight + weight**2 / 2)
        return zeta**2 * (weight / 8 + (1 + sqrt(2)) ** 2 / sqrt(2) + spent * of_steps)

    steps = (
        Step(with_noise(by_order(1)), "="),
        Step.order(with_noise(by_order(HOLE)), 1, budget / (1 - beta)),
        Step.order(with_noise(HOLE), by_order(budget / (1 - beta)), noise_bound),
        Step.order(whole(parts(HOLE, 1 / b_0, 1 / b)), 1 / (2 - gamma), 1),
        inverse(whole(parts(1, HOLE, 1 / b)), G**2 / (zeta**2 * drop), b_0),
        inverse(whole(parts(1, first_batch, HOLE)), G**2 / zeta, b),
        Step.order(whole(parts(1, first_batch, later_batch, HOLE)), step, longest),
        Step.order(whole(parts(1, first_batch, later_batch, longest, HOLE)), T, least + 1),
        Step(whole(zeta * drop / (sqrt(2) * T) + of_later / sqrt(2) + noise_bound * (1 / gamma + growth)), "="),
        inverse(
            whole(zeta * drop / sqrt(2) * HOLE + of_later / sqrt(2) + noise_bound * (1 / gamma + growth)), least, T
        ),
        inverse(whole(sampled + noise_bound * (1 / gamma + growth), drop / zeta * HOLE), least, T),
        Step(whole(sampled + noise_bound * (1 / gamma + growth), quarter), "="),
        Step(whole(by_start(zeta / drop), quarter), "="),
        Step.order(whole(by_start(HOLE), quarter), zeta / drop, 1),
        Step(whole(by_accuracy(gamma), quarter), "="),
        Step.order(whole(by_accuracy(HOLE), quarter), gamma, 1),
        Step(whole(zeta**2 * (small + large), quarter), "="),
        Step.order(whole(zeta**2 * (small * HOLE + large), quarter), 1, shares / 4),
        Step.order(whole(zeta**2 * HOLE, quarter), small * shares / 4 + large, 405 * shares),
        Step(Rational(11, 24) * zeta * 2 + 18 * sqrt(5) * end / 41, "="),
        Step.within(
            Rational(11, 24) * zeta * HOLE + 18 * sqrt(5) * end / 41,
            sqrt(shares),
            "sqrt-monotone",
            {"a": Integer(4), "b": shares},
        ),
        Step(Rational(11, 24) * end / 41 + 18 * sqrt(5) * end / 41, "="),
        Step.order(end * HOLE, (Rational(11, 24) + 18 * sqrt(5)) / 41, 1),
    )
    enough = G * sqrt(drop * d * log(1 / delta)) / (zeta**2 * epsilon)
    where = {
        "G": real(1, 9, open_lo=True),
        "zeta": real(0, sqrt(2) / 2, open_lo=True),
        "L": real(0, 9, open_lo=True),
        "gap": real(zeta / L, zeta / L + 9),
        "T": integer(least, least + 1),
        "b": integer(G**2 / zeta, G**2 / zeta + 9),
        "b_0": integer(G**2 / (zeta**2 * drop), G**2 / (zeta**2 * drop) + 9),
        "d": integer(1, 9),
        "beta": real(0, 1, open_lo=True, open_hi=True),
        "delta": real(0, 1, open_lo=True, open_hi=True),
        "epsilon": real(0, log(1 / delta), open_lo=True),
        "n": integer(enough, 2 * enough),
    }
    return Derivation("algebra", "ours", where, sympy_conditions(statement), start, steps)
