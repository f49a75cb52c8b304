"""The run in stages against plain NumPy: momentum's switch, a stage's start, step sizes, noise, what is handed on."""

from typing import Literal

import numpy as np
import pytest
from scipy import stats

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import draw_batch, generator
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.papers.zhang2021.algorithms import (
    Stage,
    StagedDescent,
    StageSchedule,
    stagewise,
)
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.logistic import BatchGradient, LogisticRegression
from dpverify.problems.rows import scale_rows
from dpverify.problems.sampled_run import BATCHES, DescentParameters, NoisyDescent
from tests.for_each import for_each

N, D = 40, 4
ROWS = scale_rows(np.random.default_rng(2).standard_normal((N, D)))
PROBLEM = LogisticRegression(
    ROWS, (np.arange(N) % 2).astype(np.float64), lam=0.0, radius=1.0
)


def gradients(w: Vector, batch: Indices) -> Matrix:
    """Gradients of the logistic loss in plain NumPy."""
    x, s = PROBLEM.x[batch], 1.0 - 2.0 * PROBLEM.y[batch]
    rows: Matrix = (s / (1.0 + np.exp(-s * (x @ w))))[:, None] * x
    return rows


def replay(schedule: StageSchedule, handed: list[int], seed: int) -> Vector:
    """Algorithms 1 and 2, with the indices of the box; ``handed``: the index O of each stage."""
    batches, noise, order, start = (
        generator(seed, BATCHES),
        generator(seed, 1),
        np.arange(N),
        np.zeros(D),
    )
    for stage, index in zip(schedule.stages, handed, strict=True):
        omega = {schedule.first - 1: start, schedule.first: start}
        for j in range(stage.steps):
            t = schedule.first + j
            if schedule.batch < N:
                draw_batch(batches, order, schedule.batch)
            step = gradients(omega[t], order[: schedule.batch]).mean(axis=0)
            step = step + (
                schedule.std * noise.standard_normal(D) if schedule.std else 0.0
            )
            eta = {
                "none": stage.eta,
                "linear": stage.eta / (j + 1),
                "root": stage.eta / np.sqrt(j + 1),
            }[stage.decay]
            rho = schedule.rho if 1 <= t <= stage.momentum_steps else 0.0
            omega[t + 1] = omega[t] - eta * step + rho * (omega[t] - omega[t - 1])
        start = omega[index]
    return start


SCHEDULES = [
    StageSchedule(stagewise(3, 4, 2, 0.5), 7, 0.8, 0.1),
    StageSchedule(stagewise(2, 3, 3, 0.5), N, 0.5, 0.0, "last"),
    StageSchedule(stagewise(3, 1, 0, 1.0), 1, 0.0, 0.2, "uniform", 0),
    StageSchedule(
        (Stage(9, 4, 0.7, "root"), Stage(1, 1, 0.2), Stage(5, 5, 0.3, "linear")),
        5,
        0.9,
        0.1,
        "uniform",
        0,
    ),
    StageSchedule((Stage(1, 0, 0.7),), 5),
]


@for_each("schedule", SCHEDULES)
def test_a_run_is_that_of_the_box_compiled_or_not_in_one_go_or_in_pieces(
    schedule: StageSchedule,
) -> None:
    oracles = BatchGradient(PROBLEM), ExampleGradients(gradients)
    compiled, plain = (
        StagedDescent(o, N, PROBLEM.start, schedule, seed=4, keep=True) for o in oracles
    )
    begins = (0, *schedule.ends[:-1])
    handed = [
        at - begin + schedule.first
        for at, begin in zip(compiled._handed, begins, strict=True)
    ]
    with pytest.raises(ArgumentError, match=r"^t must have reached the last step"):
        _ = plain.output
    compiled.advance()
    for _ in range(schedule.steps):
        plain.advance(1)
    assert np.allclose(compiled.iterates, plain.iterates, rtol=0, atol=1e-12)
    assert np.allclose(compiled.output, replay(schedule, handed, 4), rtol=0, atol=1e-12)


@for_each("first", [0, 1])
def test_each_iterate_of_the_box_is_handed_on_as_often(first: Literal[0, 1]) -> None:
    schedule = StageSchedule(stagewise(2, 2, 0, 0.1), N, first=first)
    runs = [
        StagedDescent(BatchGradient(PROBLEM), N, PROBLEM.start, schedule, seed=seed)
        for seed in range(2000)
    ]
    for k, begin in ((0, 0), (1, 4)):
        counts = np.bincount([run._handed[k] - begin - 1 + first for run in runs])
        assert len(counts) == schedule.stages[k].steps
        assert stats.chisquare(counts).pvalue > 1e-6


def test_momentum_of_a_stage_starts_anew_and_is_switched_off_at_its_step() -> None:
    """Without gradients only momentum moves; with constant ones its sums are geometric."""
    ones = ExampleGradients(lambda w, batch: np.ones((len(batch), 1)))
    schedule = StageSchedule(
        (Stage(5, 3, 1.0), Stage(3, 3, 0.5)), N, 0.5, hand_on="last"
    )
    run = StagedDescent(ones, N, np.zeros(1), schedule, keep=True)
    run.advance()
    moves = -np.diff(run.iterates[:, 0])
    assert moves == pytest.approx([1.0, 1.5, 1.75, 1.0, 1.0, 0.5, 0.75, 0.875])


def test_noise_is_on_the_mean_of_a_batch_whatever_its_size() -> None:
    zeros = ExampleGradients(lambda w, batch: np.zeros((len(batch), len(w))))
    for batch in (1, 10):
        schedule = StageSchedule((Stage(1000, 0, 2.0),), batch, 0.0, 0.3, "last")
        run = StagedDescent(zeros, N, np.zeros(3), schedule, keep=True)
        run.advance()
        assert (
            stats.kstest(np.diff(run.iterates, axis=0).reshape(-1) / 0.6, "norm").pvalue
            > 1e-6
        )


def test_one_stage_without_momentum_is_noisy_descent() -> None:
    schedule = StageSchedule((Stage(30, 0, 0.4),), 6, 0.0, 0.2, "last")
    staged = StagedDescent(BatchGradient(PROBLEM), N, PROBLEM.start, schedule, seed=9)
    plain = NoisyDescent(
        BatchGradient(PROBLEM),
        N,
        PROBLEM.start,
        DescentParameters(30, 6, 0.4, 0.2),
        seed=9,
    )
    for run in (staged, plain):
        run.advance()
    assert np.array_equal(staged.w, plain.w)


@for_each(
    ("make", "name"),
    [
        (lambda: Stage(3, 4, 0.1), "momentum_steps"),
        (lambda: Stage(0, 0, 0.1), "steps"),
        (lambda: Stage(3, 0, 0.0), "eta"),
        (lambda: Stage(3, 0, 0.1, "cubic"), "decay"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: stagewise(3, 4, 5, 0.1), "momentum_steps"),
        (lambda: stagewise(52, 4, 2, 0.1), "stages"),
        (lambda: stagewise(0, 4, 2, 0.1), "stages"),
        (lambda: StageSchedule((), 3), "stages"),
        (lambda: StageSchedule((Stage(3, 0, 0.1),), 0), "batch"),
        (lambda: StageSchedule((Stage(3, 0, 0.1),), 1, 1.0), "rho"),
        (lambda: StageSchedule((Stage(3, 0, 0.1),), 1, -0.1), "rho"),
        (lambda: StageSchedule((Stage(3, 0, 0.1),), 1, 0.0, -1.0), "std"),
        (lambda: StageSchedule((Stage(3, 0, 0.1),), 1, hand_on="best"), "hand_on"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: StageSchedule((Stage(3, 0, 0.1),), 1, first=2), "first"),  # type: ignore[arg-type]  # wrong on purpose
        (
            lambda: StagedDescent(BatchGradient(PROBLEM), 6, np.zeros(D), SCHEDULES[0]),
            "batch",
        ),
    ],
)
def test_what_is_out_of_range_is_named_in_a_line(make: object, name: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name} ") as caught:
        make()  # type: ignore[operator]  # functions in a list of pairs
    assert "\n" not in str(caught.value)
