"""Section 6.2 of wang2019: DP-SRM against DP-SGD with three networks, at the least noise that is certified.

Its step size is read as a constant factor of the estimate, since a number is printed for it; the box has another. The
number of iterations is not printed: both methods have as many gradients of examples. CNN6 has convolutions that were
trained on public data, CIFAR-100 from the user's folder; with digits, a half of them that nothing else is done with.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dpverify.compare.networks.orderings import Said, orderings
from dpverify.compare.networks.settings import TRIES, NetworkRequest, Panel, ReadyNetwork, found_in, images_for, noise
from dpverify.kernels import check
from dpverify.kernels.tape import generator
from dpverify.papers.wang2019.algorithms.descent import dp_sgd
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.papers.wang2019.experiments.networks import NETWORKS, PrintedNetwork
from dpverify.problems.images import Images, cifar100
from dpverify.problems.networks.oracle import NetworkGradients, parameters_of
from dpverify.problems.sampled_run import DescentParameters, NoisyDescent

METHODS = ("dp-sgd", "dp-srm")
SHAPES = {"cnn4": (1, 28), "cnn5": (3, 32), "cnn6": (3, 32)}
CLAIMS: dict[str, dict[str, tuple[str, ...]]] = {
    "cnn4": {"section-6-2-mnist-error": ("test_error",), "section-6-2-mnist-faster": ("iterations", "seconds")},
    "cnn5": {"section-6-2-cnn5-error": ("test_error",), "section-6-2-cnn5-faster": ("iterations", "seconds")},
    "cnn6": {"section-6-2-cnn6-faster": ("iterations", "seconds")},
}
"""Records of wang2019, and the columns that decide them; ``iterations`` and ``seconds`` are those until the test error
is what the worse of both methods ends with."""

GRID_STREAM = 8
CONSTANT = 1e100  # a zeta that no estimate reaches, so that the step is 1/(2L) times it


def panels(request: NetworkRequest) -> Iterator[Panel]:
    """Give each network that there are data for."""
    has = [printed.data for printed in NETWORKS.values()] if request.data is None else found_in(request.data)
    for name, printed in NETWORKS.items():
        if printed.data in has:
            yield _panel(request, name, printed, *images_for(request, printed.data, *SHAPES[name]))


def _panel(
    request: NetworkRequest, name: str, printed: PrintedNetwork, train: Images, test: Images, real: bool
) -> Panel:
    from dpverify.problems.networks import make_network

    shape, make_seeded = train.x.shape[1:], partial(make_network, name)
    network = make_seeded(shape, request.seed)
    if name == "cnn6":
        public = cifar100(request.data) if request.data else train.part(np.arange(0, len(train.y), 2))
        train = train if request.data else train.part(np.arange(1, len(train.y), 2))
        _pretrain(network, public, request)
    oracle = NetworkGradients(network, train, printed.clip)
    epsilons = list(printed.errors)[:1] if request.budget == "smoke" else list(printed.errors)

    def trials(method: str, epsilon: float | None) -> Iterator[ReadyNetwork]:
        for setting in _grid(method, printed, len(train.y), request):
            yield _trial(method, epsilon or 0.0, setting, oracle, make_seeded, shape, request.passes)

    statements = [
        Said(claim, column, "dp-srm", "dp-sgd") for claim, columns in CLAIMS[name].items() for column in columns
    ]
    cells: list[tuple[str, float | None]] = list(itertools.product(METHODS, epsilons))
    return Panel(name, real, train, test, oracle, cells, trials, partial(orderings, statements))


def _pretrain(network: Any, public: Images, request: NetworkRequest) -> None:
    """Train all of a network of this kind on public data, without noise, and take its convolutions, which stay."""
    from dpverify.problems.networks.architectures import (
        freeze_convolutions,
        load_parameters,
        make_network,
        take_convolutions,
    )

    classes = int(public.y.max()) + 1
    public_network = make_network("cnn6", public.x.shape[1:], request.seed, classes)
    oracle = NetworkGradients(public_network, public)
    n = len(public.y)
    numbers = DescentParameters(max(1, request.passes * n // 64), min(64, n), 0.05)
    run = NoisyDescent(oracle, n, oracle.start, numbers, seed=request.seed)
    run.advance()
    take_convolutions(network, load_parameters(public_network, run.w))
    freeze_convolutions(network)


def _grid(method: str, printed: PrintedNetwork, n: int, request: NetworkRequest) -> list[tuple[int, int, float, float]]:
    """Draw b, b_0, C_2 and step size from the printed grids, as many settings for each method; b_0 is at most n."""
    srm = method == "dp-srm"
    grid = itertools.product(
        printed.batches, printed.first if srm else (1,), printed.change_clips if srm else (1.0,), printed.steps
    )
    every = [(b, b * times, change, eta) for b, times, change, eta in grid if b * times <= n]
    if not every:
        raise check.ArgumentError("n", n, f"must be at least b, which is {printed.batches[0]}")
    if request.budget == "smoke":
        return every[len(every) // 2 :][:1]
    drawn = generator(request.seed, GRID_STREAM).permutation(len(every))[:TRIES]
    return [every[place] for place in drawn]


def _trial(
    method: str,
    epsilon: float,
    setting: tuple[int, int, float, float],
    oracle: NetworkGradients,
    make_seeded: Any,
    shape: tuple[int, int, int],
    passes: int,
) -> ReadyNetwork:
    (b, b_0, change, eta), n, srm = setting, len(oracle.images.y), method == "dp-srm"
    steps = max(1, passes * n // (2 * b if srm else b))
    bought = noise(method, n, steps, b, b_0, epsilon)
    unit = 2.0 * bought.noise / n
    clip = oracle.clip

    def start(seed: int) -> DpSrm | NoisyDescent:
        w = parameters_of(make_seeded(shape, seed), oracle.names)
        if not srm:
            return dp_sgd(oracle, n, w, steps, b, eta, unit * clip, seed=seed)
        later = unit * (change * clip + (1.0 - change) * change)
        p = SrmParameters(steps, b_0, b, change, CONSTANT, 0.5 / eta, unit * clip, later)
        return DpSrm(oracle.with_clips(clip, change), n, w, p, seed=seed)

    words = f"b = {b}, step size {eta:g}" + (f", b_0 = {b_0}, C_2 = gamma = {change:g}" if srm else "")
    return ReadyNetwork(words, steps, bought.epsilon, start)
