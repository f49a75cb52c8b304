"""The momentum and Lemma 11's as sums of gradients: inductions over the steps, and equations 1 and 2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Symbol

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.identities.sum_steps import (
    ALPHA,
    BETA,
    GAMMA,
    G_win,
    anchor_grad,
    by,
    definitions,
    full_grad,
    full_momentum,
    grad,
    i,
    joined,
    known,
    momentum,
    put_in,
    r_win,
    t,
    variables,
    weighted,
)
from dpverify.symbolic.derive.induction import Hypothesis, by_induction
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.derive.steps import Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import integer

s = Symbol("s", integer=True, nonnegative=True)
u = Symbol("u", integer=True, positive=True)
_ONE = (ALPHA <= 1,)


def _chain(statement: Statement, name: str, start: Any, *steps: Step, **premises: Premise) -> Derivation:
    ranges = {letter: integer(1, 20) for letter in "tu"} | {"s": integer(0, 20)}
    return Derivation(name, "ours", variables(statement, **ranges), _ONE, start, steps, premises)


def equation_1(statement: Statement) -> Derivation:
    """Equation 1: the gradient at the anchor is added and subtracted."""
    at_anchors = weighted(anchor_grad(i), 1, t)
    differences = weighted(grad(i) - anchor_grad(i), 1, t)
    before = refer(statement, "section-3-momentum-unrolled")
    return _chain(
        statement,
        "equation 1",
        momentum(t),
        known(HOLE, ALPHA * weighted(grad(i), 1, t), "unrolled"),
        by(HOLE, ALPHA * at_anchors + ALPHA * differences),
        unrolled=before,
    )


def equation_2(statement: Statement) -> Derivation:
    """Equation 2: the letters of section 4 for the two sums."""
    at_anchors = weighted(anchor_grad(i), 1, t)
    differences = weighted(grad(i) - anchor_grad(i), 1, t)
    return _chain(
        statement,
        "equation 2",
        momentum(t),
        known(HOLE, ALPHA * at_anchors + ALPHA * differences, "equation 1"),
        known(ALPHA * HOLE + ALPHA * differences, G_win(1, t), "G_win", first=1, last=t),
        known(ALPHA * G_win(1, t) + ALPHA * HOLE, r_win(1, t), "r_win", first=1, last=t),
        **definitions(statement, "G_win", "r_win"),
        **{"equation 1": refer(statement, "equation-1")},
    )


def full_batch(statement: Statement) -> Derivation:
    """``tran2022:section-4-full-batch-recursion``: the gradients at w_(t-1) cancel."""
    last = (1 - GAMMA) * (full_grad(t - 1) + full_grad(t) - full_grad(t - 1)) + GAMMA * full_grad(t)
    chain = _chain(statement, "full-batch recursion", full_grad(t), by(HOLE, last))
    return replace(chain, assumptions=())


def lemma_11_sum(statement: Statement) -> Derivation:
    """``tran2022:lemma-11-initial`` as amended: the first gradient keeps the weight (1 - alpha)^(t - 1)."""

    def total(last: Any) -> Any:
        return BETA ** (last - 1) * full_grad(1) + ALPHA * weighted(full_grad(i), 2, last)

    first = BETA ** (u - 1) * full_grad(1)
    new = ALPHA * full_grad(u + 1)
    later = weighted(full_grad(i), 2, u + 1)
    recursion = definitions(statement, "full_momentum/start", "full_momentum/step")
    base = _chain(
        statement,
        "Lemma 11's momentum at 1",
        full_momentum(1),
        known(HOLE, full_grad(1), "full_momentum/start"),
        by(HOLE, total(1)),
        **recursion,
    )
    step = _chain(
        statement,
        "Lemma 11's momentum at the next step",
        full_momentum(u + 1),
        known(HOLE, BETA * full_momentum(u) + new, "full_momentum/step", t=u + 1),
        known(BETA * HOLE + new, total(u), "hypothesis"),
        *put_in(BETA * first + ALPHA * HOLE + new, BETA, 1, u - i, full_grad(i), 2, u),
        joined(BETA * first + ALPHA * HOLE, BETA ** (u + 1 - i) * full_grad(i), 2, u + 1, u),
        by(HOLE * full_grad(1) + ALPHA * later, BETA**u, "power-split", x=BETA, m=1, n=u - 1),
        **recursion,
        hypothesis=Hypothesis(full_momentum(u), "=", total(u), letter=u),
    )
    induction = by_induction(u, 1, base=base, step=step)
    return _chain(
        statement, "Lemma 11's momentum unrolled", full_momentum(t), known(HOLE, total(t), "sum", u=t), sum=induction
    )


def lemma_11_difference(statement: Statement) -> Derivation:
    """``tran2022:lemma-11-unrolled`` as amended, whatever the first value is."""
    change = full_grad(i - 1) - full_grad(i)

    def total(last: Any) -> Any:
        return BETA ** (last - 1) * (full_momentum(1) - full_grad(1)) + BETA * weighted(change, 2, last)

    def apart(at: Any) -> Any:
        return full_momentum(at) - full_grad(at)

    first = BETA ** (u - 1) * apart(1)
    at_next = full_grad(u + 1)
    new = BETA * (full_grad(u) - at_next)
    recursion = definitions(statement, "full_momentum/step")
    base = _chain(statement, "the difference at 1", apart(1), by(HOLE, total(1)))
    step = _chain(
        statement,
        "the difference at the next step",
        apart(u + 1),
        known(HOLE - at_next, BETA * full_momentum(u) + ALPHA * at_next, "full_momentum/step", t=u + 1),
        by(HOLE, BETA * apart(u) + new),
        known(BETA * HOLE + new, total(u), "hypothesis"),
        *put_in(BETA * first + BETA * HOLE + new, BETA, 1, u - i, change, 2, u),
        joined(BETA * first + BETA * HOLE, BETA ** (u + 1 - i) * change, 2, u + 1, u),
        by(HOLE * apart(1) + BETA * weighted(change, 2, u + 1), BETA**u, "power-split", x=BETA, m=1, n=u - 1),
        **recursion,
        hypothesis=Hypothesis(apart(u), "=", total(u), letter=u),
    )
    induction = by_induction(u, 1, base=base, step=step)
    first_term = BETA ** (t - 1) * apart(1)
    return _chain(
        statement,
        "the difference unrolled",
        apart(t),
        known(HOLE, total(t), "sum", u=t),
        *put_in(first_term + HOLE, BETA, 1, t - i, change, 2, t),
        sum=induction,
    )
