"""From a Renyi divergence to (epsilon, delta): Mironov's conversion, for every event (after Theorem 10).

Of one event, P and Q being the laws of the output on two neighbouring data sets: ``chance`` is its chance under Q and
``ratio`` its chance under P over that. Where the event has the chance 0 under Q, it has so under P, for D is finite.
With R = dP/dQ, ``exp((z-1) D)`` is the mean of R^z under Q; on the event the mean of R is ``ratio``, and R^z is at
least its tangent there, ``ratio^z + z ratio^(z-1) (R - ratio)``; outside the event R^z is at least 0.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Symbol, exp, log

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.define import known_fact
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_symbols

DIVERGENCE: Final = Symbol("D", nonnegative=True)  # Renyi divergence of the whole mechanism at the order z
CHANCE, RATIO = Symbol("chance", positive=True), Symbol("ratio", nonnegative=True)
Z, EPSILON = Symbol("z", positive=True), Symbol("epsilon", positive=True)
JENSEN: Final = "divergence-of-an-event"
CONVERSION: Final = "an event"

OF_EVENT: Final[dict[str, Variable]] = {
    "z": real(1, 9, open_lo=True), "epsilon": real(0, 3, open_lo=True), "D": real(0, 9),
    "chance": real(0, 1, open_lo=True), "ratio": real(0, exp((Z - 1) * DIVERGENCE / Z)),
}  # fmt: skip


def event(statement: Statement) -> Derivation:
    """Derive ``P(S) - exp(epsilon) Q(S) <= exp((z-1)(D - epsilon))`` for an event S."""
    start = CHANCE * RATIO - exp(EPSILON) * CHANCE
    end = exp((Z - 1) * (DIVERGENCE - EPSILON))
    powers = CHANCE * RATIO * exp(-(Z - 1) * EPSILON)
    likely = (
        Step(CHANCE * RATIO, "<=", "drop-nonnegative", {"a": start, "b": exp(EPSILON) * CHANCE}),
        Step(powers * exp(EPSILON) ** (Z - 1), "="),
        Step(
            powers * RATIO ** (Z - 1), "<=", "power-monotone", {"a": exp(EPSILON), "b": RATIO, "p": Z - 1},
            context=powers * HOLE,
        ),
        Step(CHANCE * RATIO**Z * exp(-(Z - 1) * EPSILON), "="),
        Step(
            exp((Z - 1) * DIVERGENCE) * exp(-(Z - 1) * EPSILON), "<=", "premise", {}, (JENSEN,),
            context=HOLE * exp(-(Z - 1) * EPSILON),
        ),
        Step(end, "="),
    )  # fmt: skip
    unlikely = (Step(end, "<=", "order", {"a": start, "b": end}, note="not above 0"),)
    split = Cases(end, "<=", (Case(exp(EPSILON) <= RATIO, likely), Case(exp(EPSILON) >= RATIO, unlikely)))
    return Derivation(
        "an event", "ours", OF_EVENT, (Z > 1,), start, (split,),
        {JENSEN: known_fact(statement, JENSEN)}, local=("chance", "ratio", "D"),
    )  # fmt: skip


def converted(statement: Statement, z: Any, epsilon: Any) -> Premise:
    """Give what holds of an event at an order and an epsilon, from its excess ``P(S) - exp(epsilon) Q(S)`` on."""
    return cite(event(statement), z=z, epsilon=epsilon)


def sampled(z: Any, most: Any) -> dict[str, Variable]:
    """Where the divergence, up to ``most``, and the chances of an event are sampled."""
    return {
        "D": real(0, most), "chance": real(0, 1, open_lo=True), "ratio": real(0, exp((z - 1) * DIVERGENCE / z)),
    }  # fmt: skip


def derive_conversion(statement: Statement) -> Derivation:
    """Derive ``tran2022:theorem-10-rdp-to-dp``: a divergence of x gives delta at ``x + log(1/delta)/(z-1)``."""
    z, divergence, delta = (sympy_symbols(statement)[name] for name in ("z", "x", "delta"))
    given = converted(statement, z, divergence + log(1 / delta) / (z - 1))
    steps = (
        Step(given.rhs, "<=", "premise", {}, (CONVERSION,)),
        Step(
            exp(-log(1 / delta)), "<=", "order", {"a": DIVERGENCE, "b": divergence},
            context=exp((z - 1) * (HOLE - divergence - log(1 / delta) / (z - 1))),
        ),
        Step(delta, "="),
    )  # fmt: skip
    variables: dict[str, Variable] = {
        "z": real(1, 9, open_lo=True), "x": real(0, 9), "delta": real(0, 1, open_lo=True, open_hi=True),
        **sampled(z, divergence),
    }  # fmt: skip
    return Derivation(
        "the order put in", "ours", variables, (*sympy_conditions(statement), divergence >= DIVERGENCE),
        given.lhs, steps, {CONVERSION: given}, local=("D", "chance", "ratio"),
    )  # fmt: skip
