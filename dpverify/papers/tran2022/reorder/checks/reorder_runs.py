"""Runs of Algorithms 2 and 4 under fresh permutations: the law of the reordering's effect, and runs without noise.

The simulation draws the orders of the examples and compares mean squares of Algorithm 4's kernel with exact values.
Runs of Algorithm 2 without noise show whether the released momentum equals the momentum, or differs by the terms that
equation 8 leaves over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpverify.harness import (
    Bounded,
    Budget,
    Context,
    Control,
    MeanEffect,
    MeanLaw,
    MonteCarloCheck,
    Outcome,
    Plan,
    Planted,
    Point,
)
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    nodes_of_leaves,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.papers.tran2022.reorder import reorder_bias_bounds as bias
from dpverify.problems.worst_cases import ClippedQuadratic
from dpverify.symbolic.exact.evaluate import to_number
from dpverify.symbolic.exact.numbers import to_exact, to_value

EXAMPLES, STEPS = 8, 45
"""The simulated run: five epochs and five steps of a sixth, N examples with orthogonal gradients."""

SCALES = (
    Fraction(1),
    Fraction(-3, 5),
    Fraction(4, 5),
    Fraction(1),
    Fraction(2, 5),
    Fraction(1, 2),
)
"""Factors at the anchors of the epochs: in epoch e, example k has the gradient SCALES[e] times the k-th unit vector."""

POINT: dict[str, int | Fraction | str] = {
    "N": EXAMPLES,
    "t": STEPS,
    "alpha": "1/6",
    "gamma": "1/4",
}


def _spread(epoch: int) -> bias.GradientMoments:
    """Return the moments of the simulated gradients."""
    now = SCALES[epoch] if epoch < len(SCALES) else Fraction(0)
    change = now - SCALES[max(epoch - 1, 0)]
    factor = 1 - Fraction(1, EXAMPLES)
    return bias.GradientMoments(
        now**2 * factor, now * change * factor, change**2 * factor
    )


def _exact(quantity: bias.Sum, context: Context) -> float:
    point = context.point
    square = bias.mean_square(
        quantity, STEPS, EXAMPLES, point["alpha"], point["gamma"], _spread
    )
    return float(to_number(square).float)


def _largest(quantity: bias.Sum, context: Context) -> float:
    """Return a bound on the square: each epoch's part has a fixed length, and all parts may point the same way."""
    q, r = divmod(STEPS, EXAMPLES)
    alpha = context.point["alpha"]
    gamma = context.point["gamma"]
    weights = [
        (float(to_number(to_exact(a)).float), float(to_number(to_exact(b)).float))
        for a, b in bias.window_weights(
            quantity, q, to_value((1 - alpha) ** EXAMPLES), to_value(gamma)
        )
    ]
    decays = (1.0 - float(alpha)) ** np.arange(EXAMPLES)
    total = 0.0
    for epoch in range(q + 1):
        now = float(SCALES[epoch])
        change = now - float(SCALES[max(epoch - 1, 0)])
        late, early = (
            a * now + b * change
            for a, b in (
                weights[q - epoch],
                weights[q - epoch - 1] if epoch < q else (0.0, 0.0),
            )
        )
        parts = decays * np.where(np.arange(EXAMPLES) < r, late, early)
        total += math.sqrt(float((parts**2).sum() - parts.sum() ** 2 / EXAMPLES))
    return (float(alpha) * total) ** 2


def _orders(rng: np.random.Generator, size: int, kind: str) -> Any:
    """Return the example of each step, shape (STEPS, size)."""
    epochs = -(-STEPS // EXAMPLES)
    if kind == "replacement":
        return rng.integers(EXAMPLES, size=(STEPS, size))
    orders = np.argsort(rng.random((epochs, EXAMPLES, size)), axis=1)
    if kind == "once":
        orders[:] = orders[0]
    return orders.reshape(epochs * EXAMPLES, size)[:STEPS]


def _simulate(
    quantity: bias.Sum, order: str = "fresh", gamma_factor: float = 1.0
) -> Callable[[Context, np.random.Generator, int], Any]:
    """Return a simulation of the squared length of a sum at the last step, by the literal kernel of Algorithm 4."""

    def simulate(context: Context, rng: np.random.Generator, size: int) -> Any:
        alpha = float(context.point["alpha"])
        gamma = float(context.point["gamma"])
        drawn = _orders(rng, size, order)
        scale = np.repeat([float(s) for s in SCALES], EXAMPLES)[:STEPS]
        before = np.concatenate([np.full(EXAMPLES, np.nan), scale[:-EXAMPLES]])
        one_hot = np.zeros((STEPS, size, EXAMPLES))
        np.put_along_axis(one_hot, drawn[:, :, None], 1.0, axis=2)
        g = (scale[:, None, None] * one_hot).reshape(STEPS, -1)
        delta = ((scale - before)[:, None, None] * one_hot).reshape(STEPS, -1)
        nodes = Nodes(
            *(
                nodes_of_leaves(leaves, alpha=alpha)
                for leaves in (g, delta, np.zeros_like(g))
            )
        )
        m_hat, _ = reconstruct_literal(
            nodes, examples=EXAMPLES, alpha=alpha, gamma=gamma * gamma_factor
        )
        decays = alpha * (1.0 - alpha) ** np.arange(STEPS - 1, -1, -1)
        target = (
            decays @ g
            if quantity == "difference"
            else np.full(g.shape[1], (decays * scale).sum() / EXAMPLES)
        )
        squares: Any = ((m_hat[-1] - target).reshape(size, EXAMPLES) ** 2).sum(axis=1)
        return squares

    return simulate


def _plan(quantity: bias.Sum) -> Callable[[Context], Plan]:
    """Return the plan to detect a mean that is off by a fifth in a smoke run, and by a tenth in longer runs."""

    def plan(context: Context) -> Plan:
        part = 0.2 if context.budget.name == "smoke" else 0.1
        effect = MeanEffect(
            part * _exact(quantity, context),
            Bounded(0.0, _largest(quantity, context)),
            STEPS * EXAMPLES,
        )
        return Plan(effect, block=1024)

    return plan


def law(name: str, quantity: bias.Sum) -> MonteCarloCheck:
    """Return a check of the kernel against the exact mean square."""
    return MonteCarloCheck(
        "algorithm-4-output",
        name,
        point=POINT,
        plan=_plan(quantity),
        simulate=_simulate(quantity),
        judge=MeanLaw(
            partial(_exact, quantity),
            lambda context: Bounded(0.0, _largest(quantity, context)),
        ),
        controls=[
            Control(
                "replacement",
                "examples drawn with replacement",
                _simulate(quantity, "replacement"),
            ),
            Control(
                "one-permutation",
                "all epochs have one order",
                _simulate(quantity, "once"),
            ),
            Control(
                "gamma-halved",
                "the reconstruction uses gamma/2",
                _simulate(quantity, gamma_factor=0.5),
            ),
        ],
        readings={"ordering": "fresh"},
        variants=("amended",),
        region="squared length at the last step; gradients along the axes, of another length in each epoch",
        leaves_out="floats; gradients at the anchors do not depend on the order",
    )


DIMENSION, LIPSCHITZ, SMOOTH, STEP = 3, 1.0, 2.0, 0.02
"""Settings of the problem: quadratics around scattered centres. Some gradients are clipped. Steps have length 0.02."""


def _run_sizes(budget: Budget) -> Iterable[dict[str, Any]]:
    sizes = [(1, 9), (2, 4), (2, 13), (3, 3), (5, 61), (8, 64), (13, 200)]
    if budget.name != "smoke":
        sizes += [(64, 1023), (100, 2050)]
    for n, steps in sizes:
        yield {
            "N": n,
            "T": steps,
            "alpha": Fraction(1, n) if n > 2 else Fraction(2, 5),
            "gamma": Fraction(1, 7),
        }


def _problem(n: int) -> ClippedQuadratic:
    centres = np.random.default_rng(n).normal(size=(n, DIMENSION))
    return ClippedQuadratic(
        centres + np.array([2.0, 0.0, 0.0]), LIPSCHITZ, SMOOTH, 10.0
    )


def _run(point: Point, ordering: str, seed: int = 7) -> SrNsgd:
    """Run Algorithm 2 without noise, keeping its iterates and momenta."""
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
    run = SrNsgd(
        problem.example_gradient,
        problem.x,
        problem.y,
        problem.start,
        parameters,
        seed=seed,
        keep=True,
    )
    run.advance()
    return run


def _left_over(
    run: SrNsgd, problem: ClippedQuadratic, n: int, alpha: float, gamma: float
) -> Any:
    """Return ``alpha (1-gamma) sum over i of c_i (W_{i+1} - W_i + D_i)`` at all steps, from the iterates, as (T, d)."""
    drawn = run.schedule
    steps = len(run.schedule)
    at_anchors = np.array(
        [_gradients(problem, run.iterates[e * n]) for e in range(-(-steps // n))]
    )
    epoch = np.arange(steps) // n
    # row s - 1: the gradients of steps s - N and s at one anchor, subtracted
    moved = np.zeros((steps, DIMENSION))
    later = np.arange(n, steps)
    moved[later] = (
        at_anchors[epoch[later] - 1, drawn[later - n]]
        - at_anchors[epoch[later] - 1, drawn[later]]
    )
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
    """Return the gradient of every example at w, shape (N, d)."""
    away = w - problem.x
    r = np.linalg.norm(away, axis=1, keepdims=True)
    return away * np.minimum(
        problem.smoothness, problem.lipschitz / np.maximum(r, 1e-300)
    )


def _follows(
    point: Point, statement: Statement, ordering: str = "", gamma_off: float = 0.0
) -> Outcome:
    """Compare m_hat_t - m_t of a run with 0 under one permutation, and with the terms left over under fresh ones."""
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


def whole_runs(
    ordering: str, variants: tuple[str, ...], *planted: Planted
) -> RuleCheck:
    """Return the check that the runs of Algorithm 2 give what Algorithm 4 reads."""
    return RuleCheck(
        "algorithm-4-output",
        f"run-{ordering}",
        points=_run_sizes,
        is_satisfied=_follows,
        about_kernel=True,
        readings={"ordering": ordering},
        variants=variants,
        planted=planted,
        region="whole runs of Algorithm 2 on clipped quadratics, noise off",
        leaves_out="floats: to 1e-12",
    )


FRESH_ORDERS = Planted(
    "fresh permutations",
    is_satisfied=partial(_follows, ordering="fresh"),
    at_declared_size=True,
)
GAMMA_OFF = Planted(
    "gamma off by 1e-6",
    is_satisfied=partial(_follows, gamma_off=1e-6),
    at_declared_size=True,
)
ONE_ORDER = Planted("one permutation", is_satisfied=partial(_follows, ordering="once"))
