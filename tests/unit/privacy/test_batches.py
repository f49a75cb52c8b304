"""Both ends of epsilon for batches without replacement: against balls, integrals, and all data sets of a grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from flint import arb, ctx

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Matrix, Vector
from dpverify.papers.tools.checks.privacy import delta_lower_bound
from dpverify.privacy.batches import (
    BatchSteps,
    batch_delta,
    batch_epsilon,
    least_factor,
    opposed,
    poisson_epsilon,
    upper_epsilon,
)
from dpverify.privacy.gaussian import delta_of, epsilon_of
from dpverify.privacy.losses.grid import ROUNDOFF, Side, Steps, excess, step_law
from dpverify.privacy.losses.total import add_up
from tests.for_each import for_each

MISSING = "the extra `accounting` is not installed"
PAIRS = [(0.5, 0.5), (0.2, 1.0), (0.03, 0.8), (0.9, 3.0)]
EPSILONS = (0.05, 0.3, 1.0)


def normal_cdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


@for_each(("rate", "noise"), [(0.001, 1.3), (0.3, 0.1), (1.0, 40.0), (1e-5, 300.0)])
def test_values_of_the_profile_are_in_their_error_bounds(
    rate: float, noise: float
) -> None:
    scale = rate / max(1.0, noise)
    losses = np.array([-0.9, -0.1, -1e-3, 0.0, 1e-3, 0.1, 1.0, 7.0, 50.0]) * scale
    found, _, errors = excess(losses, rate, noise)
    with ctx.workprec(300):
        q, s = arb(rate), arb(noise)
        for loss, value, error in zip(
            losses.tolist(), found.tolist(), errors.tolist(), strict=True
        ):
            c = arb(loss).exp()
            x = arb(1) / 2 + s**2 * ((c - 1 + q) / q).log()
            if loss >= 0:
                exact = q * normal_cdf((1 - x) / s) - (c - 1 + q) * normal_cdf(-x / s)
            else:
                exact = (c - 1 + q) * normal_cdf(x / s) - q * normal_cdf((x - 1) / s)
            # floats end there
            assert abs(arb(value) - exact) <= arb(error) + arb(1e-300)
            assert error < 1e-9 * value + 1e-300


@for_each(("rate", "noise"), PAIRS)
@for_each("side", ["upper", "lower"])
def test_laws_lie_on_their_side_of_the_profile(
    rate: float, noise: float, side: Side
) -> None:
    for width in (rate / max(1.0, noise) / 7.0, 0.037, 0.37):
        law = step_law(rate, noise, width, 1e-12, side)
        for loss in np.concatenate(
            [np.linspace(-0.99 * rate, 0.0, 40), np.linspace(0.0, 3.0, 80)]
        ).tolist():
            c = math.exp(loss)
            seen = (
                float(
                    law.chances
                    @ np.maximum(-np.expm1(loss - law.places * width + law.shift), 0.0)
                )
                + law.beyond
            )
            if side == "upper":
                assert seen >= profile(rate, noise)(c) - 1e-14
            else:
                assert seen <= pair_profile(rate, noise, c) + 1e-14


@for_each(("rate", "noise"), [(0.5, 0.5), (0.2, 1.0), (0.9, 3.0)])
@for_each("part", [0.2, 0.5])
def test_laws_from_above_count_the_losses_that_they_do_not_resolve(
    rate: float, noise: float, part: float
) -> None:
    """By integrals of both orders of the pair, at losses of up to the largest that is resolved."""
    width = rate / max(1.0, noise) / 16.0
    last = width * int(step_law(rate, noise, width, part * rate, "upper").places.max())
    for loss in np.linspace(0.0, last, 7).tolist():
        c = math.exp(loss)
        added = max(
            (laws(rate, noise)[1] - c * laws(rate, noise)[0]).clip(0.0).sum(), 0.0
        )
        exact: dict[Side, float] = {
            "upper": profile(rate, noise)(c),
            "removed": pair_profile(rate, noise, c),
            "added": added,
        }
        for side, least in exact.items():
            law = step_law(rate, noise, width, part * rate, side)
            seen = (
                float(
                    law.chances @ np.maximum(-np.expm1(loss - law.places * width), 0.0)
                )
                + law.beyond
            )
            assert seen >= least * (1.0 - 1e-9) - 1e-14
        assert exact["upper"] > 1e-3


def laws(rate: float, noise: float, points: int = 3001) -> tuple[Vector, Vector]:
    """Masses of A and B over pieces of the line."""
    x = np.linspace(-9.0 * noise - 1.0, 1.0 + 9.0 * noise, points)
    cells = [np.diff([normal(v / noise) for v in x - mean]) for mean in (0.0, 1.0)]
    return (1.0 - rate) * cells[0] + rate * cells[1], cells[0]


def normal(z: float) -> float:
    return 0.5 * math.erfc(-z * math.sqrt(0.5))


def profile(rate: float, noise: float) -> Callable[[float], float]:
    """The profile h of (A, B) for c >= 1, and its mirror below 1: what one adaptive last step can reach."""

    def value(c: float) -> float:
        if c == 0.0:
            return 1.0
        return 1.0 - c + c * value(1.0 / c) if c < 1.0 else pair_profile(rate, noise, c)

    return value


def pair_profile(rate: float, noise: float, c: float) -> float:
    if c <= 1.0 - rate:
        return 1.0 - c
    x = 0.5 + noise**2 * math.log((c - 1.0 + rate) / rate)
    return rate * normal((1.0 - x) / noise) - (c - 1.0 + rate) * normal(-x / noise)


@for_each(("rate", "noise"), PAIRS)
def test_one_step_is_the_profile_itself(rate: float, noise: float) -> None:
    for epsilon in EPSILONS:
        exact = profile(rate, noise)(math.exp(epsilon))
        found = batch_delta(
            [BatchSteps(rate, noise)], epsilon, min(max(exact, 1e-9), 0.5)
        )
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower < 1e-2 * exact + 1e-9


@for_each(("rate", "noise"), PAIRS)
def test_two_steps_hold_the_pair_below_and_an_adaptive_data_set_above(
    rate: float, noise: float
) -> None:
    """After the first step the others' vectors may turn round: the last step then reaches the whole profile."""
    mixed, alone = laws(rate, noise)
    last = profile(rate, noise)
    for epsilon in EPSILONS:
        c = math.exp(epsilon)
        pair = float(
            np.maximum(np.outer(mixed, mixed) - c * np.outer(alone, alone), 0.0).sum()
        )
        adaptive = sum(
            p * last(c * b / p)
            for p, b in zip(mixed.tolist(), alone.tolist(), strict=True)
            if p > 1e-15
        )
        found = batch_delta(
            [BatchSteps(rate, noise, 2)], epsilon, min(max(pair, 1e-9), 0.5)
        )
        # The pieces see a little less than the outputs: it is below a thousandth.
        assert found.lower <= pair * (1.0 + 1e-3) + 1e-12
        assert pair < found.lower * (1.0 + 4e-3) + 1e-9
        assert pair <= adaptive * (1.0 + 1e-12) <= found.upper * (1.0 + 1e-12)


def test_an_adaptive_choice_between_the_two_orders_hardly_raises_the_lower_bound() -> (
    None
):
    """The best choice for the losses so far, on a grid, from the last step back to the first."""
    steps = BatchSteps(0.3, 1.0, 100)
    width = 0.05
    wanted = width * np.arange(-1600, 1601)
    one_step = [
        _loss_on_grid(*pair, width) for pair in (laws(0.3, 1.0), laws(0.3, 1.0)[::-1])
    ]
    pair = adaptive = np.maximum(-np.expm1(wanted), 0.0)
    for _ in range(steps.count):
        pair = _one_step_back(pair, *one_step[0])
        adaptive = np.maximum(*(_one_step_back(adaptive, *law) for law in one_step))
    found = batch_epsilon([steps], 1e-5)
    known, chosen = (
        float(wanted[(deltas < 1e-5).argmax()]) for deltas in (pair, adaptive)
    )
    assert known == pytest.approx(found.lower, rel=5e-3)
    assert known <= chosen < known * 1.005 + width
    assert found.upper > 1.05 * chosen


def _loss_on_grid(first: Vector, second: Vector, width: float) -> tuple[Vector, int]:
    """Law of log(first/second) under the first: chances from a place of the grid on, with the mean kept."""
    seen = (first > 0.0) & (second > 0.0)
    loss = np.log(first[seen] / second[seen]) / width
    below = np.floor(loss).astype(np.int64)
    chances = np.zeros(int(np.ptp(below)) + 2)
    np.add.at(chances, below - below.min(), first[seen] * (below + 1 - loss))
    np.add.at(chances, below - below.min() + 1, first[seen] * (loss - below))
    return chances, int(below.min())


def _one_step_back(deltas: Vector, chances: Vector, least: int) -> Vector:
    """Expectation of the delta that is left when the loss of one more step is taken off what is wanted."""
    margin = len(chances) + abs(least)
    wide = np.concatenate([np.ones(margin), deltas, np.zeros(margin)])
    begin = margin - least
    return np.asarray(np.convolve(wide, chances)[begin : begin + len(deltas)])


def batch_law(examples: Sequence[float], size: int, noise: float, x: Vector) -> Vector:
    """Law of the noisy sum over a batch, over pieces of the line; vectors are in units of the sensitivity."""
    every = list(itertools.combinations(examples, size))
    cdf = [np.diff([normal((v - sum(batch)) / noise) for v in x]) for batch in every]
    return np.asarray(np.mean(cdf, axis=0), np.float64)


@for_each(("n", "size"), [(2, 1), (3, 1), (3, 2), (2, 2)])
def test_no_data_set_of_a_grid_exceeds_the_upper_bound(n: int, size: int) -> None:
    """Vectors out of three or four of the ball, at both of two steps; in the second another set for each sign seen."""
    noise = 0.6
    x = np.linspace(-size / 2 - 4.5, size / 2 + 4.5, 160)
    pairs: list[tuple[Vector, Vector]] = []
    for others in itertools.combinations_with_replacement((-0.5, 0.1, 0.5), n - 1):
        for one, other in itertools.permutations((-0.5, 0.0, 0.5), 2):
            pairs.append(
                (
                    batch_law([one, *others], size, noise, x),
                    batch_law([other, *others], size, noise, x),
                )
            )
    for epsilon in (0.1, 0.6):
        c, reached = math.exp(epsilon), 0.0
        bound = batch_delta([BatchSteps(size / n, noise, 2)], epsilon, 0.1)
        ps, qs = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
        for p, q in pairs:
            second: Matrix = np.maximum(
                p[None, :, None] * ps[:, None, :]
                - c * q[None, :, None] * qs[:, None, :],
                0.0,
            ).sum(axis=2)
            half = len(x) // 2
            reached = max(
                reached,
                float(
                    second[:, :half].sum(axis=1).max()
                    + second[:, half:].sum(axis=1).max()
                ),
            )
        assert 0.8 * bound.lower < reached <= bound.upper


def test_a_whole_batch_is_the_gaussian_mechanism() -> None:
    for noise, count, delta in ((0.7, 3, 1e-5), (20.0, 400, 1e-9), (58.0, 12659, 3e-3)):
        exact, found = (
            epsilon_of(math.sqrt(count) / noise, delta),
            batch_epsilon([BatchSteps(1.0, noise, count)], delta),
        )
        assert found.lower <= exact <= found.upper <= found.lower * 1.002
    both = batch_epsilon([BatchSteps(1.0, 3.0), BatchSteps(1.0, 4.0, 5)], 1e-6)
    exact = epsilon_of(math.sqrt(1 / 9 + 5 / 16), 1e-6)
    assert both.lower <= exact <= both.upper <= 1.002 * both.lower


def test_delta_near_the_gaussian_one_whatever_its_size() -> None:
    steps = [BatchSteps(1.0, 10.0, 25)]
    for epsilon in (0.5, 2.0, 5.0):
        exact = delta_of(0.5, epsilon)
        found = batch_delta(steps, epsilon, max(exact, 1e-30))
        assert found.lower <= exact <= found.upper <= found.lower * 1.1


def test_far_from_the_delta_that_was_asked_for_the_bounds_are_wide_and_hold() -> None:
    steps = [BatchSteps(1.0, 10.0, 25)]
    for epsilon in (3.0, 5.0):
        found = batch_delta(steps, epsilon, 0.1)
        assert found.lower <= delta_of(0.5, epsilon) <= found.upper
    small, far = delta_of(0.5, 8.0), batch_delta(steps, 8.0, 0.1)
    assert far.lower == 0.0 < 1e10 * small < far.upper, (
        "this small it is within the transforms' error"
    )


# section 6.1 of wang2019: n, batch and passes, with noise that epsilon 0.2 and 0.5 need
SETTINGS = [
    (32561, 50, 4, 1.3187),
    (32561, 200, 5, 1.2969),
    (49990, 50, 5, 1.23),
    (49990, 50, 5, 0.7987),
    (49990, 200, 5, 2.04),
]


@for_each(("n", "batch", "passes", "noise"), SETTINGS)
def test_both_ends_are_near_at_the_paper_s_settings(
    n: int, batch: int, passes: int, noise: float
) -> None:
    steps = [BatchSteps(batch / n, noise, round(passes * n / (2 * batch)))]
    found = batch_epsilon(steps, 1e-5)
    assert 1.0 < found.ratio < 1.25
    # A bound of the same pair with losses rounded down
    # is not above the new one, and not far below.
    assert (
        1e-6
        < delta_lower_bound(batch / n, noise, steps[0].count, found.lower)
        < 1e-5 * (1.0 + 2e-3)
    )


def test_the_upper_bound_grows_with_steps_and_falls_with_noise() -> None:
    base = batch_epsilon([BatchSteps(0.01, 1.0, 300)], 1e-6)
    more = batch_epsilon([BatchSteps(0.01, 1.0, 330)], 1e-6)
    quieter = batch_epsilon([BatchSteps(0.01, 0.95, 300)], 1e-6)
    assert base.lower < more.lower
    assert base.upper < min(more.upper, quieter.upper)


@for_each(
    ("rate", "count", "epsilon", "delta"),
    [(50 / 32561, 1302, 0.2, 1e-5), (0.3, 4, 8.0, 1e-9), (1.0, 7, 0.05, 1e-3)],
)
def test_the_least_noise_is_certified_and_found_in_few_evaluations(
    rate: float, count: int, epsilon: float, delta: float
) -> None:
    seen: list[float] = []

    def counted(steps: Sequence[BatchSteps], delta: float) -> float:
        seen.append(steps[0].noise)
        return upper_epsilon(steps, delta)

    noise = least_factor(
        lambda f: [BatchSteps(rate, f, count)], epsilon, delta, counted
    )
    assert noise in seen
    assert len(seen) <= 25
    assert upper_epsilon([BatchSteps(rate, noise, count)], delta) <= epsilon
    assert (
        upper_epsilon([BatchSteps(rate, noise * (1.0 - 1e-5), count)], delta) > epsilon
    )


def test_few_evaluations_are_secants_and_no_bisection() -> None:
    """Where epsilon is a power of the noise, as it nearly is, a straight line through two logarithms finds it."""
    seen: list[float] = []

    def counted(steps: Sequence[BatchSteps], delta: float) -> float:
        seen.append(steps[0].noise)
        return 3.0 / math.pow(steps[0].noise, 1.5)

    noise = least_factor(lambda f: [BatchSteps(0.5, f)], 0.7, 1e-5, counted)
    assert noise == pytest.approx((3.0 / 0.7) ** (1.0 / 1.5), rel=1e-6)
    assert noise >= (3.0 / 0.7) ** (1.0 / 1.5)
    assert len(seen) <= 12


def test_neighbours_that_reach_the_bound_from_below_differ_in_one_example() -> None:
    first, second = opposed(5)
    assert first.tolist() == [-1.0] * 5
    assert second.tolist() == [1.0, -1.0, -1.0, -1.0, -1.0]


def test_losses_beyond_the_range_of_exponentials() -> None:
    exact, found = (
        epsilon_of(200.0, 1e-5),
        batch_epsilon([BatchSteps(1.0, 0.5, 10_000)], 1e-5),
    )
    assert found.lower <= exact <= found.upper <= 1.002 * found.lower
    assert batch_epsilon([BatchSteps(0.5, 0.01)], 1e-5).upper <= epsilon_of(
        100.0, 1e-5
    ) * (1.0 + 1e-9)
    assert batch_epsilon([BatchSteps(1e-3, 50.0, 3)], 0.2).upper == 0.0


@for_each(
    ("make", "words"),
    [
        (lambda: BatchSteps(0.0, 1.0), "rate must lie in"),
        (lambda: BatchSteps(0.5, 0.0), "noise must be finite and above 0"),
        (lambda: BatchSteps(0.5, 1.0, 0), "count must be an integer"),
        (lambda: batch_epsilon([], 1e-5), "steps must be at least one"),
        (
            lambda: batch_epsilon([BatchSteps(0.5, 1.0)], 1.0),
            "delta must be from 1e-200 to below 1",
        ),
        (
            lambda: batch_delta([BatchSteps(0.5, 1.0)], -1.0),
            "epsilon must be finite and at least 0",
        ),
    ],
)
def test_refuses_what_is_outside_the_range(
    make: Callable[[], object], words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        make()


def test_second_opinion_on_the_sum_of_one_law() -> None:
    """Another library composes the same law."""
    pmfs = pytest.importorskip("dp_accounting.pld.pld_pmf", reason=MISSING)
    rate, noise, count, delta = 50 / 32561, 1.3187, 1302, 1e-5
    width = rate / noise / 16.0
    law = step_law(rate, noise, width, 1e-9 * delta / count, "upper")
    ours = add_up([Steps(law, count)], width, delta).epsilon(delta, 1)
    table = dict(zip(law.places.tolist(), law.chances.tolist(), strict=True))
    pmf = pmfs.SparsePLDPmf(
        table, width, law.beyond, pessimistic_estimate=True
    ).to_dense_pmf()
    theirs = pmf.self_compose(count, tail_mass_truncation=1e-15).get_epsilon_for_delta(
        delta
    )
    assert theirs * (1.0 - 1e-9) <= ours <= theirs * (1.0 + 1e-6)


def test_losses_that_no_grid_resolves_cost_delta_from_above_at_each_step_and_nothing_from_below() -> (
    None
):
    law, width = step_law(0.2, 1.0, 0.01, 1e-12, "upper"), 0.01
    none, some = (
        add_up([Steps(law._replace(beyond=beyond), 7)], width, 1e-5)
        for beyond in (0.0, 1e-6)
    )
    assert some.delta(1.0, 1) - none.delta(1.0, 1) == pytest.approx(7e-6, rel=1e-6)
    assert some.delta(1.0, -1) == none.delta(1.0, -1)
    assert some.epsilon(1e-5, 1) > none.epsilon(1e-5, 1)
    # 7 times that is more than delta
    most = add_up([Steps(law._replace(beyond=2e-6), 7)], width, 1e-5)
    assert most.epsilon(1e-5, 1) == math.inf
    assert most.epsilon(1e-5, -1) == pytest.approx(none.epsilon(1e-5, -1), rel=1e-11)


@for_each(
    ("rate", "noise", "count"),
    [(1e-4, 2.0, 10), (0.5, 1.0, 10), (0.01, 0.3, 50), (1.0, 5.0, 7)],
)
def test_the_least_delta_is_within_the_range_of_floats(
    rate: float, noise: float, count: int
) -> None:
    found = batch_epsilon([BatchSteps(rate, noise, count)], 1e-200)
    assert 0.0 <= found.lower <= found.upper


def test_the_unit_is_that_of_floats() -> None:
    assert np.finfo(np.float64).eps == ROUNDOFF


@for_each(
    ("rate", "noise"), [(1e-6, 0.4), (1e-3, 0.3), (0.01, 0.157), (2.767e-5, 0.051325)]
)
def test_laws_from_below_are_near_the_profile_on_a_grid_that_is_wide_beside_the_rate(
    rate: float, noise: float
) -> None:
    width = 0.001
    law = step_law(rate, noise, width, 1e-18, "lower")
    at = law.places * width - law.shift
    assert float(law.chances.sum()) <= 1.0 + 1e-12
    for loss in (0.01, 0.1, 1.0, 5.0):
        c = math.exp(loss)
        x = 0.5 + noise**2 * math.log((c - 1.0 + rate) / rate)
        exact = rate * normal((1.0 - x) / noise) - (c - 1.0 + rate) * normal(-x / noise)
        seen = float(law.chances @ np.maximum(-np.expm1(loss - at), 0.0))
        assert 0.99 * exact < seen <= exact * (1.0 + 1e-9)
    # the first point, and the mean of the losses below 0.001: rounding down would give
    # both as log(1 - rate)
    assert (
        math.log1p(-rate)
        < at[0]
        < 0.999 * math.log1p(-rate) * normal(-0.5 / noise) / 2.0
    )


def test_simple_bounds_where_no_law_is_resolved() -> None:
    found = poisson_epsilon([BatchSteps(0.02, 0.01, 200)], 1e-6)
    assert found.lower == 0.0
    assert found.upper < math.inf
    assert found.method.startswith("Renyi") or found.method.startswith("Gaussian")
    batches = batch_epsilon([BatchSteps(0.02, 0.01, 200)], 1e-6)
    assert found.upper <= batches.upper < math.inf
    assert "none is known to reach the upper one" in batches.method
    # by the chance of each number of steps that have the example, and the Gaussian
    # mechanism in those
    for number in (1, 200, 100_000):
        upper = poisson_epsilon([BatchSteps(0.02, 0.01, number)], 1e-6).upper
        delta = 0.0
        for k in range(1, min(number, 4000) + 1):
            choices = (
                math.lgamma(number + 1)
                - math.lgamma(k + 1)
                - math.lgamma(number - k + 1)
            )
            chance = math.exp(
                choices + k * math.log(0.02) + (number - k) * math.log(0.98)
            )
            delta += chance * delta_of(math.sqrt(k) * 100.0, upper)
        assert 0.0 < delta <= 1e-6


def test_what_is_taken_off_each_loss_counts() -> None:
    law, width = step_law(0.2, 1.0, 0.01, 1e-12, "lower"), 0.01
    plain, less = (
        add_up([Steps(law._replace(shift=shift), 7)], width, 1e-5)
        for shift in (0.0, 0.1)
    )
    assert less.delta(1.0, -1) == pytest.approx(plain.delta(1.7, -1), rel=1e-9)
    assert less.epsilon(1e-5, -1) < plain.epsilon(1e-5, -1) - 0.6
