"""What may be asked of an experiment with networks, and the images that it is made on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from dpverify.algorithms.dp_srm import DP_SRM
from dpverify.compare.networks.records import NetworkOrder, NetworkRow
from dpverify.compare.tables.settings import check_size
from dpverify.kernels import check
from dpverify.kernels.tape import generator
from dpverify.papers.wang2019.accounting.runs import BatchRun, Bought, needed
from dpverify.privacy.participation import Bounds
from dpverify.problems.errors import DataError
from dpverify.problems.images import Images, cifar10, digits, mnist
from dpverify.problems.networks.oracle import NetworkGradients
from dpverify.problems.stepped_run import LongRun

EXPERIMENTS = ("wang2019:section-6-2", "zhang2021:figure-1", "zhang2021:figure-2")
DELTA = 1e-5
TRIES = 12
SAMPLE_STREAM = 2


@dataclass(frozen=True)
class NetworkRequest:
    """Arguments of an experiment with networks; an ArgumentError if one is out of its domain.

    ``data``: a folder with MNIST in IDX files or CIFAR-10 in its binary version; without it, scikit-learn's digits are
    enlarged. ``n``: so many images to train on. ``epochs``: passes over them, None for 20. Seeds are ``seed``, ..,
    ``seed + seeds - 1``. ``budget``: ``standard``; ``smoke``: one pass, one epsilon, nothing is tuned.
    """

    experiment: str
    data: Path | None = None
    n: int | None = None
    epochs: int | None = None
    seeds: int = 10
    seed: int = 0
    budget: str = "standard"

    def __post_init__(self) -> None:
        if self.experiment not in EXPERIMENTS:
            raise check.ArgumentError("experiment", self.experiment, f"must be one of {', '.join(EXPERIMENTS)}")
        check_size(self.budget, self.seeds, self.seed, self.n)
        if self.epochs is not None:
            check.whole(1, epochs=self.epochs)

    @property
    def passes(self) -> int:
        """Passes over the images to train on."""
        return self.epochs or (1 if self.budget == "smoke" else 20)


@lru_cache(maxsize=512)
def noise(method: str, n: int, steps: int, batch: int, batch_0: int, epsilon: float) -> Bought:
    """Give the least noise that is certified, in units of the sensitivity of the mean over all data."""
    batch_run = BatchRun("recursive" if method == DP_SRM.name else "descent", n, steps, batch, batch_0)
    return needed(batch_run, epsilon, DELTA)


@dataclass(frozen=True)
class ReadyNetwork:
    """A method with a setting that can run: ``start(seed)``."""

    setting: str
    steps: int
    epsilon: Bounds | None
    start: Callable[[int], LongRun]


@dataclass(frozen=True, eq=False)
class Panel:
    """A network on a data set, and what is run on it; ``cells`` are methods with epsilon."""

    network: str
    real: bool
    train: Images
    test: Images
    oracle: NetworkGradients
    cells: list[tuple[str, float | None]]
    trials: Callable[[str, float | None], Iterator[ReadyNetwork]]
    orderings: Callable[[list[NetworkRow]], list[NetworkOrder]]


def images_for(request: NetworkRequest, name: str, channels: int, side: int) -> tuple[Images, Images, bool]:
    """Load the images to train and to test on, and whether they are the user's."""
    if request.data is None:
        train, test = (part.sized(channels, side) for part in digits(request.seed))
    else:
        if name not in found_in(request.data):
            raise DataError(request.data, f"has no {name}.")
        train, test = (mnist if name == "MNIST" else cifar10)(request.data)
        shape = channels, side, side
        if train.x.shape[1:] != shape or test.x.shape[1:] != shape:
            raise DataError(request.data, f"images of shape {train.x.shape[1:]} and {test.x.shape[1:]}, not {shape}.")
    if request.n is not None:
        rows = generator(request.seed, SAMPLE_STREAM).choice(len(train.y), min(request.n, len(train.y)), replace=False)
        train = train.part(np.sort(rows))
    return train, test, request.data is not None


def found_in(folder: Path) -> list[str]:
    """Say which data sets a folder has, one at least."""
    if not folder.is_dir():
        raise DataError(folder, "must be a folder.")
    names = [path.name for path in folder.iterdir()]
    data_sets = ["MNIST"] if any("-idx" in name or ".idx" in name for name in names) else []
    if any(name.startswith(("data_batch_", "test_batch", "cifar-10-batches")) for name in names):
        data_sets.append("CIFAR-10")
    if not data_sets:
        raise DataError(folder, "has neither train-images-idx3-ubyte (MNIST) nor data_batch_1.bin (binary CIFAR-10).")
    return data_sets
