"""Check the effect of fresh permutations on Algorithm 4's momentum: exact sizes, kernels, and runs without noise.

Runs of Algorithm 2 without noise show whether the released momentum equals the momentum, or differs by the terms that
equation 8 leaves over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any, cast

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
    PaperChecks,
    Plan,
    Planted,
    Point,
    Property,
    TrueNeighbour,
)
from dpverify.harness.search.exhaustive_check import RuleCheck
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
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.evaluate import decide, to_number
from dpverify.symbolic.exact.numbers import to_ball, to_exact, to_value

CHECKS = PaperChecks("tran2022", __name__)

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


def _law(name: str, quantity: bias.Sum) -> MonteCarloCheck:
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


def _sizes(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield N, T, alpha and gamma, with alpha >= 1/N and T >= 2N - 1."""
    large = {"smoke": (33,), "standard": (33, 100), "full": (33, 100, 256)}[budget.name]
    for n in (2, 3, 8, *large):
        for alpha in (Fraction(1, n), Fraction(min(3, n), n), Fraction(1)):
            for gamma in (Fraction(1, 2), Fraction(1, 16), Fraction(1, 400)):
                for steps in (2 * n - 1, 2 * n, 3 * n + n // 2, 40 * n + 1):
                    yield {"N": n, "T": steps, "alpha": alpha, "gamma": gamma}


def _is_exact(
    point: Point, statement: Statement, size: Fraction = Fraction(0)
) -> Outcome:
    """Test Lemma 17 for gradients +-1: the mean square of alpha times the difference of its sides should be 0."""
    n = int(point["N"])
    t = int(point["T"])
    square = bias.mean_square(
        "difference",
        t,
        n,
        point["alpha"],
        point["gamma"],
        bias.constant_spread(Fraction(1)),
    )
    exact = decide(square, "=", size)
    note = (
        "mean square over all orders of alpha times the difference of the two sides, "
        "gradients of mean 0 and length 1"
    )
    return Outcome(exact, square, size, note)


def _within(
    point: Point, statement: Statement, part: Fraction = Fraction(1)
) -> Outcome:
    """Test exact mean squares of both sums against the corrected lemma, for gradients that stay and that flip."""
    n = int(point["N"])
    t = int(point["T"])
    alpha = point["alpha"]
    gamma = point["gamma"]
    sums: tuple[bias.Sum, ...] = ("difference", "estimate")
    for quantity in sums:
        for spreads, change in (
            (bias.constant_spread(Fraction(1)), Fraction(0)),
            (bias.alternating_spread(Fraction(2)), Fraction(2)),
        ):
            square = bias.mean_square(quantity, t, n, alpha, gamma, spreads)
            bound = to_ball(to_value(part)) * bias.simple_bound(
                quantity, alpha, gamma, Fraction(1), change
            )
            if decide(square, "<=", bound**2) is not True:
                return Outcome(
                    False, square, bound**2, note=f"the {quantity}, change {change}"
                )
    return Outcome(True)


def _figure(_: Context) -> dict[str, dict[str, list[float]]]:
    """Return the root mean square of m_hat_t - m_t over gamma, for three alpha, in a run of 400 epochs and a third."""
    n = 64
    epochs = 400
    gammas = [Fraction(1, round(1.5**k)) for k in range(1, 12)]
    rows = [(Fraction(c, n), gamma) for c in (1, 4, 16) for gamma in gammas]
    t = epochs * n + n // 3

    def root(
        quantity: bias.Sum, alpha: Fraction, gamma: Fraction, change: int
    ) -> float:
        spreads = (
            bias.alternating_spread(Fraction(change))
            if change
            else bias.constant_spread(Fraction(1))
        )
        return math.sqrt(
            float(
                to_number(bias.mean_square(quantity, t, n, alpha, gamma, spreads)).float
            )
        )

    return {
        "identity-error": {
            "x": [float(gamma) for _, gamma in rows],
            "alpha": [float(alpha) for alpha, _ in rows],
            "fixed": [root("difference", alpha, gamma, 0) for alpha, gamma in rows],
            "moving": [root("difference", alpha, gamma, 2) for alpha, gamma in rows],
            "estimate": [root("estimate", alpha, gamma, 0) for alpha, gamma in rows],
            "at:N": [float(n)],
            "at:t": [float(t)],
        }
    }


def _pairs(_: Budget) -> Iterable[dict[str, int]]:
    """Return steps i < j of different epochs."""
    pairs = (
        (n, i, j)
        for n in (2, 3, 5)
        for j in range(n + 1, 3 * n + 1)
        for i in range(1, j)
    )
    return (
        {"N": n, "i": i, "j": j} for n, i, j in pairs if (i - 1) // n < (j - 1) // n
    )


def _uncorrelated(
    point: Point, statement: Statement, ordering: Ordering | None = None
) -> Outcome:
    """Test whether sampling errors of two steps are uncorrelated, for gradients of length 1 that do not depend on w."""
    under = ordering or cast(Ordering, statement.reading["ordering"])
    term = bias.cross_term(
        int(point["i"]), int(point["j"]), int(point["N"]), under, Fraction(1)
    )
    return Outcome(
        term == 0, term, Fraction(0), "gradients that do not depend on w, mean square 1"
    )


CHECKS.add(
    RuleCheck(
        "lemma-11-cross-epochs",
        "linear-losses",
        points=_pairs,
        is_satisfied=_uncorrelated,
        meets={
            "update-of-algorithm-1": Property(
                "linear losses, whose gradients are the same at all iterates"
            )
        },
        planted=[
            Planted(
                "one permutation",
                is_satisfied=partial(_uncorrelated, ordering="once"),
                at_declared_size=True,
            )
        ],
        neighbours=[
            TrueNeighbour(
                "fresh permutations",
                is_satisfied=partial(_uncorrelated, ordering="fresh"),
            )
        ],
        region="losses whose gradients do not depend on w",
        interior=lambda p: p["N"] >= 3 and p["i"] >= 2,
    ),
    RuleCheck(
        "lemma-17",
        "size",
        points=_sizes,
        is_satisfied=_is_exact,
        readings={"ordering": "fresh"},
        variants=("printed",),
        planted=[
            Planted(
                "the size taken for 1",
                is_satisfied=partial(_is_exact, size=Fraction(1)),
                at_declared_size=True,
            )
        ],
        interior=lambda p: p["N"] >= 3 and p["T"] % p["N"] != 0 and p["alpha"] < 1,
        figures=_figure,
        seconds=1.5,
    ),
    RuleCheck(
        "algorithm-4-output",
        "corrected-lemma",
        points=_sizes,
        is_satisfied=_within,
        readings={"ordering": "fresh"},
        variants=("amended",),
        planted=[
            Planted(
                "the bound times 2/5",
                is_satisfied=lambda p, s: _within(p, s, Fraction(2, 5)),
                at_declared_size=True,
            )
        ],
        region="E|.|^2 of both sums against the squares of the bounds; gradients that stay and that go back and forth",
    ),
    _law("difference-law", "difference"),
    _law("estimate-law", "estimate"),
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


def _whole_runs(
    ordering: str, variants: tuple[str, ...], *planted: Planted
) -> RuleCheck:
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

CHECKS.add(
    _whole_runs("once", ("amended",), FRESH_ORDERS),
    _whole_runs("fresh", ("amended",), GAMMA_OFF, ONE_ORDER),
)
