"""Derivations of comparisons between rates, from the conditions under which one is below the other."""

from __future__ import annotations

from dataclasses import replace

from sympy import Integer, Rational, Sum, Symbol, exp, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.empirical.derivations import chain
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols


def few_dimensions(statement: Statement) -> Derivation:
    """Derive E-3 where d <= log(1/delta): d is sqrt(d) times at most sqrt(log(1/delta))."""
    start, end = sympy_sides(statement)
    d, n, epsilon, delta = (sympy_symbols(statement)[name] for name in ("d", "n", "epsilon", "delta"))
    context = sqrt(d) * HOLE / (n * epsilon)
    log_term = log(1 / delta)
    bounded = Step.within(context, sqrt(log_term), "sqrt-monotone", {"a": d, "b": log_term})
    return chain(statement, start, Step(context.xreplace({HOLE: sqrt(d)}), "="), bounded, Step(end, "="))


def few_dimensions_of_ball(statement: Statement) -> Derivation:
    """Derive P-2 for the ball where log(n d)^2 <= d, to the fourth power."""
    start, end = sympy_sides(statement)
    d, n, epsilon = (sympy_symbols(statement)[name] for name in ("d", "n", "epsilon"))
    context = HOLE / sqrt(n * epsilon)
    quarter = Rational(1, 4)
    least = log(n * d) ** 2
    bounded = Step.within(context, d**quarter, "power-monotone", {"a": least, "b": d, "p": quarter})
    return chain(statement, start, Step(context.xreplace({HOLE: least**quarter}), "="), bounded, Step(end, "="))


def logarithm_above_one(statement: Statement) -> Derivation:
    """Derive that a square of log(n) costs nothing from n = 3 on."""
    start, end = sympy_sides(statement)
    n = sympy_symbols(statement)["n"]
    context = start * HOLE**2
    steps = (
        Step.within(context, log(3), "order", {"a": Integer(1), "b": log(3)}),
        Step.within(context, log(n), "log-monotone", {"a": Integer(3), "b": n}),
    )
    return chain(statement, start, *steps, Step(end, "="))


def case_without_privacy(statement: Statement) -> Derivation:
    """Derive the case of Theorem 3.4 where the data count: its condition is the inequality, squared."""
    start, end = sympy_sides(statement)
    names = ("d", "L", "theta", "mu", "n", "epsilon", "delta")
    d, L, theta, mu, n, epsilon, delta = (sympy_symbols(statement)[name] for name in names)
    context = HOLE / (theta**2 * mu * n**2 * epsilon**2)
    small = d**2 * L**4 * log(1 / delta) ** 2
    large = theta**3 * mu * n**3 * epsilon**4
    bounded = Step.within(context, sqrt(large), "sqrt-monotone", {"a": small, "b": large})
    return chain(statement, start, Step(context.xreplace({HOLE: sqrt(small)}), "="), bounded, Step(end, "="))


def case_of_privacy(statement: Statement) -> Derivation:
    """Derive the case of Theorem 3.4 where privacy counts: its condition is the inequality, squared."""
    start, end = sympy_sides(statement)
    names = ("d", "L", "theta", "mu", "n", "epsilon", "delta")
    d, L, theta, mu, n, epsilon, delta = (sympy_symbols(statement)[name] for name in names)
    context = HOLE / (theta**2 * mu * n**2 * epsilon**2)
    large = d**2 * L**4 * log(1 / delta) ** 2
    small = theta**3 * mu * n**3 * epsilon**4
    lower = Step(
        context.xreplace({HOLE: sqrt(small)}), ">=", "sqrt-monotone", {"a": small, "b": large}, context=context
    )
    return chain(statement, start, Step(context.xreplace({HOLE: sqrt(large)}), "="), lower, Step(end, "="))


def worse_than_without_privacy(statement: Statement) -> Derivation:
    """Derive that P-1 is no better at n = d: 1/sqrt(n) <= 1 <= n/log(n)."""
    start, end = sympy_sides(statement)
    n = sympy_symbols(statement)["n"]
    unit = Integer(1)
    steps = (
        Step.within(HOLE, unit, "reciprocal-monotone", {"a": unit, "b": sqrt(n)}),
        Step.within(n * HOLE, 1 / log(n), "reciprocal-monotone", {"a": log(n), "b": n}),
        Step.order(HOLE, n / log(n), end),
    )
    return chain(statement, start, *steps)


def steps_of_all_stages(statement: Statement) -> Derivation:
    """Derive the number of steps of all stages: T^0 (2^(K + 1) - 2), by the geometric sum."""
    start, end = sympy_sides(statement)
    K = sympy_symbols(statement)["K"]
    T_0 = sympy_symbols(statement)["T_0"]
    i = Symbol("i", integer=True)
    total = T_0 * (2 * 2**K - 2)
    summed = Step(2 * T_0 * (2**K - 1), "=", "geometric-sum", {"x": Integer(2), "m": K}, context=2 * T_0 * HOLE)
    return chain(
        statement,
        start,
        Step(2 * T_0 * Sum(2**i, (i, 0, K - 1)), "="),
        summed,
        Step(total, "="),
        Step.order(HOLE, total, end),
    )


def bracket_of_stability(statement: Statement) -> Derivation:
    """Derive that the bracket of Theorem 3.3 is not negative: 1 + 1/(rho t) <= 1 + 1/rho, and log is concave."""
    rho = sympy_symbols(statement)["rho"]
    t_last = sympy_symbols(statement)["t_last"]
    ratio_bound = 1 + 1 / rho
    least = 1 + 1 / (rho * t_last)
    return chain(
        statement,
        log(1 + 1 / (2 * rho)),
        Step(log(ratio_bound) / 2, ">=", "log-concave", {"x": Integer(1), "y": ratio_bound}, context=HOLE / 2),
        Step(log(least) / 2, ">=", "log-monotone", {"a": least, "b": ratio_bound}, context=HOLE / 2),
    )


def growth_of_stability(statement: Statement) -> Derivation:
    """Derive Remark 5 about the bound: with one more step the exponential grows, and so does the bracket."""
    start, end = sympy_sides(statement)
    rho = sympy_symbols(statement)["rho"]
    t_last = sympy_symbols(statement)["t_last"]
    later = exp(2 * rho * t_last)
    earlier = exp(2 * rho * (t_last - 1))
    after = 1 + 1 / (rho * (t_last + 1))
    before = 1 + 1 / (rho * t_last)
    log_bound = log(1 + 1 / (2 * rho))
    bracket = log_bound - log(before) / 2
    not_negative = bracket_of_stability(statement)
    steps = (
        Step(later * bracket, ">=", "log-monotone", {"a": after, "b": before}, context=later * (log_bound - HOLE / 2)),
        Step(
            earlier * bracket,
            ">=",
            "exp-monotone",
            {"a": 2 * rho * (t_last - 1), "b": 2 * rho * t_last},
            context=HOLE * bracket,
        ),
        Step(end, "="),
    )
    premises = {"the bracket is not negative": cite(not_negative)}
    return replace(chain(statement, start, *steps), premises=premises, shown=tuple(premises))


def larger_of_two_rates(statement: Statement) -> Derivation:
    """Derive that both rates are below the third one: with D = d log(1/delta), for epsilon^2 <= D <= (n epsilon)^2."""
    start, end = sympy_sides(statement)
    d, n, epsilon, delta = (sympy_symbols(statement)[name] for name in ("d", "n", "epsilon", "delta"))
    size = d * log(1 / delta)
    quarter = Rational(1, 4)
    shrunk = size**quarter * HOLE / (n * epsilon) ** 2
    of_privacy = chain(
        statement,
        size / (n * epsilon) ** 2,
        Step.within(
            shrunk,
            (n * epsilon) ** Rational(3, 2),
            "power-monotone",
            {"a": size, "b": (n * epsilon) ** 2, "p": Rational(3, 4)},
        ),
        Step(end, "="),
    )
    of_data = chain(
        statement,
        1 / sqrt(n),
        Step.within(
            HOLE / sqrt(n),
            (size / epsilon**2) ** quarter,
            "power-monotone",
            {"a": Integer(1), "b": size / epsilon**2, "p": quarter},
        ),
        Step(end, "="),
    )
    premises = {
        "the rate of privacy": cite(replace(of_privacy, name="the rate of privacy")),
        "the rate of the data": cite(replace(of_data, name="the rate of the data")),
    }
    steps = (Step.order(HOLE, start, end),)
    return replace(chain(statement, start, *steps), premises=premises, shown=tuple(premises))
