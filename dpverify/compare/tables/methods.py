"""A method of the tables with one setting: its run, its noise, and what that noise buys."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dpverify.compare.methods import step_length
from dpverify.compare.tables.noise import Sampling, bought, lemma_holds, ratio
from dpverify.compare.tables.settings import CHANGE_CLIP, CLIP, DELTA, GAMMA, PARTIES, Noise, steps_for
from dpverify.kernels import check
from dpverify.papers.wang2019.accounting.growing import agd_parameters, spends
from dpverify.papers.wang2019.algorithms.descent import dp_gd, dp_sgd, rrpsgd
from dpverify.papers.wang2019.algorithms.dp_agd import DpAgd
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.papers.wang2019.algorithms.storm import Storm, StormParameters
from dpverify.privacy.growing_budget import shared_epsilon
from dpverify.privacy.participation import Bounds
from dpverify.problems.batch_gradient import line_losses
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.regression import recursive_gradient
from dpverify.problems.sampled_run import SampledRun
from dpverify.problems.sparse.batches import sparse_line_losses
from dpverify.problems.sparse.logistic import SparseLogistic


@dataclass(frozen=True)
class ReadyMethod:
    """A method that can run: ``start(seed)``; ``epsilon`` bounds what its noise buys."""

    batch: int
    scale: float
    steps: int
    noise: float  # s, or DP-AGD's rho; 0 without privacy
    epsilon: Bounds | None
    conditions: bool | None  # whether those of Lemma 3.7 hold, where the printed noise rests on it
    start: Callable[[int], SampledRun]


def ready(
    method: str,
    problem: LogisticRegression | SparseLogistic,
    noise: Noise,
    epsilon: float,
    data_passes: int,
    batch: int,
    scale: float,
) -> ReadyMethod:
    """Set a method up on a problem; ``batch`` and ``scale`` as in ``settings.grid``."""
    n = len(problem.x)
    w = problem.start
    b = {"dp-gd": n, "dp-agd": n, "rrpsgd": 1}.get(method) or check.whole(1, n, batch=batch)
    T = steps_for(method, n, b if batch else 0, data_passes)
    oracle = recursive_gradient(problem, None if method == "storm" else CLIP, CHANGE_CLIP)
    if method == "storm":
        oracle.change_clip = math.inf
        k = scale
        L = problem.smoothness
        p = StormParameters(T, b, k, (k * L) ** 3, L * L)  # a first step of at most 1/L, and a_2 at most 1
        return ReadyMethod(b, scale, T, 0.0, None, None, lambda seed: Storm(oracle, n, w, p, seed=seed))
    if method == "dp-agd":
        agd = agd_parameters(epsilon, DELTA, scale, T, CLIP, printed=noise == "printed")
        budget = shared_epsilon(spends(agd, n), DELTA)
        clip = agd.loss_clip
        if isinstance(problem, SparseLogistic):
            losses = partial(sparse_line_losses, problem, clip)
        else:
            losses = partial(line_losses, problem, clip)
        return ReadyMethod(n, scale, T, agd.rho, budget, None, lambda seed: DpAgd(oracle, losses, n, w, agd, seed=seed))
    parties = PARTIES if method == "ddp-srm" else 1
    how = Sampling(n // parties * parties, b, T)  # each party draws b/m of its own, at least floor(n/m) of them
    s = ratio(method, noise, how, epsilon)
    conditions = lemma_holds(how, s) if noise == "printed" and 1 < b < n else None
    ready_method = partial(ReadyMethod, b, scale, T, s, bought(how, s), conditions)
    std = s * 2.0 * CLIP / b
    if method in ("dp-srm", "ddp-srm"):
        later = s * 2.0 * (GAMMA * CLIP + (1.0 - GAMMA) * CHANGE_CLIP) / b
        numbers = GAMMA, CHANGE_CLIP, problem.smoothness / scale, std, later, parties
        srm = SrmParameters(T, b, b, *numbers)
        return ready_method(lambda seed: DpSrm(oracle, n, w, srm, seed=seed))
    eta = scale * step_length(problem, b, T, std)
    if method == "dp-gd":
        return ready_method(lambda seed: dp_gd(oracle, n, w, T, eta, std, seed=seed))
    if method == "rrpsgd":
        return ready_method(lambda seed: rrpsgd(oracle, n, w, T, eta, std, seed=seed))
    return ready_method(lambda seed: dp_sgd(oracle, n, w, T, b, eta, std, seed=seed))
