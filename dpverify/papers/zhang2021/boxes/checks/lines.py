"""Check the implementation against the lines of Algorithms 1 and 2: a stage's start, momentum, noise and output."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.statistics.exact_tests import chi_square_upper_quantile
from dpverify.kernels.typing import Indices, Vector
from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.algorithms.dpageem import StagedDescent
from dpverify.papers.zhang2021.algorithms.stages import (
    HandOn,
    Stage,
    StageSchedule,
    stagewise,
)
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.logistic import BatchGradient, LogisticRegression

CHECKS = PaperChecks("zhang2021", __name__)

N = 4
DRAWS = 20_000
CONSTANT = ExampleGradients(lambda w, batch: np.ones((len(batch), len(w))))


def _moves(stages: tuple[Stage, ...], rho: Fraction) -> list[float]:
    """Return the lengths of the steps against the gradient 1; each stage's result is its last iterate."""
    schedule = StageSchedule(stages, N, float(rho), hand_on="last")
    run = StagedDescent(CONSTANT, N, np.zeros(1), schedule, keep=True)
    run.advance()
    return [float(move) for move in -np.diff(run.iterates[:, 0])]


def _expected(
    K: int, T_0: int, t_0: int, rho: Fraction, carried: bool, halved: bool
) -> list[float]:
    """Return the lengths according to the boxes: v = eta + rho_t v, with v = 0 before t = 1 unless it is carried."""
    moves = []
    move = Fraction(0)
    for k in range(1, K + 1):
        move *= carried
        for t in range(1, (T_0 << k) + 1):
            move = (
                Fraction(1, 1 << k if halved else 2)
                + (rho if t <= t_0 << k else 0) * move
            )
            moves.append(float(move))
    return moves


def _same(
    point: Point,
    statement: Statement,
    *,
    late: int = 0,
    carried: bool = False,
    halved: bool = True,
) -> Outcome:
    K, T_0, t_0 = (int(point[name]) for name in ("K", "T_0", "t_0"))
    moves = _moves(stagewise(K, T_0, t_0, 1.0), point["rho"])
    expected = _expected(K, T_0, t_0 + late, point["rho"], carried, halved)
    largest_error = max(abs(a - b) for a, b in zip(moves, expected, strict=True))
    return Outcome(
        largest_error < 1e-9,
        Fraction(largest_error),
        Fraction(1, 10**9),
        "largest difference of a step, and rounding",
    )


def _schedules(budget: Budget) -> Iterator[dict[str, int | str]]:
    for K, T_0, t_0, rho in (
        (1, 1, 1, "1/2"),
        (3, 4, 2, "1/2"),
        (3, 4, 4, "9/10"),
        (2, 5, 0, "1/2"),
        (4, 3, 1, "3/4"),
    ):
        yield {"K": K, "T_0": T_0, "t_0": t_0, "rho": rho}


def _momentum(budget: Budget) -> Iterator[dict[str, int | str]]:
    return (
        values
        for values in _schedules(budget)
        if values["t_0"] not in (0, values["T_0"])
    )


def _flat(batch: int) -> Vector:
    """Return steps of size 1 of the compiled loop, with noise of deviation 1 and gradients 0."""
    problem = LogisticRegression(np.zeros((64, 2)), np.zeros(64), lam=0.0, radius=1.0)
    schedule = StageSchedule((Stage(DRAWS // 2, 0, 1.0),), batch, 0.0, 1.0, "last")
    run = StagedDescent(
        BatchGradient(problem), 64, np.zeros(2), schedule, seed=1, keep=True
    )
    run.advance()
    steps: Vector = np.diff(run.iterates, axis=0).ravel()
    return steps


def _noise(point: Point, statement: Statement, *, times: float = 1.0) -> Outcome:
    """Test the mean square of the draws, which differs from 1 by more than 0.1 with a probability below 1e-20."""
    square = Fraction(float(np.mean(_flat(int(point["B"])) ** 2)))
    difference = abs(square - Fraction(times))
    return Outcome(
        difference <= Fraction(1, 10),
        difference,
        Fraction(1, 10),
        "distance of the mean square to pi^2, and what chance allows it",
    )


def _batches(budget: Budget) -> Iterator[dict[str, int]]:
    yield from ({"B": batch} for batch in (1, 4, 64))


def _output(
    point: Point, statement: Statement, *, hand_on: HandOn = "uniform"
) -> Outcome:
    """Test that no run outputs omega_T+1, the end of the whole loop, which differs from all earlier iterates."""
    steps = int(point["T"])
    last = 0
    for seed in range(200):
        schedule = StageSchedule((Stage(steps, 0, 1.0),), N, hand_on=hand_on)
        run = StagedDescent(CONSTANT, N, np.zeros(1), schedule, seed=seed)
        run.advance()
        last += float(run.output[0]) == -float(steps)
    return Outcome(
        last == 0, Fraction(last), Fraction(0), "runs of 200 that hand on omega_T+1"
    )


def _lengths(budget: Budget) -> Iterator[dict[str, int]]:
    yield from ({"T": steps} for steps in (1, 2, 5))


class _Recorded:
    """An oracle with gradients 0 that records the requested batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, ...]] = []

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        out[:] = 0.0
        self.batches.append(tuple(batch.tolist()))


def _drawn(n: int, size: int, reuses_batches: bool) -> list[tuple[int, ...]]:
    """Return the batches of a run; with ``reuses_batches``, every second step repeats the previous batch."""
    oracle = _Recorded()
    StagedDescent(
        oracle, n, np.zeros(1), StageSchedule((Stage(DRAWS, 0, 1.0),), size), seed=1
    ).advance()
    return (
        [oracle.batches[t - t % 2] for t in range(DRAWS)]
        if reuses_batches
        else oracle.batches
    )


def _fresh(
    point: Point, statement: Statement, *, kept: bool = False, twice: bool = False
) -> Outcome:
    """Test the frequencies of pairs of consecutive batches by a chi-square; ``twice`` draws with replacement."""
    n = int(point["n"])
    size = int(point["B"])
    choices = list(combinations(range(n), size))
    places = {choice: place for place, choice in enumerate(choices)}
    batches = (
        np.random.default_rng(1).integers(n, size=(DRAWS, size)).tolist()
        if twice
        else _drawn(n, size, kept)
    )
    sorted_batches = [tuple(sorted(batch)) for batch in batches]
    if not all(batch in places for batch in sorted_batches):
        return Outcome(False, note="an example stands twice in a batch")
    drawn = np.array([places[batch] for batch in sorted_batches])
    counts = np.bincount(
        drawn[::2] * len(choices) + drawn[1::2], minlength=len(choices) ** 2
    )
    statistic = float(counts.var() * len(counts) / counts.mean())
    allowed = chi_square_upper_quantile(1e-12, len(counts) - 1)
    return Outcome(
        statistic < allowed,
        Fraction(statistic),
        Fraction(allowed),
        "chi-square, and what it may be",
    )


def _sizes(budget: Budget) -> Iterator[dict[str, int]]:
    sizes = ((5, 2),) if budget.name == "smoke" else ((4, 1), (5, 2), (4, 3))
    yield from ({"n": n, "B": size} for n, size in sizes)


def _steps(
    point: Point, statement: Statement, *, ahead: bool = False, summed: bool = False
) -> Outcome:
    """Compare the compiled loop with its line; ``ahead`` takes the gradient at the point where momentum leads."""
    rng = np.random.default_rng(int(point["d"]))
    rho = float(point["rho"])
    eta = 0.5
    x = rng.standard_normal((6, int(point["d"])))
    problem = LogisticRegression(
        x / np.linalg.norm(x, axis=1, keepdims=True),
        rng.integers(2, size=6).astype(np.float64),
        lam=0.5,
    )
    schedule = StageSchedule((Stage(8, 8, eta),), 6, rho, hand_on="last")
    run = StagedDescent(
        BatchGradient(problem), 6, np.zeros(x.shape[1]), schedule, keep=True
    )
    run.advance()
    w = run.iterates
    largest_error = 0.0
    for t in range(1, 8):
        momentum_step = rho * (w[t] - w[t - 1])
        gradient = problem.gradient(w[t] + momentum_step if ahead else w[t]) * (
            6 if summed else 1
        )
        largest_error = max(
            largest_error,
            float(np.abs(w[t + 1] - w[t] + eta * gradient - momentum_step).max()),
        )
    return Outcome(
        largest_error < 1e-12,
        Fraction(largest_error),
        Fraction(1, 10**12),
        "largest difference of a coordinate, and rounding",
    )


def _dimensions(budget: Budget) -> Iterator[dict[str, int | str]]:
    yield from ({"d": d, "rho": rho} for d in (1, 3, 9) for rho in ("1/2", "9/10"))


OWN_IMPLEMENTATION = (
    "the implementation here at a few schedules; it is ours, and not the authors'"
)

CHECKS.add(
    RuleCheck(
        "algorithm-1-start",
        "implementation",
        points=_schedules,
        is_satisfied=_same,
        about_kernel=True,
        planted=[
            Planted(
                "momentum carried into the next stage",
                is_satisfied=partial(_same, carried=True),
            ),
            Planted(
                "the step size not halved", is_satisfied=partial(_same, halved=False)
            ),
        ],
        region="five schedules, one constant gradient",
        leaves_out=OWN_IMPLEMENTATION,
    ),
    RuleCheck(
        "algorithm-2-batch",
        "implementation",
        points=_sizes,
        is_satisfied=_fresh,
        about_kernel=True,
        seconds=0.6,
        planted=[
            Planted(
                "a batch used in two steps", is_satisfied=partial(_fresh, kept=True)
            ),
            Planted("with replacement", is_satisfied=partial(_fresh, twice=True)),
        ],
        region="two of five examples, from the standard budget on one and three of four besides, 20,000 steps each",
        leaves_out=OWN_IMPLEMENTATION,
    ),
    RuleCheck(
        "algorithm-2-step",
        "implementation",
        points=_dimensions,
        is_satisfied=_steps,
        about_kernel=True,
        planted=[
            Planted(
                "the gradient taken where momentum leads to",
                is_satisfied=partial(_steps, ahead=True),
            ),
            Planted("the sum for the mean", is_satisfied=partial(_steps, summed=True)),
        ],
        region="eight steps with momentum on six examples, in 1, 3 and 9 dimensions",
        leaves_out=OWN_IMPLEMENTATION,
    ),
    RuleCheck(
        "algorithm-2-switch",
        "implementation",
        points=_momentum,
        is_satisfied=_same,
        about_kernel=True,
        planted=[Planted("the switch late", is_satisfied=partial(_same, late=1))],
        region="schedules that switch momentum off, one constant gradient",
        leaves_out=OWN_IMPLEMENTATION,
    ),
    RuleCheck(
        "algorithm-2-noise",
        "implementation",
        points=_batches,
        is_satisfied=_noise,
        about_kernel=True,
        seconds=0.2,
        planted=[
            Planted("half of the variance", is_satisfied=partial(_noise, times=0.5))
        ],
        region="batches of 1, 4 and 64 of 64 examples",
        leaves_out=OWN_IMPLEMENTATION,
    ),
    RuleCheck(
        "algorithm-2-output",
        "implementation",
        points=_lengths,
        is_satisfied=_output,
        about_kernel=True,
        seconds=0.2,
        planted=[
            Planted(
                "the last iterate handed on",
                is_satisfied=partial(_output, hand_on="last"),
            )
        ],
        region="stages of 1, 2 and 5 steps, 200 runs each",
        leaves_out=OWN_IMPLEMENTATION,
    ),
)
