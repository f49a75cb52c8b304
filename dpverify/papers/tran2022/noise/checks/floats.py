"""What is left of a guarantee about real numbers when Algorithm 1 is run in floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpverify.harness import Context, Control, MonteCarloCheck, PaperChecks, Plan, ProportionBound, ProportionEffect
from dpverify.papers.tran2022.algorithms.tree_noise.scale import node_deviation, printed_v
from dpverify.privacy.audit.floats import lowest_bit

CHECKS = PaperChecks("tran2022", __name__)

Simulate: TypeAlias = Callable[[Context, Generator, int], NDArray[np.float64]]

GRID = -53
"""1 + z in floats is a multiple of 2^-53: near 0 because z is one there, elsewhere as all floats of that size."""

POINT: dict[str, int | Fraction | str] = {"N": 1, "T": 1, "alpha": 1, "G": 1, "epsilon": 1, "delta": "1/100000"}


def _deviation(context: Context) -> float:
    """Deviation of the only node's noise, with the printed sigma."""
    sigma = 2.0 * math.sqrt(-math.log(context.point["delta"])) / float(context.point["epsilon"])
    return node_deviation(1.0, 1.0, sigma, printed_v(1, 1, 1))


def _below_the_grid(gradient: float, scale: float = 1.0) -> Simulate:
    """Simulate whether m-hat_1 = gradient + noise has a bit below the grid."""

    def simulate(context: Context, rng: Generator, size: int) -> NDArray[np.float64]:
        released = gradient + scale * _deviation(context) * rng.standard_normal(size)
        return (lowest_bit(released[:, np.newaxis]) < GRID).astype(np.float64)

    return simulate


CHECKS.add(
    MonteCarloCheck(
        "algorithm-1-floats",
        "lowest-bit",
        point=POINT,
        plan=Plan(ProportionEffect(1e-5, 0.003), seconds_each=2e-7),
        simulate=_below_the_grid(0.0),
        judge=ProportionBound(bound=lambda context: float(context.point["delta"])),
        controls=[Control("less noise", "a tenth of the noise: ten times the event", _below_the_grid(0.0, 0.1))],
        region="one example, one step; gradients 0 and 1; the event has probability 0 for gradient 1",
        leaves_out="the iterates, which show m-hat up to its length only",
    ),
)
