"""Lemma 17, equations 3 and 8, and the steps of the lemma's proof, for T = q*N + r and all q at once.

The induction over q has two sums: one over whole windows, whose weights are the convolution of the powers of
(1 - alpha)**N and 1 - gamma, and inside each window the one that the window identity unrolls to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Function, Lambda, Sum, Symbol

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.identities.sum_steps import (
    ALPHA,
    BETA,
    KEEP,
    G_win,
    N,
    T,
    by,
    i,
    j,
    known,
    q,
    r,
    split,
)
from dpverify.papers.tran2022.identities.window_derivations import (
    U,
    V,
    chain,
    keep,
    latest,
    window_identity,
    windows_unrolled,
)
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.divided import divided
from dpverify.symbolic.derive.induction import Hypothesis, by_induction
from dpverify.symbolic.derive.steps import Case, Cases, Derivation, Division, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols
from dpverify.symbolic.expressions.whole_functions import AnyFunction
from dpverify.symbolic.rules.sequences import convolution

block = Symbol("block", real=True)
x = Function("x", real=True)


def _weight(count: Any) -> Any:
    return convolution(block, keep, count, j)


def next_windows() -> Derivation:
    """A sum of any terms x over the windows, each with its weight, from one number of windows to the next."""
    return Derivation(
        "the windows' weights",
        "ours",
        {"epochs": integer(0, 9), "block": real(0, 1), "keep": real(0, 1), "x": AnyFunction()},
        (),
        Sum(_weight(i) * x(q + 1 - i), (i, 0, q)),
        (
            split(HOLE, _weight(i) * x(q + 1 - i), 0, q, 0),
            by(HOLE, Sum(_weight(i + 1) * x(q - i), (i, 0, q - 1))),
            by(
                Sum(HOLE * x(q - i), (i, 0, q - 1)),
                block * _weight(i) + keep**i,
                "convolution-next",
                u=block,
                v=keep,
                m=i,
            ),
            by(HOLE, block * Sum(_weight(i) * x(q - i), (i, 0, q - 1)) + Sum(keep**i * x(q - i), (i, 0, q - 1))),
        ),
    )


def lemma_17(statement: Statement) -> Derivation:
    """The lemma with all its windows, from the first step on."""
    power = BETA**N

    def weight(count: Any) -> Any:
        return convolution(power, KEEP, count, j)

    def windows(whole: Any) -> Any:
        return Sum(weight(i) * V(statement, whole - i), (i, 0, whole - 1))

    def total(whole: Any) -> Any:
        return BETA ** (N * whole) * G_win(1, r) + weight(whole) * U(0) + windows(whole)

    later = Sum(KEEP**i * V(statement, q - i), (i, 0, q - 1))
    first = BETA ** (N * (q + 1)) * G_win(1, r)
    base = chain(statement, "no whole epoch", G_win(1, r), by(HOLE, total(0)))
    step = chain(
        statement,
        "one epoch more",
        G_win(1, (q + 1) * N + r),
        known(HOLE, power * G_win(1, q * N + r) + U(q), "latest"),
        known(power * HOLE + U(q), total(q), "hypothesis"),
        known(power * total(q) + HOLE, KEEP**q * U(0) + later, "unrolled"),
        by(
            HOLE * G_win(1, r) + (power * weight(q) + KEEP**q) * U(0) + power * windows(q) + later,
            BETA ** (N * (q + 1)),
            "power-split",
            x=BETA,
            m=N,
            n=N * q,
        ),
        by(first + HOLE * U(0) + power * windows(q) + later, weight(q + 1), "convolution-next", u=power, v=KEEP, m=q),
        known(first + weight(q + 1) * U(0) + HOLE, windows(q + 1), "next"),
        latest=cite(latest(statement), T=(q + 1) * N + r),
        unrolled=cite(windows_unrolled(statement), k=q),
        next=cite(next_windows(), block=power, keep=KEEP, x=Lambda(i, V(statement, i))),
        hypothesis=Hypothesis(G_win(1, q * N + r), "=", total(q), letter=q),
    )
    induction = by_induction(q, 0, base=base, step=step)
    return chain(statement, "Lemma 17", G_win(1, q * N + r), known(HOLE, total(q), "sum"), sum=induction)


def _printed(statement: Statement, letter: str, least: int = 0) -> tuple[Division, Any, Any]:
    """The letter as q*N + r, and both sides with that in its place."""
    division = Division(letter, "N", q.name, r.name, least=least)
    ours = {symbol.name: symbol for symbol in (q, r)}
    left, right = (
        side.xreplace({s: ours[s.name] for s in side.free_symbols if s.name in ours})
        for side in sympy_sides(divided(statement, division))
    )
    return division, left, right


def with_first_apart(statement: Statement) -> Derivation:
    """The lemma with the sums as they are printed: from i = 1 on, and the weights in the other order."""
    power = BETA**N

    def windows(weight: Any, begin: int) -> Any:
        return Sum(weight * V(statement, q - i), (i, begin, q - 1))

    ours = convolution(power, KEEP, i, j)
    theirs = convolution(KEEP, power, i, j)
    first = BETA ** (N * q) * G_win(1, r) + convolution(power, KEEP, q, j) * U(0)
    body = Lambda(i, theirs * V(statement, q - i))
    ranges = {"f": body, "hi": q - 1}
    nonempty = by(first + HOLE, Sum(body(i), (i, 0, 0)) + windows(theirs, 1), "sum-split", lo=0, m=0, **ranges)
    none = (
        by(first + HOLE, 0, "empty-sum", lo=0, **ranges),
        by(first + HOLE, windows(theirs, 1), "empty-sum", lo=1, **ranges),
    )
    last = first + windows(theirs, 1)
    return chain(
        statement,
        "Lemma 17 from i = 1 on",
        G_win(1, q * N + r),
        known(HOLE, first + windows(ours, 0), "lemma 17"),
        by(
            first + Sum(HOLE * V(statement, q - i), (i, 0, q - 1)),
            theirs,
            "sum-reverse",
            f=Lambda(j, power**j * KEEP ** (i - 1 - j)),
            lo=0,
            hi=i - 1,
        ),
        Cases(last, "=", (Case(q >= 1, (nonempty, by(HOLE, last))), Case(q <= 0, none))),
        **{"lemma 17": cite(lemma_17(statement))},
    )


def as_printed(statement: Statement) -> Derivation:
    """Lemma 17, its last line, and equations 3 and 8, which has the factor alpha."""
    least = 1 if statement.key.endswith("last-line") else 0
    division, left, right = _printed(statement, "t" if "t" in statement.domains else "T", least)
    factor = ALPHA if left.has(ALPHA) else 1
    lemma = cite(with_first_apart(statement))
    proof = chain(
        statement,
        "Lemma 17 as printed",
        left,
        known(factor * HOLE, lemma.rhs, "lemma 17"),
        by(HOLE, right),
        **{"lemma 17": lemma},
    )
    return replace(proof, division=division)


def two_epochs(statement: Statement) -> Derivation:
    """``tran2022:lemma-17-q2``: equation 9 twice, and the window identity."""
    now = G_win(T - N + 1, T)
    before = G_win(T - 2 * N + 1, T - N)
    first = G_win(1, T - 2 * N)
    right = sympy_sides(statement)[1]
    power = BETA**N
    premises: dict[str, Premise] = {"latest": cite(latest(statement)), "before": cite(latest(statement), T=T - N)}
    steps: list[Step] = []
    if statement.reading["ordering"] == "once":
        identity = cite(window_identity(statement))
        premises["window"] = identity
        steps.append(known(BETA ** (2 * N) * first + power * before + HOLE, identity.rhs, "window"))
    return chain(
        statement,
        "two whole epochs",
        G_win(1, T),
        known(HOLE, power * G_win(1, T - N) + now, "latest"),
        known(power * HOLE + now, power * first + before, "before"),
        by(HOLE * first + power * before + now, BETA ** (2 * N), "power-split", x=BETA, m=N, n=N),
        *steps,
        by(HOLE, right),
        given=(T >= 2 * N,),
        **premises,
    )


def _ending(right: Any) -> tuple[Step, ...]:
    """Write what the windows come to as it is printed; what fresh orders leave over has one power of 1 - gamma more."""
    power = KEEP ** (j + 1)
    if not right.has(power):
        return (by(HOLE, right),)
    factored = by(HOLE, right.xreplace({power: KEEP * KEEP**j}))
    return factored, by(right.xreplace({power: HOLE}), power, "power-split", x=KEEP, m=1, n=j)


def unrolled(statement: Statement) -> Derivation:
    """``tran2022:lemma-17-unrolled``: the window that lies so many windows back."""
    window = sympy_symbols(statement)["window"]
    series = cite(windows_unrolled(statement), k=q - window)
    division, left, right = _printed(statement, "T", 1)
    proof = chain(
        statement,
        "windows unrolled, as printed",
        left,
        known(HOLE, series.rhs, "unrolled"),
        *_ending(right),
        given=(window <= q,),
        unrolled=series,
    )
    return replace(proof, division=division, variables={**proof.variables, "window": integer(1, 4)})


def one_step(statement: Statement) -> Derivation:
    """``tran2022:lemma-17-step``: equation 9, and the latest window unrolled."""
    division, left, right = _printed(statement, "T", 1)
    before = BETA**N * G_win(1, (q - 1) * N + r)
    series = cite(windows_unrolled(statement), k=q - 1)
    proof = chain(
        statement,
        "one step of the lemma",
        left,
        known(HOLE, before + U(q - 1), "latest"),
        known(before + HOLE, series.rhs, "unrolled"),
        *_ending(right),
        given=(q >= 1,),
        latest=cite(latest(statement), T=q * N + r),
        unrolled=series,
    )
    return replace(proof, division=division)


def hypothesis(statement: Statement) -> Derivation:
    """``tran2022:lemma-17-hypothesis`` as amended: the lemma for one epoch less."""
    division, left, right = _printed(statement, "T", 2)
    lemma = cite(with_first_apart(statement), **{q.name: q - 1})
    proof = chain(
        statement,
        "the lemma for one epoch less",
        left,
        known(HOLE, lemma.rhs, "lemma 17"),
        by(HOLE, right),
        given=(q >= 2,),
        **{"lemma 17": lemma},
    )
    return replace(proof, division=division)
