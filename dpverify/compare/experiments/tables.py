"""Tables 2 and 3 of wang2019, with what its section 6.1 prints of their settings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from dpverify.algorithms.algorithm import Algorithm
from dpverify.algorithms.baselines import DP_AGD, DP_GD, RRPSGD, STORM, DpAgdAlgorithm
from dpverify.algorithms.ddp_srm import DDP_SRM
from dpverify.algorithms.dp_srm import DP_SRM
from dpverify.algorithms.dpageem import DP_SGD
from dpverify.compare.experiments.experiment import (
    ExperimentRequest,
    Noise,
    OrderedPair,
    OrderStatement,
    Panel,
    RowCell,
    TunedTrial,
    line,
    orderings,
)
from dpverify.compare.experiments.records import ClaimedOrder, DataTable, MethodRow, RunMeasures
from dpverify.compare.experiments.table_data import TestedProblem, load
from dpverify.compare.experiments.table_methods import has_batches, trial_of
from dpverify.compare.records import source_of
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Vector
from dpverify.papers.wang2019.experiments.tables import TABLES, PaperTable
from dpverify.problems.sampled_run import SampledRun

PAPER: Final = "wang2019:"
EPSILONS: Final = (0.2, 0.5)
NOISES: Final[tuple[Noise, ...]] = ("printed", "needed")

METHODS: Final[tuple[Algorithm[Any], ...]] = (STORM, DP_GD, DP_AGD, RRPSGD, DP_SGD, DP_SRM, DDP_SRM)
"""No noise; the paper's three baselines; DP-SGD, which it compares with in section 6.2; its own two."""

BASELINES: Final[tuple[Algorithm[Any], ...]] = (DP_GD, DP_AGD, RRPSGD)
PASSES_OF: Final[dict[str, str]] = {STORM.name: DP_GD.name, DP_SGD.name: DP_SRM.name}
"""Passes are as printed; methods of which nothing is printed have those of another one."""

CLAIMS: Final = {
    "section-6-1-order-objective": ("loss",),
    "section-6-1-order-gradient-norm": ("gradient_norm",),
    "section-6-1-order-convergence": ("loss_at_equal_passes",),
    "section-6-1-order-test-error": ("test_error", "test_loss"),
    "section-6-1-order-cpu-time": ("seconds",),
}
"""Records of wang2019, and the columns that decide them; test_loss too, since the printed errors look like losses."""

NOT_CLAIMED: Final = "not claimed: against DP-SGD"


def _statements() -> Iterator[OrderStatement]:
    for claim, columns in CLAIMS.items():
        for column, baseline in itertools.product(columns, BASELINES):
            yield OrderStatement(claim, column, DP_SRM, baseline)
    for column in itertools.chain.from_iterable(CLAIMS.values()):
        yield OrderStatement(NOT_CLAIMED, column, DP_SRM, DP_SGD)


STATEMENTS: Final = tuple(_statements())

BATCHES: Final = (50, 100, 200)
MULTIPLES: Final = tuple(4.0**power for power in range(-2, 5))
SPLITS: Final = (4.0, 6.0, 8.0, 12.0, 16.0)
"""The grids: b as printed, for each method that has batches; multiples of the step length that theory gives; for
DP-AGD, which chooses its steps, into how many parts the choices split half of epsilon."""


def grid(method: Algorithm[Any], *, is_smoke: bool) -> list[tuple[int, float]]:
    """Batch (0: the method has its own) and multiple, of DP-AGD number of parts, of each setting that is tried."""
    batches: tuple[int, ...] = BATCHES if has_batches(method) else (0,)
    scales: tuple[float, ...] = SPLITS if isinstance(method, DpAgdAlgorithm) else MULTIPLES
    if is_smoke:
        batches = batches[len(batches) // 2 :][:1]
        scales = scales[2:3]
    return list(itertools.product(batches, scales))


def table_of(experiment: str) -> PaperTable:
    """Return a table by its experiment's name."""
    return TABLES[experiment.removeprefix(PAPER)]


def cells() -> list[RowCell]:
    """Return every method with every noise and epsilon; the one without noise once."""
    private = [method for method in METHODS if method.is_private]
    every = [RowCell(method, epsilon, noise) for epsilon, noise, method in itertools.product(EPSILONS, NOISES, private)]
    return [RowCell(STORM, EPSILONS[0], "needed"), *every]


class TablePanel(Panel):
    """A table on a data set."""

    looks = 8
    row = MethodRow

    def __init__(self, request: ExperimentRequest, parts: TestedProblem) -> None:
        self.request = request
        self.parts = parts
        self.name = parts.name
        self.cells = cells()

    def trials(self, cell: RowCell) -> list[TunedTrial]:
        problem = self.parts.problem
        method, epsilon, noise = cell
        assert epsilon is not None
        whole_grid = grid(method, is_smoke=self.request.is_smoke)
        settings = [setting for setting in whole_grid if setting[0] <= len(problem.x)]
        if not settings:
            rule = f"must be at least b of {method.name}, which is {whole_grid[0][0]}"
            raise ArgumentError("n", len(problem.x), rule)
        rows = table_of(self.request.experiment).rows
        passes = rows[epsilon, PASSES_OF.get(method.name, method.name)].passes
        return [trial_of(method, problem, noise, epsilon, passes, *setting) for setting in settings]

    def loss(self, w: Vector) -> float:
        return self.parts.problem.loss(w)

    def look(self, w: Vector) -> tuple[float, float]:
        return self.parts.problem.loss(w), float(np.linalg.norm(self.parts.problem.gradient(w)))

    def measures(
        self, trial: TunedTrial, run: SampledRun, seed: int, path: list[tuple[Any, ...]], seconds: float
    ) -> RunMeasures:
        parts = self.parts
        z = parts.x_test @ run.w
        random_loss, random_norm = self.look(run.output)
        *_, (_, loss, norm) = path
        if not all(math.isfinite(value) for point in path for value in point):
            raise ArgumentError("data", parts.name, f"must keep the loss finite: it is not at seed {seed}")
        return RunMeasures(
            seed=seed,
            test_error=float(np.mean((z > 0) != (parts.y_test == 1.0))),
            test_loss=float(np.logaddexp(0.0, (1.0 - 2.0 * parts.y_test) * z).mean()),
            loss=loss,
            gradient_norm=norm,
            random_loss=random_loss,
            random_gradient_norm=random_norm,
            seconds=seconds,
            path=[(trial.setting["passes"] * step / trial.steps, *look) for step, *look in path],
        )

    def table(self, rows: list[MethodRow]) -> DataTable:
        parts = self.parts
        n, d = parts.problem.x.shape
        positive = float(parts.problem.y.mean())
        share = float(parts.y_test.mean())
        chance = min(max(positive, 1e-12), 1.0 - 1e-12)
        return DataTable(
            name=parts.name,
            real=parts.real,
            n=n,
            tested=len(parts.x_test),
            d=d,
            majority=1.0 - share if positive > 0.5 else share,
            constant=-share * math.log(chance) - (1.0 - share) * math.log(1.0 - chance),
            smoothness=parts.problem.smoothness,
            rows=rows,
            orderings=table_orderings(rows),
        )


def table_orderings(rows: Sequence[MethodRow]) -> list[ClaimedOrder]:
    """Judge DP-SRM against every baseline, and DP-SGD besides, at the same noise and epsilon."""
    row_of = {(row.method, row.noise, row.epsilon): row for row in rows}
    return orderings(
        [
            OrderedPair(s, row_of[s.method.name, noise, epsilon], row_of[s.other.name, noise, epsilon])
            for epsilon, noise in itertools.product(EPSILONS, NOISES)
            for s in STATEMENTS
        ],
        _differences,
    )


def _differences(column: str, row: MethodRow, other_row: MethodRow) -> list[float]:
    values = (_values(row, column, row.passes), _values(other_row, column, row.passes))
    return [a - b for a, b in zip(*values, strict=True)]


def _values(row: MethodRow, column: str, passes: int) -> list[float]:
    """A column by seed; ``loss_at_equal_passes`` is the objective after as many passes, between two looks a line."""
    if column != "loss_at_equal_passes":
        return [float(getattr(run, column)) for run in row.runs]
    return [line([(x, loss) for x, loss, _ in run.path], float(passes)) for run in row.runs]


def table_panels(request: ExperimentRequest) -> list[TablePanel]:
    """Load the data sets of a table."""
    return [TablePanel(request, parts) for parts in load(request, table_of(request.experiment))]


def table_sources(request: ExperimentRequest, panels: list[TablePanel]) -> str:
    """Name the files; what is made up follows from the request."""
    del panels
    return str([source_of(file) for file in (request.data, request.test_data) if file is not None])
