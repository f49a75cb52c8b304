"""The best of a random number of runs: exact laws on few outputs are within the bounds, and wrong bounds are not."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest

import dpverify as dv
from dpverify.kernels.check import ArgumentError
from dpverify.privacy.accounting import epsilon
from dpverify.privacy.selection import Floats, RunCount, selected_epsilon, selected_rdp

LAWS = [
    RunCount(mean, shape)
    for mean, shape in product((1.5, 4.0, 8.0), (-0.5, 0.0, 1.0, 3.0, math.inf))
]
RUNS = 8000  # of a law, at most; the laws here have less than 1e-12 beyond
ORDERS = range(2, 17)


@cache
def masses(law: RunCount) -> Floats:
    """Chances of 0, 1, 2, ... runs, by the recursion of the definition and not from the generating function."""
    counts = np.arange(1, RUNS)
    if law.is_poisson:
        logs = np.concatenate(([0.0], np.cumsum(math.log(law.mean) - np.log(counts))))
    else:
        steps = np.log(np.abs(counts[1:] + law.shape - 1) / counts[1:]) + math.log(
            -math.expm1(law.log_gamma)
        )
        logs = np.concatenate(([-math.inf, 0.0], np.cumsum(steps)))
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())


def best(law: RunCount, run: Floats) -> Floats:
    """Law of the best output, where output i is better than all before it."""
    below = np.concatenate(([0.0], np.cumsum(run)))
    below[-1] = 1.0
    chances = masses(law)
    powers = np.array(
        [float(chances @ np.float64(level) ** np.arange(RUNS)) for level in below]
    )
    return np.diff(powers) / (1.0 if not law.is_poisson else 1.0 - chances[0])


def divergence(first: Floats, second: Floats, order: float) -> float:
    return math.log(float(np.sum(first**order * second ** (1 - order)))) / (order - 1)


PAIRS = [
    ([0.75, 0.25], [0.25, 0.75]),
    ([0.5, 0.5], [0.52, 0.48]),
    ([0.05, 0.9, 0.05], [0.01, 0.9, 0.09]),
    ([0.2, 0.3, 0.1, 0.4], [0.3, 0.2, 0.15, 0.35]),
    ([0.999, 0.001], [0.998, 0.002]),
    ([1.0 - 1e-3, 1e-3], [1.0 - 1e-7, 1e-7]),
]


def bounds_of(
    first: list[float], second: list[float], law: RunCount
) -> dict[int, float]:
    here = {
        order: divergence(np.array(first), np.array(second), order) for order in ORDERS
    }
    there = {
        order: divergence(np.array(second), np.array(first), order) for order in ORDERS
    }
    return selected_rdp(here, there, law)


def excesses(law: RunCount, left_out: float) -> list[float]:
    """Divergences of the best run less their bounds, the bounds without a part of the term with the mean."""
    results = []
    for first, second in PAIRS:
        for a, b in (
            (first, second),
            (second, first),
            (first[::-1], second[::-1]),
            (second[::-1], first[::-1]),
        ):
            bounds = bounds_of(a, b, law)
            here, there = best(law, np.array(a)), best(law, np.array(b))
            share = left_out * math.log(law.mean)
            results += [
                divergence(here, there, order) - bounds[order] + share / (order - 1)
                for order in ORDERS
            ]
    return results


def test_the_law_of_the_number_has_its_mean_and_chances() -> None:
    for law in LAWS:
        chances = masses(law)
        assert float(chances @ np.arange(RUNS)) == pytest.approx(law.mean, rel=1e-9)
        for chance in (1e-6, 0.3, 0.9):
            none = float(chances @ (1.0 - chance) ** np.arange(RUNS))
            every = float(chances[1:] @ chance ** np.arange(1, RUNS))
            assert law.at_least_one(np.array([chance]))[0] == pytest.approx(
                1.0 - none, rel=1e-8
            )
            assert law.all_of_some(np.array([chance]))[0] == pytest.approx(
                every, rel=1e-8
            )


def test_exact_laws_of_the_best_run_are_within_the_bounds() -> None:
    for law in LAWS:
        if not law.is_poisson:
            assert max(excesses(law, left_out=0.0)) < 1e-9, law


def test_a_bound_without_a_part_of_the_mean_is_seen() -> None:
    assert max(excesses(RunCount(8.0, 1.0), left_out=0.5)) > 0.1


def poisson_excesses(mean: float, none: float) -> list[float]:
    """Divergences less their bounds, with a part of the chance of no run, which is an output of its own."""
    law = RunCount(mean, math.inf)
    results = []
    for first, second in PAIRS:
        for a, b in ((first, second), (second, first)):
            bounds = bounds_of(a, b, law)
            chance = math.exp(-mean)
            here, there = (
                np.append(best(law, np.array(side)) * (1.0 - chance), chance)
                for side in (a, b)
            )
            for order, bound in bounds.items():
                moment = math.exp((order - 1) * bound) - (1.0 - none) * chance
                results.append(
                    divergence(here, there, order) - math.log(moment) / (order - 1)
                )
    return results


def test_poisson_numbers_of_runs_are_within_the_bounds() -> None:
    for mean in (0.1, 0.5, 1.0, 2.0, 9.0):
        assert max(poisson_excesses(mean, none=1.0)) < 1e-9


def test_a_bound_that_forgets_the_case_of_no_run_is_seen() -> None:
    assert max(poisson_excesses(0.5, none=0.0)) > 0.1


def test_the_bounds_hold_what_a_telling_score_shows() -> None:
    for law in LAWS:
        bounds = selected_epsilon(1.5, 1e-5, runs=law.mean, shape=law.shape, steps=4)
        assert 0 < bounds.lower < bounds.upper < math.inf
    single = dv.epsilon(1.0, 1e-6, steps=500, rate=0.01)
    sampled = selected_epsilon(1.0, 1e-6, runs=10, steps=500, rate=0.01)
    assert sampled.lower == single.lower < sampled.upper
    assert selected_epsilon(1.0, 1e-6, runs=1 + 1e-9).upper == pytest.approx(
        dv.epsilon(1.0, 1e-6).upper, rel=0.1
    )


def test_drawn_runs_are_within_the_upper_bound() -> None:
    """Drawn numbers of runs do not exceed the upper bound at any threshold."""
    law = RunCount(3.0, 1.0)
    bounds = selected_epsilon(1.0, 1e-3, runs=3.0)
    rng = np.random.default_rng(1)
    counts = rng.geometric(1.0 / law.mean, 200_000)
    best_runs = np.array([rng.standard_normal(count).max() for count in counts])
    thresholds = np.linspace(0, 4, 81)
    first = np.array([np.mean(best_runs + 1.0 > t) for t in thresholds])
    second = np.array([np.mean(best_runs > t) for t in thresholds])
    error = 5 / math.sqrt(len(counts))
    assert max(first - math.exp(bounds.upper) * second) < 1e-3 + error


def test_the_bounds_are_those_of_another_program() -> None:
    """Numbers of dp_accounting 0.6.0 with the orders 2 to 64 and some above, to what its orders lose."""
    for runs, shape, expected in (
        (20.0, 1.0, 4.689058976),
        (20.0, 0.0, 3.868084824),
        (20.0, math.inf, 7.423075995),
    ):
        assert selected_epsilon(
            2.0, 1e-5, runs=runs, shape=shape
        ).upper == pytest.approx(expected, rel=1e-6)
    sampled = selected_epsilon(1.0, 1e-5, runs=10, steps=1000, rate=0.01)
    assert sampled.upper == pytest.approx(4.107595428, rel=1e-6)


class RepeatAndSelectDpEvent:
    """As dp_accounting has it."""

    mean = 10.0
    shape = 1.0

    def __init__(self, event: object) -> None:
        self.event = event


class GaussianDpEvent:
    """As dp_accounting has it."""

    noise_multiplier = 2.0


def test_an_event_of_selection_is_read() -> None:
    selection = RepeatAndSelectDpEvent(GaussianDpEvent())
    assert (
        epsilon(selection, 1e-5)
        == dv.epsilon(selection, 1e-5)
        == dv.selected_epsilon(2.0, 1e-5, runs=10)
    )
    with pytest.raises(ArgumentError, match="sampling must be poisson"):
        dv.epsilon(selection, 1e-5, sampling="batches")
    with pytest.raises(ArgumentError, match="RepeatAndSelectDpEvent"):
        epsilon(RepeatAndSelectDpEvent(selection), 1e-5)


def test_what_is_out_of_range_is_refused() -> None:
    for runs, shape, rule in (
        (1.0, 1.0, "above 1"),
        (5.0, -1.0, "above -1"),
        (0.0, math.inf, "above 0"),
    ):
        with pytest.raises(ArgumentError, match=rule):
            RunCount(runs, shape)
    with pytest.raises(ArgumentError, match="too large"):
        RunCount(1e13)
    for number, wrong in (("steps", 0), ("rate", 1.5), ("sigma", 0.0)):
        arguments = {"sigma": 1.0, "delta": 1e-5, "runs": 2.0, number: wrong}
        with pytest.raises(ArgumentError, match=f"^{number} must"):
            selected_epsilon(**arguments)  # type: ignore[arg-type]  # one wrong value each
