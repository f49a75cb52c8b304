"""Derivation of Lemma B.1: divergences of adaptively composed mechanisms add up, by induction over the mechanisms."""

from __future__ import annotations

from typing import Any

from sympy import Function, Lambda, Max, Sum, Symbol, exp

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.define import define, known_fact
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.induction import Hypothesis, by_induction
from dpverify.symbolic.derive.steps import PREMISE, Link
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols
from dpverify.symbolic.expressions.whole_functions import FunctionOf

TOWER = "tower-property"

s = Symbol("s", integer=True)
t = Symbol("t", integer=True, nonnegative=True)
joint, bound = (Function(name, real=True) for name in ("joint_moment", "step_bound"))


def derive_composition(statement: Statement) -> Derivation:
    """Derive the sum of the bounds: one output more multiplies the moment by its largest conditional moment."""
    start, end = sympy_sides(statement)
    alpha, k = (sympy_symbols(statement)[name] for name in ("alpha", "mechanisms"))

    def total(steps: Any) -> Any:
        return Sum(bound(s), (s, 1, steps))

    def moment(divergence: Any) -> Any:
        return exp((alpha - 1) * divergence)

    def above(i: Any) -> Any:
        return joint(i) - joint(i - 1) * moment(bound(i))

    def all_above(last: Any) -> Any:
        return Sum(Max(0, above(s)), (s, 1, last))

    sampled: dict[str, Variable] = {
        "alpha": real(1, 9, open_lo=True),
        "mechanisms": integer(1, 9),
        "t": integer(0, 9),
        "step_bound": FunctionOf("step_bound", (t,), alpha / (t + 1)),
        "joint_moment": FunctionOf("joint_moment", (t,), moment(total(t)) / (t + 1)),
    }
    conditions = sympy_conditions(statement)

    def chain(name: str, first: Any, *links: Link, given: tuple[Any, ...] = (), **premises: Any) -> Derivation:
        return Derivation(name, "ours", sampled, (*conditions, *given), first, links, premises)

    cap = joint(t) * moment(bound(t + 1))
    excess = Lambda(s, Max(0, above(s)))
    extension = chain(
        "one output more",
        joint(t + 1),
        Step.within(cap + HOLE, Max(0, above(t + 1)), "below-max", {"a": above(t + 1), "b": 0}),
        Step.order(cap + Max(0, above(t + 1)) + HOLE, 0, all_above(t)),
        Step(cap + all_above(t + 1), "=", "sum-split", {"f": excess, "lo": 1, "hi": t + 1, "m": t}, context=cap + HOLE),
        Step.within(cap + HOLE, all_above(k), "sum-extend", {"f": excess, "lo": 1, "hi": t + 1, "more": k}),
        Step(cap, "=", PREMISE, {}, (TOWER,), context=cap + HOLE),
        given=(t + 1 <= k,),
        **{TOWER: known_fact(statement, TOWER)},
    )
    base = chain(
        "no output",
        joint(0),
        Step(1, "=", PREMISE, {}, ("start",)),
        Step(moment(total(0)), "="),
        start=define(statement, "joint_moment", part="start"),
    )
    step = chain(
        "the first outputs",
        joint(t + 1),
        Step(cap, "<=", PREMISE, {}, ("one",)),
        Step.within(HOLE * moment(bound(t + 1)), moment(total(t)), PREMISE, premises=("hypothesis",)),
        Step(moment(total(t) + bound(t + 1)), "="),
        Step(
            moment(total(t + 1)),
            "=",
            "sum-split",
            {"f": Lambda(s, bound(s)), "lo": 1, "hi": t + 1, "m": t},
            context=moment(HOLE),
        ),
        given=(t + 1 <= k,),
        one=cite(extension),
        hypothesis=Hypothesis(joint(t), "<=", moment(total(t)), letter=t),
    )
    return chain(
        "by induction",
        start,
        Step(moment(total(k)), "<=", PREMISE, {"t": k}, ("induction",)),
        Step(end, "="),
        induction=by_induction(t, 0, base=base, step=step, last=k),
    )
