"""Simulate whole runs of Algorithm 1's noise in several regimes, and define the faults that checks must detect."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np

from dpverify.harness import Context, Control, MonteCarloCheck, TrajectoryLaw
from dpverify.harness.statistics.pieces import Pieces, drawn_in_pieces
from dpverify.harness.statistics.trajectory_effects import (
    DetectableFaults,
    plan_to_detect,
    shape,
)
from dpverify.harness.statistics.trajectory_law import Simulate, run_by_run
from dpverify.harness.statistics.trajectory_sums import Pairs
from dpverify.kernels.normal import fill_normal_from, take_words, wrapping
from dpverify.kernels.tape import generator
from dpverify.papers.tran2022.algorithms.tree_noise import faults as tree_noise_faults
from dpverify.papers.tran2022.algorithms.tree_noise import literal as tree_noise_literal
from dpverify.papers.tran2022.algorithms.tree_noise import stream as tree_noise
from dpverify.papers.tran2022.algorithms.tree_noise.faults import NoiseFault
from dpverify.papers.tran2022.algorithms.tree_noise.steps import TreeNoise
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import covariance_matrix

Parameters = dict[str, int | Fraction | str]
COORDINATES = 8

FAST: Parameters = {"alpha": "1/8", "N": 100, "T": 255, "d": COORDINATES}
"""The decay is so strong that an exponent off by one is visible at every level that
matters. N neither divides T nor is a power of two."""

LONG: Parameters = {"alpha": "1/8", "N": 100, "T": 1023, "d": COORDINATES}
"""The same decay over ten levels of the tree. Signs are compared: inner products would take most of the time."""

# The decay is so slow that a node is still visible half a tree later
SLOW: Parameters = {"alpha": "1/700", "N": 701, "T": 1023, "d": COORDINATES}

Draw = Callable[[np.random.Generator, float, Any], None]
# Replications per block; a block returns only its sums, one for every pair of steps
BLOCK = 2048

# Share of the runs of 1023 steps that is used to test
# the marginal law. It still has more values than FAST.
SHARE = 0.125


def stepwise(rng: np.random.Generator, alpha: float, out: Any) -> None:
    """Draw a run one step at a time, as an optimizer in Python does."""
    noise = TreeNoise(*out.shape, alpha=alpha, scale=1.0, rng=rng)
    for row in out:
        noise.step(row)


def literal(rng: np.random.Generator, alpha: float, out: Any) -> None:
    """Draw a run by the printed loops: all nodes in advance, summed at each step."""
    steps, d = out.shape
    depth = steps.bit_length()
    nodes = tree_noise_literal.draw_nodes(rng, steps, d, depth=depth, scale=1.0)
    out[:] = tree_noise_literal.noise_from_nodes(nodes, steps, depth=depth, alpha=alpha)


def spawned(rng: np.random.Generator) -> np.random.Generator:
    """Spawn an SFC64 generator, for kernels that draw from its state."""
    return generator(cast("np.random.SeedSequence", rng.bit_generator.seed_seq), 0)


def streams(context: Context, rng: np.random.Generator, size: int) -> Pieces:
    """Simulate runs of shape (T, d) with the production kernel, in units of one node's deviation."""
    words, alpha = take_words(spawned(rng)), float(context.point["alpha"])

    def fill(runs: Any) -> None:
        with wrapping():
            tree_noise.draw_noises_from(words, alpha, 1.0, runs)

    return drawn_in_pieces(size, shape(context), fill)


def whole_run(draw: Draw) -> Simulate:
    """Return a simulation of runs of shape (T, d) by a kernel that makes one run at a time and draws with NumPy."""
    return run_by_run(
        lambda context, rng, run: draw(rng, float(context.point["alpha"]), run)
    )


def planted(fault: NoiseFault) -> Control:
    """Return a control that simulates a faulty kernel."""

    def simulate(context: Context, rng: np.random.Generator, size: int) -> Pieces:
        words, alpha = take_words(spawned(rng)), float(context.point["alpha"])

        def fill(runs: Any) -> None:
            tapes = np.empty(runs.shape)
            with wrapping():
                fill_normal_from(words, tapes.reshape(-1))
            for tape, run in zip(tapes, runs, strict=True):
                fault(tape, alpha, 1.0, run)

        return drawn_in_pieces(size, shape(context), fill)

    return Control(fault.name, fault.text, simulate)


def law(context: Context) -> Any:
    """Return the exact covariance over the steps, in units of one node's variance."""
    return _covariance(int(context.point["T"]), float(context.point["alpha"]))


@lru_cache(maxsize=2)
def _covariance(steps: int, alpha: float) -> Any:
    """Return the covariance matrix, cached because every block of a check requests it."""
    matrix = covariance_matrix(steps, alpha)
    matrix.flags.writeable = False
    return matrix


ROUGH = DetectableFaults(0.3, 1.25, 1.02)
MIDDLE = DetectableFaults(0.1, 1.1, 1.005)
FINE = DetectableFaults(0.05, 1.035, 1.002)


def judge(pairs: Pairs = "products") -> TrajectoryLaw:
    """Return the judge of whole runs; a comparison of signs has so many runs that a share of the values is enough."""
    share = 1.0 if pairs == "products" else SHARE
    return TrajectoryLaw(
        law,
        printed=variance,
        corrected=partial(variance, more=1),
        pairs=pairs,
        share=share,
    )


def variance(context: Context, more: int = 0) -> Any:
    """Return Equation 6's variance in units of one node, log2(T + more): ``more`` is 0 as printed, 1 as corrected."""
    steps = int(context.point["T"])
    return np.full(steps, np.log2(steps + more))


def noise_law(
    claim: str,
    name: str,
    point: Parameters,
    sees: tuple[DetectableFaults, DetectableFaults],
    faults: Iterable[NoiseFault],
    simulate: Simulate = streams,
    pairs: Pairs = "products",
) -> MonteCarloCheck:
    """Return a check of a kernel's whole runs against the exact law.

    ``sees`` has the faults that it must detect in smoke runs, and those in other runs.
    """
    return MonteCarloCheck(
        claim,
        name,
        point=point,
        plan=plan_to_detect(*sees, pairs, block=BLOCK),
        simulate=simulate,
        judge=judge(pairs),
        controls=[planted(fault) for fault in faults],
        readings={"depth": "levels"},
        variants=("printed",),
        leaves_out="floats, not real arithmetic; N enters through V only, a common factor",
    )


# Faults of the whole law: equal coordinates, a delay, and another marginal law
SHAPE = (
    tree_noise_faults.shared_across_coordinates(),
    tree_noise_faults.lagged(),
    tree_noise_faults.wrong_law("uniform"),
)

SHORT_RUN = (
    tree_noise_faults.node_missing(128),
    tree_noise_faults.node_missing(255),
    tree_noise_faults.redrawn(),
    tree_noise_faults.redrawn(128),
    tree_noise_faults.decay_off(1),
    tree_noise_faults.decay_off(-1),
    tree_noise_faults.decay_off(1, of_level=0),
    tree_noise_faults.term_off(252, 254),
)
LARGE_FAULTS = (
    tree_noise_faults.shared_across_coordinates(),
    tree_noise_faults.node_missing(128),
    tree_noise_faults.decay_off(-1),
)
"""Faults for a claim that uses the kernel and detects only large faults in smoke runs.
The claim about the kernel, algorithm-1-noise, detects smaller faults there and plants
all of them."""
LONG_RUN = (tree_noise_faults.node_missing(512), tree_noise_faults.redrawn(512))
SLOW_RUN = (
    tree_noise_faults.node_missing(512, 1000),
    tree_noise_faults.node_missing(768, 1023),
)
