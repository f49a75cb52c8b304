"""Check the joint law of Algorithm 1's noise over all steps, and that the printed loops draw every node they use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpverify.harness import (
    Budget,
    Context,
    Control,
    ExhaustiveCheck,
    MonteCarloCheck,
    Outcome,
    PaperChecks,
    Plan,
    Planted,
    Point,
    Property,
    ProportionBound,
    ProportionEffect,
    TrueNeighbour,
)
from dpverify.harness.admissible import Witness, linear, witness_properties
from dpverify.harness.search.derived_checks import compare_arrays
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.scales import node_deviation, printed_v
from dpverify.papers.tran2022.algorithms.tree_noise import faults as tree_noise_faults
from dpverify.papers.tran2022.algorithms.tree_noise import literal as tree_noise_literal
from dpverify.papers.tran2022.algorithms.tree_noise import stream as tree_noise
from dpverify.papers.tran2022.noise.checks import whole_runs as runs
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import covariance_factor
from dpverify.privacy.audit.scores import lowest_bit

CHECKS = PaperChecks("tran2022", __name__)


def _compare_coefficients(
    point: Point,
    statement: Statement,
    kernel: Callable[[Any, float, float, Any], None] = tree_noise.stream_noise,
) -> Outcome:
    """Compare coefficients of a kernel and of the printed loops on unit tapes, and their covariance with the law."""
    steps = int(point["T"])
    alpha = float(point["alpha"])
    unit = np.eye(steps)
    stream = np.empty((steps, steps))
    kernel(unit, alpha, 1.0, stream)
    depth = steps.bit_length()
    nodes = tree_noise_literal.nodes_of_tape(unit, depth=depth, scale=1.0)
    literal = tree_noise_literal.noise_from_nodes(
        np.nan_to_num(nodes), steps, depth=depth, alpha=alpha
    )
    agree = compare_arrays(
        stream,
        literal,
        lambda t, z: f"step {t + 1}, node that ends at {z + 1}",
        rtol=1e-13,
    )
    if not agree.ok:
        return agree
    steps_range = range(1, steps + 1)
    law = [
        [float(covariance_factor(s, t, point["alpha"])) for t in steps_range]
        for s in steps_range
    ]
    if not np.allclose(literal @ literal.T, law, rtol=1e-12, atol=0.0):
        return Outcome(
            False, note="the loops do not have the covariance of the closed form"
        )
    return Outcome(True)


def _small_runs(budget: Budget) -> Iterable[dict[str, Any]]:
    longest = {"smoke": 24, "standard": 80, "full": 200}[budget.name]
    alphas = (Fraction(1), Fraction(1, 2), Fraction(1, 16))
    return ({"T": T, "alpha": alpha} for T in range(1, longest) for alpha in alphas)


def _depth(statement: Statement, steps: int) -> int:
    """Return R under a reading: the number of levels of the tree, or its height; the amended box draws every level."""
    short = statement.variant == "printed" and statement.reading["depth"] == "height"
    return steps.bit_length() - short


def _drawn(steps: int, depth: int) -> Outcome:
    """Test whether the printed loops have drawn every node that a step uses."""
    try:
        nodes = tree_noise_literal.nodes_of_tape(
            np.ones((steps, 1)), depth=depth, scale=1.0
        )
        noise = tree_noise_literal.noise_from_nodes(
            nodes, steps, depth=depth, alpha=0.5
        )
    except tree_noise_literal.UndrawnNodeError as error:
        return Outcome(False, note=str(error))
    return Outcome(
        bool(np.isfinite(noise).all()),
        note="a step used a node that no COMPOSE(1, t) contains",
    )


Simulate: TypeAlias = Callable[[Context, Generator, int], NDArray[np.float64]]

GRID = -53
"""In floats, 1 + z is a multiple of 2^-53. Near 0, z is such a multiple and the sum is
exact. Elsewhere all floats of that size are such multiples."""

POINT: dict[str, int | Fraction | str] = {
    "N": 4,
    "T": 4,
    "alpha": 1,
    "G": 1,
    "epsilon": 2,
    "delta": "1/100000",
}


def _deviation(context: Context) -> float:
    """Return the standard deviation of the first node's noise, with the printed sigma."""
    sigma = (
        2.0
        * math.sqrt(-math.log(context.point["delta"]))
        / float(context.point["epsilon"])
    )
    return node_deviation(1.0, 1.0, sigma, printed_v(4, 4, 3))


def _below_the_grid(gradient: float, scale: float = 1.0) -> Simulate:
    """Return a simulation of whether m-hat_1 = gradient + noise has a bit below the grid."""

    def simulate(context: Context, rng: Generator, size: int) -> NDArray[np.float64]:
        released = gradient + scale * _deviation(context) * rng.standard_normal(size)
        return (lowest_bit(released[:, np.newaxis]) < GRID).astype(np.float64)

    return simulate


def _flat_or_steep(point: Point) -> Witness:
    """Return two data sets: the first example has the gradient 0 or 1, all others have 0."""
    flat = linear(Fraction(0))
    examples = int(point["N"])
    return Witness({flat: examples}, {flat: examples - 1, linear(Fraction(1)): 1})


ANY_NOISE = {
    "update-of-algorithm-1": Property(
        "the loops of Algorithm 1 draw and use the nodes"
    ),
    "independent-noise": Property(
        "whether a node was drawn does not depend on its value"
    ),
}

CHECKS.add(
    runs.noise_law(
        "algorithm-1-noise",
        "noise-law",
        runs.FAST,
        (runs.MIDDLE, runs.FINE),
        (*runs.SHAPE, *runs.SHORT_RUN),
    ),
    runs.noise_law(
        "algorithm-1-noise",
        "noise-law-long",
        runs.LONG,
        (runs.ROUGH, runs.FINE),
        runs.LONG_RUN,
        pairs="signs",
    ),
    runs.noise_law(
        "algorithm-1-noise",
        "noise-law-slow-decay",
        runs.SLOW,
        (runs.ROUGH, runs.FINE),
        runs.SLOW_RUN,
        pairs="signs",
    ),
    runs.noise_law(
        "algorithm-1-noise",
        "printed-loops",
        runs.FAST,
        (runs.ROUGH, runs.MIDDLE),
        (),
        runs.whole_run(runs.literal),
    ),
    runs.noise_law(
        "algorithm-1-noise",
        "step-by-step",
        runs.FAST,
        (runs.ROUGH, runs.MIDDLE),
        (),
        runs.whole_run(runs.stepwise),
    ),
    ExhaustiveCheck(
        "algorithm-1-noise",
        "coefficients",
        points=_small_runs,
        is_satisfied=_compare_coefficients,
        readings={"depth": "levels"},
        planted=[
            Planted(
                fault.name,
                is_satisfied=partial(_compare_coefficients, kernel=fault),
                at_declared_size=first,
            )
            for fault, first in (
                (tree_noise_faults.scaled(1.0001), True),
                (tree_noise_faults.decay_off(1), False),
                (tree_noise_faults.node_missing(1), False),
            )
        ],
    ),
    *(
        ExhaustiveCheck(
            claim,
            name,
            meets=ANY_NOISE,
            points=lambda budget: (
                {"T": T}
                for T in range(
                    1, {"smoke": 130, "standard": 600, "full": 2100}[budget.name]
                )
            ),
            is_satisfied=lambda point, statement: _drawn(
                int(point["T"]), _depth(statement, int(point["T"]))
            ),
            planted=[
                Planted(
                    "one level fewer",
                    is_satisfied=lambda point, _: _drawn(
                        int(point["T"]), int(point["T"]).bit_length() - 1
                    ),
                    at_declared_size=True,
                )
            ],
            neighbours=[
                TrueNeighbour(
                    "all levels that T steps have",
                    is_satisfied=lambda point, _: _drawn(
                        int(point["T"]), int(point["T"]).bit_length()
                    ),
                )
            ],
        )
        for claim, name in (
            ("algorithm-1-noise", "loops-draw-all"),
            ("algorithm-1-node-range", "printed-loops"),
        )
    ),
    MonteCarloCheck(
        "algorithm-1-floats",
        "lowest-bit",
        point=POINT,
        plan=Plan(ProportionEffect(1e-5, 0.003), seconds_each=2e-7),
        simulate=_below_the_grid(0.0),
        meets=witness_properties(
            _flat_or_steep, "linear losses of slope 0, of which one gets the slope 1"
        ),
        judge=ProportionBound(bound=lambda context: float(context.point["delta"])),
        neighbours=[
            Control(
                "gradient 1",
                "the gradient 1: the event has probability 0",
                _below_the_grid(1.0),
            )
        ],
        controls=[
            Control(
                "less noise",
                "a tenth of the noise: ten times the event",
                _below_the_grid(0.0, 0.1),
            )
        ],
        region="four examples, the first of four steps; gradients 0 and 1; the event has probability 0 for gradient 1",
        leaves_out="the iterates, which show m-hat up to its length only",
    ),
)
