"""DP-SRM's estimator, RRPSGD and DP-GD of wang2019 and the engine of zhang2021: logistic, n = 32561, d = 123."""

from __future__ import annotations

from dpverify.bench.case import BenchCase, Forms, Target, aligned
from dpverify.bench.cases.optimizers import BATCH, D, N, logistic_problem


def _estimator(*, seed: int, n: int, d: int, batch: int) -> Forms:
    """Sum over a batch at two points with two clip lengths; the limit is the clipped sum at one point."""
    import numpy as np

    from dpverify.kernels.clipping import pad_rows
    from dpverify.problems.logistic import clipped_logistic, recursive_logistic

    problem = logistic_problem(n, d)
    rng = np.random.default_rng(seed)
    rows = pad_rows(problem.x, problem.y)
    batches = rng.permutation(n)[: n // batch * batch].reshape(-1, batch)
    new, old, out = (aligned(rows.shape[1]) for _ in range(3))
    new[:d] = rng.standard_normal(d)
    old[:d] = rng.standard_normal(d)

    def one_point() -> None:
        for drawn in batches:
            clipped_logistic(rows, drawn, new, 0.5, out)

    def two_points() -> None:
        for drawn in batches:
            recursive_logistic(rows, drawn, new, old, 0.1, 0.5, 0.01, out)

    return {"clipped sum": one_point, "estimator": two_points}


def _descent(*, seed: int, n: int, d: int, batch: int, steps: int) -> Forms:
    """Run noisy descent; the limit draws d numbers per step by the library and runs the steps without noise."""
    from dpverify.bench.cases.kernel_limits import draw_rows
    from dpverify.kernels.tape import generator
    from dpverify.problems.logistic import BatchGradient
    from dpverify.problems.sampled_run import DescentParameters, NoisyDescent

    problem = logistic_problem(n, d)
    rng = generator(seed, 9)
    row = aligned(d)

    def run(std: float) -> NoisyDescent:
        numbers = DescentParameters(10**9, batch, 1e-3, std)
        return NoisyDescent(
            BatchGradient(problem), n, problem.start, numbers, seed=seed
        )

    noisy = run(1e-3)
    plain = run(0.0)

    def parts() -> None:
        draw_rows(rng, steps, row)
        plain.advance(steps)

    return {
        "parts": parts,
        "step": lambda: noisy.advance(steps),
        "step without noise": lambda: plain.advance(steps),
    }


def _full(*, seed: int, n: int, d: int) -> Forms:
    """Run a step on all examples; the limit makes two plain passes over the rows."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import read_twice
    from dpverify.kernels.clipping import pad_rows

    problem = logistic_problem(n, d)
    rows = pad_rows(problem.x, problem.y)
    order = np.arange(n)
    out = aligned(rows.shape[1])
    step = _descent(seed=seed, n=n, d=d, batch=n, steps=1)["step"]
    return {"read twice": lambda: read_twice(rows, order, n, out), "step": step}


def _staged(*, seed: int, n: int, d: int, batch: int, steps: int) -> Forms:
    """Run steps of one stage with and without momentum; the limit draws batches and noise and computes clipped sums."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import clip_drawn
    from dpverify.kernels.clipping import pad_rows
    from dpverify.kernels.tape import generator
    from dpverify.papers.zhang2021.algorithms import Stage, StagedDescent, StageSchedule
    from dpverify.problems.logistic import BatchGradient

    problem = logistic_problem(n, d)
    rows = pad_rows(problem.x, problem.y)
    w, out = (aligned(rows.shape[1]) for _ in range(2))
    order = np.arange(n)
    batches = generator(seed, 8)
    rng = generator(seed, 9)
    noise = aligned(d)

    def run(on: int) -> StagedDescent:
        numbers = StageSchedule((Stage(10**9, on, 1e-3),), batch, 0.5, 1e-3)
        return StagedDescent(
            BatchGradient(problem, 0.5), n, problem.start, numbers, seed=seed
        )

    with_momentum = run(10**9)
    without_momentum = run(0)
    return {
        "parts": lambda: clip_drawn(
            rows, order, batch, steps, w, 0.5, out, noise, batches, rng
        ),
        "step": lambda: without_momentum.advance(steps),
        "step with momentum": lambda: with_momentum.advance(steps),
    }


CASES: tuple[BenchCase, ...] = (
    BenchCase(
        "dp-srm-estimator",
        f"DP-SRM's sum over a batch of {BATCH} at two points, against the clipped sum of the same batch at one point",
        _estimator,
        limit_is_ours=True,
        forms=("clipped sum", "estimator"),
        parameters={"n": N, "d": D, "batch": BATCH},
        work=N // BATCH,
        item="batch",
        targets=[Target("estimator", at_most=1.4)],
    ),
    BenchCase(
        "rrpsgd",
        "RRPSGD, one example per step, against the library's draw of d numbers and the same steps without noise",
        _descent,
        limit_is_ours=True,
        forms=("parts", "step", "step without noise"),
        parameters={"n": N, "d": D, "batch": 1, "steps": 20_000},
        work=20_000,
        item="step",
        targets=[Target("step", at_most=1.25)],
    ),
    BenchCase(
        "dp-gd",
        "DP-GD, a step on all examples with its noise, against two plain passes over the rows",
        _full,
        forms=("read twice", "step"),
        parameters={"n": N, "d": D},
        item="step",
        targets=[Target("step", at_most=1.2)],
    ),
    BenchCase(
        "dpageem",
        f"DPageEM's engine, batches of {BATCH}, against the draws of batches and noise and the clipped sums",
        _staged,
        forms=("parts", "step", "step with momentum"),
        parameters={"n": N, "d": D, "batch": BATCH, "steps": 500},
        work=500,
        item="step",
        targets=[
            Target("step", at_most=1.2),
            Target("step with momentum", at_most=1.2),
        ],
    ),
)
