"""The accountant of Algorithm 2: bounds on mu for the noise of its three families of nodes together.

A G node moves by at most 2 G times the sum of its visits' weights. A Delta node moves
by at most the supremum derived in NOTES_sensitivity.md. An r node moves by at most 2
eta L times the sum of the weights times (p - 1). Each bound is exact for a single node.
Their squares over the variances are summed over all nodes that Algorithm 4 reads and
maximized over patterns of visits. This gives a certified upper bound on mu. Possibly no
loss attains all of them at once: if the gradients of an example and its replacement
differ by a large constant, the Delta nodes do not move.

With one permutation for all epochs ("once"), the sum is computed exactly for every place. G and Delta nodes are no
longer than an epoch, so they contain at most one visit. As in Algorithm 1, a block of 2^k steps depends only on the
place of its first visit. Between the cuts at N, 2N and T - N, all left nodes have the same weight, and so have all
right nodes. Nodes that cross a cut are added one by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting import blocks
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import values_by_place
from dpverify.papers.tran2022.accounting.algorithm_2.fresh import SrTree
from dpverify.papers.tran2022.accounting.algorithm_2.frontier import most_moved
from dpverify.papers.tran2022.accounting.algorithm_2.long import is_long, long_run
from dpverify.papers.tran2022.accounting.algorithm_2.nodes import (
    NodeSensitivities,
    pattern_value,
)
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.scales import (
    DELTA_INDEX,
    G_FIRST,
    G_LATER,
    R_INDEX,
)
from dpverify.privacy.participation import Bounds, check_ordering
from dpverify.shared_types import Ordering


@kernel
def double(
    S: Vector,
    A: Vector,
    B: Vector,
    half: int,
    decay: float,
    counted: float,
    S_out: Vector,
    A_out: Vector,
    B_out: Vector,
) -> None:
    """Join blocks of ``half`` steps; entry j is for a first visit j steps after the beginning of the block.

    A and B are the sums of squared weights of the left and of the right halves, multiplied by ``counted``.
    """
    N = S.shape[0]
    shift = half % N
    for j in range(min(2 * half, N)):
        k = j - shift if j >= shift else j - shift + N
        S_out[j] = decay * S[j] + S[k]
        A_out[j] = A[j] + A[k] + counted * (S[j] * S[j])
        B_out[j] = B[j] + B[k] + counted * (S[k] * S[k])


@kernel
def add_block(
    S: Vector, A: Vector, B: Vector, begin: int, length: int, g: float, delta: float, late: float, limit: float,
    left: float, right: float, out: Vector,
) -> None:  # fmt: skip
    """Add to ``out[p]`` the block of the steps after ``begin`` as a node, ``left`` times A, and ``right`` times B."""
    N = S.shape[0]
    shift = begin % N
    for k in range(min(length, N)):
        p = k + shift if k + shift < N else k + shift - N
        moved = most_moved(S[k], late, limit)
        out[p] += (
            g * (S[k] * S[k]) + delta * (moved * moved) + left * A[k] + right * B[k]
        )


def values_of_places(sensitivities: NodeSensitivities, alpha: float) -> Vector:
    """Return mu^2, summed over the nodes of Algorithm 2, for every place p of the permutation in entry p - 1."""
    T = sensitivities.steps
    N = min(sensitivities.examples, sensitivities.steps)
    check.memory(9 * N, examples=N)
    out = np.zeros(N)
    out += (
        sensitivities.drift
        * np.arange(N, dtype=np.float64) ** 2
        * values_by_place(T, N, alpha)
    )
    _add_up(sensitivities, alpha, out)
    return out


def _add_up(sensitivities: NodeSensitivities, alpha: float, out: Vector) -> None:
    """Add the contributions of the G and Delta nodes to ``out``."""
    T = sensitivities.steps
    N = out.size
    late = sensitivities.delta_late
    limit = sensitivities.delta_most
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    now = np.zeros((3, N))
    following = np.zeros((3, N))
    now[0, 0] = 1.0
    blocks = list(_blocks(sensitivities))
    for level in range(T.bit_length()):
        S, A, B = now
        for begin, length, left, right in blocks:
            if length == 1 << level:
                node = sensitivities.node(begin, level)
                add_block(
                    S,
                    A,
                    B,
                    begin,
                    length,
                    node.g,
                    node.delta,
                    late,
                    limit,
                    left,
                    right,
                    out,
                )
        if T >> level + 1:
            counted = float(level <= sensitivities.top)
            double(
                S,
                A,
                B,
                1 << level,
                math.exp(log_decay * (1 << level)),
                counted,
                *following,
            )
            now, following = following, now


def _blocks(
    sensitivities: NodeSensitivities,
) -> Iterator[tuple[int, int, float, float]]:
    """Yield begin, length, and factors of A and B for the dyadic blocks between the cuts and the nodes across them."""
    T = sensitivities.steps
    N = sensitivities.examples
    cuts = sorted({cut for cut in (0, N, 2 * N, T - N, T) if 0 <= cut <= T})
    for at, until in itertools.pairwise(cuts):
        left, right = sensitivities.inside(at)
        begin = at
        while begin < until:
            longest = 1 << (until - begin).bit_length() - 1
            length = min(begin & -begin, longest) if begin else longest
            yield begin, length, left, right
            begin += length
    across = set()
    for cut in cuts[1:-1]:
        for level in range(sensitivities.top + 1):
            begin = cut >> level << level
            if begin < cut and begin + (1 << level) <= T:
                across.add((begin, 1 << level))
    for begin, length in sorted(across):
        yield begin, length, 0.0, 0.0


ACCURACY: Final = 1.015  # Default ratio of upper to lower bound on mu^2.

# For runs of up to this many steps the exact maximum is tried first.
SHORT: Final = 128

EFFORTS: Final = ((2e-3, 512), (1e-3, 512), (4e-4, 2048), (1e-4, 8192))
"""Relative difference for merging points, and number of parts of an epoch; tried in turn until the bounds are close."""

# With at least this many epochs the coarsest
# effort is tried first; otherwise it is skipped.
MANY_EPOCHS: Final = 2000

MOST_OF_LONG: Final = 50_000
"""Largest number of distinct blocks that are computed if bounds for long runs already exist: about ten seconds."""

# For runs with more distinct blocks than this, ``long_run`` is tried first.
MANY_BLOCKS: Final = 4_000


def sr_nsgd_mu(
    parameters: SrParameters,
    examples: int,
    smoothness: float,
    *,
    accuracy: float = ACCURACY,
) -> Bounds:
    """Return bounds on the Gaussian privacy parameter mu of Algorithm 2, all families together, for 0 < gamma < 1."""
    # Refined until the ratio of the bounds on mu^2 is at most ``accuracy``,
    # or no finer tree is left. The outputs on neighbouring data sets are at
    # most as distinguishable as N(0, 1) and N(mu, 1) for mu = ``upper``.
    # ``lower`` is the value that the per-node sensitivities give for one
    # pattern. Infinite if a node that depends on the data has no noise.
    # Replaces ``tran2022:theorem-8``; NOTES_accountant.md has the proofs.
    T = parameters.steps
    N = check.whole(1, examples=examples)
    L = check.not_negative(smoothness=smoothness)
    deviations = parameters.deviations(N)
    gradient = 2.0 * parameters.lipschitz
    jump = 2.0 * L * parameters.eta * N
    drift = 2.0 * L * parameters.eta
    # sensitivity of a node of each family to one visit; 0 if the run reads no such node
    moves = {
        G_FIRST: gradient,
        G_LATER: gradient if 2 * N < T else 0.0,
        DELTA_INDEX: min(jump, 2.0 * gradient) if 2 * N <= T else 0.0,
        R_INDEX: drift if min(N, T) > 1 else 0.0,
    }
    if any(move > 0.0 and deviations[family] == 0.0 for family, move in moves.items()):
        return Bounds(math.inf, math.inf, exact=True)
    per = {
        family: float(move / deviations[family]) if move > 0.0 else 0.0
        for family, move in moves.items()
    }
    scale = max(per.values())  # squares neither overflow nor vanish
    late = per[DELTA_INDEX] / scale
    delta_limit = 0.0
    if late > 0.0:
        delta_limit = max(late, 2.0 * gradient / float(deviations[DELTA_INDEX]) / scale)
    squared = [(per[family] / scale) ** 2 for family in (G_FIRST, G_LATER, R_INDEX)]
    sensitivities = NodeSensitivities(
        T, N, squared[0], squared[1], late, delta_limit, squared[2]
    )
    squares = sr_sum_of_squares(
        sensitivities, parameters.alpha, parameters.ordering, accuracy=accuracy
    )
    lower = math.sqrt(squares.lower) * scale
    upper = math.sqrt(squares.upper) * scale
    return blocks.widened(lower, upper, exact=squares.exact, pattern=squares.pattern)


def sr_sum_of_squares(
    sensitivities: NodeSensitivities,
    alpha: float,
    ordering: Ordering = "fresh",
    *,
    accuracy: float = ACCURACY,
) -> Bounds:
    """Bound the largest sum of squared sensitivities over squared deviations, over the visits of one example."""
    # Refined until the ratio of the bounds is at most ``accuracy``, or no finer tree is
    # left; "once" is exact. If N and T/N are both above about 10^4, nothing is refined.
    # The ratio is then 1.01 to 1.05 for the printed noise at alpha = 1/N, and up to
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
    # the same place in every epoch is also a pattern of "fresh": a lower bound
    if N <= blocks.ONE_EPOCH:
        once = replace(
            blocks.best_place(values_of_places(sensitivities, alpha), T, N),
            upper=math.inf,
            exact=False,
        )
        best = blocks.best_of(best, once)
    if different > MOST_OF_LONG and best.upper < math.inf:
        return best
    blocks.check_blocks(T, N)
    chosen = EFFORTS if T // N >= MANY_EPOCHS else EFFORTS[1:]
    efforts = [
        (close, max((min(N, T) // parts).bit_length() - 1, 0))
        for close, parts in chosen
    ]
    tried = [(0.0, 0), *efforts] if T <= SHORT else efforts
    trees = (
        partial(SrTree, sensitivities, alpha, close, grain) for close, grain in tried
    )
    return blocks.refine(
        best, trees, partial(pattern_value, sensitivities, alpha), accuracy
    )
