"""The paper's baselines against plain NumPy, the law of their noise, their budget, and bad input."""

import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import draw_batch, generator
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.papers.wang2019.accounting.runs import agd_parameters, spends
from dpverify.papers.wang2019.algorithms import (
    AgdParameters,
    DpAgd,
    DpSrm,
    SrmParameters,
    Storm,
    StormParameters,
)
from dpverify.papers.wang2019.algorithms.baselines import dp_gd, dp_sgd, rrpsgd
from dpverify.privacy.growing_budget import GrowingBudget
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.logistic import (
    BatchGradient,
    LogisticRegression,
    RecursiveGradient,
    line_losses,
)
from dpverify.problems.rows import scale_rows
from dpverify.problems.sampled_run import BATCHES, DescentParameters, NoisyDescent
from tests.for_each import for_each

N, D, CLIP = 60, 5, 0.3
PROBLEM = LogisticRegression(
    scale_rows(np.random.default_rng(1).standard_normal((N, D))),
    (np.arange(N) % 2).astype(np.float64),
    radius=1.0,
)
BARE = LogisticRegression(PROBLEM.x, PROBLEM.y, lam=0.0, radius=1.0)


def gradients(w: Vector, batch: Indices) -> Matrix:
    """Gradients of the bare loss in plain NumPy."""
    x, s = PROBLEM.x[batch], 1.0 - 2.0 * PROBLEM.y[batch]
    rows: Matrix = (s / (1.0 + np.exp(-s * (x @ w))))[:, None] * x
    return rows


def shortened(rows: Matrix, clip: float = CLIP) -> Matrix:
    found: Matrix = (
        rows
        * np.minimum(1.0, clip / np.maximum(np.linalg.norm(rows, axis=1), 1e-300))[
            :, None
        ]
    )
    return found


@for_each(("steps", "batch"), [(30, 7), (40, 1), (5, N), (1, 60)])
def test_noisy_descent_is_the_one_in_numpy_compiled_or_not(
    steps: int, batch: int
) -> None:
    p = DescentParameters(steps, batch, 0.7, 0.1)
    compiled = NoisyDescent(
        BatchGradient(BARE, CLIP), N, BARE.start, p, seed=3, keep=True
    )
    plain = NoisyDescent(
        ExampleGradients(gradients, CLIP), N, BARE.start, p, seed=3, keep=True
    )
    compiled.advance(steps // 2)
    compiled.advance()
    plain.advance()
    batches, noise, order, w = (
        generator(3, BATCHES),
        generator(3, 1),
        np.arange(N),
        np.zeros(D),
    )
    for t in range(steps):
        if batch < N:
            draw_batch(batches, order, batch)
        w = w - 0.7 * (
            shortened(gradients(w, order[:batch])).mean(axis=0)
            + 0.1 * noise.standard_normal(D)
        )
        assert np.allclose(compiled.iterates[t + 1], w, rtol=0, atol=1e-12)
    assert np.allclose(plain.iterates, compiled.iterates, rtol=0, atol=1e-12)
    assert (compiled.output == compiled.iterates[:-1]).all(axis=1).any()
    assert np.allclose(plain.output, compiled.output, rtol=0, atol=1e-12)


def test_every_batch_is_as_likely() -> None:
    rng, order, counts = (
        np.random.default_rng(0),
        np.arange(5),
        dict[tuple[int, ...], int](),
    )
    for _ in range(4000):
        draw_batch(rng, order, 2)
        key = tuple(sorted(order[:2].tolist()))
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 10
    assert stats.chisquare(list(counts.values())).pvalue > 1e-6


def test_the_noise_of_descent_is_gaussian_and_has_its_deviation() -> None:
    p = DescentParameters(2000, N, 1.0, 0.5)
    run = NoisyDescent(
        ExampleGradients(lambda w, batch: np.zeros((len(batch), len(w)))),
        N,
        np.zeros(D),
        p,
        keep=True,
    )
    run.advance()
    assert (
        stats.kstest(np.diff(run.iterates, axis=0).reshape(-1) / 0.5, "norm").pvalue
        > 1e-6
    )
    compiled = NoisyDescent(
        BatchGradient(BARE),
        N,
        BARE.start,
        DescentParameters(2000, N, 1e-9, 0.5),
        keep=True,
    )
    compiled.advance()
    moves = np.diff(compiled.iterates, axis=0) / 1e-9 + BARE.gradient(BARE.start)
    assert stats.kstest(-moves.reshape(-1) / 0.5, "norm").pvalue > 1e-6


def test_the_named_baselines_are_noisy_descent() -> None:
    oracle = BatchGradient(PROBLEM)
    runs = (
        dp_gd(oracle, N, PROBLEM.start, 4, 0.5, 0.1),
        rrpsgd(oracle, N, PROBLEM.start, 4, 0.5, 0.1),
    )
    assert [
        run.parameters.batch
        for run in (*runs, dp_sgd(oracle, N, PROBLEM.start, 4, 9, 0.5, 0.1))
    ] == [N, 1, 9]


@for_each("batch", [1, 7, N])
def test_storm_is_the_one_in_numpy(batch: int) -> None:
    p = StormParameters(25, batch, k=0.5, w=0.1, c=3.0)
    run = Storm(RecursiveGradient(BARE), N, BARE.start, p, seed=5, keep=True)
    run.advance()
    batches, w, old, d, eta, squares = (
        generator(5, BATCHES),
        np.zeros(D),
        np.zeros(D),
        np.zeros(D),
        0.0,
        0.0,
    )
    for t in range(25):
        drawn = (
            np.arange(N)
            if batch == N
            else batches.choice(N, batch, replace=False, shuffle=False)
        )
        now, before = (gradients(point, drawn).mean(axis=0) for point in (w, old))
        d = now + (1.0 - min(1.0, 3.0 * eta**2)) * (d - before) if t else now
        squares += float(now @ now)
        eta = 0.5 / (0.1 + squares) ** (1 / 3)
        old, w = w, w - eta * d
        assert np.allclose(run.iterates[t + 1], w, rtol=0, atol=1e-12)


@for_each(
    ("batch_0", "batch", "gamma"),
    [(30, 7, 0.2), (1, 1, 0.7), (N, N, 0.1), (9, 20, 1.0)],
)
@for_each(("std_0", "std"), [(0.05, 0.02), (0.0, 0.02), (0.05, 0.0), (0.0, 0.0)])
def test_dp_srm_is_the_one_in_numpy(
    batch_0: int, batch: int, gamma: float, std_0: float, std: float
) -> None:
    """With steps shorter than zeta, shorter than twice zeta, and longer; clipped; the regularizer is never clipped."""
    lam, zeta, change_clip, steps, kinds = 0.4, 0.2, 0.02, 60, set[int]()
    problem = LogisticRegression(PROBLEM.x, PROBLEM.y, lam=lam, radius=1.0)
    start, smooth = np.full(D, 0.9), problem.smoothness
    p = SrmParameters(steps, batch_0, batch, gamma, zeta, smooth, std_0, std)
    compiled = DpSrm(
        RecursiveGradient(problem, CLIP, change_clip), N, start, p, seed=3, keep=True
    )
    compiled.advance()
    batches, noise, w, old, v = (
        generator(3, BATCHES),
        generator(3, 1),
        start.copy(),
        start,
        np.zeros(D),
    )

    def penalty(point: Vector) -> Vector:
        found: Vector = 2.0 * lam * point / (1.0 + point**2) ** 2
        return found

    for t in range(steps):
        size, deviation = (batch, std) if t else (batch_0, std_0)
        drawn = (
            np.arange(N)
            if size == N
            else batches.choice(N, size, replace=False, shuffle=False)
        )
        now, before = gradients(w, drawn), gradients(old, drawn)
        found = shortened(now).mean(axis=0) + penalty(w)
        if t:
            change = (
                shortened(now - before, change_clip).mean(axis=0)
                + penalty(w)
                - penalty(old)
            )
            found = gamma * found + (1.0 - gamma) * (v + change)
        v = found + (deviation * noise.standard_normal(D) if deviation else 0.0)
        length = np.linalg.norm(v)
        kinds.add(int(length > zeta) + int(length > 2.0 * zeta))
        old, w = w, w - v * min(zeta / (smooth * length), 1.0 / (2.0 * smooth))
        assert np.allclose(compiled.iterates[t + 1], w, rtol=0, atol=1e-11)
    assert {1, 2} <= kinds


def agd(seed: int = 0, **changes: float) -> DpAgd:
    numbers = {
        "steps": 8,
        "rho": 1e6,
        "rho_direction": 1e4,
        "rho_choice": 1e4,
        **changes,
    }
    losses = partial(line_losses, PROBLEM, 3.0)
    return DpAgd(
        BatchGradient(PROBLEM, 1.0),
        losses,
        N,
        PROBLEM.start,
        AgdParameters(**numbers),  # type: ignore[arg-type]
        seed=seed,
        keep=True,
    )


def test_dp_agd_without_much_noise_is_the_best_candidate_along_the_gradient() -> None:
    run, w = agd(rho=1e30, rho_direction=1e20, rho_choice=1e20), PROBLEM.start
    run.advance()
    for t in range(8):
        direction = PROBLEM.gradient(w) / np.linalg.norm(PROBLEM.gradient(w))
        candidates = [w - length * direction for length in np.linspace(0.0, 2.0, 21)]
        w = min(candidates, key=PROBLEM.loss)
        assert np.allclose(run.iterates[t + 1], w, rtol=0, atol=1e-6)


def test_dp_agd_never_spends_more_than_its_budget_and_then_stands_still() -> None:
    for seed in range(20):
        run = agd(seed, steps=200, rho=0.02, rho_direction=1e-3, rho_choice=1e-3)
        run.advance()
        moves = np.linalg.norm(np.diff(run.iterates, axis=0), axis=1)
        assert run.over
        assert 0.0 < run.spent <= 0.02
        assert not moves[-1]
    assert not agd(rho=1e-9).over


def test_dp_agd_measures_again_for_the_difference_where_the_direction_is_bad() -> None:
    """Losses that are smallest at length 0 until the third choice: what is spent tells how often it asked."""
    asked = []

    def losses(w: Vector, direction: Vector, lengths: Vector) -> Vector:
        asked.append(direction)
        return lengths if len(asked) < 3 else -lengths

    p = AgdParameters(1, rho=1e30, rho_direction=1e20, rho_choice=1e20)
    run = DpAgd(BatchGradient(PROBLEM), losses, N, PROBLEM.start, p)
    run.advance()
    assert run.spent == pytest.approx(3e20 + 1.21e20)
    assert len(asked) == 3
    assert run.w == pytest.approx(-2.0 * asked[-1])


def test_dp_agd_weighs_what_it_measured_by_what_it_paid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, paid, given = list[Vector](), list[float](), iter(np.eye(D))

    def losses(w: Vector, direction: Vector, lengths: Vector) -> Vector:
        asked.append(direction)
        return lengths if len(asked) < 3 else -lengths

    def measured(rho: float) -> Vector:
        paid.append(rho)
        row: Vector = next(given)
        return row

    p = AgdParameters(1, rho=1e30, rho_direction=1e20, rho_choice=1e20)
    run = DpAgd(BatchGradient(PROBLEM), losses, N, PROBLEM.start, p)
    monkeypatch.setattr(run, "_measured", measured)
    run.advance()
    assert paid == pytest.approx([1e20, 1e19, 1.1e19])
    for k, direction in enumerate(asked, 1):
        weights = np.array([*paid[:k], *[0.0] * (D - k)])
        assert direction == pytest.approx(weights / np.linalg.norm(weights))


def test_dp_agd_looks_a_tenth_beyond_the_longest_of_the_last_ten_steps_and_never_beyond_2() -> (
    None
):
    choices, asked = (
        [20] * 10 + [5] * 3 + [8] + [5] * 6 + [10] * 10 + [1],
        list[float](),
    )

    def losses(w: Vector, direction: Vector, lengths: Vector) -> Vector:
        asked.append(float(lengths[-1]))
        off: Vector = np.abs(np.arange(21.0) - choices[len(asked) - 1])
        return off

    p = AgdParameters(len(choices), rho=1e30, rho_direction=1e20, rho_choice=1e20)
    DpAgd(BatchGradient(PROBLEM), losses, N, PROBLEM.start, p).advance()
    assert asked == pytest.approx([2.0] * 20 + [1.1 * 0.8] * 10 + [1.1 * 0.44])


def test_the_noise_of_a_direction_has_its_law() -> None:
    run, rho = agd(), 0.3
    run._mean[:] = 0.0
    std = 2.0 / (N * math.sqrt(2 * rho))
    assert (
        stats.kstest(
            np.concatenate([run._measured(rho) for _ in range(800)]) / std, "norm"
        ).pvalue
        > 1e-6
    )


def test_the_noise_of_a_choice_is_that_of_losses_that_move_either_way() -> None:
    run, asked = (
        agd(steps=1, rho_choice=0.02, candidates=4),
        list[tuple[float, float, int]](),
    )

    def laplace(mean: float, scale: float, size: int) -> Vector:
        asked.append((mean, scale, size))
        return np.array([0.0, 0.0, -1e9, 0.0, 0.0])

    run._choices = SimpleNamespace(laplace=laplace)  # type: ignore[assignment]  # stands for a generator
    run.advance()
    ((mean, scale, size),) = asked
    assert (mean, size) == (0.0, 5)
    assert scale == pytest.approx(2 * 3.0 / (N * 0.2))
    # the third of 0, 1/2, ..., 2
    assert np.linalg.norm(run.w - PROBLEM.start) == pytest.approx(1.0)


def test_parties_draw_the_same_part_each_among_their_own() -> None:
    seen = []

    def remember(w: Vector, batch: Indices) -> Matrix:
        if len(batch) > 1:  # else it is asked whether its row is the example's own
            seen.append(np.bincount(batch * 4 // N, minlength=4).tolist())
        return gradients(w, batch)

    p = SrmParameters(3, 8, 12, 0.5, 0.1, 1.0, parties=4)
    DpSrm(ExampleGradients(remember), N, np.zeros(D), p).advance()
    assert seen == [[2] * 4, *[[3] * 4] * 4]
    with pytest.raises(ArgumentError, match=r"^parties "):
        DpSrm(
            ExampleGradients(gradients),
            N,
            np.zeros(D),
            SrmParameters(3, 8, 7, 0.5, 0.1, 1.0, parties=4),
        )


def bad_gradients(w: Vector, batch: Indices) -> Matrix:
    return np.full((len(batch), len(w)), np.inf)


@for_each(
    ("make", "name"),
    [
        (lambda: rrpsgd(BatchGradient(PROBLEM), N, PROBLEM.start, 3, 0.0, 0.1), "eta"),
        (
            lambda: dp_sgd(
                BatchGradient(PROBLEM), N, PROBLEM.start, 3, N + 1, 0.1, 0.1
            ),
            "batch",
        ),
        (lambda: dp_gd(BatchGradient(PROBLEM), N, PROBLEM.start, 0, 0.1, 0.1), "steps"),
        (
            lambda: dp_gd(
                BatchGradient(PROBLEM), N, PROBLEM.start, 9, 1e308, 1e300
            ).advance(),
            "w",
        ),
        (
            lambda: dp_gd(
                ExampleGradients(bad_gradients), N, PROBLEM.start, 9, 0.1, 0.1
            ).advance(),
            "gradients",
        ),
        (lambda: StormParameters(3, 3, 1.0, 0.0, 1.0), "w"),
        (
            lambda: Storm(
                RecursiveGradient(BARE),
                N,
                BARE.start,
                StormParameters(3, N + 1, 1.0, 1.0, 1.0),
            ),
            "batch",
        ),
        (lambda: agd(rho=-1.0), "rho"),
        (lambda: agd(growth=0.0), "growth"),
    ],
)
def test_what_is_out_of_range_is_named_in_a_line(make: object, name: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name} ") as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


@for_each(("printed", "parts"), [(True, 8.0), (False, 2.5)])
def test_dp_agds_choices_split_half_of_epsilon_and_directions_follow_from_them(
    printed: bool, parts: float
) -> None:
    """As e-DP; a direction has the classic Gaussian noise of sensitivity 1 for the same e."""
    epsilon, delta, n = 0.4, 1e-6, 777
    p = agd_parameters(epsilon, delta, parts, 30, 0.7, printed=printed)
    each = 0.5 * epsilon / parts
    assert p.rho_choice == pytest.approx(each**2 / 2)
    assert math.sqrt(1.0 / (2.0 * p.rho_direction)) == pytest.approx(
        math.sqrt(2.0 * math.log(1.25 / delta)) / each
    )
    assert (p.steps, p.clip) == (30, 0.7)
    spent = GrowingBudget(
        p.rho, p.rho_direction, p.rho_choice, p.growth, p.candidates, n, 30
    )
    assert spends(p, n) == spent


def test_dp_agd_offers_a_tenth_more_than_the_longest_of_the_last_ten_steps_and_at_most_2() -> (
    None
):
    """Choices by hand: of four lengths the second for ten steps, and then always the longest."""
    offered = list[float]()

    def losses(w: Vector, direction: Vector, lengths: Vector) -> Vector:
        offered.append(float(lengths[-1]))
        step = len(offered) - 1
        found = np.ones(5)
        found[2 if step < 10 else 4] = 0.0
        return found

    numbers = AgdParameters(
        40, rho=1e30, rho_direction=1e20, rho_choice=1e20, candidates=4
    )
    DpAgd(BatchGradient(PROBLEM), losses, N, PROBLEM.start, numbers).advance()
    assert offered == pytest.approx(
        [2.0] * 10 + [1.1] * 10 + [1.1**2] * 10 + [1.1**3] * 10
    )


def test_dp_agd_weighs_what_it_measures_again_by_what_it_paid() -> None:
    """A first measurement a and a second one b, for a tenth of its budget: the direction is that of a + b/10."""
    asked = list[Vector]()

    def losses(w: Vector, direction: Vector, lengths: Vector) -> Vector:
        asked.append(direction)
        return lengths if len(asked) < 2 else -lengths

    p = AgdParameters(1, rho=1e30, rho_direction=1e20, rho_choice=1e20)
    run = DpAgd(BatchGradient(PROBLEM), losses, N, PROBLEM.start, p)
    measured = iter([np.eye(D)[0], np.eye(D)[1]])
    run._measured = lambda rho: next(measured)  # type: ignore[method-assign]  # two releases by hand
    run.advance()
    assert asked[1] == pytest.approx(
        (np.eye(D)[0] + 0.1 * np.eye(D)[1]) / math.sqrt(1.01)
    )
