"""Derivations of orders and comparisons: Table 1 and what is said of it, (B.20), and appendix A's sampler."""

from __future__ import annotations

from dataclasses import replace

from sympy import Integer, Rational, Symbol, exp, floor, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.derivations import one_chain
from dpverify.symbolic.derive.cited import cite, root_of_quotient
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import real
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols


def derive_as_it_stands(statement: Statement) -> Derivation:
    """Take the left side of an order as it stands: its terms are compared with the right side's by exponents."""
    return one_chain(statement, sympy_sides(statement)[0])


def derive_first_term_below(statement: Statement) -> Derivation:
    """Derive the order of a quotient: the first term of the divisor alone is smaller, and one product is left."""
    start, _ = sympy_sides(statement)
    n, epsilon, d = (sympy_symbols(statement)[name] for name in ("n", "epsilon", "d"))
    first = (n * epsilon) ** Rational(3, 2) / d ** Rational(3, 4)
    second = n * epsilon / sqrt(d)
    above = n**2 * epsilon / sqrt(d)
    smaller = Step(above / first, "<=", "reciprocal-monotone", {"a": first, "b": first + second}, context=above * HOLE)
    return one_chain(statement, start, smaller)


def derive_small_budget(statement: Statement) -> Derivation:
    """Derive DP-GD's order where epsilon is at most log(1/delta): the sum is at most 3 log(1/delta)."""
    start, _ = sympy_sides(statement)
    epsilon, delta = (sympy_symbols(statement)[name] for name in ("epsilon", "delta"))
    budget = 2 * log(1 / delta) + epsilon
    return one_chain(statement, start, Step.order(start.subs(budget, HOLE), budget, 3 * log(1 / delta)))


def derive_whole_steps(statement: Statement) -> Derivation:
    """Derive the order of a term with a whole number of steps: it is at most what is floored, plus 1."""
    start, _ = sympy_sides(statement)
    (floored,) = start.atoms(floor)
    return one_chain(
        statement,
        start,
        Step.within(start.xreplace({floored: HOLE}), floored.args[0], "floor-below", {"x": floored.args[0]}),
    )


def derive_box(statement: Statement) -> Derivation:
    """Derive that every accepted number is in reach: 1 + y <= exp(y) at y = x^2/2 - 1, and a root on both sides."""
    start, end = sympy_sides(statement)
    x = sympy_symbols(statement)["drawn"]
    square = x**2 / 2 * exp(-(x**2) / 2)
    return one_chain(
        statement,
        start,
        Step(sqrt(2) * sqrt(square), "="),
        Step.order(sqrt(2) * sqrt(HOLE * exp(-(x**2) / 2)), x**2 / 2, exp(x**2 / 2 - 1)),
        Step(end, "="),
    )


def derive_root_apart(statement: Statement, *further: Step) -> Derivation:
    """Derive the quotient of two cells of Table 1: (u v)^(1/4) is u^(1/4) v^(1/4) for positive u and v."""
    start = sympy_sides(statement)[0]
    n, delta = (sympy_symbols(statement)[name] for name in ("n", "delta"))
    roots = "the roots of two cells"
    chain = one_chain(statement, start, Step(log(n / delta) ** Rational(1, 4), "=", "premise", {}, (roots,)), *further)
    return replace(chain, premises={roots: root_of_quotient(log(n / delta), log(1 / delta))})


def derive_root_below(statement: Statement) -> Derivation:
    """Derive that the quotient is of the order of log(n/delta) from two examples on, where this is at least log(2)."""
    n, delta = (sympy_symbols(statement)[name] for name in ("n", "delta"))
    size = Symbol("u", positive=True)
    least = Symbol("v", positive=True)
    power = Rational(3, 4)
    inverses = {"a": 1 / size, "b": 1 / least, "p": power}
    step = Step.within(size * HOLE, least**-power, "power-monotone", inverses)
    above = {"v": real(0, 9, open_lo=True), "u": real(least, 99)}
    for_all = Derivation("of a number above another", "ours", above, (least <= size,), size ** (1 - power), (step,))
    chain = derive_root_apart(statement, Step(log(n / delta) / log(2) ** power, "<=", "premise", {}, (for_all.name,)))
    return replace(chain, premises={**chain.premises, for_all.name: cite(for_all, u=log(n / delta), v=log(2))})


def derive_ratio(statement: Statement) -> Derivation:
    """Derive the least ratio at Theorem 4.4's choices: its part without epsilon is enough in few dimensions."""
    start, end = sympy_sides(statement)
    names = ("G", "d", "beta", "epsilon", "delta")
    G, d, beta, epsilon, delta = (sympy_symbols(statement)[name] for name in names)
    factor = 14 * G**2 / (beta * (1 - beta))
    dimension_bound = 20 * G**2 / (beta * (1 - beta))
    ratio = factor / d + 14 * G**2 * epsilon / (beta * d * log(1 / delta))
    return one_chain(
        statement,
        start,
        Step(ratio, "="),
        Step(factor / d, ">=", "order", {"a": factor / d, "b": ratio}),
        Step(
            factor / dimension_bound, ">=", "reciprocal-monotone", {"a": d, "b": dimension_bound}, context=factor * HOLE
        ),
        Step(end, "="),
    )


def derive_first_step(statement: Statement) -> Derivation:
    """Derive that the logarithm is not negative at the first step: each half of its argument is at most 1/2."""
    start, end = sympy_sides(statement)
    names = ("n", "d", "epsilon", "delta", "G", "L", "gap", "beta")
    n, d, epsilon, delta, G, smooth, gap, beta = (sympy_symbols(statement)[name] for name in names)
    drop = smooth * gap
    scale = d * log(1 / delta)
    alpha = log(1 / delta) / ((1 - beta) * epsilon) + 1
    tau = G * epsilon / (drop ** Rational(3, 2) * sqrt(scale))
    spent_bound = beta * drop ** Rational(5, 2) * scale ** Rational(3, 2)
    spent = 28 * G * n * epsilon**2 * alpha**2 * tau
    return one_chain(
        statement,
        start,
        Step(2 * tau * alpha / 2 + spent / (2 * spent_bound), "="),
        Step.order(HOLE / 2 + spent / (2 * spent_bound), 2 * tau * alpha, 1),
        Step.order(Rational(1, 2) + HOLE / (2 * spent_bound), spent, spent_bound),
        Step(end, "="),
    )


def derive_without_noise(statement: Statement) -> Derivation:
    """Derive (B.18) without its noise for G above 1, and corrected for every G, by 2/G <= 1 + 1/G^2."""
    start, end = sympy_sides(statement)
    G, zeta = (sympy_symbols(statement)[name] for name in ("G", "zeta"))
    (floored,) = start.atoms(floor)
    context = start.xreplace({floored: HOLE})
    least = floored.args[0] - 1
    fourth = Integer(2) ** Rational(1, 4)
    square = zeta**2 / (4 * sqrt(2))
    cube = zeta**3 / (4 * sqrt(2))
    fixed = (6 + sqrt(2) + fourth**3) * zeta
    with_g = fixed + sqrt(2) * zeta / G**2 + fourth * zeta / G
    small = zeta / 8 + zeta / (2 * sqrt(2))
    common = (
        Step(context.xreplace({HOLE: least}), "<=", "floor-above", {"x": floored.args[0]}, context=context),
        Step(with_g + square + sqrt(cube), "="),
        Step.order(with_g + HOLE + sqrt(cube), square, zeta / 8),
        Step.order(with_g + zeta / 8 + sqrt(HOLE), cube, zeta**2 / 8),
        Step(with_g + small, "="),
    )
    if statement.variant == "amended":
        mean = {"a": Integer(1), "b": 1 / G, "c": Integer(1)}
        with_square = fixed + small + sqrt(2) * zeta / G**2
        return one_chain(
            statement,
            start,
            *common,
            Step.within(with_square + fourth * zeta * HOLE, Rational(1, 2) + 1 / (2 * G**2), "young", mean),
            Step.order(HOLE, with_square + fourth * zeta * (Rational(1, 2) + 1 / (2 * G**2)), end),
        )
    return one_chain(
        statement,
        start,
        *common,
        Step.within(
            fixed + small + sqrt(2) * zeta * HOLE + fourth * zeta / G,
            Integer(1),
            "reciprocal-monotone",
            {"a": Integer(1), "b": G**2},
        ),
        Step.within(
            fixed + small + sqrt(2) * zeta + fourth * zeta * HOLE,
            Integer(1),
            "reciprocal-monotone",
            {"a": Integer(1), "b": G},
        ),
        Step.order(HOLE, fixed + small + sqrt(2) * zeta + fourth * zeta, end),
    )


def derive_later_noise(statement: Statement) -> Derivation:
    """Derive what the first line of (B.20) makes of the later noise: (1 - gamma) zeta + gamma G <= 3 zeta G."""
    start, _ = sympy_sides(statement)
    G, zeta = (sympy_symbols(statement)[name] for name in ("G", "zeta"))
    length = (1 - sqrt(2) * zeta) * zeta + sqrt(2) * zeta * G
    return one_chain(statement, start, Step.order(start.xreplace({length: HOLE}), length, 3 * zeta * G))
