"""Set up a method of the tables with one setting: its run, its noise, and the epsilon of that noise.

The noise is given by s, its deviation over the sensitivity, which is the same in each step. *Printed* noise is that of
section 6.1 and of the methods' papers. *Needed* noise is the least that the accountants of ``dpverify.privacy`` certify
for replacing one example. DP-AGD spends a budget of zero-concentrated DP instead (``privacy.growing_budget``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from dpverify.algorithms.algorithm import Algorithm
from dpverify.algorithms.baselines import AgdSettings, DpAgdAlgorithm
from dpverify.algorithms.dp_srm import DEFAULT_CHANGE_CLIP, RecursiveMomentum
from dpverify.algorithms.settings import Settings, options
from dpverify.compare.experiments.experiment import DELTA, Noise, TunedTrial
from dpverify.compare.methods import full_batch_std, step_length
from dpverify.kernels import check
from dpverify.papers.wang2019.accounting.runs import spends
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.privacy.batches import BatchSteps, batch_epsilon, least_factor
from dpverify.privacy.gaussian import epsilon_of
from dpverify.privacy.growing_budget import shared_epsilon
from dpverify.privacy.participation import Bounds
from dpverify.privacy.subsampling import sampled_std
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.regression import recursive_gradient
from dpverify.problems.sampled_run import DescentParameters, NoisyDescent, SampledRun
from dpverify.problems.sparse.logistic import SparseLogistic

CLIP: Final = 1.0
CHANGE_CLIP: Final = DEFAULT_CHANGE_CLIP
GAMMA: Final = 0.01
PARTIES: Final = 10
"""C_1, C_2, gamma and m of section 6.1."""


@dataclass(frozen=True)
class Sampling:
    """Sampling of a method: T steps on b of n examples."""

    examples: int
    batch: int
    steps: int

    @property
    def rate(self) -> float:
        """Fraction of the data that a step reads."""
        return self.batch / self.examples


@lru_cache(maxsize=256)
def ratio(
    method: Algorithm[Any], noise: Noise, sampling: Sampling, epsilon: float
) -> float:
    """Return s; raise ArgumentError for an epsilon that no accountant can certify."""
    n = sampling.examples
    T = sampling.steps
    if noise == "printed":
        return method.printed_ratio(n, sampling.batch, T, epsilon, DELTA)
    if sampling.batch == n:
        return full_batch_std(n, T, 0.5 * n, epsilon, DELTA)
    start = sampled_std(n, sampling.batch, T, 0.5 * sampling.batch, epsilon, DELTA)
    if not math.isfinite(start):
        raise check.ArgumentError(
            "epsilon",
            epsilon,
            f"is out of reach at delta={DELTA!r}: nothing could be certified",
        )
    return start * least_factor(
        lambda factor: [BatchSteps(sampling.rate, factor * start, T)], epsilon, DELTA
    )


@lru_cache(maxsize=256)
def attained_bounds(sampling: Sampling, s: float) -> Bounds:
    """Return bounds on the epsilon of this noise: the upper is certified, the lower is attained on some data."""
    if sampling.batch == sampling.examples:
        epsilon = epsilon_of(math.sqrt(sampling.steps) / s, DELTA)
        return Bounds(epsilon, epsilon, exact=True)
    return batch_epsilon([BatchSteps(sampling.rate, s, sampling.steps)], DELTA)


def is_lemma_satisfied(sampling: Sampling, s: float) -> bool:
    """Test whether the conditions of Lemma 3.7 hold at the order for which Lemma 3.9 gives the least epsilon."""
    order = (
        1.0
        + s * math.sqrt(math.log(1.0 / DELTA) / (3.5 * sampling.steps)) / sampling.rate
    )
    inside = sampling.rate * order * (1.0 + s * s)
    return (
        s * s >= 0.7
        and inside < 1.0
        and order - 1.0 <= 2.0 / 3.0 * s * s * math.log(1.0 / inside)
    )


def has_batches(method: Algorithm[Any]) -> bool:
    """Test whether the batch size is a setting of the method."""
    return "batch" in options(method.settings)


def settings_for(
    method: Algorithm[Any], examples: int, batch: int, data_passes: int
) -> tuple[Settings, int]:
    """Return the batch size and settings with the number of steps whose gradients fit in ``data_passes`` passes."""
    settings: Settings = method.complete(
        {"batch": batch} if has_batches(method) else {}, examples
    )
    cost = method.gradients_per_step(settings, examples)
    steps = max(1, int(Fraction(data_passes * examples, cost)))
    return msgspec.structs.replace(settings, steps=steps), batch if has_batches(
        method
    ) else min(cost, examples)


def trial_of(
    method: Algorithm[Any],
    problem: LogisticRegression | SparseLogistic,
    noise: Noise,
    epsilon: float,
    data_passes: int,
    batch: int,
    scale: float,
) -> TunedTrial:
    """Return the trial of a method on a problem; ``batch`` and ``scale`` are as in ``tables.grid``."""
    n = len(problem.x)
    settings, b = settings_for(method, n, batch, data_passes)
    T = settings.steps
    conditions = None
    budget = None
    s = 0.0
    if not method.is_private:
        start = _seeded(method, problem, msgspec.structs.replace(settings, k=scale))
    elif isinstance(settings, AgdSettings):
        assert isinstance(method, DpAgdAlgorithm)
        settings = method.budgeted(
            settings, epsilon, DELTA, scale, printed=noise == "printed"
        )
        budget = shared_epsilon(spends(method.parameters(settings), n), DELTA)
        s = settings.rho
        start = _seeded(method, problem, settings)
    else:
        parties = PARTIES if "parties" in options(method.settings) else 1
        # each party draws b/m of its at least floor(n/m) examples
        sampling = Sampling(n // parties * parties, b, T)
        s = ratio(method, noise, sampling, epsilon)
        budget = attained_bounds(sampling, s)
        conditions = (
            is_lemma_satisfied(sampling, s)
            if noise == "printed" and 1 < b < n
            else None
        )
        recursive = isinstance(method, RecursiveMomentum)
        start = (
            _recursive(problem, T, b, s, scale, parties)
            if recursive
            else _descent(problem, T, b, s, scale)
        )
    setting = {
        "passes": data_passes,
        "batch": b,
        "scale": float(scale),
        "ratio": s,
        "conditions": conditions,
    }
    return TunedTrial(
        T, budget, start, setting | {"noise": noise if method.is_private else "none"}
    )


Start: TypeAlias = Callable[[int], SampledRun]


def _seeded(
    method: Algorithm[Any],
    problem: LogisticRegression | SparseLogistic,
    settings: Settings,
) -> Start:
    return lambda seed: method.start(
        problem, msgspec.structs.replace(settings, seed=seed)
    )  # type: ignore[return-value]  # each of these methods has an output


def _recursive(
    problem: LogisticRegression | SparseLogistic,
    T: int,
    b: int,
    s: float,
    scale: float,
    parties: int,
) -> Start:
    oracle = recursive_gradient(problem, CLIP, CHANGE_CLIP)
    std = s * 2.0 * CLIP / b
    later = s * 2.0 * (GAMMA * CLIP + (1.0 - GAMMA) * CHANGE_CLIP) / b
    numbers = SrmParameters(
        T, b, b, GAMMA, CHANGE_CLIP, problem.smoothness / scale, std, later, parties
    )
    return lambda seed: DpSrm(oracle, len(problem.x), problem.start, numbers, seed=seed)


def _descent(
    problem: LogisticRegression | SparseLogistic, T: int, b: int, s: float, scale: float
) -> Start:
    oracle = recursive_gradient(problem, CLIP, CHANGE_CLIP)
    std = s * 2.0 * CLIP / b
    numbers = DescentParameters(T, b, scale * step_length(problem, b, T, std), std)
    return lambda seed: NoisyDescent(
        oracle, len(problem.x), problem.start, numbers, seed=seed
    )
