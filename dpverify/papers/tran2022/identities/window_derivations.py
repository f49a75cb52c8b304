"""Equation 9, the window identity, and the windows unrolled: what Lemma 17 is made of.

With T = q*N + r the window that ends after k + 1 whole epochs is U(k); V(k) is what the paper writes for it without the
window before, and what fresh permutations leave over, so that U(k + 1) = V(k + 1) + (1 - gamma)*U(k).
"""

from __future__ import annotations

from typing import Any

from sympy import Function, Lambda, Sum, Symbol

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.identities.sum_steps import (
    ALPHA,
    BETA,
    GAMMA,
    KEEP,
    Delta_win,
    G_win,
    N,
    T,
    anchor_before,
    anchor_grad,
    by,
    definitions,
    i,
    k,
    known,
    r,
    split,
    taken_out,
    variables,
    weighted,
)
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.induction import Hypothesis, by_induction
from dpverify.symbolic.derive.steps import Derivation, Link, Premise
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_sides
from dpverify.symbolic.expressions.whole_functions import AnyFunction

keep = Symbol("keep", real=True)
x = Function("x", real=True)


def chain(
    statement: Statement, name: str, start: Any, *steps: Link, given: Any = (), **premises: Premise
) -> Derivation:
    """A derivation in the letters of the windows."""
    ranges = {"T": integer(1, 16), "rest": integer(0, N - 1), "k": integer(0, 4), "epochs": integer(0, 4)}
    order = statement.reading.get("ordering")
    title = f"{name}, with {order} orders" if order else name
    return Derivation(title, "ours", variables(statement, **ranges), (ALPHA <= 1, *given), start, steps, premises)


def latest(statement: Statement) -> Derivation:
    """Equation 9: the latest window, and all before it."""
    term = anchor_grad(i)
    window = weighted(term, T - N + 1, T)
    return chain(
        statement,
        "equation 9",
        G_win(1, T),
        known(HOLE, weighted(term, 1, T), "G_win", first=1, last=T),
        split(HOLE, BETA ** (T - i) * term, 1, T, T - N),
        *taken_out(HOLE + window, BETA, N, T - N - i, term, 1, T - N),
        known(BETA**N * HOLE + window, G_win(1, T - N), "G_win", first=1, last=T - N),
        known(BETA**N * G_win(1, T - N) + HOLE, G_win(T - N + 1, T), "G_win", first=T - N + 1, last=T),
        given=(T >= N,),
        **definitions(statement, "G_win"),
    )


def window_before(statement: Statement) -> Derivation:
    """Delta of a window under one order of the examples: G of it, less G of the one before."""
    now = (T - N + 1, T)
    before = (T - 2 * N + 1, T - N)
    current, previous = (weighted(anchor_grad(i), *ends) for ends in (now, before))
    return chain(
        statement,
        "Delta under one order",
        Delta_win(*now),
        known(HOLE, weighted(anchor_grad(i) - anchor_before(i), *now), "Delta_win", first=T - N + 1, last=T),
        known(weighted(anchor_grad(i) - HOLE, *now), anchor_grad(i - N), "anchor_before", t=i),
        by(HOLE, current - previous),
        known(HOLE - previous, G_win(*now), "G_win", first=T - N + 1, last=T),
        known(G_win(*now) - HOLE, G_win(*before), "G_win", first=T - 2 * N + 1, last=T - N),
        given=(T >= 2 * N,),
        **definitions(statement, "Delta_win", "anchor_before", "G_win"),
    )


def window_identity(statement: Statement) -> Derivation:
    """G of a window by its Delta and the window before; under fresh orders what is left over stands there too."""
    now = G_win(T - N + 1, T)
    before = G_win(T - 2 * N + 1, T - N)
    change = Delta_win(T - N + 1, T)
    conditions = (T >= 2 * N,)
    if statement.reading["ordering"] == "fresh":
        last = sympy_sides(statement)[1]
        return chain(statement, "window identity, with what is left over", now, by(HOLE, last), given=conditions)
    return chain(
        statement,
        "window identity",
        now,
        by(HOLE, KEEP * (now - before) + GAMMA * now + KEEP * before),
        known(KEEP * HOLE + GAMMA * now + KEEP * before, change, "change"),
        given=conditions,
        change=cite(window_before(statement)),
    )


def U(epoch: Any) -> Any:  # noqa: N802 - the letter of the module's note
    """G of the window that ends r steps after so many whole epochs and one."""
    return G_win(epoch * N + r + 1, (epoch + 1) * N + r)


def V(statement: Statement, epoch: Any) -> Any:  # noqa: N802
    """What takes the place of that window."""
    change = Delta_win(epoch * N + r + 1, (epoch + 1) * N + r)
    remainder = U(epoch) - change - U(epoch - 1) if statement.reading["ordering"] == "fresh" else 0
    return KEEP * change + GAMMA * U(epoch) + KEEP * remainder


def next_sum() -> Derivation:
    """A sum of any terms x, each weighed with keep for every number that it lies back, from one end to the next."""
    new = keep**i * x(k + 1 - i)
    return Derivation(
        "a weighted sum and the next one",
        "ours",
        {"k": integer(0, 9), "keep": real(0, 1), "x": AnyFunction()},
        (),
        Sum(new, (i, 0, k)),
        (
            split(HOLE, new, 0, k, 0),
            by(HOLE, x(k + 1) + Sum(keep ** (1 + i) * x(k - i), (i, 0, k - 1))),
            *taken_out(x(k + 1) + HOLE, keep, 1, i, x(k - i), 0, k - 1),
        ),
    )


def windows_unrolled(statement: Statement) -> Derivation:
    """U(k) from the first window and what takes the place of all later ones."""

    def total(epoch: Any) -> Any:
        return KEEP**epoch * U(0) + Sum(KEEP**i * V(statement, epoch - i), (i, 0, epoch - 1))

    premises: dict[str, Premise] = {"next": cite(next_sum(), keep=KEEP, x=Lambda(i, V(statement, i)))}
    at = V(statement, k + 1)
    first = by(HOLE, at + KEEP * U(k))
    if statement.reading["ordering"] == "once":
        premises["window"] = cite(window_identity(statement), T=(k + 2) * N + r)
        first = known(HOLE, at + KEEP * U(k), "window")
    later = Sum(KEEP**i * V(statement, k - i), (i, 0, k - 1))
    step = chain(
        statement,
        "the next window",
        U(k + 1),
        first,
        known(at + KEEP * HOLE, total(k), "hypothesis"),
        by(HOLE * U(0) + at + KEEP * later, KEEP ** (k + 1), "power-split", x=KEEP, m=1, n=k),
        known(KEEP ** (k + 1) * U(0) + HOLE, Sum(KEEP**i * V(statement, k + 1 - i), (i, 0, k)), "next"),
        **premises,
        hypothesis=Hypothesis(U(k), "=", total(k), letter=k),
    )
    base = chain(statement, "the first window", U(0), by(HOLE, total(0)))
    induction = by_induction(k, 0, base=base, step=step)
    return chain(statement, "windows unrolled", U(k), known(HOLE, total(k), "sum"), sum=induction)
