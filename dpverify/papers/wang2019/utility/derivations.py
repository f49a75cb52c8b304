"""Derivations of section 4.1's bounds on the estimate and of the lines of B.2, each a few steps from its premises."""

from __future__ import annotations

from typing import Any

from sympy import Abs, Integer, Min, Rational, Sum, floor, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.derivations import one_chain
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols


def derive_by_sign(statement: Statement) -> Derivation:
    """Derive that one side is at most the other from the sign of their difference."""
    start, end = sympy_sides(statement)
    if statement.relation == ">=":
        return one_chain(statement, start, Step(end, ">=", "order", {"a": end, "b": start}))
    return one_chain(statement, start, Step.order(HOLE, start, end))


def derive_slightly_worse(statement: Statement) -> Derivation:
    """Derive that RRPSGD's rate is at least 9/10 of DP-GD's: n/delta is at least 2, and log(2)^(1/4) > 9/10."""
    start, end = sympy_sides(statement)
    symbols = sympy_symbols(statement)
    n = symbols["n"]
    delta = symbols["delta"]
    fourth = Rational(1, 4)
    scale = 1 / sqrt(n * symbols["epsilon"])
    context = (symbols["d"] * HOLE * log(1 / delta)) ** fourth * scale
    rate = (symbols["d"] * log(1 / delta)) ** fourth * scale
    return one_chain(
        statement,
        start,
        Step(
            context.xreplace({HOLE: log(2)}), ">=", "log-monotone", {"a": Integer(2), "b": n / delta}, context=context
        ),
        Step(end, ">=", "order", {"a": Rational(9, 10), "b": log(2) ** fourth}, context=HOLE * rate),
    )


def derive_moved(statement: Statement) -> Derivation:
    """Derive the second inequality of (B.4): the longest step put in."""
    start, end = sympy_sides(statement)
    symbols = sympy_symbols(statement)
    moved = symbols["moved"]
    context = start.xreplace({moved: HOLE})
    return one_chain(statement, start, Step.order(context, moved, symbols["zeta"] / symbols["L"]), Step(end, "="))


def derive_step(statement: Statement) -> Derivation:
    """Derive that a step is at most zeta/L long: the smaller of two factors is at most the first."""
    start, end = sympy_sides(statement)
    smaller = next(iter(start.atoms(Min)))
    first, second = sorted(smaller.args, key=lambda one: not one.has(sympy_symbols(statement)["length"]))
    context = start.xreplace({smaller: HOLE})
    return one_chain(
        statement, start, Step.within(context, first, "above-min", {"a": first, "b": second}), Step(end, "=")
    )


def derive_step_square(statement: Statement) -> Derivation:
    """Derive what a step gains, on both sides of |v| = 2 zeta."""
    start, end = sympy_sides(statement)
    symbols = sympy_symbols(statement)
    zeta, smooth, v = (symbols[name] for name in ("zeta", "L", "length"))
    cut = zeta / (smooth * v)
    full = 1 / (2 * smooth)
    left = next(iter(start.atoms(Min)))
    right = next(iter(end.atoms(Min)))
    line = 2 * v / zeta
    square = (v / zeta) ** 2
    before, after = start.xreplace({left: HOLE}), end.xreplace({right: HOLE})

    def case(assumption: Any, of_left: tuple[Any, Any], of_right: tuple[Any, Any]) -> Case:
        (a, b), (least, upper) = of_left, of_right
        first = Step(before.xreplace({HOLE: a}), "=", "min-is", {"a": a, "b": b}, context=before)
        return Case(assumption, (first, Step(end, "=", "min-is", {"a": least, "b": upper}, context=after)))

    split = (case(v <= 2 * zeta, (square, line), (full, cut)), case(v > 2 * zeta, (line, square), (cut, full)))
    return one_chain(statement, start, Cases(end, "=", split))


def derive_step_tangent(statement: Statement) -> Derivation:
    """Derive the line below what a step gains, on both sides of |v| = 2 zeta."""
    start, end = sympy_sides(statement)
    symbols = sympy_symbols(statement)
    zeta = symbols["zeta"]
    v = symbols["length"]
    smaller = next(iter(start.atoms(Min)))
    line = 2 * v / zeta
    square = (v / zeta) ** 2
    context = start.xreplace({smaller: HOLE})

    def case(assumption: Any, one: Any, other: Any) -> Case:
        least = context.xreplace({HOLE: one})
        is_least = Step(least, "=", "min-is", {"a": one, "b": other}, context=context)
        return Case(assumption, (is_least, Step(end, ">=", "order", {"a": end, "b": least})))

    split = (case(v <= 2 * zeta, square, line), case(v > 2 * zeta, line, square))
    return one_chain(statement, start, Cases(end, ">=", split))


def derive_triangle(statement: Statement) -> Derivation:
    """Derive a bound on the length of a sum by the triangle inequality; each part then by what bounds it, if given."""
    start, end = sympy_sides(statement)
    (norm,) = start.atoms(Abs)
    a, b = norm.args[0].as_two_terms()
    context = start.xreplace({norm: HOLE})
    symbols = sympy_symbols(statement)
    steps = [Step.within(context, Abs(a) + Abs(b), "triangle", {"a": a, "b": b})]
    if "G" in symbols:
        largest = symbols["G"]
        steps += [Step.order(context.xreplace({HOLE: HOLE + Abs(b)}), Abs(a), largest)]
        steps += [Step.order(context.xreplace({HOLE: largest + HOLE}), Abs(b), largest)]
    return one_chain(statement, start, *steps, Step(end, "="))


def derive_half_step(statement: Statement) -> Derivation:
    """Derive what eta <= 1/(2L) leaves of the descent: two factors at their largest, and a square dropped."""
    start, end = sympy_sides(statement)
    names = ("eta", "L", "error_square", "slope_norm", "length")
    eta, smooth, error, slope, v = (sympy_symbols(statement)[name] for name in names)
    curved = -eta * (Rational(1, 2) - eta * smooth / 2) * v**2
    return one_chain(
        statement,
        start,
        Step.order(HOLE + eta * error / 2 + curved, -eta * slope**2 / 2, 0),
        Step.order(HOLE * error / 2 + curved, eta, 1 / (2 * smooth)),
        Step.order(error / (4 * smooth) + eta * v**2 * HOLE, eta * smooth / 2 - Rational(1, 2), -Rational(1, 4)),
        Step(end, "="),
    )


def derive_floor(statement: Statement) -> Derivation:
    """Derive a bound that grows with a floor, by what is floored."""
    start, end = sympy_sides(statement)
    (floored,) = start.atoms(floor)
    context = start.xreplace({floored: HOLE})
    return one_chain(
        statement, start, Step.within(context, floored.args[0], "floor-below", {"x": floored.args[0]}), Step(end, "=")
    )


def derive_steps(statement: Statement) -> Derivation:
    """Derive (B.15): T is above 4 L D_F/zeta^2, so that the first term is at most zeta."""
    start, end = sympy_sides(statement)
    (floored,) = start.atoms(floor)
    least = floored.args[0] - 1
    context = start.xreplace({floored: HOLE})
    lower = Step(context.xreplace({HOLE: least}), "<=", "floor-above", {"x": floored.args[0]}, context=context)
    return one_chain(statement, start, lower, Step.order(HOLE, context.xreplace({HOLE: least}), end))


def derive_roots(statement: Statement) -> Derivation:
    """Derive (B.16): the root of a sum is at most the sum of the roots, term by term."""
    start, end = sympy_sides(statement)
    names = ("T", "gamma", "zeta", "b", "G", "d", "variance", "variance_0", "b_0")
    T, gamma, zeta, b, G, d, variance, variance_0, b_0 = (sympy_symbols(statement)[name] for name in names)
    terms = [
        2 * (1 - gamma) ** 2 * zeta**2 / (gamma * b),
        2 * gamma * G**2 / b,
        d * variance / gamma,
        d * variance_0 / (gamma * T),
        G**2 / (gamma * T * b_0),
    ]
    steps = [Step(sqrt(sum(terms)), "=")]
    done = 0
    while len(terms) > 1:
        first = terms.pop(0)
        tail = sum(terms)
        steps.append(Step.within(done + HOLE, sqrt(first) + sqrt(tail), "sqrt-subadditive", {"a": first, "b": tail}))
        done += sqrt(first)
    last = done + sqrt(terms[0])
    return one_chain(statement, start, *steps, Step.order(HOLE, last, end))


def derive_error_sum(statement: Statement) -> Derivation:
    """Derive the sum of the squared errors: each step adds at most the limit, the first error's part is a series."""
    start, end = sympy_sides(statement)
    gamma, first, added, T = (sympy_symbols(statement)[name] for name in ("gamma", "start_error", "added", "T"))
    (total,) = start.atoms(Sum)
    s = total.limits[0][0]
    outside = start.xreplace({total: HOLE})
    limit = added / (gamma * (2 - gamma))
    decay = (1 - gamma) ** (2 * s)
    left = Sum(decay, total.limits[0])
    inside = outside.xreplace({HOLE: Sum(HOLE + first * decay, total.limits[0])})
    parts = outside.xreplace({HOLE: T * limit + first * HOLE})
    steps = [
        Step(inside.xreplace({HOLE: limit * (1 - decay)}), "="),
        Step.order(inside, limit * (1 - decay), limit),
        Step(parts.xreplace({HOLE: left}), "="),
        Step(parts.xreplace({HOLE: Sum(((1 - gamma) ** 2) ** s, total.limits[0])}), "="),
        Step(
            parts.xreplace({HOLE: 1 / (1 - (1 - gamma) ** 2)}),
            "<=",
            "geometric-sum-bound",
            {"x": (1 - gamma) ** 2, "m": T - 1},
        ),
    ]
    if statement.key.endswith("b-14"):
        steps += [
            Step((T * added + first) / (2 - gamma), "="),
            Step.order((T * added + first) * HOLE, 1 / (2 - gamma), 1),
        ]
    return one_chain(statement, start, *steps, Step(end, "="))


def derive_descent(statement: Statement) -> Derivation:
    """Derive our descent: for |v| <= 2 zeta the sides differ by 3/8 (|v| - 4 zeta/3)^2 + |e| (zeta - |v|/2), over L."""
    start, end = sympy_sides(statement)
    zeta, smooth, v, error = (sympy_symbols(statement)[name] for name in ("zeta", "L", "length", "error"))
    cut = zeta / smooth
    full = v / (2 * smooth)
    (smaller,) = start.atoms(Min)
    before = start.xreplace({smaller: HOLE})

    def least(lower: Any, upper: Any) -> Step:
        return Step(before.xreplace({HOLE: lower}), "=", "min-is", {"a": lower, "b": upper}, context=before)

    square = 3 * (v - 4 * zeta / 3) ** 2 / (8 * smooth)
    error_term = error * (2 * zeta - v) / (2 * smooth)
    small = (
        least(full, cut),
        Step(end - square - error_term, "="),
        Step.order(end + HOLE - error_term, -square, 0),
        Step.order(end + HOLE, -error_term, 0),
    )
    large = (least(cut, full), Step.order(HOLE, before.xreplace({HOLE: cut}), end))
    return one_chain(statement, start, Cases(end, "<=", (Case(v <= 2 * zeta, small), Case(v > 2 * zeta, large))))


def derive_below_tangent(statement: Statement) -> Derivation:
    """Derive (B.6) from the two displays before it, on both sides of |v| = 2 zeta."""
    start, end = sympy_sides(statement)
    zeta, smooth, v = (sympy_symbols(statement)[name] for name in ("zeta", "L", "length"))
    cut = zeta / (smooth * v)
    full = 1 / (2 * smooth)
    (smaller,) = start.atoms(Min)

    def case(assumption: Any, one: Any, other: Any) -> Case:
        least = start.xreplace({smaller: one})
        is_least = Step(least, "=", "min-is", {"a": one, "b": other}, context=start.xreplace({smaller: HOLE}))
        return Case(assumption, (is_least, Step.order(HOLE, least, end)))

    return one_chain(
        statement, start, Cases(end, "<=", (case(v <= 2 * zeta, full, cut), case(v > 2 * zeta, cut, full)))
    )


def derive_mean_of_two(statement: Statement) -> Derivation:
    """Derive a bound on the mean of two lengths, one after the other."""
    start, end = sympy_sides(statement)
    a, b = sorted(start.atoms(Abs), key=str)
    return one_chain(statement, start, Step.order((HOLE + b) / 2, a, end), Step.order((end + HOLE) / 2, b, end))


def derive_query(statement: Statement) -> Derivation:
    """Derive the query's sensitivity, of which two lengths are at most L times how far the iterate has moved."""
    start, end = sympy_sides(statement)
    names = ("gamma", "b", "change", "change_other", "gradient", "gradient_other", "moved", "L", "G")
    gamma, b, c, c_other, g, g_other, moved, smooth, lipschitz = (sympy_symbols(statement)[name] for name in names)
    steps = one_replaced(gamma, b, (c, c_other, smooth * moved), (g, g_other, lipschitz))
    return one_chain(statement, start, *steps, Step(end, "="))


def one_replaced(gamma: Any, b: Any, changes: tuple[Any, Any, Any], gradients: tuple[Any, Any, Any]) -> list[Step]:
    """Bound what an example in place of another changes: the triangle inequality three times, four largest lengths.

    ``changes`` and ``gradients``: of the one, of the other, and the most that the length of each is.
    """
    (c, c_other, longest), (g, g_other, longest_gradient) = changes, gradients
    moved = (1 - gamma) * (c - c_other), gamma * (g - g_other)

    def whole(first: Any, second: Any) -> Any:
        return ((1 - gamma) * first + gamma * second) / b

    return [
        Step.within(HOLE / b, Abs(moved[0]) + Abs(moved[1]), "triangle", {"a": moved[0], "b": moved[1]}),
        Step(whole(Abs(c - c_other), Abs(g - g_other)), "="),
        Step.within(whole(HOLE, Abs(g - g_other)), Abs(c) + Abs(c_other), "triangle", {"a": c, "b": -c_other}),
        Step.within(whole(Abs(c) + Abs(c_other), HOLE), Abs(g) + Abs(g_other), "triangle", {"a": g, "b": -g_other}),
        Step.order(whole(HOLE + Abs(c_other), Abs(g) + Abs(g_other)), Abs(c), longest),
        Step.order(whole(longest + HOLE, Abs(g) + Abs(g_other)), Abs(c_other), longest),
        Step.order(whole(2 * longest, HOLE + Abs(g_other)), Abs(g), longest_gradient),
        Step.order(whole(2 * longest, longest_gradient + HOLE), Abs(g_other), longest_gradient),
    ]


def derive_sampling(statement: Statement) -> Derivation:
    """Derive what an example adds to an estimate: the triangle inequality, and both lengths at their largest."""
    start, end = sympy_sides(statement)
    names = ("gamma", "zeta", "G", "change", "gradient")
    gamma, zeta, lipschitz, c, g = (sympy_symbols(statement)[name] for name in names)
    first = (1 - gamma) * c
    second = gamma * g
    return one_chain(
        statement,
        start,
        Step.within(HOLE, Abs(first) + Abs(second), "triangle", {"a": first, "b": second}),
        Step((1 - gamma) * Abs(c) + gamma * Abs(g), "="),
        Step.order((1 - gamma) * HOLE + gamma * Abs(g), Abs(c), zeta),
        Step.order((1 - gamma) * zeta + gamma * HOLE, Abs(g), lipschitz),
        Step(end, "="),
    )


def derive_changes(statement: Statement) -> Derivation:
    """Derive the bound on two changes of gradients: the triangle inequality, and each at its largest."""
    start, end = sympy_sides(statement)
    c, c_other, smooth, moved = (sympy_symbols(statement)[name] for name in ("change", "change_other", "L", "moved"))
    return one_chain(
        statement,
        start,
        Step.within(HOLE, Abs(c) + Abs(c_other), "triangle", {"a": c, "b": c_other}),
        Step.order(HOLE + Abs(c_other), Abs(c), smooth * moved),
        Step.order(smooth * moved + HOLE, Abs(c_other), smooth * moved),
        Step(end, "="),
    )


def derive_half(statement: Statement) -> Derivation:
    """Derive that a step is at most |v|/(2L) long: the smaller of two factors is at most the second."""
    start, end = sympy_sides(statement)
    (smaller,) = start.atoms(Min)
    second, first = sorted(smaller.args, key=lambda one: one.has(sympy_symbols(statement)["length"]))
    context = start.xreplace({smaller: HOLE})
    return one_chain(
        statement, start, Step.within(context, second, "above-min", {"a": second, "b": first}), Step(end, "=")
    )
