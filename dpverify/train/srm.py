"""DP-SRM of wang2019 as ``train`` runs it: gradients clipped at 1, their changes at C_2, and what its noise guarantees.

sigma is the noise's deviation over the sensitivity of each estimate, 2/b of the first and 2(gamma + (1 - gamma) C_2)/b
of the others; b_0 = b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dpverify.kernels import check
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.problems.regression import Regression, recursive_gradient
from dpverify.train.records import NoiseConstants
from dpverify.train.settings import Settings

if TYPE_CHECKING:
    from dpverify.privacy.batches import BatchSteps

CLIP = 1.0


def srm(problem: Regression, s: Settings) -> tuple[DpSrm, NoiseConstants]:
    """Set DP-SRM up: the run before its first step, and its noise."""
    n, change_clip = len(problem.x), s.change_clip or CLIP
    first, later = (move / s.batch * s.sigma for move in sum_moves(s))
    parameters = SrmParameters(s.steps, s.batch, s.batch, s.gamma, s.eta, problem.smoothness, first, later)
    run = DpSrm(recursive_gradient(problem, CLIP, change_clip), n, problem.start, parameters, seed=s.seed)
    constants = NoiseConstants(
        lipschitz=problem.lipschitz,
        smoothness=problem.smoothness,
        gap=problem.gap,
        counts={},
        node_std={"v^0": first, "v^t": later},
    )
    return run, constants


def sum_moves(s: Settings) -> tuple[float, float]:
    """By how much replacing one example moves the sum over the first batch, and over each later one."""
    return 2.0 * CLIP, 2.0 * (s.gamma * CLIP + (1.0 - s.gamma) * (s.change_clip or CLIP))


def with_sigma(s: Settings, examples: int, epsilon: float | None, delta: float) -> tuple[Settings, float]:
    """Choose the least sigma that is certified for an epsilon, or give the epsilon that the given one buys."""
    from dpverify.privacy.batches import BatchSteps, least_factor, upper_epsilon  # loads scipy

    def steps(sigma: float) -> list[BatchSteps]:
        return [BatchSteps(s.batch / examples, sigma, s.steps)]

    if epsilon is None:
        return s, upper_epsilon(steps(s.sigma), delta)
    if upper_epsilon(steps(1e6), delta) > epsilon:
        raise check.ArgumentError("epsilon", epsilon, f"is out of reach at delta={delta!r}: nothing could be certified")
    return msgspec.structs.replace(s, sigma=least_factor(steps, epsilon, delta)), epsilon
