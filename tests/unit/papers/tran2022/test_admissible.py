"""Counterexamples that violate one property each are refused, by the properties that the checks themselves declare."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

import numpy as np

from dpverify.harness import Point
from dpverify.harness.admissible import Witness, witness_properties
from dpverify.harness.checks import as_point
from dpverify.papers import load
from dpverify.papers.tran2022.algorithms.momentum_errors import LossWithMemory
from dpverify.papers.tran2022.momentum.checks.momentum_error import (
    error_losses,
    lag_losses,
    same,
    two,
)
from dpverify.papers.tran2022.sensitivity.checks.witnesses import bent, opposed, turning
from dpverify.papers.tran2022.utility.checks.simulation import (
    BOX,
    FAMILY_6,
    FAMILY_9,
    LONG_RAMP,
    RAMP,
)
from dpverify.papers.tran2022.utility.checks.simulation_cases import SlopeCase
from dpverify.papers.tran2022.utility.checks.steps import parabola
from dpverify.papers.tran2022.utility.checks.theorems import (
    MEASURED,
    slope_of,
    steepest_slope,
)
from tests.for_each import for_each

Values = Mapping[str, int | str]
CHECKS = load("tran2022")

NODE: Values = {"N": 5, "alpha": "1/5", "G": 1, "node_start": 9, "node_end": 16}
TURN: Values = {"N": 4, "alpha": "1/4", "L": 3, "eta": "1/8", "a": 9, "b": 16}
BENT: Values = {
    "T": 2,
    "N": 2,
    "alpha": "1/2",
    "L": 14,
    "G": 10**6,
    "eta": "1/10",
    "sigma": 1,
    "z": 2,
}
RATE: Values = {
    "T": 2,
    "N": 2,
    "d": 1,
    "L": 1400,
    "G": 10**6,
    "R": 1000,
    "epsilon": "1/2",
    "delta": "1/100000",
}
MEMORY: Values = {
    "N": 128,
    "T": 512000,
    "t": 512000,
    "alpha": "3/100",
    "eta": "1/2000",
    "G": "0.9948",
    "L": "1.4001",
}
SLOPE: Values = {
    "N": 1,
    "T": 16,
    "t": 16,
    "alpha": "1/4",
    "eta": "1/16",
    "G": 1,
    "L": 1,
}
RAMPS: Values = {
    "N": 121,
    "T": 3712256,
    "d": 3,
    "delta": "1/2",
    "G": 1,
    "L": 1,
    "R": 176,
}
TWO: Values = {
    "N": 2,
    "T": 4,
    "t": 4,
    "d": 1,
    "G": 1,
    "L": 1,
    "alpha": 1,
    "eta": "1/4",
    "epsilon": 1,
    "delta": "1/3",
}
ANCHOR: Values = {
    "N": 3,
    "T": 12,
    "t": 9,
    "alpha": "1/3",
    "eta": "1/12",
    "gamma": "1/1000",
    "epsilon": 1,
    "delta": "1/9",
}
PATH: Values = {
    "N": 1000,
    "t": 2**24,
    "eta": f"1/{2**24}",
    "epsilon": 1,
    "delta": "1/1000000",
}
TREE: Values = {"constant": 7, "t": 2, "epsilon": 32, "delta": "1/10", "G": 1}
WALK: Values = {"N": 3, "T": 2**20, "delta": "1/1000000"}
CLAIM_OF: dict[str, tuple[str, str]] = {
    "node": ("theorem-4-sensitivity", "replay"),
    "turn": ("theorem-8-sensitivity-delta", "all-patterns"),
    "bent": ("theorem-8", "smoothness"),
    "rate": ("abstract-rate", "privacy"),
    "memory": ("lemma-11", "memory"),
    "two": ("lemma-7", "two-examples"),
    "anchor": ("section-4-noise-two-cases", "one-release"),
    "path": ("section-4-full-batch-error", "long-runs"),
    "tree": ("section-2-tree-private", "constants"),
    "walk": ("section-1-rate", "uphill"),
    "ridges": ("lemma-11-sampling", "ridges"),
    "floats": ("algorithm-1-floats", "lowest-bit"),
    "rate-6": ("theorem-6-rate", "exponents"),
    "rate-9": ("theorem-9-rate", "exponents"),
    "time": ("section-5-first-run-time", "orders-rrsgd"),
    "windows": ("algorithm-4-loop", "windows"),
    "names": ("algorithm-5-index", "names"),
    "queries": ("theorem-10-dp-intermediate", "search"),
}
GROWTH: Values = {"log_N": 1, "log_d": 1, "log_epsilon": 0}
EXPONENTS: Values = {"exponent_of_N": 1, "exponent_of_d": 1, "exponent_of_epsilon": 0}

CASES: list[tuple[str, str, Values, Values]] = [
    ("node", "neighbour-replace-one", NODE, {"N": "11/2"}),
    ("node", "update-of-algorithm-1", NODE, {"node_start": 8}),
    ("node", "update-of-algorithm-1", NODE, {"node_start": 10}),
    ("turn", "neighbour-replace-one", TURN, {"N": "9/2"}),
    ("turn", "update-of-algorithm-2", TURN, {"b": 15}),
    ("bent", "lipschitz", BENT, {"G": 1}),
    ("bent", "lipschitz", BENT, {"L": 10**8}),
    ("bent", "neighbour-replace-one", BENT, {"N": "5/2"}),
    ("bent", "update-of-algorithm-2", BENT, {"T": 1}),
    ("rate", "lipschitz", RATE, {"G": 600}),
    ("rate", "bounded-gap", RATE, {"R": 100}),
    ("rate", "update-of-algorithm-2", RATE, {"T": 1}),
    ("memory", "lipschitz", MEMORY, {"G": "0.99"}),
    ("memory", "smooth", MEMORY, {"L": "1.39"}),
    ("two", "update-of-algorithm-2", TWO, {"N": 3}),
    ("anchor", "lipschitz", ANCHOR, {"eta": "1/2"}),
    ("anchor", "update-of-algorithm-2", ANCHOR, {"N": 4, "t": 12}),
    ("anchor", "update-of-algorithm-2", ANCHOR, {"t": 8}),
    ("path", "lipschitz", PATH, {"t": 2**25}),
    ("path", "neighbour-replace-one", PATH, {"N": "3/2"}),
    ("walk", "lipschitz", WALK, {"G": "1/2"}),
    ("walk", "smooth", WALK, {"L": "1/2"}),
    ("walk", "bounded-gap", WALK, {"R": "1/1000"}),
    ("ridges", "lipschitz", {"N": 8}, {"G": "1/2"}),
    ("floats", "lipschitz", {"N": 4, "G": 1}, {"G": "1/2"}),
    ("floats", "neighbour-replace-one", {"N": 4, "G": 1}, {"N": "9/2"}),
    ("rate-6", "T >= 2", GROWTH, {"log_d": 5}),
    (
        "rate-9",
        "epsilon <= T**(3/4)*sqrt(d)/N**(3/4)",
        GROWTH,
        {"log_N": -1, "log_d": -4},
    ),
    ("time", "T >= 2", EXPONENTS, {"exponent_of_d": 5}),
    ("windows", "turn <= floor(t/N) - 1", {"N": 3, "t": 3}, {"t": 2}),
    ("names", "query >= 2", {"K": 2}, {"K": 1}),
    ("queries", "local-queries", {"V": 1, "rho": "1/9", "delta": "1/9"}, {"V": 0}),
]
"""Which check, which property, a counterexample that has it, and a change after which it has not."""


def is_met(which: str, name: str, point: Values) -> bool:
    assert CHECKS is not None
    return CHECKS.find(*CLAIM_OF[which]).meets[name].is_met(as_point(point))


@for_each(("which", "name", "point", "change"), CASES)
def test_a_counterexample_that_violates_a_property_is_noticed(
    which: str, name: str, point: Values, change: Values
) -> None:
    assert is_met(which, name, point)
    assert not is_met(which, name, {**point, **change})


CONSTANTS = {"lipschitz": "G", "smooth": "L", "bounded-gap": "R"}
MAKERS: list[tuple[Callable[[Point], Witness], str, Values]] = [
    (opposed, "lipschitz", NODE),
    (partial(turning, reach=Fraction(2)), "smooth", TURN),
    (partial(bent, reach=Fraction(1, 10)), "smooth", BENT),
    (error_losses, "lipschitz", SLOPE),
    (error_losses, "smooth", SLOPE),
    (lag_losses, "lipschitz", SLOPE),
    (steepest_slope, "lipschitz", {**RAMPS, "R": 1000}),
    (steepest_slope, "smooth", RAMPS),
    (steepest_slope, "bounded-gap", {**RAMPS, "R": 100}),
    (two, "lipschitz", TWO),
    (same, "lipschitz", TWO),
    (parabola, "smooth", {"eta": 1, "L": 1}),
]
"""Problems that are made from a constant, which they reach."""


@for_each(("make", "name", "point"), MAKERS)
def test_a_problem_that_is_made_for_a_larger_constant_is_noticed(
    make: Callable[[Point], Witness], name: str, point: Values
) -> None:
    letter = CONSTANTS[name]
    at = as_point(point)
    assert witness_properties(make, "as it should be")[name].is_met(at)
    larger = {**at, letter: at[letter] * Fraction(101, 100)}
    assert not witness_properties(lambda _: make(larger), "1% too large")[name].is_met(
        at
    )


def cases() -> list[SlopeCase]:
    rng = np.random.default_rng(2022)
    drawn = [
        family.case(rng.random(9).tolist())
        for family in (FAMILY_6, FAMILY_9)
        for _ in range(50)
    ]
    return [RAMP, LONG_RAMP, BOX, *drawn]


@for_each("name", sorted(CONSTANTS))
def test_the_slopes_that_are_run_meet_their_constants(name: str) -> None:
    for case in cases():
        point = dict(case.point)
        assert MEASURED[name].is_met(point), case.all_words
        less = {**point, CONSTANTS[name]: point[CONSTANTS[name]] * Fraction(99, 100)}
        assert not MEASURED[name].is_met(less), case.all_words


def test_the_witness_of_a_run_has_the_constants_of_its_problem() -> None:
    """Those that ``problems.worst_slope`` states, where the losses are made otherwise."""
    for case in cases():
        witness = slope_of(case.point)
        assert witness.gap is not None
        assert math.isclose(witness.steepest, case.problem.lipschitz)
        assert math.isclose(witness.gap, case.problem.gap)
        assert math.isclose(witness.curvature, case.problem.smoothness)


def test_constants_of_the_loss_with_a_memory_are_those_that_the_point_states() -> None:
    problem = LossWithMemory()
    assert problem.lipschitz <= float(Fraction(str(MEMORY["G"])))
    assert problem.smoothness <= float(Fraction(str(MEMORY["L"])))
