"""Theorems 6 and 9 under one permutation: what smoothness and the length of the steps give, and nothing else.

Lemma 11 is false there, so that nothing is known of the direction of the steps. But T steps of length eta reach only so
far: ``|grad F(w_t)| <= |grad F(w_1)| + L eta (t-1)``, and ``|grad F(w_1)|^2 <= 2 L R``. Letters: ``gradient``, the
expected norm at the output; ``first``, ``|grad F(w_1)|^2``; ``lower``, how far F(w_1 - grad F(w_1)/L) is above inf F.
"""

from __future__ import annotations

from typing import Final

from sympy import Sum, Symbol, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.step_derivations import ranges
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_definitions, sympy_sides

GRADIENT, FIRST, LOWER, L, R = (Symbol(name, nonnegative=True) for name in ("gradient", "first", "lower", "L", "R"))
ETA, T = Symbol("eta", positive=True), Symbol("T", integer=True, positive=True)
t, i = (Symbol(name, integer=True) for name in ("t", "i"))
SMOOTH: Final = "steps of length eta on an L-smooth loss"
PLAIN_STEP: Final = "one plain step of length |grad F(w_1)|/L on an L-smooth loss; for L = 0 the gradient is 0"


def first_gradient() -> Derivation:
    """Derive ``|grad F(w_1)|^2 <= 2 L R``: a plain step of length |grad F|/L cannot fall below inf F."""
    above = 2 * L * (R - LOWER)
    steps = (
        Step(above, "<=", "premise", {}, (PLAIN_STEP,)),
        Step(2 * L * R, "<=", "order", {"a": R - LOWER, "b": R}, context=2 * L * HOLE),
    )
    variables = {"L": real(0, 3), "R": real(0, 9), "first": real(0, 0), "lower": real(0, R)}
    return Derivation(
        "the first gradient", "ours", variables, (LOWER <= R,), FIRST, steps,
        {PLAIN_STEP: Premise(FIRST, "<=", above)}, local=("first", "lower"),
    )  # fmt: skip


def walk() -> Derivation:
    """Derive what T steps of length eta leave of the mean gradient: ``sqrt(2 L R) + L eta (T-1)/2`` at most."""
    every = Sum(sqrt(FIRST) + L * ETA * (t - 1), (t, 1, T)) / T
    way = L * ETA * (T - 1) / 2
    gap = cite(first_gradient(), FIRST)
    steps = (
        Step(every, "<=", "premise", {}, (SMOOTH,), note="the output is uniform over the iterates"),
        Step(sqrt(FIRST) + L * ETA * Sum(i, (i, 0, T - 1)) / T, "="),
        Step(
            sqrt(FIRST) + L * ETA * ((T - 1) * T / 2) / T, "=", "sum-integers", {"m": T - 1},
            context=sqrt(FIRST) + L * ETA * HOLE / T,
        ),
        Step(sqrt(gap.rhs) + way, "<=", "premise", {}, ("the first gradient",), context=sqrt(HOLE) + way),
    )  # fmt: skip
    variables = {
        "L": real(0, 3), "R": real(0, 9), "eta": real(0, 2, open_lo=True), "T": integer(1, 400),
        "gradient": real(0, 0), "first": real(0, 0),
    }  # fmt: skip
    return Derivation(
        "the way that steps can go", "ours", variables, (), GRADIENT, steps,
        {SMOOTH: Premise(GRADIENT, "<=", every), "the first gradient": gap}, local=("gradient", "first"),
    )  # fmt: skip


def theorem(statement: Statement) -> Derivation:
    """Derive what is left of Theorem 6 or 9 under one permutation: a bound in N, T, L and R."""
    full = sympy_definitions(statement)
    reached = cite(walk(), GRADIENT, **{name: full[name] for name in ("L", "R", "T", "eta")})
    _, printed = sympy_sides(statement)
    steps = (Step(reached.rhs, "<=", "premise", {}, ("the way",)), Step(printed, "="))
    return Derivation(
        "the way, at the theorem's eta", "ours", {**ranges(statement), "gradient": real(0, 0)},
        sympy_conditions(statement), GRADIENT, steps, {"the way": reached}, local=("gradient",),
    )  # fmt: skip
