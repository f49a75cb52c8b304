"""Measure the sensitivity of DP-SRM's estimate to one example on the kernels, with earlier releases held fixed."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpverify.harness import PaperChecks, Point, Property
from dpverify.harness.replay_check import OutputDistance, ReplayCheck, ReplayControl
from dpverify.kernels.clipping import pad_rows, recursive_sum
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.papers.wang2019.estimator.bounds import (
    clipped_sensitivity,
    estimator_sensitivity,
)
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.worst_cases import clipped_pulls

CHECKS = PaperChecks("wang2019", __name__)

RANDOM_RUNS = {"smoke": 20, "standard": 400, "full": 5000}

SETTINGS = (
    (0.25, 0.5, 1.0, 1),
    (0.5, 2.0, 0.5, 3),
    (0.125, 1.0, 4.0, 2),
    (1.0, 1.0, 1.0, 1),
)
"""gamma, zeta, G and b."""


def _moves(
    statement: Statement, *, fault: str = "", worse: float = 1.0
) -> Iterator[OutputDistance]:
    """Replay each estimate of noisy runs on two data sets that differ in the example that moves it most."""
    del statement
    for gamma, zeta, lipschitz, b in (
        (0.25, 0.5, 1.0, 1),
        (0.5, 2.0, 0.5, 3),
        (0.125, 1.0, 4.0, 2),
        (1.0, 1.0, 1.0, 1),
    ):
        n = b + 2
        steps = 6
        centres = np.linspace(-1.0, 1.0, n)[:, np.newaxis]
        signs = np.ones(n)
        p = SrmParameters(steps, n, b, gamma, zeta, 1.0, 1.0, 1.0)
        oracle = ExampleGradients(clipped_pulls(centres, signs, lipschitz))
        run = DpSrm(oracle, n, np.zeros(1), p, seed=3, keep=True)
        for t in range(1, steps):
            run.advance(1)
            old = run.iterates[t - 1]
            new = run.iterates[t]
            length = float(np.abs(run.v[0]))
            direction = np.sign(new[0] - old[0])
            estimates = []
            # the example has gradient G along the step
            # or against it, attained exactly there
            for sign in (1.0, -1.0):
                centres[0] = new - direction * lipschitz
                signs[0] = sign
                out = np.empty(1)
                batch = np.arange(b)
                weight = 1.0 - gamma if fault == "gamma for 1 - gamma" else gamma
                oracle.change(
                    new, new if fault == "no change" else old, batch, weight, out
                )
                estimates.append(worse * out[0])
            point = {
                "gamma": gamma,
                "zeta": zeta,
                "G": lipschitz,
                "length": length,
                "b": b,
            }
            values = {name: Fraction(value) for name, value in point.items()}
            law = partial(
                estimator_sensitivity,
                values["gamma"],
                values["zeta"],
                values["G"],
                values["length"],
                values["b"],
            )
            yield OutputDistance(
                values, abs(estimates[0] - estimates[1]), law, f"step {t}, {point}"
            )
            centres[0] = -1.0
            signs[0] = 1.0


@kernel
def signed_slope(z: float, y: float) -> float:
    """Return the slope of y z^2/2, a square in a linear model of one feature, concave where y is negative."""
    return y * z


def _labels(examples: int, sign: float) -> Vector:
    """Return labels for one of two data sets that differ in the first label."""
    labels = np.ones(examples)
    labels[0] = sign
    return labels


def _replaces_one(point: Point) -> bool:
    examples = int(point["b"])
    return int(np.sum(_labels(examples, 1.0) != _labels(examples, -1.0))) == 1


LABELS = {
    "neighbour-replace-one": Property(
        "labels of the two data sets that differ", _replaces_one
    )
}


def _clipped(
    statement: Statement, *, fault: str = "", worse: float = 1.0
) -> Iterator[OutputDistance]:
    """Replay both kernels on a pair of examples that exceed both clip lengths, in opposite directions."""
    del statement
    total = recursive_sum(signed_slope)
    new = 7.0
    old = -9.0
    for gamma, first, second, b in (
        (0.25, 1.0, 0.5, 1),
        (0.9921875, 1.5, 0.9921875, 1),
        (0.5, 1.0, 2.0, 3),
    ):
        indices = np.arange(b)
        values = {
            "gamma": Fraction(gamma),
            "C_1": Fraction(first),
            "C_2": Fraction(second),
            "b": Fraction(b),
        }
        law = partial(
            clipped_sensitivity,
            values["gamma"],
            values["C_1"],
            values["C_2"],
            values["b"],
        )
        clips = (
            (second, first) if fault == "clip lengths exchanged" else (first, second)
        )
        by_rows = []
        by_examples = []
        for sign in (1.0, -1.0):
            x = np.full((b, 1), 3.0)
            y = _labels(b, sign)
            rows = pad_rows(x, y)
            points = np.zeros((3, rows.shape[1]))
            points[0, 0] = new
            points[1, 0] = old
            total(rows, indices, points[0], points[1], gamma, *clips, points[2])
            by_rows.append(worse * points[2, 0] / b)

            def gradients(w: Vector, batch: Indices, y: Vector = y) -> Matrix:
                example_gradients: Matrix = (9.0 * y[batch] * w[0])[:, np.newaxis]
                return example_gradients

            out = np.empty(1)
            ExampleGradients(gradients, *clips).change(
                np.full(1, new), np.full(1, old), indices, gamma, out
            )
            by_examples.append(worse * out[0])
        yield OutputDistance(
            values, abs(by_rows[0] - by_rows[1]), law, f"rows, gamma = {gamma}, b = {b}"
        )
        yield OutputDistance(
            values,
            abs(by_examples[0] - by_examples[1]),
            law,
            f"examples, gamma = {gamma}, b = {b}",
        )


def _random(
    statement: Statement, rng: np.random.Generator, *, clipped: bool
) -> tuple[float, str]:
    """Return the movement of an estimate for a random pair of data sets, as a fraction of the largest possible one."""
    del statement
    gamma = rng.uniform(0.05, 1.0)
    zeta = rng.uniform(0.1, 3.0)
    lipschitz = rng.uniform(0.2, 3.0)
    n = 4
    d = 2
    b = int(rng.integers(1, n + 1))
    clip, change_clip = rng.uniform(0.1, 2.0, 2) if clipped else (np.inf, np.inf)
    centres = rng.normal(size=(n, d))
    signs = rng.choice([-1.0, 1.0], n)
    v = rng.normal(scale=2.0, size=d)
    length = float(np.linalg.norm(v))
    old = rng.normal(size=d)
    new = old - min(zeta / length, 0.5) * v
    estimates = []
    for _ in range(2):
        out = np.empty(d)
        ExampleGradients(
            clipped_pulls(centres, signs, lipschitz), clip, change_clip
        ).change(new, old, np.arange(b), gamma, out)
        estimates.append(out)
        centres[0], signs[0] = rng.normal(size=d), -signs[0]
    if clipped:
        limit = clipped_sensitivity(
            Fraction(gamma), Fraction(clip), Fraction(change_clip), Fraction(b)
        )
    else:
        of_step = Fraction(zeta), Fraction(lipschitz), Fraction(length)
        limit = estimator_sensitivity(Fraction(gamma), *of_step, Fraction(b))
    return float(np.linalg.norm(estimates[0] - estimates[1])) / float(
        limit
    ), f"gamma = {gamma:.3g}, b = {b}"


def _replay(
    claim: str, replays: Any, faults: tuple[str, ...], *, clipped: bool
) -> ReplayCheck:
    controls = [
        ReplayControl(
            "scaled",
            "every estimate moves by 1e-6 more",
            partial(replays, worse=1.000001),
            True,
        )
    ]
    controls += [
        ReplayControl(name, name, partial(replays, fault=name)) for name in faults
    ]
    return ReplayCheck(
        claim,
        "replay",
        replays=replays,
        controls=controls,
        random=partial(_random, clipped=clipped),
        random_runs=RANDOM_RUNS,
        share=1e-6,
        variants=("printed", "amended"),
        meets=LABELS if clipped else {},
        region="noisy runs on clipped quadratics"
        if not clipped
        else "examples beyond both clip lengths",
        leaves_out="floats, not real arithmetic",
    )


CHECKS.add(
    *(
        _replay(claim, _moves, ("gamma for 1 - gamma", "no change"), clipped=False)
        for claim in ("section-4-1-sensitivity", "equation-b-4")
    ),
    *(
        _replay(claim, _clipped, ("clip lengths exchanged",), clipped=True)
        for claim in ("remark-4-3-sensitivity", "section-6-1-sensitivity")
    ),
)
