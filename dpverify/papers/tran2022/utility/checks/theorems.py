"""Check Theorems 6 and 9: counterexamples for every noise and order, derivations of the corrections, vacuity.

The counterexamples are runs on slopes that end in a plain or a valley.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from flint import arb

from dpverify.harness import (
    ExhaustiveCheck,
    PaperChecks,
    Point,
    Property,
    SearchCheck,
    TrueNeighbour,
    Vacuity,
)
from dpverify.harness.admissible import LineLoss, Witness, witness_properties
from dpverify.harness.cited_check import CitedDerivationCheck
from dpverify.harness.derivation_check import from_lemma
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.theorem_bounds import (
    coupling_bound,
    implicit_steps,
    largest_integer,
    least_spread,
    printed_steps,
    travel_bound,
)
from dpverify.symbolic.exact.evaluate import definitions
from dpverify.symbolic.exact.numbers import Exact, to_ball, to_value

ZERO = Fraction(0)
ALMOST = 1 - Fraction(1, 10**9)  # Factor by which the steepest slope is rounded down


def slope_of(point: Point) -> Witness:
    """Return the losses of ``problems.worst_slope`` from their parameters, which are part of a counterexample."""
    start = point["slope"]
    end = -point["rise"]
    fall = -point["fall"]
    low = fall - (start - end) / point["bend"]
    offset = point["apart"]
    examples = int(point["N"])
    pairs = examples // 2
    up, down, plain = (
        LineLoss(((low, end + a), (fall, start + a))) for a in (offset, -offset, ZERO)
    )
    return Witness(
        {up: pairs, down: pairs, plain: examples % 2} if offset else {plain: examples}
    )


def steepest_slope(point: Point) -> Witness:
    """Return the steepest slope, of gap R and with a plain at its end, that T - 1 steps of 1/sqrt(N T) cannot leave."""
    n = int(point["N"])
    steps = int(point["T"])
    path_length = (arb(steps - 1) / (arb(n) * steps).sqrt()).upper()
    steepest = travel_bound(point["G"], point["L"], point["R"], path_length)
    slope = Fraction(float(steepest.lower())) * ALMOST
    fall = Fraction(float(path_length)) / ALMOST
    return slope_of(
        {
            "N": point["N"],
            "slope": slope,
            "fall": fall,
            "bend": point["L"],
            "rise": ZERO,
            "apart": ZERO,
        }
    )


ALGORITHMS = {
    "update-of-algorithm-1": Property(
        "the losses are run by Algorithm 1 with the theorem's parameters"
    ),
    "update-of-algorithm-2": Property(
        "the losses are run by Algorithm 2 with the theorem's parameters"
    ),
    "uniform-output-iterate": Property(
        "the mean over all iterates is the mean over a uniform choice of one"
    ),
}
MEASURED = {**witness_properties(slope_of, "the slope that is run"), **ALGORITHMS}
BOUNDED = {
    **witness_properties(steepest_slope, "the steepest slope that no run can leave"),
    **ALGORITHMS,
}


CHECKS = PaperChecks("tran2022", __name__, BOUNDED)


def _travel(point: Point, statement: Statement) -> Exact:
    """Return the gradient on the ramp that T - 1 steps cannot leave."""
    n = int(point["N"])
    steps = int(point["T"])
    distance = (steps - 1) / (arb(n) * steps).sqrt()
    return travel_bound(point["G"], point["L"], point["R"], distance)


def _travel_or_noise(point: Point, statement: Statement) -> Exact:
    """Return the larger gradient of the ramp and, in one dimension, of the walk whose direction the noise decides."""
    least = _travel(point, statement)
    n = int(point["N"])
    steps = int(point["T"])
    if point["d"] != 1 or n < 2 or steps < 4 * n:
        return least
    sigma = to_ball(to_value(definitions(statement, point)["sigma"]))
    spread = least_spread(n, steps, point["G"], sigma)
    eta = 1 / (arb(n) * steps).sqrt()
    return to_ball(to_value(least)).max(
        coupling_bound(point["G"], point["L"], point["R"], steps, eta, spread)
    )


def _ramp(n: int, steps: int, delta: str, lipschitz: int | str = 1) -> dict[str, Any]:
    """Return a run whose steps reach a distance of sqrt(T/N), with L the slope over that distance, and the least R."""
    slope = Fraction(lipschitz)
    path_length = Fraction(steps, n)
    root = Fraction(
        largest_integer(lambda k: Fraction(k, 100) ** 2 < path_length) + 1, 100
    )  # rounded up to a hundredth
    smooth = slope / root
    gap = slope * root + slope**2 / (2 * smooth)
    return {
        "N": n,
        "T": steps,
        "d": 1,
        "delta": delta,
        "G": slope,
        "L": smooth,
        "R": gap,
    }


RAMPS: list[dict[str, Any]] = [
    {"N": 121, "T": 3712256, "d": 3, "delta": "1/2", "G": 1, "L": 1, "R": 176},
    _ramp(1000, 10**6, "1/1000000"),
    {**_ramp(100000, 10**8, "1/1000000"), "d": 3},
    {**_ramp(100000, 10**9, "1/10", 10), "d": 3},
]
"""The last run is away from every boundary."""

NOISY: list[dict[str, Any]] = [
    {
        "N": 10**n,
        "T": 10**t,
        "d": 1,
        "delta": 1 - Fraction(1, p),
        "G": 1,
        "L": Fraction(L),
        "R": Fraction(R),
    }
    for n, t, p, L, R in (
        (17, 21, 10**10, "15e-8", "39e-7"),
        (21, 26, 5 * 10**11, "143e-11", "228e-9"),
    )
]
"""delta is so near 1 that K is tiny. The noise still exceeds the slope, and the bound is below a third of the slope."""


def _grid(first: int, last: int, of: str) -> Iterable[dict[str, Any]]:
    """Yield runs at epsilon = 1, delta = 10^-6, G = L = R = 1, with the printed T."""
    epsilon = Fraction(1)
    delta = Fraction(1, 10**6)
    for power in range(first, last + 1):
        n = 10**power
        for d in (1, 100):
            steps = (
                implicit_steps(n, d, epsilon, delta)
                if of == "theorem-6"
                else printed_steps(n, d, epsilon)
            )
            yield {"N": n, "T": steps, "d": d, "delta": delta, "G": 1, "L": 1, "R": 1}


def _trivial(point: Point, statement: Statement) -> Fraction:
    return point["G"]


ONE_PROBLEM = "one problem; the left side is a lower bound on the expected gradient"

CHECKS.add(
    ExhaustiveCheck(
        "theorem-6",
        "ramps",
        points=lambda _: RAMPS,
        lhs=_travel,
        neighbours=[TrueNeighbour("three times the printed side", rhs="3*printed")],
        leaves_out=ONE_PROBLEM,
    ),
    SearchCheck(
        "theorem-6",
        "search",
        lhs=_travel,
        corners=RAMPS,
        readings={"ordering": "fresh", "depth": "levels"},
        vacuity=Vacuity(_trivial, "N", list(_grid(3, 12, "theorem-6"))),
        leaves_out=ONE_PROBLEM,
        seconds_each=0.005,
    ),
    ExhaustiveCheck(
        "theorem-9",
        "ramps-and-noise",
        points=lambda _: (*NOISY, *RAMPS),
        lhs=_travel_or_noise,
        leaves_out=ONE_PROBLEM,
    ),
    SearchCheck(
        "theorem-9",
        "search",
        lhs=_travel_or_noise,
        corners=[*RAMPS, *NOISY],
        readings={"ordering": "fresh"},
        vacuity=Vacuity(_trivial, "N", list(_grid(2, 20, "theorem-9"))),
        leaves_out=ONE_PROBLEM,
        seconds_each=0.01,
    ),
)


FRESH = {"ordering": "fresh"}
AMENDED = ("amended",)

UNCITED = {
    "one-step": "one-step-of-the-estimate",
    "one-square": "one-square-of-the-estimate",
    "root": "root-of-three-parts",
    "later-windows": "weights-of-later-windows",
    "rate-of-later-windows": "rate-of-later-windows",
}
"""Lemmas behind the premise of Theorem 9 about the mean of the estimate over the run. Its proof does not cite them."""


CHECKS.add(
    *(
        CitedDerivationCheck(
            "theorem-9",
            f"premise-{name}",
            build=from_lemma(lemma),
            readings=FRESH,
            variants=AMENDED,
        )
        for name, lemma in UNCITED.items()
    ),
)
