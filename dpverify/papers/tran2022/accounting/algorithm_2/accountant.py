"""The accountant of Algorithm 2: what the noise of its three families is worth together, for one and the same pattern.

A node of G moves by at most 2 G times the sum of its visits' weights, one of Delta by what NOTES_sensitivity.md
derives, one of r by at most 2 eta L times the sum of (p - 1) weights: each exact for its node. The squares are added up
over all nodes that Algorithm 4 reads, so mu is certain, but no loss may reach all of them at once (a gradient
difference that stays large leaves nothing for Delta).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Final

from dpverify.kernels import check
from dpverify.papers.tran2022.accounting import blocks
from dpverify.papers.tran2022.accounting.algorithm_2.fresh import SrTree
from dpverify.papers.tran2022.accounting.algorithm_2.long import is_long, long_run
from dpverify.papers.tran2022.accounting.algorithm_2.nodes import NodeSensitivities, pattern_value
from dpverify.papers.tran2022.accounting.algorithm_2.once import values_of_places
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.scales import G_FIRST, G_LATER, OF_DELTA, OF_R
from dpverify.privacy.participation import Bounds, check_ordering
from dpverify.shared_types import Ordering

ACCURACY: Final = 1.015  # Upper over lower bound of mu^2, unless another is asked for.

SHORT: Final = 128  # For runs of up to this many steps the exact maximum is tried first.

EFFORTS: Final = ((2e-3, 512), (1e-3, 512), (4e-4, 2048), (1e-4, 8192))
"""How close points are merged, and into how many parts an epoch is cut: in turn, until the bounds are close enough."""

MANY_EPOCHS: Final = 2000  # From this many on the coarsest is tried first; else it is left out.

MOST_OF_LONG: Final = 50_000
"""No more blocks are looked at where the bounds for long runs are there already: about ten seconds."""

MANY_BLOCKS: Final = 4_000  # From about this many on the bounds for long runs are tried first.


def sr_nsgd_mu(parameters: SrParameters, examples: int, smoothness: float, *, accuracy: float = ACCURACY) -> Bounds:
    """Give the Gaussian privacy parameter mu of Algorithm 2, all families together, for 0 < gamma < 1."""
    # Refined until upper over lower bound of mu^2 is at most ``accuracy``, or no more can be done. Replacing one
    # example is at most as visible as N(0, 1) against N(mu, 1), for the ``upper`` mu; ``lower`` is what the per-node
    # sensitivities add up to for a pattern that exists. Infinite where a node that moves has no noise. In place of
    # ``tran2022:theorem-8``; NOTES_accountant.md has the proofs.
    T = parameters.steps
    N = check.whole(1, examples=examples)
    L = check.not_negative(smoothness=smoothness)
    deviations = parameters.deviations(N)
    gradient = 2.0 * parameters.lipschitz
    jump = 2.0 * L * parameters.eta * N
    drift = 2.0 * L * parameters.eta
    moves = {  # what a visit moves a node of the family by, where there is such a node
        G_FIRST: gradient,
        G_LATER: gradient if 2 * N < T else 0.0,
        OF_DELTA: min(jump, 2.0 * gradient) if 2 * N <= T else 0.0,
        OF_R: drift if min(N, T) > 1 else 0.0,
    }
    if any(move > 0.0 and deviations[family] == 0.0 for family, move in moves.items()):
        return Bounds(math.inf, math.inf, exact=True)
    per = {family: float(move / deviations[family]) if move > 0.0 else 0.0 for family, move in moves.items()}
    scale = max(per.values())  # squares neither overflow nor vanish
    late = per[OF_DELTA] / scale
    delta_limit = 0.0
    if late > 0.0:
        delta_limit = max(late, 2.0 * gradient / float(deviations[OF_DELTA]) / scale)
    squared = [(per[family] / scale) ** 2 for family in (G_FIRST, G_LATER, OF_R)]
    sensitivities = NodeSensitivities(T, N, squared[0], squared[1], late, delta_limit, squared[2])
    squares = sr_sum_of_squares(sensitivities, parameters.alpha, parameters.ordering, accuracy=accuracy)
    lower = math.sqrt(squares.lower) * scale
    upper = math.sqrt(squares.upper) * scale
    return blocks.outward(lower, upper, exact=squares.exact, pattern=squares.pattern)


def sr_sum_of_squares(
    sensitivities: NodeSensitivities, alpha: float, ordering: Ordering = "fresh", *, accuracy: float = ACCURACY
) -> Bounds:
    """Maximize, over the visits of one example, the sum of squared sensitivities over squared deviations."""
    # Refined until upper over lower bound is at most ``accuracy``, or no more can be done; "once" is exact. Where N and
    # T/N are both above about 10^4 nothing is refined: it is 1.01 to 1.05 for the printed noise at alpha = 1/N, up to
    # 1.11 for alpha from 0.1/N to 100/N.
    alpha = check.weight(alpha=alpha)
    accuracy = blocks.checked_accuracy(accuracy)
    T = sensitivities.steps
    N = sensitivities.examples
    if (check_ordering(ordering) == "once" and N < T) or min(N, blocks.ONE_EPOCH) >= T:
        return blocks.best_place(values_of_places(sensitivities, alpha), T, N)
    different = blocks.different_blocks(T, N)
    best = Bounds(0.0, math.inf, exact=False)
    if different > MANY_BLOCKS and is_long(sensitivities, alpha):
        best = long_run(sensitivities, alpha)
        if best.ratio <= accuracy:
            return best
    if N <= blocks.ONE_EPOCH:  # the same place everywhere is a pattern too
        once = replace(blocks.best_place(values_of_places(sensitivities, alpha), T, N), upper=math.inf, exact=False)
        best = blocks.best_of(best, once)
    if different > MOST_OF_LONG and best.upper < math.inf:
        return best
    blocks.check_blocks(T, N)
    chosen = EFFORTS if T // N >= MANY_EPOCHS else EFFORTS[1:]
    efforts = [(close, max((min(N, T) // parts).bit_length() - 1, 0)) for close, parts in chosen]
    tried = [(0.0, 0), *efforts] if T <= SHORT else efforts
    trees = (partial(SrTree, sensitivities, alpha, close, grain) for close, grain in tried)
    return blocks.refine(best, trees, partial(pattern_value, sensitivities, alpha), accuracy)
