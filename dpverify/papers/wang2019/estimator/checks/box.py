"""Compare DP-SRM's kernel with its box: whole runs in plain arithmetic, and the law of the noise in its estimates."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpverify.harness import (
    Context,
    Control,
    MonteCarloCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    RuleCheck,
)
from dpverify.harness.statistics.trajectory_effects import (
    DetectableFaults,
    plan_to_detect,
)
from dpverify.harness.statistics.trajectory_law import (
    Simulate,
    TrajectoryLaw,
    run_by_run,
)
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.papers.wang2019.estimator.bounds import noise_covariance
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.sampled_run import BATCHES
from dpverify.problems.worst_cases import clipped_pulls

CHECKS = PaperChecks("wang2019", __name__)

OFF = 1e-10


# ---- the box in plain arithmetic

FAULTS = (  # faults in the box that the runs follow
    "the old gradient is left out",
    "gamma for 1 - gamma",
    "the noise is not carried on",
    "the step is cut at 1/L",
    "the first noise has the later deviation",
    "a batch is drawn with replacement",
)


def _follows_box(point: Point, statement: Statement, *, fault: str = "") -> Outcome:
    """Compare the kernel's iterates with lines 1 to 9 of Algorithm 1, on the same batches and noise."""
    del statement
    n = int(point["n"])
    steps = int(point["T"])
    b = int(point["b"])
    d = 3
    rng = np.random.default_rng(n)
    gradients = clipped_pulls(rng.normal(size=(n, d)) + 1.0, np.ones(n), 1.0)
    tape = rng.normal(size=(steps, d))
    p = SrmParameters(
        steps, max(1, n // 2), b, float(point["gamma"]), 0.4, 1.0, 0.3, 0.1
    )
    run = DpSrm(
        ExampleGradients(gradients), n, np.zeros(d), p, seed=n, tape=tape, keep=True
    )
    run.advance()
    batches = generator(n, BATCHES)
    w = np.zeros(d)
    old = np.zeros(d)
    v = np.zeros(d)
    carried = np.zeros(d)
    gamma = 1.0 - p.gamma if fault == "gamma for 1 - gamma" else p.gamma
    for t in range(steps):
        if (off := float(np.abs(run.iterates[t] - w).max())) > OFF:
            return Outcome(False, note=f"theta^{t} is off by {off:.3g}")
        size = p.batch if t else p.batch_0
        batch = (
            np.arange(n)
            if size == n
            else batches.choice(n, size, replace=False, shuffle=False)
        )
        if fault == "a batch is drawn with replacement":
            batch = np.resize(batch[: max(1, len(batch) - 1)], len(batch))
        new_gradient = gradients(w, batch).mean(axis=0)
        old_gradient = gradients(old, batch).mean(axis=0)
        if fault == "the old gradient is left out":
            old_gradient = np.zeros(d)
        noise = (
            p.std
            if t or fault == "the first noise has the later deviation"
            else p.std_0
        ) * tape[t]
        v = (
            new_gradient + (1.0 - gamma) * (carried - old_gradient)
            if t
            else new_gradient
        ) + noise
        carried = v - noise if fault == "the noise is not carried on" else v
        cut = 1.0 if fault == "the step is cut at 1/L" else 0.5
        old = w
        w = w - min(p.zeta / float(np.linalg.norm(v)), cut) * v
    chosen = np.flatnonzero((run.iterates[:-1] == run.output).all(axis=1))
    return Outcome(len(chosen) > 0, note="the output is none of the first T iterates")


# ---- the noise that an estimate carries

Draw = Callable[[Context, np.random.Generator, Any], None]


class NoGradients:
    """Examples with gradients 0, for which an estimate is its noise."""

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write zeros into ``out``."""
        del w, batch
        out[:] = 0.0

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write zeros into ``out``."""
        del new, old, batch, gamma
        out[:] = 0.0


def _draw(context: Context, rng: np.random.Generator, out: Any) -> None:
    """Fill ``out``, shape (T, d), with the estimates of a run of the kernel."""
    steps, d = out.shape
    p = SrmParameters(
        steps, 1, 1, float(context.point["gamma"]), 1.0, 1.0, *_deviations(context)
    )
    run = DpSrm(NoGradients(), 1, np.zeros(d), p, seed=int(rng.integers(1 << 62)))
    for row in out:
        run.advance(1)
        row[:] = run.v


def _wrong(fault: str) -> Draw:
    def draw(context: Context, rng: np.random.Generator, out: Any) -> None:
        gamma, (std_0, std) = float(context.point["gamma"]), _deviations(context)
        keep = 1.0 - gamma
        out[0] = std_0 * rng.standard_normal(out.shape[1])
        for t in range(1, len(out)):
            fresh = std * rng.standard_normal(out.shape[1])
            if fault == "fresh noise only":
                out[t] = fresh
            elif fault == "the decay squared":
                out[t] = keep**2 * out[t - 1] + fresh
            else:  # the last noise once more
                out[t] = keep * out[t - 1] + (
                    fresh if t < len(out) - 1 else std / std_0 * out[0]
                )

    return draw


def _deviations(context: Context) -> tuple[float, float]:
    return float(context.point["std_0"]), float(context.point["std"])


def _law(context: Context) -> Matrix:
    return noise_covariance(
        int(context.point["T"]), float(context.point["gamma"]), *_deviations(context)
    )


def _control(name: str) -> Control:
    simulate: Simulate = run_by_run(_wrong(name))
    return Control(name, name, simulate)


CHECKS.add(
    RuleCheck(
        "section-4-estimator",
        "plain-arithmetic",
        points=lambda _: (
            {"n": n, "T": T, "b": b, "gamma": gamma}
            for n, T, b in ((2, 3, 1), (9, 12, 4), (5, 6, 5))
            for gamma in (Fraction(1, 8), Fraction(3, 4), Fraction(1))
        ),
        is_satisfied=_follows_box,
        about_kernel=True,
        planted=[
            Planted(
                fault,
                is_satisfied=partial(_follows_box, fault=fault),
                at_declared_size=True,
            )
            for fault in FAULTS
        ],
        region="whole runs on clipped quadratics, n up to 9 and T up to 12, some of them on all examples",
        leaves_out="floats: to 1e-10",
    ),
    MonteCarloCheck(
        "section-4-estimator",
        "noise-law",
        simulate=run_by_run(_draw),
        judge=TrajectoryLaw(_law),
        plan=plan_to_detect(
            DetectableFaults(0.1, 1.1, 1.01), DetectableFaults(0.05, 1.05, 1.005)
        ),
        point={"T": 8, "d": 200, "gamma": "1/4", "std_0": 3, "std": 1},
        controls=[
            _control(name)
            for name in (
                "fresh noise only",
                "the decay squared",
                "the last noise once more",
            )
        ],
    ),
)
