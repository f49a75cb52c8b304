"""Derivations of what the noise of DP-SRM is beside DP-SGD's: in one estimate, and in the sum of a whole run's."""

from __future__ import annotations

from typing import Any

from sympy import Lambda, Sum, Symbol

from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.derivations import one_chain, ranges
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.induction import Hypothesis, by_induction
from dpverify.symbolic.derive.steps import PREMISE, Link
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

s = Symbol("s", integer=True)


def derive_settled(statement: Statement) -> Derivation:
    """Derive that no estimate has more noise than the first: where zeta <= gamma G a step adds little enough."""
    start, end = sympy_sides(statement)
    gamma, zeta, G, t = (sympy_symbols(statement)[name] for name in ("gamma", "zeta", "G", "t"))
    decay = (1 - gamma) ** (2 * t)
    context = decay * G**2 + ((1 - gamma) * HOLE + gamma * G) ** 2 * (1 - decay) / (gamma * (2 - gamma))
    less = (1 - gamma) ** 2 * (1 - decay) * G**2
    return one_chain(
        statement, start, Step.order(context, zeta, gamma * G), Step(end - less, "="), Step.order(end + HOLE, -less, 0)
    )


def derive_sum(statement: Statement) -> Derivation:
    """Derive that the sum of T estimates has at least the noise of T independent ones, by induction over T."""
    start, end = sympy_sides(statement)
    gamma, zeta, G, T = (sympy_symbols(statement)[name] for name in ("gamma", "zeta", "G", "T"))
    keep = 1 - gamma

    def weight(k: Any) -> Any:
        return ((1 - keep**k) / gamma) ** 2

    large = keep * zeta + gamma * G

    def right(steps: Any) -> Any:
        return G**2 * weight(steps) + large**2 * Sum(weight(s), (s, 1, steps - 1))

    def chain(name: str, first: Any, *links: Link, **premises: Any) -> Derivation:
        return Derivation(name, "ours", ranges(statement), sympy_conditions(statement), first, links, premises)

    slack = G**2 * 2 * keep**T * (HOLE - 1) * keep / gamma  # not above 0 at keep**T
    before = Sum(weight(s), (s, 1, T - 1))
    begun = G**2 * weight(T + 1) + large**2 * before
    step = chain(
        "one estimate more",
        (T + 1) * G**2,
        Step(T * G**2 + G**2, "="),
        Step.within(HOLE + G**2, right(T), PREMISE, premises=("hypothesis",)),
        Step(begun + (gamma * G) ** 2 * weight(T) + slack.xreplace({HOLE: keep**T}), "="),
        Step.within(begun + (gamma * G) ** 2 * weight(T) + slack, 1, "power-at-most-one", {"x": keep, "p": T}),
        Step.order(begun + HOLE**2 * weight(T), gamma * G, large),
        Step(G**2 * weight(T + 1) + large**2 * (before + weight(T)), "="),
        Step(
            right(T + 1),
            "=",
            "sum-split",
            {"f": Lambda(s, weight(s)), "lo": 1, "hi": T, "m": T - 1},
            context=G**2 * weight(T + 1) + large**2 * HOLE,
        ),
        hypothesis=Hypothesis(T * G**2, "<=", right(T), letter=T),
    )
    base = chain("one estimate", G**2, Step(right(1), "="))
    return chain(
        "by induction",
        start,
        Step(right(T), "<=", PREMISE, premises=("induction",)),
        Step(end, "="),
        induction=by_induction(T, 1, base=base, step=step),
    )
