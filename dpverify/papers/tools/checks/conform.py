"""Check the results of ``conform`` on optimizers whose sensitivity and noise are known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from dpverify.conform.noise import noise_tests, scale_test
from dpverify.conform.promise import Promise
from dpverify.conform.records import ConformanceTest, PrivateOptimizer
from dpverify.conform.sampling import sampling_tests
from dpverify.conform.sensitivity import sensitivity_tests
from dpverify.harness import (
    Budget,
    Context,
    Control,
    MonteCarloCheck,
    PaperChecks,
    Plan,
    Planted,
    Point,
    ProportionBound,
    ProportionEffect,
    RuleCheck,
)
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide
from dpverify.kernels.typing import Matrix, Vector
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("tools", __name__)

Release = Callable[[Matrix, float], Vector]

BATCH = 4
EXAMPLES = 16
SIGMA = 2.0


def _clipped(gradients: Matrix, clip: float) -> Matrix:
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    clipped: Matrix = gradients * np.minimum(1.0, clip / np.maximum(norms, 1e-300))
    return clipped


def _sum(gradients: Matrix, clip: float) -> Vector:
    total: Vector = _clipped(gradients, clip).sum(axis=0)
    return total


def _mean(gradients: Matrix, clip: float) -> Vector:
    return _sum(gradients, clip) / max(1, len(gradients))


def _each_coordinate(gradients: Matrix, clip: float) -> Vector:
    total: Vector = np.clip(gradients, -clip, clip).sum(axis=0)
    return total


def _clipped_sum(gradients: Matrix, clip: float) -> Vector:
    """Clip the sum instead of its terms: one example can reverse it, for both kinds of neighbours."""
    total: Vector = _clipped(gradients.sum(axis=0, keepdims=True), clip)[0]
    return total


KINDS: tuple[tuple[Release, Callable[[int, bool], float]], ...] = (
    (_sum, lambda d, replaced: 2.0 if replaced else 1.0),
    # for a batch of one, where a mean changes most; the mean of an empty batch is 0
    (_mean, lambda d, replaced: 2.0 if replaced else 1.0),
    (_each_coordinate, lambda d, replaced: (2.0 if replaced else 1.0) * math.sqrt(d)),
    (_clipped_sum, lambda d, replaced: 2.0),
)
"""Outputs of optimizers before noise, and the largest change by one example, in clip lengths."""


def _reported(release: Release, clip: float, promise: Promise, seed: int) -> float:
    """Return the sensitivity that ``conform`` reports."""

    def step(
        state: None, gradients: Matrix, rng: np.random.Generator
    ) -> tuple[None, Vector]:
        noise = promise.deviation * rng.standard_normal(promise.dimension)
        return state, release(gradients, clip) / promise.divisor + noise

    test = next(
        test
        for test in sensitivity_tests(PrivateOptimizer(step), promise, seed)
        if test.name == "sensitivity"
    )
    return math.nan if test.measured is None else test.measured


def _sensitivity_error(factor: float = 1.0, tried: float = 1.0) -> LeftSide:
    """Return the left side: the relative difference of the reported sensitivity from the exact one.

    ``factor`` multiplies the optimizer's clip length, ``tried`` the clip length that the tests assume.
    """

    def lhs(point: Point, statement: Statement) -> Fraction:
        d = int(point["d"])
        clip = float(point["C"])
        draw = int(point["draw"])
        release, exact = KINDS[draw % len(KINDS)]
        replaced = draw // len(KINDS) % 2 == 1
        divisor = float(point["batch"])
        promise = Promise(
            sigma=1e-6,
            clip=clip * tried,
            divisor=divisor,
            steps=2,
            dimension=d,
            batch=BATCH,
            neighbours="replace-one" if replaced else "add-remove",
        )
        reported = _reported(release, clip * factor, promise, draw)
        return Fraction(abs(reported / (exact(d, replaced) * clip / divisor) - 1.0))

    return lhs


def _optimizers(budget: Budget) -> Iterator[PointLike]:
    sizes = ((2, "1", 1), (5, "64", 3), (31, "1/1000", 16))
    for (d, clip, batch), draw in itertools.product(sizes, range(2 * len(KINDS))):
        yield {"d": d, "C": clip, "batch": batch, "draw": draw}


def _stated(test: ConformanceTest) -> Fraction:
    """Return the smallest relative reduction of noise that a scale test claims to detect, in steps of 0.1%."""
    if test.detects is None:
        raise ValueError(f"the test of {test.name!r} names no smallest fault")
    return Fraction(round(1000 * test.detects), 1000)


def _least_allowed(values: int, level: float) -> float:
    """Return the least sum of squares that passes the scale test, by bisection."""
    below = 0.0
    allowed = float(values)
    while allowed > np.nextafter(below, math.inf):
        middle = (below + allowed) / 2.0
        if not below < middle < allowed:
            break
        if scale_test("", np.full(values, math.sqrt(middle / values)), level).passed:
            allowed = middle
        else:
            below = middle
    return below


def _at_least(squares: arb, values: int) -> arb:
    """Return the probability that the sum of squares of ``values`` (even) standard normal numbers is at least this.

    It equals the probability of fewer than ``values/2`` events if ``squares/2`` are expected.
    """
    expected = squares / 2
    term = (-expected).exp()
    total = arb(0)
    for events in range(values // 2):
        total += term
        term *= expected / (events + 1)
    return total


def _missed(less: Fraction = Fraction(0)) -> LeftSide:
    """Return the probability that noise passes which is reduced by the test's claimed fraction minus ``less``."""

    def lhs(point: Point, statement: Statement) -> arb:
        values = int(point["n"])
        level = float(point["level"])
        factor = 1 - _stated(scale_test("", np.ones(values), level)) + less
        return _at_least(arb(_least_allowed(values, level)) / ball(factor) ** 2, values)

    return lhs


def _false_alarm_rate(factor: float = 1.0) -> LeftSide:
    """Return the probability that correct noise fails as too small, at a level that is multiplied by ``factor``."""

    def lhs(point: Point, statement: Statement) -> arb:
        values = int(point["n"])
        return 1 - _at_least(
            arb(_least_allowed(values, float(point["level"]) * factor)), values
        )

    return lhs


def _samples(budget: Budget) -> Iterator[PointLike]:
    sizes = (64, 130, 300, 1000, 2400, 5000, 9600)
    for values, level in itertools.product(sizes, ("1/20", "1/1000", "1/100000")):
        yield {"n": values, "level": level}


def _optimizer(sigma: float) -> PrivateOptimizer:
    """Return an optimizer: a sum of clipped gradients with noise, over the batch; zero gradients are not clipped."""

    def step(
        state: None, gradients: Matrix, rng: np.random.Generator
    ) -> tuple[None, Vector]:
        total = _sum(gradients, 1.0) if gradients.any() else gradients[0]
        return state, (total + sigma * rng.standard_normal(gradients.shape[1])) / BATCH

    return PrivateOptimizer(step)


def _batches(examples: int, steps: int, rng: np.random.Generator) -> Iterator[Any]:
    return (rng.choice(examples, BATCH, replace=False) for _ in range(steps))


def _alarms(sigma: float = SIGMA) -> Callable[[Context, np.random.Generator, int], Any]:
    """Return a simulation of an optimizer's failures over seeds; the optimizer is correct if ``sigma`` is SIGMA."""
    promise = Promise(
        sigma=SIGMA,
        clip=1.0,
        divisor=BATCH,
        steps=2,
        dimension=2,
        batch=BATCH,
        examples=EXAMPLES,
        sampling="batches",
    )
    optimizer = _optimizer(sigma)

    def simulate(context: Context, rng: np.random.Generator, size: int) -> Any:
        # level of each kind of test, as conformance() divides it
        level = float(context.point["level"]) / 2.0
        failed = np.empty(size)
        for place, seed in enumerate(rng.integers(1 << 32, size=size).tolist()):
            tests = itertools.chain(
                noise_tests(optimizer, promise, level, seed),
                sampling_tests(_batches, promise, level, seed),
            )
            failed[place] = not all(test.passed for test in tests)
        return failed

    return simulate


def _plan(context: Context) -> Plan:
    """Return the plan for the level 1/20."""
    return Plan(
        ProportionEffect(0.05, 0.7 if context.budget.name == "smoke" else 0.15),
        seconds_each=0.09,
        block=20,
    )


CHECKS.add(
    RuleCheck(
        "conform-sensitivity",
        "known",
        points=_optimizers,
        lhs=_sensitivity_error(),
        seconds=2.0,
        planted=[
            Planted(
                "clipped 1e-4 later",
                lhs=_sensitivity_error(factor=1.0 + 1e-4),
                at_declared_size=True,
            ),
            Planted("no long gradients tried", lhs=_sensitivity_error(tried=2.0**-24)),
        ],
        region="sums and means of clipped gradients, clipped coordinates, clipped sums; both kinds of neighbours",
    ),
    RuleCheck(
        "conform-noise-detected",
        "limits",
        points=_samples,
        lhs=_missed(),
        seconds=2.0,
        planted=[
            Planted(
                "noise 0.1% less too small",
                lhs=_missed(Fraction(1, 1000)),
                at_declared_size=True,
            )
        ],
        region="up to 9600 numbers",
    ),
    RuleCheck(
        "conform-noise-level",
        "limits",
        points=_samples,
        lhs=_false_alarm_rate(),
        seconds=2.0,
        planted=[
            Planted(
                "1% above the level", lhs=_false_alarm_rate(1.01), at_declared_size=True
            )
        ],
        region="up to 9600 numbers",
    ),
    MonteCarloCheck(
        "conform-false-alarm",
        "correct-optimizers",
        point={"level": "1/20"},
        plan=_plan,
        simulate=_alarms(),
        judge=ProportionBound(),
        controls=[
            Control(
                "less noise",
                "an optimizer with 20% less noise than it promises",
                _alarms(0.8 * SIGMA),
            )
        ],
        region="tests of noise and of batches; two steps of two numbers, batches of 4 of 16 examples",
        leaves_out="optimizers that round, and audits of outputs, whose level has claims of its own",
    ),
)
