"""Check Algorithm 1 against its exact law, and Lemma 1 and Theorem 1 by search."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from dpverify.harness import (
    Context,
    Control,
    MonteCarloCheck,
    PaperChecks,
    Plan,
    Point,
    Property,
    SearchCheck,
    TrajectoryEffect,
    TrajectoryLaw,
)
from dpverify.ledger.statements import Statement
from dpverify.papers._template.algorithms.tree_noise import add_nodes
from dpverify.papers._template.noise.tree_bounds import shared_nodes
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.symbolic.exact.evaluate import definitions
from dpverify.symbolic.exact.numbers import to_ball, to_value

CHECKS = PaperChecks("_template", __name__)

STEPS = 63
COORDINATES = 4


def _run(rng: np.random.Generator, size: int, forgotten: int) -> Any:
    runs = np.empty((size, STEPS, COORDINATES))
    for run in runs:
        add_nodes(rng.standard_normal(run.shape), forgotten, run)
    return runs


def _law(context: Context) -> Any:
    steps = range(1, STEPS + 1)
    return np.array([[shared_nodes(s, t) for t in steps] for s in steps], dtype=float)


def _variance(point: Point, statement: Statement) -> Fraction:
    """Return the left side of Lemma 1, exactly."""
    t = int(point["t"])
    return point["sigma"] ** 2 * shared_nodes(t, t)


def _delta(point: Point, statement: Statement) -> arb:
    """Return the left side of Theorem 1: the exact delta of Gaussian noise, as a ball."""
    sigma = to_ball(to_value(definitions(statement, point)["sigma"]))
    return delta_ball(1 / sigma, point["epsilon"])


MECHANISM = {
    "gaussian-mechanism": Property(
        "the exact delta is that of one release with Gaussian noise"
    ),
    "bounded-sensitivity": Property("the query changes by exactly 1"),
}
"""The property of the mechanism that satisfies each assumption of Theorem 1. A refutation without it is refused."""

CHECKS.add(
    MonteCarloCheck(
        "algorithm-1",
        "noise-law",
        point={"T": STEPS, "d": COORDINATES},
        plan=Plan(
            TrajectoryEffect(STEPS, COORDINATES, scale=1.02, correlation=0.2), block=256
        ),
        simulate=lambda _, rng, size: _run(rng, size, 0),
        judge=TrajectoryLaw(_law),
        controls=[
            Control(
                "node missing",
                "step 48 lacks its own node",
                lambda _, rng, size: _run(rng, size, 48),
            )
        ],
    ),
    SearchCheck(
        "lemma-1",
        "search",
        lhs=_variance,
        corners=[{"t": 2**k - 1, "sigma": 1} for k in range(1, 20)],
    ),
    SearchCheck("theorem-1", "search", lhs=_delta, meets=MECHANISM),
)
