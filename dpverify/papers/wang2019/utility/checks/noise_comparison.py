"""Compare DP-SRM's noise with DP-SGD's at equally many gradients: exact law, proofs, and equal true privacy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np

from dpverify.harness import (
    Budget,
    Context,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    RuleCheck,
)
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.kernels.typing import Matrix
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.accounting.runs import BatchRun, Kind, least_noise
from dpverify.papers.wang2019.estimator.bounds import noise_covariance
from dpverify.symbolic.exact.evaluate import evaluate_statement
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("wang2019", __name__)

CLOSE = 1e-9
Law: TypeAlias = Callable[[int, float, float, float], Matrix]


def _points(letter: str) -> Callable[[Budget], list[PointLike]]:
    """Return points with small and large T or t, weights from almost no memory to a long one, zeta up to gamma G."""
    weights: list[PointLike] = [
        {
            "gamma": gamma,
            "G": 3,
            "zeta": Fraction(3, 1) * Fraction(gamma) / divisor,
            letter: last,
        }
        for gamma in ("1", "1/2", "1/100")
        for divisor in (1, 7)
        for last in (1, 2, 60)
    ]
    return lambda _: weights


def _equals_recursion(
    point: Point, statement: Statement, *, law: Law = noise_covariance
) -> Outcome:
    """Compare the formula with the covariance of the recursion, for the last estimate or the sum of all estimates."""
    gamma, zeta, G = (float(point[name]) for name in ("gamma", "zeta", "G"))
    steps = int(point["T"]) if "T" in point else int(point["t"]) + 1
    covariance = law(steps, gamma, G, gamma * G + (1.0 - gamma) * zeta)
    left, right = evaluate_statement(statement, point)
    formula, exact = (
        (right, covariance.sum()) if "T" in point else (left, covariance[-1, -1])
    )
    variance = math.nan if formula is None else float(ball(formula))
    return Outcome(
        bool(abs(variance / exact - 1.0) < CLOSE),
        note=f"formula {variance:.12g}, law {exact:.12g}",
    )


def _independent(steps: int, gamma: float, std_0: float, std: float) -> Matrix:
    """Return a wrong law: earlier noise is not carried on."""
    del gamma
    return np.diag(np.array([std_0**2] + [std**2] * (steps - 1)))


def _one_deviation(steps: int, gamma: float, std_0: float, std: float) -> Matrix:
    """Return a wrong law: both deviations are too small by a hundredth."""
    return noise_covariance(steps, gamma, 0.99 * std_0, 0.99 * std)


# ---- the figure

# a9a in section 6.1, gamma = C_2
EXAMPLES = 32561
BATCH = 50
PASSES = 4
EPSILON = 0.2
DELTA = 1e-5
WEIGHT = 0.01
AT_MOST = 240  # points of a line


def _noise_figure(context: Context) -> dict[str, dict[str, list[float]]]:
    """Return the columns of "noise-beside", each with the least noise certified for the same epsilon and delta."""
    if context.budget.name == "smoke":
        return {}
    n, b, T = EXAMPLES, BATCH, round(PASSES * EXAMPLES / (2 * BATCH))

    def run(kind: Kind, steps: int, batch: int) -> BatchRun:
        return BatchRun(
            kind, n, steps, batch, batch, WEIGHT if kind == "recursive" else 1.0, WEIGHT
        )

    runs = {
        "srm": run("recursive", T, b),
        "wide": run("descent", T, 2 * b),
        "long": run("descent", 2 * T, b),
    }
    noise = {
        name: batch_run.deviations(least_noise(batch_run, EPSILON, DELTA).noise)
        for name, batch_run in runs.items()
    }
    covariance = noise_covariance(T, WEIGHT, *noise["srm"])
    # sum of the first t estimates
    added = np.cumsum(2.0 * np.tril(covariance).sum(axis=1) - np.diag(covariance))
    steps = np.unique(np.geomspace(1, T, AT_MOST).round().astype(int))
    columns = {"x": steps.astype(float), "one-srm": np.diag(covariance)[steps - 1]}
    columns["mean-srm"] = added[steps - 1] / steps**2.0
    for name, often in (("wide", 1), ("long", 2)):
        variance = noise[name][1] ** 2
        columns[f"one-{name}"] = np.full(len(steps), variance)
        columns[f"mean-{name}"] = variance / (often * steps)
    at = {"n": n, "b": b, "gamma": WEIGHT, "epsilon": EPSILON, "delta": DELTA}
    named = {f"at:{name}": [float(value)] for name, value in at.items()}
    return {
        "noise-beside": {name: column.tolist() for name, column in columns.items()}
        | named
    }


CHECKS.add(
    *(
        RuleCheck(
            claim,
            "recursion",
            points=_points(letter),
            is_satisfied=_equals_recursion,
            planted=[
                Planted(
                    "noise that is not carried on",
                    is_satisfied=partial(_equals_recursion, law=_independent),
                ),
                Planted(
                    "deviations off by a hundredth",
                    is_satisfied=partial(_equals_recursion, law=_one_deviation),
                ),
            ],
            about_kernel=True,
            figures=_noise_figure if claim == "note-noise-sum" else None,
            region="gamma from 1/100 to 1, zeta up to gamma G, 1 to 61 estimates; the law of the kernel's noise",
            leaves_out="floats: to 1e-9",
            seconds=0.3,
        )
        for claim, letter in (("section-1-variance", "t"), ("note-noise-sum", "T"))
    ),
)
