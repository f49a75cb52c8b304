"""The paper's baselines: DP-GD, RRPSGD and DP-SGD, which are noisy descent, STORM without noise, and DP-AGD.

DP-SGD draws its batches without replacement.

**STORM** (Cutkosky and Orabona 2019, algorithm 1): recursive momentum whose weights
follow the gradients; no noise.

    d_1 = g_1(x_1),    x_t+1 = x_t - eta_t d_t,    eta_t = k/(w + sum of |g_i(x_i)|^2 up to t)^(1/3),
    d_t+1 = g_t+1(x_t+1) + (1 - a_t+1) (d_t - g_t+1(x_t)),    a_t+1 = c eta_t^2,

where g_t is the mean over the t-th batch. Their lemma keeps a at most 1. If k, w and c
do not satisfy it, a is clipped to 1.

**DP-AGD** (Lee and Kifer 2018): full gradients, a step length that is a noisy choice,
and a budget that grows. A step measures the mean gradient with budget rho_direction and
normalizes it. With budget rho_choice it then selects, by a noisy choice, the candidate
length with the smallest mean loss; 0 is one of the candidates. If 0 wins, the direction
was too noisy: its budget grows by a factor, a second measurement for the difference is
averaged in, and the choice is made again.

The source leaves three points open. Neighbours replace one example, so a mean of losses in [0, C'] moves by C'/n in
either direction, and Laplace noise of scale 2 C'/(n e) makes the choice e-DP, hence e^2/2-zCDP. A measurement that
exceeds the remaining budget is not made, and the run ends (the source's loop spends first and tests afterwards). The
longest candidate is 2, and after every ten steps 1.1 times the longest that was chosen in them, at most 2, as in the
authors' program (whose update takes the candidate before the chosen one, an error that is not reproduced).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.kernels import check
from dpverify.kernels.tape import Seed, generator
from dpverify.kernels.typing import Vector
from dpverify.problems.example_gradients import BatchMean, BatchOracle
from dpverify.problems.sampled_run import DescentParameters, NoisyDescent, SampledRun


def dp_gd(
    oracle: BatchMean,
    examples: int,
    start: Vector,
    steps: int,
    eta: float,
    std: float,
    *,
    seed: Seed = 0,
) -> NoisyDescent:
    """DP-GD of Wang, Ye and Xu 2017: each step reads all n examples."""
    return NoisyDescent(
        oracle, examples, start, DescentParameters(steps, examples, eta, std), seed=seed
    )


def rrpsgd(
    oracle: BatchMean,
    examples: int,
    start: Vector,
    steps: int,
    eta: float,
    std: float,
    *,
    seed: Seed = 0,
) -> NoisyDescent:
    """RRPSGD of Zhang, Zheng, Mou and Wang 2017: each step reads one example, drawn anew from all of them.

    It ends after a random number of rounds. With a constant eta each number below T has the same probability, and the
    result is the run's ``output`` (Ghadimi and Lan 2013, 2.1). Its noise is calibrated for T rounds.
    """
    return NoisyDescent(
        oracle, examples, start, DescentParameters(steps, 1, eta, std), seed=seed
    )


def dp_sgd(
    oracle: BatchMean,
    examples: int,
    start: Vector,
    steps: int,
    batch: int,
    eta: float,
    std: float,
    *,
    seed: Seed = 0,
) -> NoisyDescent:
    """DP-SGD of Abadi et al. 2016, but each batch is uniform among those of b examples."""
    return NoisyDescent(
        oracle, examples, start, DescentParameters(steps, batch, eta, std), seed=seed
    )


@dataclass(frozen=True)
class StormParameters:
    """Parameters of STORM: T and b at least 1; k, w and c above 0. Raises ArgumentError if one is out of range."""

    steps: int
    batch: int
    k: float
    w: float
    c: float

    def __post_init__(self) -> None:
        check.whole(1, steps=self.steps)
        check.whole(1, batch=self.batch)
        check.positive(k=self.k)
        check.positive(w=self.w)
        check.positive(c=self.c)


class Storm(SampledRun):
    """STORM on an oracle for means over batches; the arguments are those of ``DpSrm``."""

    def __init__(
        self,
        oracle: BatchOracle,
        examples: int,
        start: Vector,
        parameters: StormParameters,
        *,
        seed: Seed = 0,
        keep: bool = False,
    ) -> None:
        self.parameters = parameters
        check.whole(1, check.whole(1, examples=examples), batch=parameters.batch)
        super().__init__(parameters.steps, examples, start, seed, keep=keep, vectors=4)
        self._oracle = oracle
        self._squares = 0.0
        self._eta = 0.0
        self._d, self._old, self._now, self._change = (
            np.zeros_like(self._w) for _ in range(4)
        )

    def _walk(self, first: int, last: int) -> None:
        p = self.parameters
        for t in range(first, last):
            batch = self._batch(p.batch)
            self._oracle(self._w, batch, self._now)
            if t:
                self._oracle.change(self._w, self._old, batch, 0.0, self._change)
            a = min(1.0, p.c * self._eta**2) if t else 1.0
            self._d = a * self._now + (1.0 - a) * (self._d + self._change)
            self._squares += float(self._now @ self._now)
            if not np.isfinite(self._squares):
                raise check.ArgumentError(
                    "d", f"an infinite number or NaN at step {t}", "must stay finite"
                )
            self._eta = p.k / float(np.cbrt(p.w + self._squares))
            self._old[:] = self._w
            self._w -= self._eta * self._d
            self._moved(t + 1)


LineLosses: TypeAlias = Callable[[Vector, Vector, Vector], ArrayLike]
"""``losses(w, direction, lengths)``: mean of losses clipped to [0, C'] at w - length direction, shape (K,)."""

# stream of the seed for choices
CHOICES = 7
LONGEST = 2.0
RENEWED = 10


@dataclass(frozen=True)
class AgdParameters:
    """Parameters of DP-AGD.

    Attributes
    ----------
    steps : int
        Largest number of steps, at least 1; the run has fewer if the budget ends.
    rho, rho_direction, rho_choice : float
        Budgets in zero-concentrated DP of the whole run, a first direction and a
        choice, above 0.
    clip, loss_clip : float
        C and C', above 0: bounds on the length of each gradient and on each loss, which
        the oracles keep.
    growth : float
        Fraction by which the budget of a direction grows, above 0.
    candidates : int
        Number of lengths besides 0, at least 1.

    Raises
    ------
    ArgumentError
        If a number is out of range.
    """

    steps: int
    rho: float
    rho_direction: float
    rho_choice: float
    clip: float = 1.0
    loss_clip: float = 3.0
    growth: float = 0.1
    candidates: int = 20

    def __post_init__(self) -> None:
        check.whole(1, steps=self.steps)
        check.whole(1, candidates=self.candidates)
        for name in (
            "rho",
            "rho_direction",
            "rho_choice",
            "clip",
            "loss_clip",
            "growth",
        ):
            check.positive(**{name: getattr(self, name)})


class DpAgd(SampledRun):
    """DP-AGD on a mean gradient and losses along a line; other arguments as of ``DpSrm``. ``spent``: used budget."""

    def __init__(
        self, oracle: BatchMean, losses: LineLosses, examples: int, start: Vector, parameters: AgdParameters, *,
        seed: Seed = 0, keep: bool = False,
    ) -> None:  # fmt: skip
        self.parameters = p = parameters
        super().__init__(
            p.steps,
            check.whole(1, examples=examples),
            start,
            seed,
            keep=keep,
            vectors=3,
        )
        self._oracle, self._losses, self._everyone = oracle, losses, np.arange(examples)
        self._choices = generator(self._seed, CHOICES)
        self._mean = np.zeros_like(self._w)
        self._rho_direction = p.rho_direction
        self._longest = LONGEST
        self._recent = [0.0]
        self.spent = 0.0
        self.over = False

    def _walk(self, first: int, last: int) -> None:
        for t in range(first, last):
            self.over = self.over or not self._step()
            if t % RENEWED == RENEWED - 1:
                self._longest = min(1.1 * max(self._recent), LONGEST) or self._longest
                self._recent = [0.0]
            self._moved(t + 1)

    def _pay(self, rho: float) -> bool:
        """Spend a budget if enough is left, and return whether it was."""
        enough = self.spent + rho <= self.parameters.rho
        self.spent += rho if enough else 0.0
        return enough

    def _step(self) -> bool:
        """Do a step, and return whether the budget was enough."""
        p = self.parameters
        if not self._pay(self._rho_direction):
            return False
        self._oracle(self._w, self._everyone, self._mean)
        noisy_gradient = self._measured(self._rho_direction)
        lengths = np.linspace(0.0, self._longest, p.candidates + 1)
        while self._pay(p.rho_choice):
            direction = noisy_gradient / np.linalg.norm(noisy_gradient)
            losses = np.asarray(self._losses(self._w.copy(), direction, lengths))
            if losses.shape != lengths.shape or not np.isfinite(losses).all():
                raise check.ArgumentError(
                    "losses", losses, f"must be {len(lengths)} finite numbers"
                )
            scale = 2.0 * p.loss_clip / (self._examples * math.sqrt(2.0 * p.rho_choice))
            chosen = float(
                lengths[
                    np.argmin(losses + self._choices.laplace(0.0, scale, len(losses)))
                ]
            )
            if chosen > 0.0:
                self._w -= chosen * direction
                self._recent.append(chosen)
                return True
            rho_increment = p.growth * self._rho_direction
            if not self._pay(rho_increment):
                return False
            noisy_gradient = (
                noisy_gradient + p.growth * self._measured(rho_increment)
            ) / (1.0 + p.growth)
            self._rho_direction += rho_increment
        return False

    def _measured(self, rho: float) -> Vector:
        """Release the mean gradient with a budget: its sensitivity is 2C/n."""
        std = 2.0 * self.parameters.clip / (self._examples * math.sqrt(2.0 * rho))
        released: Vector = self._mean + std * self._noise_rng.standard_normal(
            len(self._mean)
        )
        if not np.isfinite(released).all():
            raise check.ArgumentError(
                "gradient", "an infinite number or NaN", "must be finite"
            )
        return released
