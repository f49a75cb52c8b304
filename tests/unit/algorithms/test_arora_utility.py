"""The utility of Algorithm 2 in docs/examples/arora2023: planted faults, and bounds against the record of the paper."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from scipy import stats

from dpverify.ledger.formula import parse
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import ball
from dpverify.targets import load_object

PAPER = Path(__file__).parents[3] / "docs" / "examples" / "arora2023"
UTILITY: Any = load_object(f"{PAPER}/arora2023/utility.py:main")[1]
WORST: Any = UTILITY.WORST
RUNS = 30
ALPHA = 1e-6


def is_refuted(case: Any, fault: Any = WORST.NO_FAULT) -> bool:
    return bool(WORST.limit(case, fault, RUNS)[1] > case.bound)


def test_runs_with_a_planted_fault_refute_the_bound_and_others_do_not() -> None:
    assert is_refuted(WORST.START, WORST.UPHILL)
    assert is_refuted(WORST.NOISE, WORST.LOUD)
    assert is_refuted(WORST.SAMPLING, WORST.Fault(spread=4.0))
    assert is_refuted(WORST.CHANGES, WORST.Fault(change_noise=4.0))
    assert not any(is_refuted(case) for case in WORST.CASES)


def test_the_gradient_at_the_end_of_a_phase_has_the_law_of_the_noise() -> None:
    """Without noise of changes it is -(1 - 2^-q) times the noise of the start, exactly, while |w| is below the cap."""
    d = 10_000
    case = replace(WORST.NOISE, steps=20, dimension=d, squared_change_noise=0.0)
    half = replace(case, steps=1, phase=1)
    assert case.squared_error == 0.01
    for fault, is_right in ((1.0, True), (1.1, False)):
        square = WORST.squared_gradient(half, 7, WORST.Fault(noise=fault)) / (
            0.25 * 0.01 / d
        )
        low, high = (stats.chi2(d).ppf(q) for q in (ALPHA / 2, 1 - ALPHA / 2))
        assert (low <= square <= high) == is_right
    geometric = sum((1.0 - 0.5**j) ** 2 for j in range(1, 21)) / 20
    ratio = WORST.squared_gradient(case, 7) / WORST.squared_gradient(half, 7)
    # of sums of rounded terms
    assert math.isclose(ratio, 4.0 * geometric, rel_tol=1e-9)


def test_the_cases_keep_to_the_constants_of_the_bound() -> None:
    rng = np.random.default_rng(1)
    for case in WORST.CASES:
        assert case.cap + case.offset <= 1.0
        assert case.bound < 0.6
        assert case.left_bound <= case.bound
        problem = WORST.Bowl(
            case.cap, case.offset, case.examples, has_waves=case.has_waves
        )
        assert math.fsum(problem.offsets) == 0.0
        for _ in range(100):
            old, new = 2.0 * rng.standard_normal((2, case.dimension))
            change = np.linalg.norm(problem.mean(new) - problem.mean(old))
            # rounding of a few operations on numbers below 20
            assert change <= np.linalg.norm(new - old) + 1e-13
    # the gradient is linear between multiples of 1/4, and all sums are exact
    for case in (WORST.START, WORST.WAVES):
        slopes = [
            WORST.Bowl(1.0, 0.0, 2, has_waves=case.has_waves).mean(np.array([k / 4]))[0]
            for k in range(205)
        ]
        assert case.distance == 51.0
        assert sum(slopes) / 4 - slopes[-1] / 8 == case.gap
    small = replace(
        WORST.SAMPLING, examples=8, first_batch=3, offset=0.5, squared_noise=0.0
    )
    offsets = WORST.Bowl(small.cap, small.offset, small.examples).offsets
    squares = [
        Fraction(sum(map(Fraction, batch))) ** 2 / 9
        for batch in combinations(offsets.tolist(), 3)
    ]
    # one rounding per operation
    assert math.isclose(small.squared_error, sum(squares) / len(squares), rel_tol=1e-15)


def value(
    text: str, values: Mapping[str, int | Fraction], lets: Mapping[str, str]
) -> float:
    """Evaluate a formula of the record."""
    numbers: dict[str, Any] = {
        name: Fraction(number) for name, number in values.items()
    }
    for name, formula in lets.items():
        numbers[name] = evaluate(parse(formula), numbers)
    return float(ball(evaluate(parse(text), numbers)).mid())


def test_the_bound_is_that_of_the_record_and_its_exponent_is_exact() -> None:
    """At a_bar = 1/m^3 all terms of the square are fractions: T = m^4, and the square is K/m^4."""
    file = PAPER / "arora2023" / "specs" / "arora2023" / "claims.toml"
    claims = {claim["id"]: claim for claim in tomllib.loads(file.read_text())["claim"]}
    record = claims["note-theorem-b-3-constants"]
    lets = {local["symbol"]: local["value"] for local in record["let"]}
    c = Fraction(17, 5)
    assert float(c) == UTILITY.C
    for m in (2, 3, 10, 100):
        a = Fraction(1, m**3)
        rounds = m**4
        assert (
            4 / Fraction(rounds) + 4 * c**2 * (1 + c**2) * rounds**2 * a**4
        ) * m**4 == 4 + 4 * c**2 * (1 + c**2)
        numbers: dict[str, int | Fraction] = {
            "a_bar": a,
            "noise": c,
            "L_0": 1,
            "L_1": 1,
            "F_0": 1,
        }
        sides = UTILITY.note_sides(float(a))
        for side, text in zip(sides, (record["lhs"], record["printed"]), strict=True):
            # floats against 256 bits
            assert math.isclose(side, value(text, numbers, lets), rel_tol=1e-12)


def test_onsets_are_the_smallest_sizes() -> None:
    for d, epsilon in UTILITY.CELLS:
        note, full, plain, note_below_plain, full_below_plain = UTILITY.onsets(
            d, epsilon
        )
        y = [
            UTILITY.variance(n, d, epsilon)
            for n in (full - 1, full, plain - 1, plain, full_below_plain)
        ]
        assert (
            UTILITY.recorded(note, d, epsilon)
            < 1.0
            <= UTILITY.recorded(note - 1, d, epsilon)
        )
        assert (
            UTILITY.full_batches(y[1]).bound < 1.0 <= UTILITY.full_batches(y[0]).bound
        )
        assert UTILITY.descent(y[3]) < 1.0 <= UTILITY.descent(y[2])
        assert UTILITY.full_batches(y[4]).bound < UTILITY.descent(y[4])
        assert plain < full < note < note_below_plain
        settings = UTILITY.note_settings(note, d, epsilon)
        assert settings.phase >= 1
        assert (
            UTILITY.CONSTANTS.needed_constant(settings, note, epsilon, UTILITY.DELTA)
            <= UTILITY.C
        )
    bounds = [smallest_descent_bound(steps, 1e-4) for steps in (1, 10, 10**3, 10**7)]
    assert UTILITY.descent(1e-4) <= min(bounds) < 1.001 * UTILITY.descent(1e-4)


def smallest_descent_bound(steps: int, y: float) -> float:
    """Return the smallest bound of noisy gradient descent over 10,000 step sizes."""
    h = np.geomspace(1e-7, 1.9, 10_000)
    way = h * steps
    return float(np.sqrt((1.0 / way + way * 4.0 * y / 2.0) / (1.0 - h / 2.0)).min())


def test_the_noise_of_full_batches_is_what_the_accountant_certifies() -> None:
    spider = UTILITY.SPIDER
    n = 5000
    mu = UTILITY.safe_mu(1.0, UTILITY.DELTA)
    best = UTILITY.full_batches(UTILITY.variance(n, 10, 1.0))
    sigma = math.sqrt(2.0 - 1.0 / best.phase) / mu
    settings = spider.SpiderBoostSettings(
        steps=best.steps,
        phase=best.phase,
        first_batch=n,
        batch=n,
        sigma=sigma,
        eta=WORST.ETA,
    )
    bounds = spider.SPIDER_BOOST.epsilon_bounds(
        settings, UTILITY.SPIDER.ProblemSize(n, 10), UTILITY.DELTA
    )
    assert bounds.lower <= 1.0 <= bounds.upper
    assert bounds.upper - bounds.lower < 0.01
    first, later = (
        2.0 * math.sqrt(10) * m / n for m in spider.multipliers(settings, n, sigma)
    )
    assert best.phase * later**2 * WORST.ETA**2 <= 0.5
    square = 2.0 / (WORST.ETA * best.steps) + (best.steps + 1) / best.steps * first**2
    # another order of roundings
    assert math.isclose(math.sqrt(square), best.bound, rel_tol=1e-12)


def test_the_kernel_asks_for_as_many_gradients_as_algorithm_2_has() -> None:
    for steps, phase, first, batch in (
        (10, 3, 20, 4),
        (9, 3, 20, 20),
        (7, 10, 5, 2),
        (4, 1, 6, 1),
    ):
        settings = msgspec.structs.replace(
            UTILITY.CONSTANTS.theorem(1000, 10, 1.0, 1e-6),
            steps=steps,
            phase=phase,
            first_batch=first,
            batch=batch,
        )
        starts = sum(t % phase == 0 for t in range(steps))
        assert UTILITY.counted(settings, 20) == starts * first + 2 * batch * (
            steps - starts
        )


def test_the_readme_has_the_tables() -> None:
    text = (PAPER / "README.md").read_text()
    assert UTILITY.onset_table() in text
    assert UTILITY.exponent_table() in text
    assert UTILITY.count_table() in text
