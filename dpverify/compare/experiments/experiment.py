"""Interfaces of an experiment: its data sets and, for each, methods, grids, measures and claimed orderings."""

from __future__ import annotations

import math
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from dpverify.algorithms.algorithm import Algorithm
from dpverify.compare.experiments.records import (
    ClaimedOrder,
    ComparedData,
    NetworkResult,
    TableResult,
    TunedRow,
    Verdict,
)
from dpverify.compare.records import MeanInterval, corrected_level, interval
from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.privacy.participation import Bounds
from dpverify.problems.stepped_run import LongRun

DELTA = 1e-5
Noise: TypeAlias = Literal["printed", "needed"]
SettingT = TypeVar("SettingT")


@dataclass(frozen=True)
class ExperimentRequest:
    """Arguments of an experiment; raise ArgumentError for one that is out of its domain or not used by the experiment.

    For a table, ``data`` and ``test_data`` are LIBSVM or CSV files to train and to test on. Without a test file, a
    fifth of the data is held out. Without data, synthetic data of the paper's shape and scikit-learn's breast cancer
    data are used. For networks, ``data`` is a folder with MNIST in IDX files or CIFAR-10 in its binary version. Without
    it, scikit-learn's digits are used. ``n`` is the number of training examples, drawn at random. ``epochs`` is the
    number of passes over the images. ``settings`` is the largest number of settings that each method tries. Seeds are
    ``seed``, .., ``seed + seeds - 1``. With the ``budget`` ``standard``, whole grids are tried; with ``smoke``, a
    single setting.
    """

    experiment: str
    data: Path | None = None
    test_data: Path | None = None
    n: int | None = None
    epochs: int | None = None
    settings: int | None = None
    seeds: int = 10
    seed: int = 0
    budget: str = "standard"

    def __post_init__(self) -> None:
        from dpverify.compare.experiments.run import EXPERIMENTS

        if self.experiment not in EXPERIMENTS:
            raise check.ArgumentError(
                "experiment",
                self.experiment,
                f"must be one of {', '.join(EXPERIMENTS)}",
            )
        for name in EXPERIMENTS[self.experiment].unused_arguments:
            if getattr(self, name) is not None:
                raise check.ArgumentError(
                    name,
                    getattr(self, name),
                    "must be left out: the experiment has its own",
                )
        if self.test_data is not None and self.data is None:
            raise check.ArgumentError(
                "test_data", self.test_data, "must come with data to train on"
            )
        if self.budget not in ("smoke", "standard"):
            raise check.ArgumentError(
                "budget", self.budget, "must be one of smoke, standard"
            )
        check.whole(2, seeds=self.seeds)
        check.whole(0, seed=self.seed)
        if self.n is not None:
            check.whole(10, n=self.n)
        if self.epochs is not None:
            check.whole(1, epochs=self.epochs)
        if self.settings is not None:
            check.whole(1, settings=self.settings)

    @property
    def is_smoke(self) -> bool:
        """Whether a single setting is run without tuning."""
        return self.budget == "smoke"

    @property
    def command(self) -> str:
        """The request as a command line without default values and without the folders of files."""
        words = ["dpverify", "compare", "--experiment", self.experiment]
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default and field.name != "experiment":
                words += [
                    f"--{field.name.replace('_', '-')}",
                    value.name if isinstance(value, Path) else str(value),
                ]
        return shlex.join(words)


def spread(grid: Sequence[SettingT], most: int | None) -> list[SettingT]:
    """Return at most ``most`` evenly spread settings of a grid: the middle of each of ``most`` equal parts."""
    if most is None or most >= len(grid):
        return list(grid)
    return [grid[(2 * part + 1) * len(grid) // (2 * most)] for part in range(most)]


class RowCell(NamedTuple):
    """A row of a table: a method and epsilon, with the printed or the needed noise."""

    method: Algorithm[Any]
    epsilon: float | None  # None without privacy
    noise: Noise = "needed"


@dataclass(frozen=True)
class TunedTrial:
    """A method with one setting; ``start(seed)`` begins a run. ``epsilon`` bounds the epsilon of its noise."""

    steps: int
    epsilon: Bounds | None
    start: Callable[[int], LongRun]
    setting: Mapping[str, Any]  # further fields of the row


class OrderStatement(NamedTuple):
    """The statement of a claim that ``method`` has a smaller value in a column than ``other``."""

    claim: str
    column: str
    method: Algorithm[Any]
    other: Algorithm[Any]


class Panel(ABC):
    """A data set of an experiment, with its methods, settings and measures."""

    name: str  # name for a progress bar
    cells: Sequence[RowCell]  # its rows
    evaluations: ClassVar[int]  # number of measurements during a run, after the start
    row: ClassVar[type[TunedRow]]  # record type of a row

    @abstractmethod
    def trials(self, cell: RowCell) -> list[TunedTrial]:
        """Return the method of a row with each setting of its grid."""

    @abstractmethod
    def loss(self, w: Vector) -> float:
        """Return the loss on the training part, by which a setting is chosen."""

    @abstractmethod
    def evaluate(self, w: Vector) -> tuple[float, ...]:
        """Measure an iterate during a run."""

    @abstractmethod
    def measures(
        self,
        trial: TunedTrial,
        run: Any,
        seed: int,
        history: list[tuple[Any, ...]],
        seconds: float,
    ) -> Any:
        """Return the record of a run with its final measures; ``history`` contains steps and values of ``evaluate``."""

    @abstractmethod
    def table(self, rows: list[Any]) -> ComparedData:
        """Return the record of all finished rows."""


@dataclass(frozen=True)
class Experiment:
    """Functions and record types of an experiment of a paper."""

    panels: Callable[[ExperimentRequest], list[Any]]
    # identifies the data in the result cache
    sources: Callable[[ExperimentRequest, list[Any]], str]
    row: type[TunedRow]
    result: Callable[..., TableResult | NetworkResult]
    unused_arguments: tuple[
        str, ...
    ]  # arguments of ExperimentRequest that it does not use
    # whether data sets are sent to workers; otherwise each worker loads them
    sends_panels: bool = True
    # whether a table is omitted unless all of its rows are finished
    requires_all_rows: bool = True


class OrderedPair(NamedTuple):
    """A statement and the two rows that decide it."""

    statement: OrderStatement
    row: Any
    other: Any


def orderings(
    pairs: Sequence[OrderedPair], differences: Callable[[str, Any, Any], list[float]]
) -> list[ClaimedOrder]:
    """Judge statements by the paired differences of their rows, with intervals corrected for all statements."""
    level = corrected_level(max(1, len(pairs)))
    return list(_orders(pairs, differences, level))


def _orders(
    pairs: Sequence[OrderedPair],
    differences: Callable[[str, Any, Any], list[float]],
    level: float,
) -> Iterator[ClaimedOrder]:
    for statement, row, other_row in pairs:
        difference = interval(differences(statement.column, row, other_row), level)
        yield ClaimedOrder(
            claim=statement.claim,
            noise=getattr(row, "noise", ""),
            epsilon=row.epsilon or 0.0,
            column=statement.column,
            method=row.method,
            other=other_row.method,
            difference=difference,
            seen=verdict_of(difference),
        )


def verdict_of(difference: MeanInterval) -> Verdict:
    """Return "as claimed" if the whole interval is below 0, since smaller values are better."""
    words: dict[str, Verdict] = {"lower": "as claimed", "higher": "the other way round"}
    return words.get(difference.seen, "no difference seen")


def line(points: Sequence[tuple[float, float]], x: float) -> float:
    """Interpolate linearly between points at x; the curve is constant beyond its ends."""
    if not points:
        return math.nan
    before = [point for point in points if point[0] <= x] or [points[0]]
    after = [point for point in points if point[0] >= x] or [points[-1]]
    (x0, y0), (x1, y1) = before[-1], after[0]
    return y0 if x1 <= x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)
