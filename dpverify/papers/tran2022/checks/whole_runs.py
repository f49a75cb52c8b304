"""Whole runs of Algorithm 1's noise: how they are simulated, in which regimes, and which faults must show in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dpverify.harness import Context, Control, MonteCarloCheck, Plan, TrajectoryEffect, TrajectoryLaw
from dpverify.papers.tran2022 import tree_noise, tree_noise_faults, tree_noise_literal
from dpverify.papers.tran2022.compose_bounds import covariance_matrix
from dpverify.papers.tran2022.tree_noise_faults import Fault
from dpverify.papers.tran2022.tree_noise_steps import TreeNoise

Parameters = dict[str, int | Fraction | str]
COORDINATES = 8

FAST: Parameters = {"alpha": "1/8", "N": 100, "T": 255, "d": COORDINATES}
"""Decay so strong that an exponent off by one shows at every level that still matters. N neither divides T nor is a
power of two."""

LONG: Parameters = {"alpha": "1/8", "N": 100, "T": 1023, "d": COORDINATES}
"""The same decay over ten levels of the tree."""

SLOW: Parameters = {"alpha": "1/700", "N": 701, "T": 1023, "d": COORDINATES}
"""Decay so weak that a node shows wherever it is used, up to half a tree later."""

Draw = Callable[[np.random.Generator, float, Any], None]
Simulate = Callable[[Context, np.random.Generator, int], Any]


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


def streams(context: Context, rng: np.random.Generator, size: int) -> Any:
    """Simulate runs of shape (T, d) with the production kernel, all in one call, in units of one node's deviation."""
    out = np.empty((size, int(context.point["T"]), int(context.point["d"])))
    tree_noise.draw_noises(rng, float(context.point["alpha"]), 1.0, out)
    return out


def whole_run(draw: Draw) -> Simulate:
    """Simulate runs of shape (T, d) with a kernel that makes one run at a time."""

    def simulate(context: Context, rng: np.random.Generator, size: int) -> Any:
        out = np.empty((size, int(context.point["T"]), int(context.point["d"])))
        for run in out:
            draw(rng, float(context.point["alpha"]), run)
        return out

    return simulate


def planted(fault: Fault) -> Control:
    """Make a control of a wrong kernel."""

    def faulty(rng: np.random.Generator, alpha: float, out: Any) -> None:
        fault(rng.standard_normal(out.shape), alpha, 1.0, out)

    return Control(fault.name, fault.text, whole_run(faulty))


def law(context: Context) -> Any:
    """Exact covariance over the steps, in units of one node's variance."""
    return _covariance(int(context.point["T"]), float(context.point["alpha"]))


@lru_cache(maxsize=2)
def _covariance(steps: int, alpha: float) -> Any:
    """Every block of a check asks for the same matrix."""
    made = covariance_matrix(steps, alpha)
    made.flags.writeable = False
    return made


def plan(smoke: float, otherwise: float) -> Callable[[Context], Plan]:
    """Plan to see a pair of steps with a correlation, smaller outside smoke runs, and wrong deviations."""

    def sized(context: Context) -> Plan:
        quick = context.budget.name == "smoke"
        steps, row_scale = int(context.point["T"]), 1.25 if quick else 1.1
        correlation = smoke if quick else otherwise
        effect = TrajectoryEffect(steps, COORDINATES, scale=1.02, row_scale=row_scale, correlation=correlation)
        return Plan(effect)

    return sized


def printed_variance(context: Context) -> Any:
    """Equation 6 in units of one node: log2(T) at every step."""
    steps = int(context.point["T"])
    return np.full(steps, np.log2(steps))


def corrected_variance(context: Context) -> Any:
    """Equation 6 with log2(T + 1)."""
    steps = int(context.point["T"])
    return np.full(steps, np.log2(steps + 1))


def noise_law(
    claim: str,
    name: str,
    point: Parameters,
    sized: Callable[[Context], Plan],
    faults: Iterable[Fault],
    simulate: Simulate = streams,
) -> MonteCarloCheck:
    """Make a check of a kernel's whole runs against the exact law."""
    return MonteCarloCheck(
        claim,
        name,
        point=point,
        plan=sized,
        simulate=simulate,
        judge=TrajectoryLaw(law, printed=printed_variance, corrected=corrected_variance),
        controls=[planted(fault) for fault in faults],
        readings={"depth": "levels"},
        variants=("printed",),
        leaves_out="floats, not real arithmetic; N enters through V only, a common factor",
    )


SHAPE = (
    tree_noise_faults.shared_across_coordinates(),
    tree_noise_faults.lagged(),
    tree_noise_faults.wrong_law("uniform"),
)
"""Faults of the law that no variance shows."""

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
LONG_RUN = (tree_noise_faults.node_missing(512), tree_noise_faults.redrawn(512))
SLOW_RUN = (tree_noise_faults.node_missing(512, 1000), tree_noise_faults.node_missing(768, 1023))
