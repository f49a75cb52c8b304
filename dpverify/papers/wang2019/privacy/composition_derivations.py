"""Derivation of Lemma B.1: divergences of adaptively composed mechanisms add up, by induction over the mechanisms."""

from __future__ import annotations

from typing import Any

from sympy import Function, Lambda, Sum, Symbol, exp

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.define import define, known_fact
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.induction import Hypothesis, by_induction
from dpverify.symbolic.derive.steps import PREMISE, Link
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols
from dpverify.symbolic.expressions.whole_functions import FunctionOf

TOWER = "tower-property"

s, t = Symbol("s", integer=True), Symbol("t", integer=True, nonnegative=True)
joint, bound = (Function(name, real=True) for name in ("joint_moment", "step_bound"))


def derive_composition(statement: Statement) -> Derivation:
    """Derive the sum of the bounds: one output more multiplies the moment by its largest conditional moment."""
    start, end = sympy_sides(statement)
    alpha, k = (sympy_symbols(statement)[name] for name in ("alpha", "mechanisms"))

    def total(steps: Any) -> Any:
        return Sum(bound(s), (s, 1, steps))

    def moment(divergence: Any) -> Any:
        return exp((alpha - 1) * divergence)

    sampled: dict[str, Variable] = {
        "alpha": real(1, 9, open_lo=True), "mechanisms": integer(1, 9),
        "step_bound": FunctionOf("step_bound", (t,), alpha / (t + 1)),
        "joint_moment": FunctionOf("joint_moment", (t,), moment(total(t))),
    }  # fmt: skip

    def chain(name: str, first: Any, *links: Link, **premises: Any) -> Derivation:
        return Derivation(name, "ours", sampled, sympy_conditions(statement), first, links, premises)

    base = chain(
        "one mechanism", joint(1),
        Step(joint(0) * moment(bound(1)), "<=", PREMISE, {}, (TOWER,)),
        Step.within(HOLE * moment(bound(1)), 1, PREMISE, premises=("start",)),
        Step(moment(total(1)), "="),
        **{TOWER: known_fact(statement, TOWER, t=0)}, start=define(statement, "joint_moment", part="start"),
    )  # fmt: skip
    step = chain(
        "one mechanism more", joint(k + 1),
        Step(joint(k) * moment(bound(k + 1)), "<=", PREMISE, {}, (TOWER,)),
        Step.within(HOLE * moment(bound(k + 1)), moment(total(k)), PREMISE, premises=("hypothesis",)),
        Step(moment(total(k) + bound(k + 1)), "="),
        Step(moment(total(k + 1)), "=", "sum-split", {"f": Lambda(s, bound(s)), "lo": 1, "hi": k + 1, "m": k},
             context=moment(HOLE)),
        **{TOWER: known_fact(statement, TOWER, t=k)}, hypothesis=Hypothesis(joint(k), "<=", moment(total(k)), letter=k),
    )  # fmt: skip
    return chain(
        "by induction", start, Step(moment(total(k)), "<=", PREMISE, premises=("induction",)), Step(end, "="),
        induction=by_induction(k, 1, base=base, step=step),
    )  # fmt: skip
