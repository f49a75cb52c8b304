"""Section 6.2 of wang2019: DP-SRM against DP-SGD with three networks, with the least certified noise.

We read the step size of section 6.2 as a constant factor of the gradient estimate, since the paper prints a number for
it; Algorithm 1 has another step size. The number of iterations is not printed, so both methods evaluate the same number
of example gradients. The convolutions of CNN6 are trained on public data: CIFAR-100 from the user's folder or, with
digits, a half of the digits that is used for nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from dpverify.algorithms.algorithm import Algorithm
from dpverify.algorithms.dp_srm import DP_SRM, RecursiveMomentum
from dpverify.algorithms.dpageem import DP_SGD
from dpverify.compare.experiments.experiment import (
    ExperimentRequest,
    OrderStatement,
    RowCell,
    TunedTrial,
    spread,
)
from dpverify.compare.experiments.network_panel import (
    ImageParts,
    NetworkPanel,
    data_sets_in,
    image_parts,
    network_noise,
)
from dpverify.kernels import check
from dpverify.kernels.tape import generator
from dpverify.papers.wang2019.algorithms.baselines import dp_sgd
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.papers.wang2019.experiments.printed_results import (
    NETWORKS,
    PrintedNetwork,
)
from dpverify.problems.images import Images, cifar100
from dpverify.problems.networks.oracle import NetworkGradients
from dpverify.problems.sampled_run import DescentParameters, NoisyDescent

METHODS: Final[tuple[Algorithm[Any], ...]] = (DP_SGD, DP_SRM)
SHAPES: Final = {"cnn4": (1, 28), "cnn5": (3, 32), "cnn6": (3, 32)}
CLAIMS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "cnn4": {
        "section-6-2-mnist-error": ("test_error",),
        "section-6-2-mnist-faster": ("iterations", "seconds"),
    },
    "cnn5": {
        "section-6-2-cnn5-error": ("test_error",),
        "section-6-2-cnn5-faster": ("iterations", "seconds"),
    },
    "cnn6": {"section-6-2-cnn6-faster": ("iterations", "seconds")},
}
"""Records of wang2019, with the columns that decide them. ``iterations`` and
``seconds`` are counted until the method reaches the final test error of the worse
method."""

MAX_TRIALS: Final = 12
GRID_STREAM = 8
# a zeta that no estimate reaches, so that each step is the estimate times 1/(2L)
UNREACHED_ZETA = 1e100


class NetworkSetting(NamedTuple):
    """A point of a printed grid."""

    batch: int
    batch_0: int
    change_clip: float  # C_2 and gamma
    eta: float


class SectionPanel(NetworkPanel):
    """A network of section 6.2 on its data."""

    def __init__(
        self,
        request: ExperimentRequest,
        name: str,
        printed: PrintedNetwork,
        parts: ImageParts,
    ) -> None:
        from dpverify.problems.networks import make_network

        make_seeded = partial(make_network, name, parts.train.x.shape[1:])
        network = make_seeded(request.seed)
        if name == "cnn6":
            rows = np.arange(len(parts.train.y))
            public = (
                cifar100(request.data) if request.data else parts.train.part(rows[0::2])
            )
            parts = (
                parts
                if request.data
                else parts._replace(train=parts.train.part(rows[1::2]))
            )
            _pretrain(
                network,
                public,
                request.seed,
                request.epochs or (1 if request.is_smoke else 20),
            )
        super().__init__(
            request,
            name,
            parts,
            NetworkGradients(network, parts.train, printed.clip),
            make_seeded,
        )
        self.printed = printed
        epsilons = (
            list(printed.errors)[:1] if request.is_smoke else list(printed.errors)
        )
        self.cells = list(
            itertools.starmap(RowCell, itertools.product(METHODS, epsilons))
        )

    def statements(self) -> list[OrderStatement]:
        claims = CLAIMS[self.name].items()
        return [
            OrderStatement(claim, column, DP_SRM, DP_SGD)
            for claim, columns in claims
            for column in columns
        ]

    def trials(self, cell: RowCell) -> list[TunedTrial]:
        settings = grid(cell.method, self.printed, len(self.train.y), self.request)
        return [self.trial(cell, setting) for setting in settings]

    def trial(self, cell: RowCell, setting: NetworkSetting) -> TunedTrial:
        """Return a trial; both methods evaluate the same number of example gradients."""
        b, b_0, change, eta = setting
        n = len(self.train.y)
        clip = self.oracle.clip
        is_recursive = isinstance(cell.method, RecursiveMomentum)
        steps = max(1, self.epochs * n // (2 * b if is_recursive else b))
        bought = network_noise(cell.method, n, steps, b, b_0, cell.epsilon or 0.0)
        unit = 2.0 * bought.noise / n
        later = unit * (change * clip + (1.0 - change) * change)

        def start(seed: int) -> DpSrm | NoisyDescent:
            w = self.start(seed)
            if not is_recursive:
                return dp_sgd(self.oracle, n, w, steps, b, eta, unit * clip, seed=seed)
            p = SrmParameters(
                steps, b_0, b, change, UNREACHED_ZETA, 0.5 / eta, unit * clip, later
            )
            return DpSrm(self.oracle.with_clips(clip, change), n, w, p, seed=seed)

        words = f"b = {b}, step size {eta:g}" + (
            f", b_0 = {b_0}, C_2 = gamma = {change:g}" if is_recursive else ""
        )
        return TunedTrial(steps, bought.epsilon, start, {"setting": words})


def grid(
    method: Algorithm[Any], printed: PrintedNetwork, n: int, request: ExperimentRequest
) -> list[NetworkSetting]:
    """Draw settings from the printed grid, the same number for each method; b_0 is at most n.

    If fewer than TRIES are requested, they are spread over the grid by step size, so that both methods have equal step
    sizes.
    """
    is_recursive = isinstance(method, RecursiveMomentum)
    batch_factors: Sequence[int] = printed.first if is_recursive else (1,)
    change_clips = printed.change_clips if is_recursive else (1.0,)
    points = itertools.product(
        printed.batches, batch_factors, change_clips, printed.steps
    )
    settings = [
        NetworkSetting(b, b * factor, change, eta)
        for b, factor, change, eta in points
        if b * factor <= n
    ]
    if not settings:
        raise check.ArgumentError(
            "n", n, f"must be at least b, which is {printed.batches[0]}"
        )
    if request.is_smoke:
        return settings[len(settings) // 2 :][:1]
    drawn = [
        settings[place]
        for place in generator(request.seed, GRID_STREAM).permutation(len(settings))
    ]
    count = request.settings or MAX_TRIALS
    return (
        drawn[:MAX_TRIALS]
        if count >= MAX_TRIALS
        else spread(sorted(drawn, key=lambda setting: setting.eta), count)
    )


def network_panels(request: ExperimentRequest) -> list[SectionPanel]:
    """Return the panels of all networks whose data are available."""
    names = (
        [printed.data for printed in NETWORKS.values()]
        if request.data is None
        else data_sets_in(request.data)
    )
    return [
        SectionPanel(
            request, name, printed, image_parts(request, printed.data, *SHAPES[name])
        )
        for name, printed in NETWORKS.items()
        if printed.data in names
    ]


def _pretrain(network: Any, public: Images, seed: int, epochs: int) -> None:
    """Train a similar network on public data without noise; copy its convolutions to ``network`` and freeze them."""
    from dpverify.problems.networks.architectures import (
        copy_convolutions,
        freeze_convolutions,
        load_parameters,
        make_network,
    )

    classes = int(public.y.max()) + 1
    public_network = make_network("cnn6", public.x.shape[1:], seed, classes)
    oracle = NetworkGradients(public_network, public)
    n = len(public.y)
    numbers = DescentParameters(max(1, epochs * n // 64), min(64, n), 0.05)
    run = NoisyDescent(oracle, n, oracle.start, numbers, seed=seed)
    run.advance()
    copy_convolutions(network, load_parameters(public_network, run.w))
    freeze_convolutions(network)
