"""Recursive regularization with noisy gradient descent, Algorithms 3 and 7 of arora2023, for convex losses.

Neighbours replace one example. Each round t = 1, .., T uses n/T new examples, rounded down (the loop of line 3 must go
to T). The remaining examples are not used. The round makes K - 1 steps on these examples for f plus the sum over s < t
of lambda_s/2 |w - wbar_s|^2, where wbar_0 = 0 and lambda_s = 2^s lambda, and projects w on the ball of radius
2^(t/2) R. wbar_t is the weighted mean of the K points. Point k has the weight (1 - eta_t lambda_t)^-k, with
eta_t = log(K)/(lambda_t K). The loss of round t is (2^t - 1) lambda strongly convex, which is less than lambda_t. The
output is wbar_T.

The run clips the gradient of each example at L_0. Replacing an example moves the mean gradient of its part by at most
2 L_0/(n/T), and the deviation of the noise is sigma times this bound. An example is in one round only, so a run is
K - 1 Gaussian steps on all examples of a part. Theorem 5.1 prints a variance with K_t^2 and n where Lemma D.3 has K_t
and n/T (claim `theorem-5-1-noise`). Here sigma comes from the accountant.

dpverify train docs/examples/arora2023/arora2023/recursive_regularization.py:RECURSIVE --lam 0 --epsilon 2 --delta 1e-5
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import numpy as np
from numpy.random import Generator

import dpverify as dv
from dpverify.algorithms import Algorithm, AuditTarget, NoisySettings, ProblemSize, SettingInfo
from dpverify.algorithms.audited import gaussian_target
from dpverify.algorithms.settings import MOST_STEPS, whole
from dpverify.conform import Release
from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Matrix, Vector
from dpverify.kernels.vector import norm
from dpverify.privacy.batches import opposed
from dpverify.privacy.participation import Bounds
from dpverify.problems.example_gradients import BatchMean, clipped
from dpverify.problems.regression import Regression, recursive_gradient
from dpverify.problems.sampled_run import SampledRun

LIPSCHITZ: Final = 1.0  # L_0 for rows of length 1
SMOOTHNESS: Final = 0.25  # L_1 of the logistic loss on such rows; only the defaults use it


@dataclass(frozen=True)
class RoundParameters:
    """Parameters of a run: T, K - 1, lambda, R, sigma and L_0."""

    rounds: int
    moves: int
    strength: float
    radius: float
    sigma: float
    lipschitz: float = LIPSCHITZ


@kernel
def descend(
    mean: Vector, unit: Vector, std: float, eta: float, pull: float, anchor: Vector, radius: float, w: Vector
) -> None:
    """Do line 4 of Algorithm 7, shapes (d,); ``pull`` w - ``anchor`` is the gradient of the regularizers."""
    for j in range(w.shape[0]):
        w[j] -= eta * (mean[j] + std * unit[j] + pull * w[j] - anchor[j])
    size = norm(w)
    if size > radius:
        for j in range(w.shape[0]):
            w[j] *= radius / size


@dataclass
class Rounds:
    """State of Algorithm 3. ``w`` is changed in place; after the last step of a round it is wbar_t."""

    parameters: RoundParameters
    w: Vector
    t: int = 0
    total: float = 1.0  # sum of the weights divided by the last weight
    pull: float = field(init=False)
    anchor: Vector = field(init=False)
    mean: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.pull = self.parameters.strength
        self.anchor = np.zeros_like(self.w)
        self.mean = np.zeros_like(self.w)

    @property
    def round(self) -> int:
        """Number of the round of the next step, from 1 on."""
        return self.t // self.parameters.moves + 1

    def deviation(self, size: int) -> float:
        """Return the standard deviation of each coordinate of the noise for a part of this size."""
        return self.parameters.sigma * 2.0 * self.parameters.lipschitz / size

    def begin(self) -> None:
        """Reset the state to 0 if the next step is the first step of a round."""
        if self.t % self.parameters.moves == 0:
            self.w[:] = 0.0
            self.mean[:] = 0.0
            self.total = 1.0

    def step(self, mean: Vector, size: int, unit: Vector) -> Vector:
        """Do a step, and return the noisy mean gradient of ``size`` examples; ``unit`` (d,) is standard normal."""
        p = self.parameters
        number = self.round
        std = self.deviation(size)
        released: Vector = mean + std * unit
        if not np.isfinite(released).all():
            raise check.ArgumentError("gradient", f"an infinite number or NaN at step {self.t}", "must stay finite")
        strength = 2.0**number * p.strength
        eta = math.log(p.moves + 1) / (strength * (p.moves + 1))
        descend(mean, unit, std, eta, self.pull, self.anchor, 2.0 ** (number / 2.0) * p.radius, self.w)
        self.total = 1.0 + (1.0 - eta * strength) * self.total
        self.mean += (self.w - self.mean) / self.total
        self.t += 1
        if self.t % p.moves == 0:
            self.w[:] = self.mean
            self.pull += strength
            self.anchor += strength * self.mean
        return released


class RoundsRun(SampledRun):
    """A run on n examples in a random order; each round uses a part of them."""

    def __init__(
        self, gradients: BatchMean, examples: int, start: Vector, parameters: RoundParameters, seed: Seed = 0
    ) -> None:
        super().__init__(parameters.rounds * parameters.moves, examples, start, seed, vectors=6)
        self._gradients = gradients
        self._order = self._batches.permutation(examples)
        self._size = examples // parameters.rounds
        self.state = Rounds(parameters, self._w)
        self.released = np.zeros(len(start))

    @property
    def output(self) -> Vector:
        """A copy of wbar_T, shape (d,); reading it before the last step raises an ArgumentError."""
        if self.t < self._last:
            raise check.ArgumentError("t", self.t, f"must have reached the last step {self._last}")
        return self.w

    def _walk(self, first: int, last: int) -> None:
        mean = np.zeros(len(self._w))
        for t in range(first, last):
            self.state.begin()
            part = self._size * (self.state.round - 1)
            self._gradients(self._w, self._order[part : part + self._size], mean)
            self.released = self.state.step(mean, self._size, self._noise_rng.standard_normal(len(self._w)))
            self._moved(t + 1)


class RecursiveSettings(NoisySettings, frozen=True, kw_only=True):
    """Settings of Algorithm 3. A step is a step of Algorithm 7; all rounds have the same number of steps."""

    steps: Annotated[
        int,
        SettingInfo(
            "T (K - 1)",
            "Number of steps of all rounds.",
            whole(1, MOST_STEPS),
            default="T (K - 1), K of Theorem 5.1 in round 1",
        ),
    ]
    rounds: Annotated[int, SettingInfo("T", "Number of rounds.", whole(1), default="log2(L_1/lambda), rounded down")]
    strength: Annotated[
        float, SettingInfo("lambda", "Weight of the first regularizer.", check.positive, default="4/(N |w*|^2)")
    ]
    radius: Annotated[
        float,
        SettingInfo("|w*|", "Bound on the norm of the minimizer. It must not depend on the data.", check.positive),
    ] = 1.0


class RecursiveRegularization(Algorithm[RecursiveSettings]):
    """Algorithm 3 of arora2023 with Algorithm 7."""

    name = "recursive-regularization"
    summary = "Noisy descent on parts of the data, each with one more regularizer (Algorithm 3 of arora2023; convex)."
    settings = RecursiveSettings

    def complete(self, request: Mapping[str, Any], examples: int) -> RecursiveSettings:
        """Return all settings; the number of steps is rounded down to complete rounds."""
        radius = request.get("radius", 1.0)
        strength = request.get("strength", LIPSCHITZ**2 / (SMOOTHNESS * radius**2 * examples))
        rounds = request.get("rounds", max(1, math.floor(math.log2(SMOOTHNESS / strength))))
        if rounds > examples:
            raise check.ArgumentError("rounds", rounds, f"must be at most {examples}, so that a part has an example")
        ratio = 1.0 + SMOOTHNESS / (2.0 * strength)
        passes = request.get("epochs", max(1, math.ceil(ratio * math.log(ratio))))
        steps = request.get("steps", rounds * passes)
        if steps < rounds:
            raise check.ArgumentError("steps", steps, f"must be at least {rounds}, one for each round")
        return self.filled(request, {"strength": strength}, steps=steps - steps % rounds, rounds=rounds)

    def gradients_per_step(self, settings: RecursiveSettings, examples: int) -> int:
        return examples // settings.rounds

    def moves(self, settings: RecursiveSettings) -> int:
        """Return K - 1."""
        return settings.steps // settings.rounds

    def start(self, problem: Regression, settings: RecursiveSettings) -> RoundsRun:
        s = settings
        p = RoundParameters(s.rounds, self.moves(s), s.strength, s.radius, s.sigma)
        gradients: Any = recursive_gradient(problem, LIPSCHITZ)
        return RoundsRun(gradients, len(problem.x), problem.start, p, s.seed)

    def noise(self, problem: Regression, settings: RecursiveSettings) -> tuple[dict[str, float], dict[str, float]]:
        return {}, {"gradient": 2.0 * settings.sigma * LIPSCHITZ / (len(problem.x) // settings.rounds)}

    def epsilon(self, settings: RecursiveSettings, size: ProblemSize, delta: float) -> float:
        return self.epsilon_bounds(settings, size, delta).upper

    def epsilon_bounds(self, settings: RecursiveSettings, size: ProblemSize, delta: float) -> Bounds:
        return dv.epsilon(settings.sigma, delta, steps=self.moves(settings))

    def sigma(self, settings: RecursiveSettings, size: ProblemSize, epsilon: float, delta: float) -> float:
        return dv.sigma(epsilon, delta, steps=self.moves(settings))

    def audit_target(self, delta: float) -> AuditTarget:
        """Return an audit of the summed releases of a round of four steps on four gradients of length L_0."""
        p = RoundParameters(1, 4, 1.0, 1.0, 2.0)

        def mechanism(signs: Vector, rng: Generator, size: int) -> Vector:
            mean = np.array([signs.mean()])
            sums = np.empty(size)
            for run in range(size):
                state = Rounds(p, np.zeros(1))
                sums[run] = sum(state.step(mean, 4, rng.standard_normal(1))[0] for _ in range(p.moves))
            return sums

        remark = "a round of 4 steps of Algorithm 3, n = 4, sigma = 2"
        return gaussian_target(remark, mechanism, opposed(4), math.sqrt(p.moves) / p.sigma, delta)

    def conformance(self) -> tuple[dv.PrivateOptimizer, dv.Promise]:
        """Return two rounds of four steps, and their promise; the given rows are the gradients of the examples."""
        p = RoundParameters(2, 4, 0.5, 3.0, 2.0, lipschitz=0.7)

        def start() -> Rounds:
            return Rounds(p, np.zeros(8))

        def step(state: Rounds, gradients: Matrix, rng: Generator) -> tuple[Rounds, Release]:
            state.begin()
            size = len(gradients)
            released = state.step(clipped(gradients, p.lipschitz).mean(axis=0), size, rng.standard_normal(8))
            return state, Release(released * size)

        promise = dv.Promise(sigma=2.0 * p.sigma, clip=p.lipschitz, sampling="batches", neighbours="replace-one")
        return dv.PrivateOptimizer(step, start=start), promise


RECURSIVE: Final = RecursiveRegularization()
