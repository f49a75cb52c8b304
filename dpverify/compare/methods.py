"""The methods of a comparison, calibrated to the same (epsilon, delta), and a method without noise.

Besides Algorithms 1 and 2 of tran2022 and DP-SRM, the methods include plain private
gradient descent with full batches, and with batches drawn without replacement:

    w_{t+1} = w_t - eta ((1/B) sum over the batch of grad f(w_t, x_i) + Z_t),    Z_t ~ N(0, std^2 I)

No example's gradient is longer than G. Replacing one example changes the mean by at
most 2G/B if the example is drawn. The part of a gradient that depends on the example is
clipped at the bound on the rows, which it never exceeds.

**Full batch** (dp-gd): T Gaussian steps, composed exactly, mu = sqrt(T) 2G / (N std). Smaller
batches (dp-sgd, dp-srm): ``privacy.batches``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import msgspec

from dpverify.algorithms.algorithm import Algorithm
from dpverify.algorithms.baselines import DP_GD
from dpverify.algorithms.dp_srm import DP_SRM
from dpverify.algorithms.dpageem import DP_SGD
from dpverify.algorithms.nsgd import DP_NSGD, SR_NSGD
from dpverify.algorithms.registry import algorithm_named
from dpverify.algorithms.settings import options
from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.privacy.batches import BatchSteps, least_factor
from dpverify.privacy.gaussian_safe import certify, safe_mu
from dpverify.privacy.subsampling import sampled_std
from dpverify.problems.data import Dataset
from dpverify.problems.regression import Regression, batch_gradient
from dpverify.problems.sampled_run import DescentParameters, NoisyDescent
from dpverify.problems.stepped_run import LongRun
from dpverify.train.records import NOT_CERTIFIED, Guarantee, Request, account, guarantee

STANDARDISED = (
    "columns were standardised with the training part's own means and deviations"
)

ROUND_UP = 1.0 + 1e-12


@dataclass(frozen=True)
class Descent:
    """Parameters of a descent run."""

    batch: int
    steps: int
    std: float  # standard deviation of the noise of one coordinate
    eta: float  # step size; 0 for an algorithm without one


@dataclass(frozen=True)
class Iterates:
    """Iterates of a run: ``selected`` ones of w_1, .., w_T, and ``last``, which is w_{T+1}."""

    selected: list[Vector]
    last: Vector


MAX_ITERATES = 50  # largest number of measured iterates, without the last one


def measured_steps(steps: int) -> list[int]:
    """Return the steps after which a run is measured: at most 50 evenly spaced numbers from 0 to T - 1, including 0."""
    return sorted({place * steps // MAX_ITERATES for place in range(MAX_ITERATES)})


def full_batch_std(
    examples: int, steps: int, lipschitz: float, epsilon: float, delta: float
) -> float:
    """Return ``sqrt(T) 2G/(N mu)``, the least noise deviation certified in ball arithmetic for full batches."""
    mu = safe_mu(epsilon, delta)
    if mu > 0.0 and certify(mu, epsilon, delta):
        return math.sqrt(steps) * 2.0 * lipschitz / (examples * mu) * ROUND_UP
    raise check.ArgumentError(
        "epsilon",
        epsilon,
        f"is out of reach at delta={delta!r}: nothing could be certified",
    )


def step_length(problem: Regression, batch: int, steps: int, std: float) -> float:
    """Return the eta of at most 1/L that minimizes the bound ``2R/(eta T) + L eta V`` on the squared gradient norm.

    It is ``min(1/L, sqrt(2R/(L T V)))``. V is ``d std^2`` for full batches, and ``d std^2 + G^2/B`` for sampled batches
    (Ghadimi and Lan 2013, 2.1).
    """
    sampling = 0.0 if batch == len(problem.x) else problem.lipschitz**2 / batch
    variance = len(problem.start) * std * std + sampling
    longest = 1.0 / problem.smoothness
    if variance == 0.0:
        return longest
    return min(
        longest, math.sqrt(2.0 * problem.gap / (problem.smoothness * steps * variance))
    )


def descend(problem: Regression, run: Descent, seed: int) -> Iterates:
    """Run the descent from w_1 = 0 and return its iterates."""
    numbers = DescentParameters(run.steps, run.batch, run.eta, run.std)
    return record(
        NoisyDescent(
            batch_gradient(problem), len(problem.x), problem.start, numbers, seed=seed
        ),
        run.steps,
    )


def record(run: LongRun, steps: int) -> Iterates:
    """Advance a run to its end and return its iterates."""
    iterates = []
    for step in measured_steps(steps):
        run.advance(step - run.t)
        iterates.append(run.w)
    run.advance()
    return Iterates(iterates, run.w)


@dataclass(frozen=True)
class Method:
    """A method that is ready to run."""

    name: str
    numbers: Descent  # T, B, eta and, for dp-gd and dp-sgd, the noise deviation
    sigma: float | None  # noise multiplier of Algorithms 1 and 2
    # standard deviation of one coordinate, by kind of noise
    noise_std: dict[str, float]
    guarantee: Guarantee  # the certified guarantee
    # ``run(problem, seed)`` returns iterates
    run: Callable[[Regression, int], Iterates]


Prepare = Callable[[Request, Dataset, Regression, int], Method]
"""Chooses the noise of a method for the common request, from N, d, G and L of the training part."""


def _without_noise(
    request: Request, dataset: Dataset, problem: Regression, batch: int
) -> Method:
    """Prepare Algorithm 1 of tran2022 without noise, which is normalized descent with momentum."""
    method = _normalized(
        DP_NSGD,
        request.changed(epsilon=None, delta=None, sigma=0.0),
        dataset,
        problem,
        batch,
    )
    return replace(
        method,
        name=WITHOUT_NOISE,
        guarantee=Guarantee(f"{NOT_CERTIFIED}: there is no noise"),
    )


def _normalized(
    algorithm: Algorithm[Any],
    request: Request,
    dataset: Dataset,
    problem: Regression,
    batch: int,
) -> Method:
    """Prepare Algorithm 1 or 2 of tran2022, with the steps and the step length of the request."""
    del batch  # these algorithms use one example per step
    return _trained(request.changed(algorithm=algorithm), dataset, problem)


def prepare_other(
    algorithm: Algorithm[Any],
    request: Request,
    dataset: Dataset,
    problem: Regression,
    batch: int,
) -> Method:
    """Prepare any algorithm with its own defaults and about as many example gradients as the normalized methods."""
    names = ("lam", "scale", "seed")
    shared: dict[str, Any] = {
        name: request.settings[name] for name in names if name in request.settings
    }
    if "batch" in options(algorithm.settings):
        shared["batch"] = batch
    n = len(problem.x)
    gradients = request.settle(n).steps
    shared["steps"] = max(
        1,
        round(
            gradients / algorithm.gradients_per_step(algorithm.complete(shared, n), n)
        ),
    )
    epsilon = request.epsilon if algorithm.is_private else None
    return _trained(
        Request(algorithm, epsilon=epsilon, delta=request.delta, **shared),
        dataset,
        problem,
    )


def _trained(request: Request, dataset: Dataset, problem: Regression) -> Method:
    """Calibrate the noise of a request, and run it as ``train`` does."""
    algorithm = request.algorithm
    settings, certified = account(
        request, request.settle(len(problem.x)), dataset, problem
    )
    numbers = Descent(
        getattr(settings, "batch", 1),
        settings.steps,
        0.0,
        getattr(settings, "eta", 0.0),
    )
    node_std = algorithm.constants(problem, settings).node_std

    def run(problem: Regression, seed: int) -> Iterates:
        return record(
            algorithm.start(problem, msgspec.structs.replace(settings, seed=seed)),
            settings.steps,
        )

    return Method(algorithm.name, numbers, settings.sigma, node_std, certified, run)


def _plain(
    name: str, request: Request, dataset: Dataset, problem: Regression, batch: int
) -> Method:
    """Prepare plain descent with as many example gradients as the normalized methods, up to one step."""
    n = len(problem.x)
    G = problem.lipschitz
    epsilon, delta = _budget(request)
    gradients = request.settle(n).steps
    steps = max(1, round(gradients / batch))
    std = full_batch_std(batch, steps, G, epsilon, delta)
    accounting = "by exact composition in real arithmetic"
    if batch < n:
        accounting = "by composition as if the example were in every batch; less noise may be enough"
        start = sampled_std(n, batch, steps, G, epsilon, delta)
        if start < math.inf:
            ratio = start * batch / (2.0 * G)
            factor = least_factor(
                lambda f: [BatchSteps(batch / n, f * ratio, steps)], epsilon, delta
            )
            if factor * start < std:
                std = factor * start
                accounting = "by composing the whole privacy loss of sampled batches"
    numbers = Descent(batch, steps, std, step_length(problem, batch, steps, std))

    def run(problem: Regression, seed: int) -> Iterates:
        return descend(problem, numbers, seed)

    return Method(
        name,
        numbers,
        None,
        {"gradient": std},
        guarantee(epsilon, delta, dataset, accounting),
        run,
    )


def _full_batches(
    request: Request, dataset: Dataset, problem: Regression, batch: int
) -> Method:
    """Prepare plain descent with full batches."""
    del batch
    return _plain(FULL_BATCHES, request, dataset, problem, len(problem.x))


def _budget(request: Request) -> tuple[float, float]:
    """Return epsilon and delta, which every comparison requires."""
    assert request.epsilon is not None
    assert request.delta is not None
    return request.epsilon, request.delta


def accuracy(problem: Regression, epsilon: float, delta: float) -> float:
    """Return the zeta that Theorem 4.4 of wang2019 chooses for DP-SRM, with the constant 1, but at most G."""
    n = len(problem.x)
    d = len(problem.start)
    product = problem.smoothness * problem.gap * d * math.log(1.0 / delta)
    return min(
        problem.lipschitz,
        math.sqrt(problem.lipschitz / (n * epsilon) * math.sqrt(product)),
    )


def _recursive(
    request: Request, dataset: Dataset, problem: Regression, batch: int
) -> Method:
    """Prepare DP-SRM with as many example gradients, two per drawn example; gamma = min(1, zeta) and C_2 = zeta."""
    zeta = accuracy(problem, *_budget(request))
    steps = max(1, round(request.settle(len(problem.x)).steps / (2 * batch)))
    values = {
        "epochs": None,
        "steps": steps,
        "batch": batch,
        "eta": zeta,
        "gamma": min(1.0, zeta),
        "change_clip": zeta,
    }
    method = _trained(request.changed(algorithm=DP_SRM, **values), dataset, problem)
    return replace(method, sigma=None)


WITHOUT_NOISE = "nsgd"
FULL_BATCHES = DP_GD.name

PREPARE: Final[dict[str, Prepare]] = {
    WITHOUT_NOISE: _without_noise,
    DP_NSGD.name: partial(_normalized, DP_NSGD),
    SR_NSGD.name: partial(_normalized, SR_NSGD),
    FULL_BATCHES: _full_batches,
    DP_SGD.name: partial(_plain, DP_SGD.name),
    DP_SRM.name: _recursive,
}
"""Functions that prepare the methods of every comparison, by name."""

METHODS: Final = tuple(PREPARE)
"""NSGD; Algorithms 1 and 2 of tran2022; plain descent, on full and on sampled batches; Algorithm 1 of wang2019."""

BASELINE: Final = DP_NSGD.name
"""The method that is subtracted from the other methods."""


def prepare(
    request: Request, name: str, dataset: Dataset, problem: Regression, batch: int
) -> Method:
    """Return a calibrated method: one of :data:`METHODS` or any other algorithm."""
    prepare_method = PREPARE.get(name) or partial(prepare_other, algorithm_named(name))
    return prepare_method(request, dataset, problem, batch)
