"""Check the constant c_2 of the amended Theorems 2.1 and 3.1, by the last line of the proof and by the accountant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from dpverify.harness import (
    Budget,
    Context,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    RuleCheck,
)
from dpverify.harness.sides import Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.accounting.constants import (
    PROVEN,
    Sampling,
    least_constant,
    needed,
    printed_steps,
)
from dpverify.privacy.batches import batch_delta
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("zhang2021", __name__)

PIECES = 100  # number of pieces of the range of q
WHY = (
    "these pieces cover all q in (0, 1]; T, epsilon and delta enter through the two conditions alone, by the argument "
    "at the head of zhang2021/accounting/constants.py"
)
# values of c_2 that the accountant refutes; planted faults
TOO_SMALL: dict[Sampling, Fraction] = {
    "poisson": Fraction(17, 10),
    "batches": Fraction(17, 5),
}


def _rates(budget: Budget) -> Iterator[dict[str, Fraction]]:
    yield from (
        {"from": Fraction(i, PIECES), "to": Fraction(i + 1, PIECES)}
        for i in range(PIECES)
    )


def _proved(constant: Fraction, sampling: Sampling) -> Rule:
    """Return a rule: the bound of the proof is at most the promised epsilon for every q of a piece."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        part = needed(constant, ball(point["from"]).union(ball(point["to"])), sampling)
        return Outcome(
            bool(part <= 1),
            part,
            Fraction(1),
            "bound on epsilon, as a part of what is promised",
        )

    return is_satisfied


def _settings(budget: Budget) -> Iterator[dict[str, Fraction]]:
    """Yield settings. epsilon is the largest allowed or a tenth of it, T the smallest allowed or 20 times as large."""
    rates = ["1", "1/10"]
    deltas = ["1/10", "1/10000000000"]
    if budget.name != "smoke":
        rates = [*rates, "1/2", "1/100"]
        deltas = [*deltas, "1/2", "9/10"]
    for q in map(Fraction, rates):
        for delta in map(Fraction, deltas):
            for part in map(Fraction, ("1", "1/10")):
                largest_epsilon = Fraction(-math.log(delta)) * Fraction(999_999, 10**6)
                epsilon = (part * largest_epsilon).limit_denominator(10**9)
                least = math.floor(epsilon / q**2) + 1
                for steps in (least, 20 * least):
                    yield {
                        "q": q,
                        "delta": delta,
                        "epsilon": epsilon,
                        "T": Fraction(steps),
                    }


def _enough(constant: Fraction, sampling: Sampling) -> Rule:
    """Return a rule: the accountant confirms delta at the promised epsilon, refutes it, or leaves it undecided."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        q, epsilon, delta = (float(point[name]) for name in ("q", "epsilon", "delta"))
        steps = printed_steps(
            float(constant), q, int(point["T"]), epsilon, delta, sampling
        )
        bounds = batch_delta([steps], epsilon, delta)
        answer = (
            True if bounds.upper <= delta else False if bounds.lower > delta else None
        )
        return Outcome(
            answer,
            Fraction(bounds.upper),
            point["delta"],
            "delta from above, and promised",
        )

    return is_satisfied


def _smallest_constants(
    constant: Fraction, sampling: Sampling, context: Context
) -> dict[str, dict[str, list[float]]]:
    """Return the figure: the smallest c_2 at q = 1/10 and T = 30,000, inside and outside the region of the theorem."""
    if context.budget.name == "smoke":
        return {}
    rate = 0.1
    steps = 30_000
    delta = 1e-5
    end = -math.log(delta)
    x = [0.05, 0.2, 1.0, 3.0, end, 30.0, 100.0]
    constants = [least_constant(rate, steps, epsilon, delta, sampling) for epsilon in x]
    fixed = {"at:q": [rate], "at:T": [float(steps)], "at:delta": [delta]}
    columns = {
        "low": [bounds.lower for bounds in constants],
        "high": [bounds.upper for bounds in constants],
    }
    region = {"region": [x[0], end], "proved": [float(constant)] * 2}
    return {"constants": {"x:epsilon": x, **columns, **region, **fixed}}


theorem: str
sampling: Sampling
for theorem, sampling in (("theorem-2-1", "poisson"), ("theorem-3-1", "batches")):
    proven = PROVEN[sampling]
    less = TOO_SMALL[sampling]
    CHECKS.add(
        ExhaustiveCheck(
            theorem,
            "one-constant",
            variants=("amended",),
            points=_rates,
            is_satisfied=_proved(proven, sampling),
            planted=[
                Planted(
                    "a tenth less noise",
                    is_satisfied=_proved(proven * Fraction(9, 10), sampling),
                )
            ],
            why_sufficient=WHY,
            region="all q, in a hundred pieces",
        ),
        RuleCheck(
            theorem,
            "constants",
            variants=("amended",),
            points=_settings,
            is_satisfied=_enough(proven, sampling),
            seconds=1.0,
            figures=partial(_smallest_constants, proven, sampling)
            if sampling == "poisson"
            else None,
            planted=[Planted(f"c_2 = {less}", is_satisfied=_enough(less, sampling))],
            region="q from 1/10 to 1, delta 1/10 and 1e-10; at larger budgets q from 1/100 and delta to 9/10",
            leaves_out="floats, with a bound of their rounding",
        ),
    )
