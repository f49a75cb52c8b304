"""Algorithm 2 run with the noise off: is the released momentum the momentum, or off by what equation 8 leaves over?"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point
from dpverify.harness.search.rule_check import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.problems.worst_cases import ClippedQuadratic

CHECKS = PaperChecks("tran2022", __name__)

DIMENSION, LIPSCHITZ, SMOOTH, STEP = 3, 1.0, 2.0, 0.02
"""Of the problem: clipped quadratics around scattered centres, some of them clipped, at steps of 0.02."""


def _sizes(budget: Budget) -> Iterable[dict[str, Any]]:
    sizes = [(1, 9), (2, 4), (2, 13), (3, 3), (5, 61), (8, 64), (13, 200)]
    if budget.name != "smoke":
        sizes += [(64, 1023), (100, 2050)]
    for n, steps in sizes:
        yield {"N": n, "T": steps, "alpha": Fraction(1, n) if n > 2 else Fraction(2, 5), "gamma": Fraction(1, 7)}


def _problem(n: int) -> ClippedQuadratic:
    centres = np.random.default_rng(n).normal(size=(n, DIMENSION))
    return ClippedQuadratic(centres + np.array([2.0, 0.0, 0.0]), LIPSCHITZ, SMOOTH, 10.0)


def _run(point: Point, ordering: str, seed: int = 7) -> SrNsgd:
    """Do a run of Algorithm 2 without noise and keep its iterates and momenta."""
    n = int(point["N"])
    problem = _problem(n)
    parameters = SrParameters(
        steps=int(point["T"]),
        alpha=float(point["alpha"]),
        gamma=float(point["gamma"]),
        eta=STEP,
        sigma=0.0,
        lipschitz=LIPSCHITZ,
        ordering="once" if ordering == "once" else "fresh",
    )
    run = SrNsgd(problem.example_gradient, problem.x, problem.y, problem.start, parameters, seed=seed, keep=True)
    run.advance()
    return run


def _left_over(run: SrNsgd, problem: ClippedQuadratic, n: int, alpha: float, gamma: float) -> Any:
    """``alpha (1-gamma) sum over i of c_i (W_{i+1} - W_i + D_i)`` at every step, from the iterates, shape (T, d)."""
    drawn = run.schedule
    steps = len(run.schedule)
    at_anchors = np.array([_gradients(problem, run.iterates[e * n]) for e in range(-(-steps // n))])
    epoch = np.arange(steps) // n
    moved = np.zeros((steps, DIMENSION))  # row s - 1: at one anchor, the example of step s - N minus that of step s
    later = np.arange(n, steps)
    moved[later] = at_anchors[epoch[later] - 1, drawn[later - n]] - at_anchors[epoch[later] - 1, drawn[later]]
    out = np.zeros((steps, DIMENSION))
    decays = (1.0 - alpha) ** np.arange(n - 1, -1, -1)
    for t in range(2 * n, steps + 1):
        c = 0.0
        block = 1.0
        for i in range(1, t // n):
            c = (1.0 - gamma) * c + block
            block = block * (1.0 - alpha) ** n
            out[t - 1] += c * (decays @ moved[t - i * n : t - (i - 1) * n])
    return alpha * (1.0 - gamma) * out


def _gradients(problem: ClippedQuadratic, w: Any) -> Any:
    """Gradient of every example at w, shape (N, d)."""
    away = w - problem.x
    r = np.linalg.norm(away, axis=1, keepdims=True)
    return away * np.minimum(problem.smoothness, problem.lipschitz / np.maximum(r, 1e-300))


def _follows(point: Point, statement: Statement, ordering: str = "", gamma_off: float = 0.0) -> Outcome:
    """m_hat_t - m_t of the run against 0 under one permutation, and against what is left over under fresh ones."""
    n = int(point["N"])
    alpha = float(point["alpha"])
    gamma = float(point["gamma"])
    run = _run(point, ordering or statement.reading["ordering"])
    expected = np.zeros((int(point["T"]), DIMENSION))
    if statement.reading["ordering"] == "fresh":
        expected = _left_over(run, _problem(n), n, alpha, gamma + gamma_off)
        if n > 1 and int(point["T"]) > 4 * n and not np.abs(expected).max() > 1e-4:
            return Outcome(False, note="nothing is left over: the run shows nothing")
    off = np.abs(run.released - run.momenta - expected).max(axis=1)
    t = int(np.argmax(off)) + 1
    return Outcome(bool(off.max() <= 1e-12), note=f"step {t}: off by {off.max():.3g}")


def _whole_runs(ordering: str, variants: tuple[str, ...], *planted: Planted) -> RuleCheck:
    return RuleCheck(
        "algorithm-4-output",
        f"run-{ordering}",
        points=_sizes,
        holds=_follows,
        about_kernel=True,
        readings={"ordering": ordering},
        variants=variants,
        planted=planted,
        region="whole runs of Algorithm 2 on clipped quadratics, noise off",
        leaves_out="floats: to 1e-12",
    )


FRESH_ORDERS = Planted("fresh permutations", holds=partial(_follows, ordering="fresh"), at_declared_size=True)
GAMMA_OFF = Planted("gamma off by 1e-6", holds=partial(_follows, gamma_off=1e-6), at_declared_size=True)
ONE_ORDER = Planted("one permutation", holds=partial(_follows, ordering="once"))

CHECKS.add(
    _whole_runs("once", ("amended",), FRESH_ORDERS),
    _whole_runs("fresh", ("amended",), GAMMA_OFF, ONE_ORDER),
)
