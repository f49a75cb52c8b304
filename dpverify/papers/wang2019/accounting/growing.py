"""What DP-AGD spends: its budget, as printed and as certified, and its authors' rule for choices and directions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpverify.kernels import check
from dpverify.privacy.growing_budget import GrowingBudget, classic_budget, largest_budget

if TYPE_CHECKING:
    from dpverify.papers.wang2019.algorithms.dp_agd import AgdParameters

MOST_PARTS = 1000


def agd_parameters(
    epsilon: float, delta: float, parts: float, steps: int, clip: float = 1.0, *, printed: bool
) -> AgdParameters:
    """Choose DP-AGD's numbers: choices split half of epsilon into so many parts, as e-DP; directions follow from them.

    The budget is what its paper's conversion allows, or the largest that is certified.
    """
    if not 1.0 <= check.positive(parts=parts) <= MOST_PARTS:
        raise check.ArgumentError("parts", parts, f"must be from 1 to {MOST_PARTS}")
    rho = (classic_budget if printed else largest_budget)(epsilon, delta)
    choice = 0.5 * (0.5 * epsilon / parts) ** 2
    direction = choice / (2.0 * math.log(1.25 / delta))  # as the authors' program has it
    from dpverify.papers.wang2019.algorithms.dp_agd import AgdParameters  # not above: it loads numba

    return AgdParameters(steps, rho, direction, choice, clip)


def spends(parameters: AgdParameters, examples: int) -> GrowingBudget:
    """What a run releases, for ``shared_epsilon``."""
    p = parameters
    return GrowingBudget(p.rho, p.rho_direction, p.rho_choice, p.growth, p.candidates, examples, p.steps)
