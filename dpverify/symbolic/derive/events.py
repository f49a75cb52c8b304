"""From a Renyi divergence to (epsilon, delta): Mironov's conversion, for every event.

Of one event, P and Q being the laws of the output on two neighbouring data sets: ``chance`` is its chance under Q and
``ratio`` its chance under P over that. Where the event has the chance 0 under Q, it has so under P, for D is finite.
With R = dP/dQ, ``exp((z-1) D)`` is the mean of R^z under Q; on the event the mean of R is ``ratio``, and R^z is at
least its tangent there, ``ratio^z + z ratio^(z-1) (R - ratio)``; outside the event R^z is at least 0.

The paper's records have the fact `JENSEN`, and the definition of delta by ``chance`` and ``ratio``.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sympy import Symbol, exp, log

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.define import known_fact
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_symbols

DIVERGENCE: Final = Symbol("D", nonnegative=True)  # Renyi divergence of the whole mechanism at its order
CHANCE: Final = Symbol("chance", positive=True)
EPSILON: Final = Symbol("epsilon", positive=True)
JENSEN: Final = "divergence-of-an-event"
CONVERSION: Final = "an event"


class EventLetters(NamedTuple):
    """What a paper's records call the order z, the bound x on the divergence, and an event's chance under P over Q."""

    order: str = "z"
    most: str = "x"
    ratio: str = "ratio"


PLAIN: Final = EventLetters()


def event(statement: Statement, letters: EventLetters = PLAIN) -> Derivation:
    """Derive ``P(S) - exp(epsilon) Q(S) <= exp((z-1)(D - epsilon))`` for an event S."""
    z = Symbol(letters.order, positive=True)
    ratio = Symbol(letters.ratio, nonnegative=True)
    start = CHANCE * ratio - exp(EPSILON) * CHANCE
    end = exp((z - 1) * (DIVERGENCE - EPSILON))
    powers = CHANCE * ratio * exp(-(z - 1) * EPSILON)
    likely = (
        Step(CHANCE * ratio, "<=", "drop-nonnegative", {"a": start, "b": exp(EPSILON) * CHANCE}),
        Step(powers * exp(EPSILON) ** (z - 1), "="),
        Step(
            powers * ratio ** (z - 1),
            "<=",
            "power-monotone",
            {"a": exp(EPSILON), "b": ratio, "p": z - 1},
            context=powers * HOLE,
        ),
        Step(CHANCE * ratio**z * exp(-(z - 1) * EPSILON), "="),
        Step(
            exp((z - 1) * DIVERGENCE) * exp(-(z - 1) * EPSILON),
            "<=",
            "premise",
            {},
            (JENSEN,),
            context=HOLE * exp(-(z - 1) * EPSILON),
        ),
        Step(end, "="),
    )
    unlikely = (Step(end, "<=", "order", {"a": start, "b": end}, note="not above 0"),)
    split = Cases(end, "<=", (Case(exp(EPSILON) <= ratio, likely), Case(exp(EPSILON) >= ratio, unlikely)))
    variables: dict[str, Variable] = {
        letters.order: real(1, 9, open_lo=True),
        "epsilon": real(0, 3, open_lo=True),
        "D": real(0, 9),
        "chance": real(0, 1, open_lo=True),
        letters.ratio: real(0, exp((z - 1) * DIVERGENCE / z)),
    }
    return Derivation(
        "an event",
        "ours",
        variables,
        (z > 1,),
        start,
        (split,),
        {JENSEN: known_fact(statement, JENSEN)},
        local=("chance", letters.ratio, "D"),
    )


def converted(statement: Statement, z: Any, epsilon: Any, letters: EventLetters = PLAIN) -> Premise:
    """Give what holds of an event at an order and an epsilon, from its excess ``P(S) - exp(epsilon) Q(S)`` on."""
    return cite(event(statement, letters), **{letters.order: z, "epsilon": epsilon})


def sampled(z: Any, bound: Any, letters: EventLetters = PLAIN) -> dict[str, Variable]:
    """Where the divergence, up to ``bound``, and the chances of an event are sampled."""
    return {
        "D": real(0, bound),
        "chance": real(0, 1, open_lo=True),
        letters.ratio: real(0, exp((z - 1) * DIVERGENCE / z)),
    }


def derive_conversion(statement: Statement, letters: EventLetters = PLAIN) -> Derivation:
    """Derive that a divergence of at most x at an order z gives delta at ``x + log(1/delta)/(z-1)``."""
    z, divergence, delta = (sympy_symbols(statement)[name] for name in (letters.order, letters.most, "delta"))
    conversion = converted(statement, z, divergence + log(1 / delta) / (z - 1), letters)
    steps = (
        Step(conversion.rhs, "<=", "premise", {}, (CONVERSION,)),
        Step(
            exp(-log(1 / delta)),
            "<=",
            "order",
            {"a": DIVERGENCE, "b": divergence},
            context=exp((z - 1) * (HOLE - divergence - log(1 / delta) / (z - 1))),
        ),
        Step(delta, "="),
    )
    variables: dict[str, Variable] = {
        letters.order: real(1, 9, open_lo=True),
        letters.most: real(0, 9),
        "delta": real(0, 1, open_lo=True, open_hi=True),
        **sampled(z, divergence, letters),
    }
    return Derivation(
        "the order put in",
        "ours",
        variables,
        (*sympy_conditions(statement), divergence >= DIVERGENCE),
        conversion.lhs,
        steps,
        {CONVERSION: conversion},
        local=("D", "chance", letters.ratio),
    )
