"""Figures 1 and 2 of zhang2021: all eight methods of section 4.1 with the two-layer CNN, or ResNet-20.

Printed are the networks, the data, ELU, epsilon and the methods. Chosen here: L = 1 by clipping, delta, B = 64, three
stages of 2 T^0, 4 T^0 and 8 T^0 steps (one stage of as many for the others), rho = 0.9, early momentum in the first
half of a stage, stages that hand on their last iterate, and one grid of step sizes for all methods. The noise is the
least that is certified, the same for all of them, since all draw as many batches of the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from dpverify.algorithms.dpageem import (
    DP_SGD,
    DP_SGD_LINEAR,
    DP_SGD_ROOT,
    DP_SGDEM,
    DP_SGDM,
    DPAGEEM,
    DPAGES,
    FAMILY,
    SGD_STAGES,
    StagedAlgorithm,
)
from dpverify.compare.networks.orderings import Said, orderings
from dpverify.compare.networks.settings import NetworkRequest, Panel, ReadyNetwork, images_for, noise
from dpverify.papers.zhang2021.algorithms import Stage, StagedDescent, StageSchedule, stagewise
from dpverify.problems.networks.oracle import NetworkGradients, parameters_of

METHODS = {method.name: method for method in FAMILY}
PRIVATE: tuple[StagedAlgorithm, ...] = (DPAGEEM, DPAGES, DP_SGD, DP_SGD_LINEAR, DP_SGD_ROOT, DP_SGDM, DP_SGDEM)
FIGURES = {"zhang2021:figure-1": ("MNIST", "cnn2", 8.0), "zhang2021:figure-2": ("CIFAR-10", "resnet20", 10.0)}
SHAPES = {"MNIST": (1, 28), "CIFAR-10": (3, 32)}
SMALL = (1, 8)  # of digits, which stay as they are
BATCH = 64
CLIP = 1.0
RHO = 0.9
STAGES = 3
SIZES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

ORDERS: dict[str, list[tuple[StagedAlgorithm, StagedAlgorithm]]] = {
    "stages": [(DPAGES, other) for other in PRIVATE if other is not DPAGES],
    "early": [(DPAGEEM, DP_SGDM), (DPAGEEM, DP_SGDEM)],
    "sgdm": [(DPAGEEM, DP_SGDM), (DP_SGDEM, DP_SGDM)],
    "momentum": [(DP_SGD, DPAGEEM), (DP_SGD, DP_SGDEM)],
}
"""Records ``section-4-2-<this>-<mnist or cifar>-<training or testing>``, and which method is better than which."""


def panels(request: NetworkRequest) -> Iterator[Panel]:
    """Give the network of the figure on its data, or on digits."""
    from dpverify.problems.networks import make_network

    data, name, epsilon = FIGURES[request.experiment]
    train, test, real = images_for(request, data, *(SHAPES[data] if request.data else SMALL))
    shape, make_seeded = train.x.shape[1:], partial(make_network, name)
    oracle = NetworkGradients(make_seeded(shape, request.seed), train, CLIP)

    def trials(method: str, epsilon: float | None) -> Iterator[ReadyNetwork]:
        for eta in SIZES[5:6] if request.budget == "smoke" else SIZES:
            yield _ready(method, epsilon, eta, oracle, lambda seed: make_seeded(shape, seed), request.passes)

    cells = [(SGD_STAGES.name, None), *((method.name, epsilon) for method in PRIVATE)]
    statements = [
        Said(
            f"section-4-2-{key}-{'mnist' if data == 'MNIST' else 'cifar'}-{part}ing",
            f"{part}_error",
            better.name,
            worse.name,
        )
        for key, pairs in ORDERS.items()
        for part in ("train", "test")
        for better, worse in pairs
    ]
    yield Panel(name, real, train, test, oracle, cells, trials, partial(orderings, statements))


def schedule(method: str, first: int, eta: float, batch: int, std: float) -> StageSchedule:
    """Give the stages of a method: ``first`` is T^0, and all take the same number of steps."""
    kind = METHODS[method]
    stages = stagewise(STAGES, first, kind.momentum_steps(first), eta)
    if not kind.has_stages:
        steps = sum(stage.steps for stage in stages)
        stages = (Stage(steps, kind.momentum_steps(steps), eta, kind.decay),)
    return StageSchedule(stages, batch, RHO if kind.has_momentum else 0.0, std, "last")


def _ready(
    method: str,
    epsilon: float | None,
    eta: float,
    oracle: NetworkGradients,
    make_seeded: Callable[[int], object],
    passes: int,
) -> ReadyNetwork:
    n = len(oracle.images.y)
    batch = min(BATCH, n)
    first = max(1, passes * n // batch // (2 ** (STAGES + 1) - 2))
    steps = first * (2 ** (STAGES + 1) - 2)
    bought = None if epsilon is None else noise(DP_SGD.name, n, steps, batch, batch, epsilon)
    numbers = schedule(method, first, eta, batch, 2.0 * CLIP * bought.noise / n if bought else 0.0)

    def start(seed: int) -> StagedDescent:
        return StagedDescent(oracle, n, parameters_of(make_seeded(seed), oracle.names), numbers, seed=seed)

    return ReadyNetwork(f"B = {batch}, first step {eta:g}", steps, bought.epsilon if bought else None, start)
