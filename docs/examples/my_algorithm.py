"""A complete optimizer in one file: gradient descent on all examples with clipped gradients and Gaussian noise.

dpverify train docs/examples/my_algorithm.py:DESCENT --steps 20 --epsilon 2 --delta 1e-5
dpverify calibrate docs/examples/my_algorithm.py:DESCENT --n 1000 --steps 20 --epsilon 2 --delta 1e-5
dpverify compare --also docs/examples/my_algorithm.py:DESCENT --epsilon 2 --delta 1e-5
dpverify audit docs/examples/my_algorithm.py:DESCENT
dpverify conform docs/examples/my_algorithm.py:DESCENT
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

import dpverify as dv
from dpverify.algorithms import Algorithm, AuditTarget, NoisySettings, ProblemSize, SettingInfo
from dpverify.kernels import check
from dpverify.problems import DescentParameters, NoisyDescent
from dpverify.problems.regression import Regression, batch_gradient

CLIP = 0.7


class DescentSettings(NoisySettings, frozen=True, kw_only=True):
    """Settings, each with a symbol, a help text and a domain; the number of steps, sigma and the seed are inherited."""

    eta: Annotated[float, SettingInfo("eta", "Step size.", check.positive)] = 1.0


class Descent(Algorithm[DescentSettings]):
    """The algorithm, with its run, its accountant, its audit and its conformance test."""

    name = "my-descent"
    summary = "Gradient descent on all examples."
    settings = DescentSettings

    def complete(self, request: Mapping[str, Any], examples: int) -> DescentSettings:
        return self.filled(request, {}, steps=request.get("steps", 50))

    def start(self, problem: Regression, settings: DescentSettings) -> NoisyDescent:
        n = len(problem.x)
        numbers = DescentParameters(settings.steps, n, settings.eta, 2 * CLIP / n * settings.sigma)
        return NoisyDescent(batch_gradient(problem, CLIP), n, problem.start, numbers, seed=settings.seed)

    def gradients_per_step(self, settings: DescentSettings, examples: int) -> int:
        return examples

    def epsilon(self, settings: DescentSettings, size: ProblemSize, delta: float) -> float:
        return dv.epsilon(settings.sigma, delta, steps=settings.steps).upper

    def sigma(self, settings: DescentSettings, size: ProblemSize, epsilon: float, delta: float) -> float:
        return dv.sigma(epsilon, delta, steps=settings.steps)

    def audit_target(self, delta: float) -> AuditTarget:
        """Return an audit of four steps at sigma = 2; the replaced example has opposite gradients of length CLIP."""

        def mechanism(moved: float, rng: np.random.Generator, size: int) -> np.ndarray:
            return moved + 2.0 * rng.standard_normal((size, 4))

        return AuditTarget(mechanism, (0.0, 1.0), None, "gaussian", dv.epsilon(2.0, delta, steps=4).upper)

    def conformance(self) -> tuple[dv.PrivateOptimizer, dv.Promise]:
        """Return a step on eight examples, and its promise."""

        def step(state: None, gradients: np.ndarray, rng: np.random.Generator) -> tuple[None, np.ndarray]:
            norms = np.linalg.norm(gradients, axis=1, keepdims=True)
            total = (gradients * np.minimum(1, CLIP / np.maximum(norms, 1e-12))).sum(axis=0)
            return state, (total + 2.0 * CLIP * rng.standard_normal(total.shape)) / 8

        return dv.PrivateOptimizer(step), dv.Promise(sigma=2.0, clip=CLIP, divisor=8)


DESCENT = Descent()
