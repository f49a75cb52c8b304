"""Releases and budgets of DP-SRM and its baselines, and the noise that the paper prints for them.

An estimate is (1 - gamma) times the previous one, which is known, plus a mean over the
batch of one vector of each example, gamma grad f_i(theta^t) + (1 - gamma) (grad
f_i(theta^t) - grad f_i(theta^t-1)), plus noise. The lengths of the vectors are at most
C = gamma G + (1 - gamma) zeta, those of the first estimate at most G. So the steps are
those of ``dpverify.privacy.batches``. The box and the theorems choose the deviations
sigma_0 = 2 G k/n and sigma = 2 C k/n with one number k, the noise in units of the
sensitivity of the mean over all data. In units of the sensitivity of a batch of b, the
noise is k b/n. Clipping (Remark 4.3) has C_1 in place of G and C_2 in place of zeta,
and attains C at each step. Gradients that are Lipschitz and smooth attain it at one
step, but not at many in a row. So the bounds hold for both, and only clipped runs
attain them.

The budget of DP-AGD is a budget of zero-concentrated DP, as printed or as certified. The rule for its choices and
directions is that of its authors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from dpverify.kernels import check
from dpverify.privacy.batches import (
    MOST_STEPS,
    BatchSteps,
    batch_epsilon,
    check_delta,
    least_factor,
)
from dpverify.privacy.growing_budget import (
    GrowingBudget,
    classic_budget,
    largest_budget,
)
from dpverify.privacy.participation import Bounds

if TYPE_CHECKING:
    from dpverify.papers.wang2019.algorithms.baselines import AgdParameters


Kind: TypeAlias = Literal["recursive", "descent"]
"""``recursive``: DP-SRM and DDP-SRM, with a first estimate and later estimates. ``descent``: the baselines."""


@dataclass(frozen=True)
class BatchRun:
    """Parameters of a private run. The constructor raises ArgumentError if a number is out of range."""

    kind: Kind
    examples: int  # n, T, b
    steps: int
    batch: int
    batch_0: int  # b_0; for the baselines the same as b
    gamma: float = 1.0  # gamma, zeta and G; baselines have gamma = 1 and ignore zeta
    zeta: float = 1.0
    lipschitz: float = 1.0
    parties: int = 1  # m; each gives b/m of its examples

    def __post_init__(self) -> None:
        n = check.whole(1, MOST_STEPS, examples=self.examples)
        check.whole(1, MOST_STEPS, steps=self.steps)
        check.whole(1, n, parties=self.parties)
        for size in (
            check.whole(1, n, batch=self.batch),
            check.whole(1, n, batch_0=self.batch_0),
        ):
            if size < n and size % self.parties:
                raise check.ArgumentError(
                    "parties", self.parties, f"must divide the batches, {size} is one"
                )
        check.proportion(gamma=self.gamma)
        check.positive(zeta=self.zeta)
        check.positive(lipschitz=self.lipschitz)

    @property
    def length(self) -> float:
        """C, the largest contribution of an example to b times an estimate after the first."""
        return self.gamma * self.lipschitz + (1.0 - self.gamma) * self.zeta

    def rate(self, batch: int) -> float:
        """Return the fraction of the data, or of the smallest party's data, that is in a batch."""
        if batch == self.examples:
            return 1.0
        return batch / self.parties / (self.examples // self.parties)

    def steps_at(self, noise: float) -> list[BatchSteps]:
        """Return all releases of the box for k = ``noise``: for DP-SRM one first estimate, and T later ones."""
        later = BatchSteps(
            self.rate(self.batch), noise * self.batch / self.examples, self.steps
        )
        if self.kind != "recursive":
            return [later]
        return [
            BatchSteps(self.rate(self.batch_0), noise * self.batch_0 / self.examples),
            later,
        ]

    def deviations(self, noise: float) -> tuple[float, float]:
        """Return sigma_0 and sigma, standard deviations of a coordinate, for k = ``noise``."""
        unit = 2.0 * noise / self.examples
        return unit * self.lipschitz, unit * self.length


def printed_noise(
    run: BatchRun, epsilon: float, delta: float, beta: float, *, box: bool
) -> float:
    """Return k as Algorithms 1 and 2 print it (``box``), which divides by epsilon^2, or as Theorems 4.1 and 5.1 do."""
    return math.sqrt(
        3.5 * run.steps * printed_order(epsilon, delta, beta) / beta / epsilon
    ) / (math.sqrt(epsilon) if box else 1.0)


def printed_order(epsilon: float, delta: float, beta: float) -> float:
    """Return the order alpha = log(1/delta)/((1 - beta) epsilon) + 1."""
    return -math.log(delta) / ((1.0 - beta) * epsilon) + 1.0


def tracked_ratio(
    examples: int, batch: int, steps: int, epsilon: float, delta: float
) -> float:
    """Return the ratio of a step's deviation and sensitivity according to section 6.1 and the baselines' papers.

    It adds up the Renyi divergences of Lemma 3.7, 3.5 q^2 alpha/s^2 for a step on a fraction q of the data and
    alpha/(2 s^2) on all of it, and converts them by Lemma 3.9 at the best real order.
    """
    share = 0.5 if batch == examples else 3.5 * (batch / examples) ** 2
    return math.sqrt(share * steps / classic_budget(epsilon, delta))


def single_ratio(examples: int, steps: int, epsilon: float, delta: float) -> float:
    """Return this ratio for RRPSGD, according to Bassily et al. 2014, on which its paper builds.

    Theorem 2.2 for T steps instead of n^2: the variance is 32 C^2 T log(n/delta) log(1/delta) over (n epsilon)^2, and
    the sensitivity 2C.
    """
    n = examples
    T = steps
    return (
        0.5
        * math.sqrt(32.0 * T * math.log(n / delta) * math.log(1.0 / delta))
        / (n * epsilon)
    )


class LemmaCondition(NamedTuple):
    """Conditions of Lemma 3.7 for one kind of step: on sigma'^2, the squared noise over sensitivity, and on alpha."""

    ratio: float  # sigma'^2, which must be at least 0.7
    # alpha - 1, which must be at most ``most``: 2
    # sigma'^2 log(1/(tau alpha (1 + sigma'^2)))/3
    order: float
    most: float

    @property
    def holds(self) -> bool:
        """Whether both conditions hold."""
        return self.ratio >= 0.7 and self.order <= self.most


def lemma_condition(
    run: BatchRun, batch: int, noise: float, order: float
) -> LemmaCondition:
    """Evaluate the conditions of Lemma 3.7 for the steps with this batch."""
    ratio = (noise * batch / run.examples) ** 2
    tau = batch / run.examples
    return LemmaCondition(
        ratio, order - 1.0, 2.0 * ratio * -math.log(tau * order * (1.0 + ratio)) / 3.0
    )


class AccountedNoise(NamedTuple):
    """A noise and the epsilon that it gives."""

    noise: float  # k
    epsilon: Bounds


def account_noise(run: BatchRun, noise: float, delta: float) -> AccountedNoise:
    """Return bounds on the epsilon of a run with noise k."""
    return AccountedNoise(noise, batch_epsilon(run.steps_at(noise), delta))


def least_noise(run: BatchRun, epsilon: float, delta: float) -> AccountedNoise:
    """Return the least noise that is certified for (epsilon, delta)."""
    check_delta(delta)
    start = run.examples / run.batch
    factor = least_factor(lambda f: run.steps_at(start * f), epsilon, delta)
    return account_noise(run, start * factor, delta)


def largest_part(epsilon: float, delta: float) -> float:
    """Return the largest tau at which some noise satisfies Lemma 3.7 at the least order that Lemma 3.9 allows.

    That order is 1 + log(1/delta)/epsilon, the limit for beta to 0. The condition's bound on the order falls with tau.
    """
    order = 1.0 - math.log(delta) / epsilon
    ratios = np.geomspace(0.7, 1e6, 4000)
    # tau alpha (1 + s) <= exp(-3 (alpha - 1)/(2 s)) for some s
    logs = -1.5 * (order - 1.0) / ratios - np.log1p(ratios) - math.log(order)
    return min(float(np.exp(logs.max())), 1.0)


MOST_PARTS = 1000


def agd_parameters(
    epsilon: float,
    delta: float,
    parts: float,
    steps: int,
    clip: float = 1.0,
    *,
    printed: bool,
) -> AgdParameters:
    """Return DP-AGD's parameters: ``parts`` choices share half of epsilon, as e-DP; the direction's budget follows.

    The budget is what its paper's conversion allows (``printed``), or the largest that is certified.
    """
    if not 1.0 <= check.positive(parts=parts) <= MOST_PARTS:
        raise check.ArgumentError("parts", parts, f"must be from 1 to {MOST_PARTS}")
    rho = (classic_budget if printed else largest_budget)(epsilon, delta)
    choice = 0.5 * (0.5 * epsilon / parts) ** 2
    direction = choice / (2.0 * math.log(1.25 / delta))  # as in the authors' program
    # imported here because it loads numba
    from dpverify.papers.wang2019.algorithms.baselines import AgdParameters

    return AgdParameters(steps, rho, direction, choice, clip)


def spends(parameters: AgdParameters, examples: int) -> GrowingBudget:
    """Return the releases of a run, for ``shared_epsilon``."""
    p = parameters
    return GrowingBudget(
        p.rho, p.rho_direction, p.rho_choice, p.growth, p.candidates, examples, p.steps
    )
