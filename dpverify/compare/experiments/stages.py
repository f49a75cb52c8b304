"""Figures 1 and 2 of zhang2021: all eight methods of section 4.1 with the two-layer CNN or ResNet-20.

The paper prints the networks, the data, ELU, epsilon and the methods. We chose the rest: L = 1 by clipping, delta,
B = 64, rho = 0.9, three stages of 2 T^0, 4 T^0 and 8 T^0 steps (one stage of equal total length for methods without
stages), early momentum in the first half of a stage, stages that start at the last iterate of the previous one, and one
grid of step sizes for all methods. All methods draw the same number of batches of the same size, so they have the same
noise: the least that is certified.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from dpverify.algorithms.dpageem import (
    DEFAULT_RHO,
    DEFAULT_STAGES,
    DP_SGD,
    DP_SGD_LINEAR,
    DP_SGD_ROOT,
    DP_SGDEM,
    DP_SGDM,
    DPAGEEM,
    DPAGES,
    SGD_STAGES,
    StagedAlgorithm,
)
from dpverify.compare.experiments.experiment import (
    ExperimentRequest,
    OrderStatement,
    RowCell,
    TunedTrial,
    spread,
)
from dpverify.compare.experiments.network_panel import (
    NetworkPanel,
    image_parts,
    network_noise,
)
from dpverify.papers.zhang2021.algorithms import (
    Stage,
    StagedDescent,
    StageSchedule,
    stagewise,
)
from dpverify.problems.networks.oracle import NetworkGradients

PRIVATE: Final[tuple[StagedAlgorithm, ...]] = (
    DPAGEEM,
    DPAGES,
    DP_SGD,
    DP_SGD_LINEAR,
    DP_SGD_ROOT,
    DP_SGDM,
    DP_SGDEM,
)


class PrintedFigure(NamedTuple):
    """Printed settings of a figure; ``word`` stands for its data in the ids of its claims."""

    data: str
    word: str
    network: str
    epsilon: float
    channels: int
    side: int


FIGURES: Final = {
    "zhang2021:figure-1": PrintedFigure("MNIST", "mnist", "cnn2", 8.0, 1, 28),
    "zhang2021:figure-2": PrintedFigure("CIFAR-10", "cifar", "resnet20", 10.0, 3, 32),
}
SMALL: Final = (1, 8)  # channels and side of the digits, which are not resized
BATCH = 64
CLIP: Final = 1.0
RHO: Final = DEFAULT_RHO
STAGES: Final = DEFAULT_STAGES
SIZES: Final = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

ORDERS: Final[dict[str, list[tuple[StagedAlgorithm, StagedAlgorithm]]]] = {
    "stages": [(DPAGES, method) for method in PRIVATE if method is not DPAGES],
    "early": [(DPAGEEM, DP_SGDM), (DPAGEEM, DP_SGDEM)],
    "sgdm": [(DPAGEEM, DP_SGDM), (DP_SGDEM, DP_SGDM)],
    "momentum": [(DP_SGD, DPAGEEM), (DP_SGD, DP_SGDEM)],
}
"""Pairs (better, worse) of methods, by ``key`` in ``section-4-2-<key>-<mnist or cifar>-<training or testing>``."""


class FigurePanel(NetworkPanel):
    """The network of a figure on its data or on digits."""

    def __init__(self, request: ExperimentRequest) -> None:
        from dpverify.problems.networks import make_network

        self.printed = printed = FIGURES[request.experiment]
        parts = image_parts(
            request,
            printed.data,
            *((printed.channels, printed.side) if request.data else SMALL),
        )
        make_seeded = partial(make_network, printed.network, parts.train.x.shape[1:])
        oracle = NetworkGradients(make_seeded(request.seed), parts.train, CLIP)
        super().__init__(request, printed.network, parts, oracle, make_seeded)
        self.cells = [
            RowCell(SGD_STAGES, None),
            *(RowCell(method, printed.epsilon) for method in PRIVATE),
        ]

    def statements(self) -> list[OrderStatement]:
        return [
            OrderStatement(
                f"section-4-2-{key}-{self.printed.word}-{part}ing",
                f"{part}_error",
                better,
                worse,
            )
            for key, pairs in ORDERS.items()
            for part in ("train", "test")
            for better, worse in pairs
        ]

    def trials(self, cell: RowCell) -> list[TunedTrial]:
        sizes = (
            SIZES[5:6]
            if self.request.is_smoke
            else spread(SIZES, self.request.settings)
        )
        return [self.trial(cell, eta) for eta in sizes]

    def trial(self, cell: RowCell, eta: float) -> TunedTrial:
        """Return the trial of a method with an initial step size."""
        method = cell.method
        assert isinstance(method, StagedAlgorithm)
        n = len(self.train.y)
        batch = min(BATCH, n)
        stage_units = 2 ** (STAGES + 1) - 2
        first_steps = max(1, self.epochs * n // batch // stage_units)
        accounted_noise = (
            None
            if cell.epsilon is None
            else network_noise(
                DP_SGD, n, first_steps * stage_units, batch, batch, cell.epsilon
            )
        )
        numbers = schedule(
            method,
            first_steps,
            eta,
            batch,
            2.0 * CLIP * accounted_noise.noise / n if accounted_noise else 0.0,
        )

        def start(seed: int) -> StagedDescent:
            return StagedDescent(self.oracle, n, self.start(seed), numbers, seed=seed)

        setting = {"setting": f"B = {batch}, first step {eta:g}"}
        return TunedTrial(
            first_steps * stage_units,
            accounted_noise.epsilon if accounted_noise else None,
            start,
            setting,
        )


def schedule(
    method: StagedAlgorithm, first_steps: int, eta: float, batch: int, std: float
) -> StageSchedule:
    """Return the stages of a method. ``first_steps`` is T^0; all methods have the same total number of steps."""
    stages = stagewise(STAGES, first_steps, method.momentum_steps(first_steps), eta)
    if not method.has_stages:
        steps = sum(stage.steps for stage in stages)
        stages = (Stage(steps, method.momentum_steps(steps), eta, method.decay),)
    return StageSchedule(
        stages, batch, RHO if method.has_momentum else 0.0, std, "last"
    )


def figure_panels(request: ExperimentRequest) -> list[FigurePanel]:
    """Return the panel of a figure."""
    return [FigurePanel(request)]
