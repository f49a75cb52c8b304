"""Private SpiderBoost, Algorithm 2 of arora2023, as one algorithm of dpverify. Neighbours replace one example.

    nabla_t = mean over S_t of grad f_i(w_t) + g_t                                        if q divides t
    nabla_t = nabla_(t-1) + mean over S_t of (grad f_i(w_t) - grad f_i(w_(t-1))) + g_t    otherwise
    w_(t+1) = w_t - eta nabla_t,                      the output is uniform among w_1, ..., w_T

S_t is drawn without replacement: b_1 of the n examples if q divides t, otherwise b_2. The vector of an example is not
longer than lambda_t, which is L_0 if q divides t, and otherwise min(L_1 |w_t - w_(t-1)|, 2 L_0). Earlier releases
determine lambda_t. The run clips at this length, which changes nothing if the paper's assumptions hold. Replacing one
example therefore moves the mean by at most 2 lambda_t/b, and g_t has the deviation m_t 2 lambda_t/b in each coordinate.
The multiplier m_t is sigma max(1, b_1 sqrt(T/q)/n) or sigma max(1, b_2 sqrt(T)/n), as in lines 2 to 4 with
sigma = c sqrt(log(1/delta))/(2 epsilon).

The loop of line 5 also has t = T. The output does not depend on this estimate, so the run does not compute it.

dpverify train docs/examples/arora2023/arora2023/spider_boost.py:SPIDER_BOOST --epsilon 2 --delta 1e-5
dpverify calibrate docs/examples/arora2023/arora2023/spider_boost.py:SPIDER_BOOST --n 1000 --epsilon 2 --delta 1e-5
dpverify compare --also docs/examples/arora2023/arora2023/spider_boost.py:SPIDER_BOOST --epsilon 2 --delta 1e-5
dpverify audit docs/examples/arora2023/arora2023/spider_boost.py:SPIDER_BOOST
dpverify conform docs/examples/arora2023/arora2023/spider_boost.py:SPIDER_BOOST
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Protocol

import numpy as np
from numpy.random import Generator

import dpverify as dv
from dpverify.algorithms import Algorithm, AuditTarget, NoisySettings, ProblemSize, SettingInfo
from dpverify.algorithms.settings import DEFAULT_EPOCHS, whole
from dpverify.conform import Release
from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import norm
from dpverify.privacy import batches
from dpverify.privacy.batches import BatchSteps
from dpverify.privacy.participation import Bounds
from dpverify.problems.example_gradients import BatchOracle, clipped
from dpverify.problems.regression import Regression, recursive_gradient
from dpverify.problems.sampled_run import SampledRun

LIPSCHITZ: Final = 1.0  # L_0 for rows of length 1, without the regularizer, which depends on no example
AUDITED_PHASE: Final = 4


class Gradients(BatchOracle, Protocol):
    """An oracle of batch means whose clip lengths the run changes."""

    clip: float
    change_clip: float


@dataclass(frozen=True)
class SpiderParameters:
    """Parameters of a run: T, q, b_1, b_2, eta, L_1, both noise multipliers (deviation over sensitivity) and L_0."""

    steps: int
    phase: int
    first_batch: int
    batch: int
    eta: float
    smoothness: float
    first_multiplier: float
    multiplier: float
    lipschitz: float = LIPSCHITZ


@kernel
def add_release(keep: float, std: float, mean: Vector, unit: Vector, released: Vector, estimate: Vector) -> None:
    """Do lines 9 (keep = 0) or 13 and 14 (keep = 1), all of shape (d,): ``released`` is the mean with noise."""
    for j in range(mean.shape[0]):
        released[j] = mean[j] + std * unit[j]
        estimate[j] = keep * estimate[j] + released[j]


@kernel
def move(eta: float, estimate: Vector, w: Vector, old: Vector, step: Vector) -> float:
    """Do line 16, shapes (d,): ``old <- w``, ``w <- w - eta estimate``, and return the length of ``step``, w - old."""
    for j in range(w.shape[0]):
        old[j] = w[j]
        w[j] -= eta * estimate[j]
        step[j] = w[j] - old[j]
    return norm(step)


@dataclass
class Spider:
    """State of Algorithm 2. ``w`` is changed in place."""

    parameters: SpiderParameters
    w: Vector
    t: int = 0
    length: float = 0.0  # length of the last move
    arrays: Matrix = field(init=False)  # old, step, mean, released, estimate

    def __post_init__(self) -> None:
        self.arrays = np.zeros((5, len(self.w)))

    @property
    def is_start(self) -> bool:
        """Whether the next estimate starts a phase."""
        return self.t % self.parameters.phase == 0

    @property
    def bound(self) -> float:
        """The clip length lambda_t of the next estimate."""
        p = self.parameters
        return p.lipschitz if self.is_start else min(p.smoothness * self.length, 2.0 * p.lipschitz)

    def deviation(self, size: int) -> float:
        """Return the standard deviation of each coordinate of the next noise, for a batch of this size."""
        p = self.parameters
        return (p.first_multiplier if self.is_start else p.multiplier) * 2.0 * self.bound / size

    def step(self, gradients: Gradients, batch: Indices, unit: Vector) -> Vector:
        """Do lines 6 to 16 with standard normal ``unit``, shape (d,). Return a copy of the noisy mean, the release."""
        old, step, mean, released, estimate = self.arrays
        if self.is_start:
            gradients.clip = self.bound
            gradients(self.w, batch, mean)
        elif self.bound > 0.0:
            gradients.change_clip = self.bound
            gradients.change(self.w, old, batch, 0.0, mean)
        else:  # w did not move, so no gradient changed
            mean[:] = 0.0
        add_release(0.0 if self.is_start else 1.0, self.deviation(len(batch)), mean, unit, released, estimate)
        if not np.isfinite(estimate).all():
            raise check.ArgumentError("estimate", f"an infinite number or NaN at step {self.t}", "must stay finite")
        self.length = move(self.parameters.eta, estimate, self.w, old, step)
        self.t += 1
        copy: Vector = released.copy()
        return copy


class SpiderBoostRun(SampledRun):
    """A run on n examples, which can be advanced, observed and interrupted."""

    def __init__(
        self,
        gradients: Gradients,
        examples: int,
        start: Vector,
        parameters: SpiderParameters,
        *,
        seed: Seed = 0,
        keep: bool = False,
    ) -> None:
        super().__init__(parameters.steps, examples, start, seed, keep=keep, vectors=6)
        self._chosen += 1  # the output is among w_1, ..., w_T
        self._gradients = gradients
        self.spider = Spider(parameters, self._w)
        self.released = np.zeros(len(start))

    def _walk(self, first: int, last: int) -> None:
        p = self.spider.parameters
        for t in range(first, last):
            batch = self._batch(p.first_batch if self.spider.is_start else p.batch)
            self.released = self.spider.step(self._gradients, batch, self._noise_rng.standard_normal(len(self._w)))
            self._moved(t + 1)


class SpiderBoostSettings(NoisySettings, frozen=True, kw_only=True):
    """Settings of Algorithm 2."""

    phase: Annotated[int, SettingInfo("q", "Steps of a phase.", whole(1), default="N/(2 b_2), rounded")]
    first_batch: Annotated[int, SettingInfo("b_1", "Batch size at the start of a phase.", whole(1), default="N")]
    batch: Annotated[int, SettingInfo("b_2", "Batch size of other steps.", whole(1), default="the root of N, rounded")]
    eta: Annotated[
        float, SettingInfo("eta L_1", "Step size times the smoothness, at most what Lemma B.1 allows.", check.positive)
    ] = 0.5


class SpiderBoost(Algorithm[SpiderBoostSettings]):
    """Algorithm 2 of arora2023."""

    name = "spider-boost"
    summary = "Gradients at the start of a phase, then their changes, with noise (Algorithm 2 of arora2023)."
    settings = SpiderBoostSettings
    needs_lipschitz = True  # L_1 follows from the bound on rows

    def complete(self, request: Mapping[str, Any], examples: int) -> SpiderBoostSettings:
        n = examples
        batch = check.whole(1, n, batch=request.get("batch", max(1, round(math.sqrt(n)))))
        first = check.whole(1, n, first_batch=request.get("first_batch", n))
        phase = request.get("phase", max(1, round(n / (2 * batch))))
        steps = round(request.get("epochs", DEFAULT_EPOCHS) * n * phase / (first + 2 * batch * (phase - 1)))
        chosen = {"batch": batch, "first_batch": first, "phase": phase}
        return self.filled(request, chosen, steps=request.get("steps", max(1, steps)))

    def gradients_per_step(self, settings: SpiderBoostSettings, examples: int) -> int:
        """Return the mean over a phase; each example of a later step needs two gradients."""
        s = settings
        return max(1, round((s.first_batch + 2 * s.batch * (s.phase - 1)) / s.phase))

    def parameters(self, s: SpiderBoostSettings, size: ProblemSize) -> SpiderParameters:
        """Return the parameters of a run."""
        first, later = multipliers(s, size.examples, s.sigma)
        eta = min(s.eta, largest_eta(s, size)) / size.smoothness
        return SpiderParameters(s.steps, s.phase, s.first_batch, s.batch, eta, size.smoothness, first, later)

    def start(self, problem: Regression, settings: SpiderBoostSettings) -> SpiderBoostRun:
        numbers = self.parameters(settings, ProblemSize.of(problem))
        gradients: Any = recursive_gradient(problem, LIPSCHITZ)
        return SpiderBoostRun(gradients, len(problem.x), problem.start, numbers, seed=settings.seed)

    def notes(self, request: Mapping[str, Any], problem: Regression, settings: SpiderBoostSettings) -> list[str]:
        limit = largest_eta(settings, ProblemSize.of(problem))
        if limit >= settings.eta:
            return []
        return [f"steps have eta L_1 = {limit:.4g}, the most that Lemma B.1 allows for this noise and q"]

    def noise(self, problem: Regression, settings: SpiderBoostSettings) -> tuple[dict[str, float], dict[str, float]]:
        first, later = multipliers(settings, len(problem.x), settings.sigma)
        per_length = 2.0 * problem.smoothness / settings.batch * later
        return {}, {"gradient": 2.0 * LIPSCHITZ / settings.first_batch * first, "change per unit of length": per_length}

    def epsilon(self, settings: SpiderBoostSettings, size: ProblemSize, delta: float) -> float:
        return batches.upper_epsilon(releases(settings, size.examples, settings.sigma), delta)

    def epsilon_bounds(self, settings: SpiderBoostSettings, size: ProblemSize, delta: float) -> Bounds:
        """Return bounds on epsilon. Quadratic losses with small eta, as in the audit, approach the lower bound."""
        return batches.batch_epsilon(releases(settings, size.examples, settings.sigma), delta)

    def sigma(self, settings: SpiderBoostSettings, size: ProblemSize, epsilon: float, delta: float) -> float:
        return batches.least_factor(lambda sigma: releases(settings, size.examples, sigma), epsilon, delta)

    def audit_target(self, delta: float) -> AuditTarget:
        """Return an audit of a phase with tiny steps; one quadratic loss is convex, and all others are concave."""
        steps = audited_steps()
        claim = batches.batch_epsilon(steps, delta) if delta > 0.0 else None
        bounds = "" if claim is None else f"; the accountant says {claim.lower:.4g} <= epsilon <= {claim.upper:.4g}"
        remark = (
            f"a phase of q = {AUDITED_PHASE} steps of Algorithm 2 on quadratic losses, n = b_1 = 4, b_2 = 2{bounds}"
        )
        return AuditTarget(
            phases, batches.opposed(4), log_ratio, "any", None if claim is None else claim.upper, (remark,)
        )

    def conformance(self) -> tuple[dv.PrivateOptimizer, dv.Promise]:
        """Return eight steps in phases of three, and their promise; the given rows are gradients or their changes."""
        p = SpiderParameters(8, 3, 8, 8, 0.5, 1.0, 2.0, 2.0, lipschitz=0.7)

        def start() -> Spider:
            return Spider(p, np.zeros(8))

        def step(state: Spider, gradients: Matrix, rng: Generator) -> tuple[Spider, Release]:
            bound = state.bound or p.lipschitz  # 0 if w did not move; the release is then 0
            released = state.step(GivenRows(gradients), np.arange(len(gradients)), rng.standard_normal(8))
            return state, Release(released, clip_length=bound)

        promise = dv.Promise(
            sigma=2.0 * p.multiplier,
            clip=p.lipschitz,
            adaptive_clip=True,
            divisor=8.0,
            sampling="batches",
            examples=64,
            batch=8,
            neighbours="replace-one",
        )
        return dv.PrivateOptimizer(step, start=start, batches=drawn_batches), promise


def multipliers(s: SpiderBoostSettings, n: int, sigma: float) -> tuple[float, float]:
    """Return the noise deviation over the sensitivity 2 lambda_t/b, for gradients and for changes (lines 2 to 4)."""
    first = max(1.0, s.first_batch / n * math.sqrt(s.steps / s.phase))
    return sigma * first, sigma * max(1.0, s.batch / n * math.sqrt(s.steps))


def largest_eta(s: SpiderBoostSettings, size: ProblemSize) -> float:
    """Return the largest eta L_1 for which Lemma B.1 bounds the error within a phase, so that eta^2 tau_2^2 q = 1/4.

    tau_2^2 |w_t - w_(t-1)|^2 is the variance of a change due to the noise in d coordinates and the batch.
    """
    _, later = multipliers(s, size.examples, s.sigma)
    tau_2 = math.sqrt(1.0 / s.batch + size.dimension * (2.0 * later / s.batch) ** 2)
    return 0.5 / (tau_2 * math.sqrt(s.phase))


def releases(s: SpiderBoostSettings, n: int, sigma: float) -> list[BatchSteps]:
    """Return all releases of a run with this sigma, as Gaussian steps on batches without replacement.

    Given the earlier releases, lambda_t is a constant. Each step therefore adds Gaussian noise to a batch of vectors of
    length at most lambda_t. The ratio of noise to sensitivity does not depend on lambda_t.
    """
    first, later = multipliers(s, n, sigma)
    starts = -(-s.steps // s.phase)
    kinds = [BatchSteps(s.first_batch / n, first, starts)]
    if s.steps > starts:
        kinds.append(BatchSteps(s.batch / n, later, s.steps - starts))
    return kinds


class GivenRows:
    """An oracle with the given rows as gradients or as their changes, which are clipped."""

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows
        self.clip = math.inf
        self.change_clip = math.inf

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean of the clipped rows."""
        out[:] = clipped(self.rows[batch], self.clip).mean(axis=0)

    def change(self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector) -> None:
        """Write the mean of the clipped rows."""
        out[:] = clipped(self.rows[batch], self.change_clip).mean(axis=0)


class Recorder(GivenRows):
    """An oracle that records the batch of a run."""

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Record the batch."""
        self.batch = batch.copy()
        out[:] = 1.0


def drawn_batches(examples: int, steps: int, rng: Generator) -> Iterator[Indices]:
    """Yield the batches of eight examples that a run draws."""
    numbers = SpiderParameters(steps, 1, 8, 8, 0.5, 1.0, 0.0, 0.0)
    recorder = Recorder(np.zeros((0, 1)))
    run = SpiderBoostRun(recorder, examples, np.zeros(1), numbers, seed=int(rng.integers(1 << 62)))
    for _ in range(steps):
        run.advance(1)
        yield recorder.batch


# Data that approach the accountant's lower bound


class Quadratics:
    """Losses s_i L_1 |w - c|^2/2 with signs s_i, shape (n,), with L_0 = L_1 = 1 and c just inside the unit ball.

    While w is near 0, the gradients are within 0.01% of their bound, and their changes attain their bound.
    """

    clip = math.inf
    change_clip = math.inf
    centre = -0.9999

    def __init__(self, signs: Vector) -> None:
        self.signs = signs

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean of the gradients."""
        out[:] = self.signs[batch].mean() * (w - self.centre)

    def change(self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector) -> None:
        """Write the mean of the changes."""
        out[:] = self.signs[batch].mean() * (new - old)


AUDITED: Final = SpiderParameters(AUDITED_PHASE, AUDITED_PHASE, 4, 2, 1e-11, 1.0, 3.0, 1.5)


def audited_steps() -> list[BatchSteps]:
    """Return the releases of the audited phase."""
    return [BatchSteps(1.0, AUDITED.first_multiplier), BatchSteps(0.5, AUDITED.multiplier, AUDITED_PHASE - 1)]


def phases(signs: Vector, rng: Generator, size: int) -> Matrix:
    """Return the releases of ``size`` phases of a run, divided by lambda_t along the last move; shape (size, q).

    The rows are independent, because a release divided by lambda_t depends only on the batch and noise of its step.
    """
    numbers = replace(AUDITED, steps=size * AUDITED_PHASE)
    run = SpiderBoostRun(Quadratics(signs), 4, np.zeros(1), numbers, seed=int(rng.integers(1 << 62)))
    out = np.empty(numbers.steps)
    before = 0.0
    for t in range(numbers.steps):
        run.advance(1)
        out[t] = run.released[0] / (1.0 if t % AUDITED_PHASE == 0 else before)
        before = run.spider.arrays[1, 0]
    return out.reshape(size, AUDITED_PHASE)


def log_ratio(outputs: Matrix) -> Vector:
    """Return the log-likelihood ratio of the second data set over the first, a sum over steps."""
    first, later = audited_steps()
    starts = batches.log_ratio_of((outputs[:, :1] + 1.0) * AUDITED.first_batch / 2.0, first)
    return starts + batches.log_ratio_of((outputs[:, 1:] + 1.0) * AUDITED.batch / 2.0, later)


SPIDER_BOOST: Final = SpiderBoost()
