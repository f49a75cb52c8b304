"""The methods of a comparison, each with its own noise for the same (epsilon, delta), or with none.

Besides Algorithms 1 and 2 and DP-SRM plain private gradient descent: full batches, and batches without replacement.

    w_{t+1} = w_t - eta ((1/B) sum over the batch of grad f(w_t, x_i) + Z_t),    Z_t ~ N(0, std^2 I)

No example's gradient is longer than G, and replacing one example moves the mean by at most 2G/B where it is drawn. The
part of a gradient that depends on the example is clipped at the bound on rows, which it never exceeds.

**Full batch** (dp-gd): T Gaussian steps, composed exactly, mu = sqrt(T) 2G / (N std). Smaller
batches (dp-sgd, dp-srm): ``privacy.batches``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.privacy.batches import BatchSteps, least_factor
from dpverify.privacy.gaussian_safe import certify, safe_mu
from dpverify.privacy.sampled import sampled_std
from dpverify.problems.data import Dataset
from dpverify.problems.regression import Regression, batch_gradient
from dpverify.problems.sampled_run import DescentParameters, NoisyDescent
from dpverify.problems.stepped_run import LongRun
from dpverify.train.optimizer import Guarantee, account, guarantee, optimizer
from dpverify.train.records import NOT_CERTIFIED, Request
from dpverify.train.settings import Settings

METHODS = ("nsgd", "dp-nsgd", "sr-nsgd", "dp-gd", "dp-sgd", "dp-srm")
"""No noise; Algorithms 1 and 2 of tran2022; plain descent, full batches and sampled ones; Algorithm 1 of wang2019."""

STANDARDISED = "columns were standardised with the training part's own means and deviations"

UP = 1.0 + 1e-12


@dataclass(frozen=True)
class Descent:
    """Numbers of a run."""

    batch: int
    steps: int
    std: float  # deviation of a coordinate of the noise
    eta: float  # factor of the gradient


@dataclass(frozen=True)
class Iterates:
    """Iterates of a run: ``some`` of w_1, .., w_T, evenly spaced as :func:`looks` has them, and ``last``, w_{T+1}."""

    some: list[Vector]
    last: Vector


LOOKS = 50  # at how many iterates a run is looked at, at most, besides the last one


def looks(steps: int) -> list[int]:
    """After how many steps to look at a run: at most 50 numbers from 0 to T - 1, evenly spaced, 0 among them."""
    return sorted({place * steps // LOOKS for place in range(LOOKS)})


def full_batch_std(examples: int, steps: int, lipschitz: float, epsilon: float, delta: float) -> float:
    """Smallest deviation of full batches, ``sqrt(T) 2G/(N mu)``, that balls show to be (epsilon, delta)-DP."""
    mu = safe_mu(epsilon, delta)
    if mu > 0.0 and certify(mu, epsilon, delta):
        return math.sqrt(steps) * 2.0 * lipschitz / (examples * mu) * UP
    raise check.ArgumentError("epsilon", epsilon, f"is out of reach at delta={delta!r}: nothing could be certified")


def step_length(problem: Regression, batch: int, steps: int, std: float) -> float:
    """The eta that makes the textbook bound ``2R/(eta T) + L eta V`` on the squared gradient smallest, at most 1/L.

    ``min(1/L, sqrt(2R/(L T V)))``, V being ``d std^2``, and G^2/B more for sampled batches (Ghadimi and Lan 2013, 2.1).
    """
    sampling = 0.0 if batch == len(problem.x) else problem.lipschitz**2 / batch
    variance = len(problem.start) * std * std + sampling
    longest = 1.0 / problem.smoothness
    if variance == 0.0:
        return longest
    return min(longest, math.sqrt(2.0 * problem.gap / (problem.smoothness * steps * variance)))


def descend(problem: Regression, run: Descent, seed: int) -> Iterates:
    """Do the steps from w_1 = 0."""
    numbers = DescentParameters(run.steps, run.batch, run.eta, run.std)
    return watch(NoisyDescent(batch_gradient(problem), len(problem.x), problem.start, numbers, seed=seed), run.steps)


def watch(run: LongRun, steps: int) -> Iterates:
    """Do all of a run, and look at it on the way."""
    some = []
    for step in looks(steps):
        run.advance(step - run.t)
        some.append(run.w)
    run.advance()
    return Iterates(some, run.w)


@dataclass(frozen=True)
class Method:
    """A method that is ready to run."""

    name: str  # one of :data:`METHODS`
    numbers: Descent  # T, B, eta and, for dp-gd and dp-sgd, the deviation of the noise
    sigma: float | None  # noise multiplier of Algorithms 1 and 2
    noise_std: dict[str, float]  # deviation of a coordinate of each kind of noise
    guarantee: Guarantee  # what is certified
    run: Callable[[Regression, int], Iterates]  # ``run(problem, seed)``: some iterates and the last


def prepare(request: Request, name: str, dataset: Dataset, problem: Regression, batch: int) -> Method:
    """Choose the noise of a method from N, d, G and L of the training part, which are the same for each seed."""
    changes: dict[str, object] = {"algorithm": "sr-nsgd" if name == "sr-nsgd" else "dp-nsgd"}
    if name == "nsgd":
        changes |= {"epsilon": None, "delta": None, "sigma": 0.0}
    asked = Request(**{**vars(request), **changes})
    settings = asked.settle(len(problem.x))
    if name in ("dp-gd", "dp-sgd"):
        return _plain(asked, name, dataset, problem, settings.steps, batch)
    if name == "dp-srm":
        return _recursive(asked, dataset, problem, settings.steps, batch)
    settings, certified = account(asked, settings, dataset, problem)
    if name == "nsgd":
        certified = Guarantee(f"{NOT_CERTIFIED}: there is no noise")
    _, constants = optimizer(asked.algorithm, problem, settings)
    numbers = Descent(1, settings.steps, 0.0, settings.eta)
    run = _stepped(asked.algorithm, settings)
    return Method(name, numbers, settings.sigma, constants.node_std, certified, run)


def _stepped(algorithm: str, settings: Settings) -> Callable[[Regression, int], Iterates]:
    """Make the run of an algorithm that ``train`` has."""

    def run(problem: Regression, seed: int) -> Iterates:
        stepped, _ = optimizer(algorithm, problem, msgspec.structs.replace(settings, seed=seed))
        return watch(stepped, settings.steps)

    return run


def _plain(asked: Request, name: str, dataset: Dataset, problem: Regression, gradients: int, batch: int) -> Method:
    """Prepare dp-gd or dp-sgd with as many gradients of examples, up to a step, as the normalized methods have."""
    n, G = len(problem.x), problem.lipschitz
    epsilon, delta = asked.epsilon or math.inf, asked.delta or 0.0  # both are asked for
    if name == "dp-gd":
        batch = n
    steps = max(1, round(gradients / batch))
    std, how = full_batch_std(batch, steps, G, epsilon, delta), "by exact composition in real arithmetic"
    if batch < n:
        how = "by composition as if the example were in every batch; less noise may do"
        start = sampled_std(n, batch, steps, G, epsilon, delta)
        if start < math.inf:
            ratio = start * batch / (2.0 * G)
            factor = least_factor(lambda f: [BatchSteps(batch / n, f * ratio, steps)], epsilon, delta)
            if factor * start < std:
                std, how = factor * start, "by composing the whole privacy loss of sampled batches"
    numbers = Descent(batch, steps, std, step_length(problem, batch, steps, std))

    def run(problem: Regression, seed: int) -> Iterates:
        return descend(problem, numbers, seed)

    return Method(name, numbers, None, {"gradient": std}, guarantee(epsilon, delta, dataset, how), run)


def accuracy(problem: Regression, epsilon: float, delta: float) -> float:
    """Give the zeta of DP-SRM that Theorem 4.4 of wang2019 chooses, its constant being 1, at most G."""
    n, d = len(problem.x), len(problem.start)
    reach = problem.smoothness * problem.gap * d * math.log(1.0 / delta)
    return min(problem.lipschitz, math.sqrt(problem.lipschitz / (n * epsilon) * math.sqrt(reach)))


def _recursive(asked: Request, dataset: Dataset, problem: Regression, gradients: int, batch: int) -> Method:
    """Prepare dp-srm with as many gradients, two of each example; gamma and C_2 are zeta, which bounds changes."""
    zeta = accuracy(problem, asked.epsilon or math.inf, asked.delta or 0.5)  # both are asked for
    own = {"algorithm": "dp-srm", "epochs": None, "batch": batch, "eta": zeta, "gamma": min(1.0, zeta)}
    steps = max(1, round(gradients / (2 * batch)))
    srm_asked = Request(**{**vars(asked), **own, "steps": steps, "change_clip": zeta, "alpha": None})
    settings, certified = account(srm_asked, srm_asked.settle(len(problem.x)), dataset, problem)
    _, constants = optimizer("dp-srm", problem, settings)
    numbers = Descent(batch, steps, 0.0, zeta)
    return Method("dp-srm", numbers, None, constants.node_std, certified, _stepped("dp-srm", settings))
