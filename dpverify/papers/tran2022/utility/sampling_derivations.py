"""Theorem 9's sampling part under fresh permutations, from parts (b) and (c) of the corrected Lemma 17.

alpha = 1/N, gamma = sqrt(N/T), and the gradients change by at most eta N L = gamma L from anchor to anchor. Letters:
``own`` and ``moved``, means over t = 1 .. T of the root mean squares of the two parts of m_hat_t minus full gradients;
``sampling``, the mean of the expected length of their sum.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Rational, Symbol, sqrt

from dpverify.papers.tran2022.reorder import reorder_lemma_derivations as lemma
from dpverify.papers.tran2022.reorder.reorder_mean_derivations import run_mean
from dpverify.papers.tran2022.reorder.reorder_rates_derivations import N
from dpverify.papers.tran2022.utility.premises_derivations import RANGES, SAMPLING, G, L, T
from dpverify.symbolic.derive.cited import Cited, cite
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, integer, real

OWN, MOVED = (Symbol(name, nonnegative=True) for name in ("own", "moved"))
RHO: Final = sqrt(N / T)
FOURTH: Final = Rational(1, 4)
PARTS: Final = "Jensen and Minkowski at every step"


def _root(square: Cited, letter: Any) -> Cited:
    """The root of a mean square at every step, in the mean."""
    return Cited(letter, "<=", sqrt(square.rhs), square.conditions, square.derivation)


def sampling() -> Derivation:
    """Derive ``(7/2 G + 11/10 L) sqrt(rho/N)``: part (b) for rho at least (4/9)^2, part (c) for rho at most that."""
    where = {"alpha": 1 / N, "gamma": RHO}
    at_most = _root(cite(lemma.estimate(), **where, length=G), OWN)
    in_mean = cite(run_mean(), OWN, **where, length=G)
    changes = _root(cite(lemma.change(), **where, length=RHO * L), MOVED)
    quarter, edge = (N / T) ** FOURTH, Rational(4, 9)
    of_change = Rational(11, 10) * L * quarter / sqrt(N)
    goal = Rational(7, 2) * G * quarter / sqrt(N)
    part = G / sqrt(N)
    less, more = Rational(3, 2), Rational(9, 2)
    long = (
        Step(less * part + of_change, "<=", "premise", {}, ("part (b)",), context=HOLE + of_change),
        Step(
            less / edge * quarter * part + of_change, "<=", "power-monotone", {"a": edge**4, "b": N / T, "p": FOURTH},
            context=less / edge * HOLE * part + of_change,
        ),
        Step(goal + of_change, "<=", "order", {"a": less / edge, "b": Rational(7, 2)},
             context=HOLE * quarter * part + of_change),
    )  # fmt: skip
    short = (
        Step(
            (less * quarter + more * quarter**2) * part + of_change, "<=", "premise", {}, ("part (c)",),
            context=HOLE + of_change,
        ),
        Step(
            (less * quarter + more * quarter * edge) * part + of_change, "<=", "power-monotone",
            {"a": N / T, "b": edge**4, "p": FOURTH},
            context=(less * quarter + more * quarter * HOLE) * part + of_change,
        ),
        Step(goal + of_change, "="),
    )  # fmt: skip
    bound = goal + of_change
    steps = (
        Step(OWN + MOVED, "<=", "premise", {}, (PARTS,)),
        Step(OWN + of_change, "<=", "premise", {}, ("the change",), context=OWN + HOLE),
        Cases(bound, "<=", (Case(edge**4 * T <= N, long), Case(edge**4 * T >= N, short))),
    )
    variables: dict[str, Variable] = {
        **{key: RANGES[key] for key in ("G", "L")}, "N": integer(2, 60), "T": integer(4 * N, 3000),
        "own": real(0, 0), "moved": real(0, 0), "sampling": real(0, 0),
    }  # fmt: skip
    premises = {
        PARTS: Premise(SAMPLING, "<=", OWN + MOVED),
        "part (b)": at_most,
        "part (c)": in_mean,
        "the change": changes,
    }
    return Derivation(
        "sampling of Algorithm 2, fresh permutations", "ours", variables, (N >= 2, T >= 4 * N, RHO < 1), SAMPLING,
        steps, premises, local=("own", "moved", "sampling"),
    )  # fmt: skip
