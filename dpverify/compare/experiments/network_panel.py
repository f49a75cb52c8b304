"""Train a network on a data set of images, and load the images."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpverify.algorithms.algorithm import Algorithm
from dpverify.algorithms.dp_srm import RecursiveMomentum
from dpverify.compare.experiments.experiment import (
    DELTA,
    ExperimentRequest,
    OrderedPair,
    OrderStatement,
    Panel,
    TunedTrial,
    orderings,
)
from dpverify.compare.experiments.records import (
    ClaimedOrder,
    NetworkRow,
    NetworkRun,
    NetworkTable,
)
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Vector
from dpverify.papers.wang2019.accounting.runs import (
    AccountedNoise,
    BatchRun,
    Kind,
    least_noise,
)
from dpverify.problems.errors import DataError
from dpverify.problems.images import Images, are_published, cifar10, digits, mnist
from dpverify.problems.networks.oracle import NetworkGradients, parameters_of
from dpverify.problems.stepped_run import LongRun

MAX_IMAGES = 5000  # largest number of evaluated images per part
DEFAULT_EPOCHS = 20
SAMPLE_STREAM = 2  # random stream that chooses the training images


class ImageParts(NamedTuple):
    """Training and test images, and whether they are the published data set that the paper uses."""

    train: Images
    test: Images
    is_published: bool


class NetworkPanel(Panel):
    """A network on a data set; subclasses define the methods."""

    evaluations = 16
    row = NetworkRow

    def __init__(
        self,
        request: ExperimentRequest,
        network: str,
        parts: ImageParts,
        oracle: NetworkGradients,
        make_seeded: Callable[[int], Any],
    ) -> None:
        self.request = request
        self.name = network
        self.train, self.test, self.is_published = parts
        self.oracle = oracle
        self.make_seeded = make_seeded
        self.evaluated_images = [
            part.part(np.arange(min(MAX_IMAGES, len(part.y))))
            for part in (self.train, self.test)
        ]

    @property
    def epochs(self) -> int:
        """Passes over the training images."""
        return self.request.epochs or (1 if self.request.is_smoke else DEFAULT_EPOCHS)

    @abstractmethod
    def statements(self) -> Sequence[OrderStatement]:
        """Return the orderings of the methods that the paper claims."""

    def start(self, seed: int) -> Vector:
        """Return the initial parameters of a seed."""
        return parameters_of(self.make_seeded(seed), self.oracle.names)

    def loss(self, w: Vector) -> float:
        return self.oracle.accuracy_and_loss(w, self.train)[1]

    def evaluate(self, w: Vector) -> tuple[float, ...]:
        return tuple(
            1.0 - self.oracle.accuracy_and_loss(w, images)[0]
            for images in self.evaluated_images
        )

    def measures(
        self,
        trial: TunedTrial,
        run: LongRun,
        seed: int,
        history: list[tuple[Any, ...]],
        seconds: float,
    ) -> NetworkRun:
        del trial, run
        return NetworkRun(seed=seed, seconds=seconds, path=history)

    def table(self, rows: list[NetworkRow]) -> NetworkTable:
        return NetworkTable(
            network=self.name,
            data=self.train.name,
            real=self.is_published,
            n=len(self.train.y),
            tested=len(self.test.y),
            d=len(self.oracle.start),
            rows=rows,
            orderings=network_orderings(self.statements(), rows),
        )


def network_orderings(
    statements: Sequence[OrderStatement], rows: Sequence[NetworkRow]
) -> list[ClaimedOrder]:
    """Judge each claimed ordering at each epsilon for which both methods have a row."""
    row_of = {(row.method, row.epsilon): row for row in rows if row.epsilon is not None}
    pairs = [
        OrderedPair(
            statement, row_of[name, epsilon], row_of[statement.other.name, epsilon]
        )
        for statement in statements
        for name, epsilon in row_of
        if name == statement.method.name and (statement.other.name, epsilon) in row_of
    ]
    return orderings(pairs, _differences)


def _differences(column: str, row: NetworkRow, other_row: NetworkRow) -> list[float]:
    return [
        _difference(column, run, other_run)
        for run, other_run in zip(row.runs, other_row.runs, strict=True)
    ]


def _difference(column: str, run: NetworkRun, other_run: NetworkRun) -> float:
    """Return the difference in the final error, or in the cost of reaching the larger of the two final test errors."""
    if column in ("train_error", "test_error"):
        return float(getattr(run, column) - getattr(other_run, column))
    level = max(run.test_error, other_run.test_error)
    costs = [
        compared_run.seconds / compared_run.path[-1][0] if column == "seconds" else 1.0
        for compared_run in (run, other_run)
    ]
    return costs[0] * run.reached(level) - costs[1] * other_run.reached(level)


@lru_cache(maxsize=512)
def network_noise(
    method: Algorithm[Any], n: int, steps: int, batch: int, batch_0: int, epsilon: float
) -> AccountedNoise:
    """Return the least noise that is certified for epsilon, in units of the sensitivity of the mean over all data."""
    kind: Kind = "recursive" if isinstance(method, RecursiveMomentum) else "descent"
    return least_noise(BatchRun(kind, n, steps, batch, batch_0), epsilon, DELTA)


def image_parts(
    request: ExperimentRequest, name: str, channels: int, side: int
) -> ImageParts:
    """Load the training and test images, or scikit-learn's digits if the request names no folder."""
    if request.data is None:
        train, test = (part.sized(channels, side) for part in digits(request.seed))
        is_published = False
    else:
        if name not in data_sets_in(request.data):
            raise DataError(request.data, f"has no {name}.")
        train, test = (mnist if name == "MNIST" else cifar10)(request.data)
        is_published = are_published(train, test)
        if not is_published:
            train = replace(train, name=f"{request.data.name}, which is not {name}")
        shape = channels, side, side
        if train.x.shape[1:] != shape or test.x.shape[1:] != shape:
            raise DataError(
                request.data,
                f"images of shape {train.x.shape[1:]} and {test.x.shape[1:]}, not {shape}.",
            )
    if request.n is not None:
        rows = generator(request.seed, SAMPLE_STREAM).choice(
            len(train.y), min(request.n, len(train.y)), replace=False
        )
        train = train.part(np.sort(rows))
    return ImageParts(train, test, is_published)


def data_sets_in(folder: Path) -> list[str]:
    """Return the names of the data sets in a folder; raise DataError if there are none."""
    if not folder.is_dir():
        raise DataError(folder, "must be a folder.")
    names = [path.name for path in folder.iterdir()]
    data_sets = (
        ["MNIST"] if any("-idx" in name or ".idx" in name for name in names) else []
    )
    if any(
        name.startswith(("data_batch_", "test_batch", "cifar-10-batches"))
        for name in names
    ):
        data_sets.append("CIFAR-10")
    if not data_sets:
        raise DataError(
            folder,
            "has neither train-images-idx3-ubyte (MNIST) nor data_batch_1.bin (binary CIFAR-10).",
        )
    return data_sets


def image_digest(request: ExperimentRequest, panels: list[NetworkPanel]) -> str:
    """Return the SHA-256 of all images."""
    del request
    digest = hashlib.sha256()
    for panel in panels:
        for images in (panel.train, panel.test):
            digest.update(images.x.tobytes() + images.y.tobytes())
    return digest.hexdigest()
