"""The methods of a comparison, each with its own noise for the same (epsilon, delta), or with none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from dpverify.compare.baseline import Descent, Iterates, descend, full_batch_std, looks, step_length
from dpverify.privacy.sampled import sampled_std
from dpverify.problems.data import Dataset
from dpverify.problems.logistic import LogisticRegression
from dpverify.train.optimizer import Guarantee, account, guarantee, optimizer
from dpverify.train.records import NOT_CERTIFIED, Request, Settings

METHODS = ("nsgd", "dp-nsgd", "sr-nsgd", "dp-gd", "dp-sgd")
"""No noise; Algorithms 1 and 2 of tran2022; plain gradient descent with full batches and with sampled ones."""

STANDARDISED = "columns were standardised with the training part's own means and deviations"


@dataclass(frozen=True)
class Method:
    """A method that is ready to run."""

    name: str  # one of :data:`METHODS`
    numbers: Descent  # T, B, eta and, for dp-gd and dp-sgd, the deviation of the noise
    sigma: float | None  # noise multiplier of Algorithms 1 and 2
    noise_std: dict[str, float]  # deviation of a coordinate of each kind of noise
    guarantee: Guarantee  # what is certified
    run: Callable[[LogisticRegression, int], Iterates]  # ``run(problem, seed)``: some iterates and the last


def prepare(request: Request, name: str, dataset: Dataset, problem: LogisticRegression, batch: int) -> Method:
    """Choose the noise of a method from N, d, G and L of the training part, which are the same for each seed."""
    changes: dict[str, object] = {"algorithm": "sr-nsgd" if name == "sr-nsgd" else "dp-nsgd"}
    if name == "nsgd":
        changes |= {"epsilon": None, "delta": None, "sigma": 0.0}
    asked = Request(**{**vars(request), **changes})
    settings = asked.settle(len(problem.x))
    if name in ("dp-gd", "dp-sgd"):
        return _plain(asked, name, dataset, problem, settings.steps, batch)
    settings, certified = account(asked, settings, dataset, problem)
    if name == "nsgd":
        certified = Guarantee(f"{NOT_CERTIFIED}: there is no noise")
    _, constants = optimizer(asked.algorithm, problem, settings)
    numbers = Descent(1, settings.steps, 0.0, settings.eta)
    run = _normalized(asked.algorithm, settings)
    return Method(name, numbers, settings.sigma, constants.node_std, certified, run)


def _normalized(algorithm: str, settings: Settings) -> Callable[[LogisticRegression, int], Iterates]:
    """Make the run of Algorithm 1 or 2."""

    def run(problem: LogisticRegression, seed: int) -> Iterates:
        stepped, _ = optimizer(algorithm, problem, msgspec.structs.replace(settings, seed=seed))
        some = []
        for step in looks(settings.steps):
            stepped.advance(step - stepped.t)
            some.append(stepped.w)
        stepped.advance()
        return Iterates(some, stepped.w)

    return run


def _plain(
    asked: Request, name: str, dataset: Dataset, problem: LogisticRegression, gradients: int, batch: int
) -> Method:
    """Prepare dp-gd or dp-sgd with as many gradients of examples, up to a step, as the normalized methods have."""
    n, G = len(problem.x), problem.lipschitz
    epsilon, delta = asked.epsilon or math.inf, asked.delta or 0.0  # both are asked for
    if name == "dp-gd":
        batch = n
    steps = max(1, round(gradients / batch))
    std, how = full_batch_std(batch, steps, G, epsilon, delta), "by exact composition in real arithmetic"
    if batch < n:
        how = "by composition as if the example were in every batch; less noise may do"
        sampled = sampled_std(n, batch, steps, G, epsilon, delta)
        if sampled < std:
            std, how = sampled, "by a Renyi bound on sampled batches; less noise may do"
    numbers = Descent(batch, steps, std, step_length(problem, batch, steps, std))

    def run(problem: LogisticRegression, seed: int) -> Iterates:
        return descend(problem, numbers, seed)

    return Method(name, numbers, None, {"gradient": std}, guarantee(epsilon, delta, dataset, how), run)
