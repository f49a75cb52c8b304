"""Tables 2 and 3 of wang2019 in the settings of section 6.1, on the user's files or on bundled and synthetic data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy.special import expit

from dpverify.algorithms.algorithm import Algorithm
from dpverify.algorithms.baselines import DP_AGD, DP_GD, RRPSGD, STORM, DpAgdAlgorithm
from dpverify.algorithms.dp_srm import DDP_SRM, DP_SRM
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
from dpverify.compare.experiments.records import (
    ClaimedOrder,
    DataTable,
    MethodRow,
    RunMeasures,
)
from dpverify.compare.experiments.table_methods import has_batches, trial_of
from dpverify.compare.records import source_of
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Vector
from dpverify.papers.wang2019.experiments.printed_results import TABLES, PaperTable
from dpverify.problems.data import Dataset, load_dataset
from dpverify.problems.errors import DataError
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.regression import logistic_problem
from dpverify.problems.sampled_run import SampledRun
from dpverify.problems.sparse.logistic import SparseLogistic
from dpverify.problems.sparse.rows import CsrRows, Rows

SAMPLE_STREAM = 2
SPLIT_STREAM = 3
HELD_OUT = 0.2
SHARE_ERROR = 0.005  # tolerance of the rarer class's fraction, which the paper rounds
LAM = 0.001  # weight of the regularizer in section 6.1


@dataclass(frozen=True, eq=False)
class TestedProblem:
    """A training problem and its test data; rows are not scaled, since gradients are clipped."""

    name: str
    problem: LogisticRegression | SparseLogistic
    x_test: Rows
    y_test: Vector
    is_published: bool  # whether this is the paper's data set


def load(request: ExperimentRequest, table: PaperTable) -> list[TestedProblem]:
    """Load the requested data sets."""
    if request.data is None:
        sets = [
            made_up(table),
            _held_out(
                "breast_cancer (bundled)",
                load_dataset(),
                request.seed,
                is_published=False,
            ),
        ]
    elif request.test_data is None:
        dataset = load_dataset(request.data, standardise=False)
        sets = [
            _held_out(
                dataset.name,
                dataset,
                request.seed,
                is_published=_is_published(dataset, table),
            )
        ]
    else:
        sets = [_two_files(request, table)]
    return [
        parts if request.n is None else _fewer(parts, request.n, request.seed)
        for parts in sets
    ]


def _is_published(dataset: Dataset, table: PaperTable) -> bool:
    """Test whether a file has the shape of the table's data set and the same fraction of the rarer class."""
    rarer = min(np.mean(dataset.y), 1 - np.mean(dataset.y))
    same_size = dataset.x.shape == (table.examples, table.features)
    return same_size and bool(abs(rarer - table.positive) < SHARE_ERROR)


def _two_files(request: ExperimentRequest, table: PaperTable) -> TestedProblem:
    first = load_dataset(request.data, standardise=False)
    second = load_dataset(request.test_data, standardise=False, known=first.classes)
    name = str(request.test_data)
    d = first.x.shape[1]
    wide = second.x.shape[1]
    if wide > d:
        raise DataError(name, f"has {wide} features, the data to train on have {d}.")
    x = second.x
    x_test = (
        x.widened(d) if isinstance(x, CsrRows) else np.pad(x, ((0, 0), (0, d - wide)))
    )
    is_published = _is_published(first, table) and len(second.y) == table.tested
    return TestedProblem(
        first.name,
        logistic_problem(first.x, first.y, lam=LAM),
        x_test,
        second.y,
        is_published=is_published,
    )


def _held_out(
    name: str, data: Dataset, seed: int, *, is_published: bool
) -> TestedProblem:
    n = len(data.x)
    order = generator(seed, SPLIT_STREAM).permutation(n)
    test = order[: max(1, round(HELD_OUT * n))]
    train = order[max(1, round(HELD_OUT * n)) :]
    if len(train) == 0:
        raise DataError(
            name, f"has {n} example, at least 2 are needed where no test file is given."
        )
    problem = logistic_problem(data.x[train], data.y[train], lam=LAM)
    return TestedProblem(
        name, problem, data.x[test], data.y[test], is_published=is_published
    )


def _fewer(parts: TestedProblem, n: int, seed: int) -> TestedProblem:
    dataset = Dataset(
        parts.name, parts.problem.x, parts.problem.y, ("0", "1"), standardised=False
    )
    drawn = dataset.sample(min(n, len(dataset.x)), generator(seed, SAMPLE_STREAM))
    return replace(parts, problem=logistic_problem(drawn.x, drawn.y, lam=LAM))


def made_up(table: PaperTable) -> TestedProblem:
    """Return fixed synthetic data with the paper's numbers of examples and features and fraction of the rarer class.

    With more than 100 features, the features are 14 one-hot groups, whose frequencies decrease. Otherwise, they are one
    one-hot group of 10 columns, and numbers. Labels are drawn from a logistic model.
    """
    rng = np.random.default_rng(table.features)
    n = table.examples + table.tested
    d = table.features
    ends = np.linspace(0, d, 15).astype(int) if d > 100 else np.array([0, 10])
    x = np.zeros((n, d))
    for a, b in itertools.pairwise(ends):
        frequent = 1.0 / np.arange(1, b - a + 1)
        x[np.arange(n), a + rng.choice(b - a, n, p=frequent / frequent.sum())] = 1.0
    x[:, ends[-1] :] = np.clip(0.3 * rng.standard_normal((n, d - ends[-1])), -1.0, 1.0)
    score = x @ rng.standard_normal(d) * 1.5
    low, high = -50.0, 50.0
    while high - low > 1e-9:  # bisect for the offset that gives the requested fraction
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high)
            if expit(score + middle).mean() < table.positive
            else (low, middle)
        )
    y = (rng.random(n) < expit(score + low)).astype(np.float64)
    name = f"made up, of the shape of {table.data}"
    cut = table.examples
    return TestedProblem(
        name,
        LogisticRegression(x[:cut], y[:cut], lam=LAM),
        x[cut:],
        y[cut:],
        is_published=False,
    )


PAPER: Final = "wang2019:"
EPSILONS: Final = (0.2, 0.5)
NOISES: Final[tuple[Noise, ...]] = ("printed", "needed")

METHODS: Final[tuple[Algorithm[Any], ...]] = (
    STORM,
    DP_GD,
    DP_AGD,
    RRPSGD,
    DP_SGD,
    DP_SRM,
    DDP_SRM,
)
"""STORM without noise; the paper's three baselines; DP-SGD, its baseline in section 6.2; the paper's two algorithms."""

BASELINES: Final[tuple[Algorithm[Any], ...]] = (DP_GD, DP_AGD, RRPSGD)
PASSES_OF: Final[dict[str, str]] = {STORM.name: DP_GD.name, DP_SGD.name: DP_SRM.name}
"""Methods without printed passes, with the methods whose printed passes they use."""

CLAIMS: Final = {
    "section-6-1-order-objective": ("loss",),
    "section-6-1-order-gradient-norm": ("gradient_norm",),
    "section-6-1-order-convergence": ("loss_at_equal_passes",),
    "section-6-1-order-test-error": ("test_error", "test_loss"),
    "section-6-1-order-cpu-time": ("seconds",),
}
"""Records of wang2019, with the columns that decide them. The printed test errors look like losses, hence test_loss."""

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
"""Grids: the printed b, for each method with batches; multiples of the step length from
theory; for DP-AGD, which chooses its step lengths, the number of parts into which the
choices split half of epsilon."""


def grid(method: Algorithm[Any], *, is_smoke: bool) -> list[tuple[int, float]]:
    """Return the batch size (0 if not set) and the multiple (for DP-AGD, the number of parts) of each setting."""
    batches: tuple[int, ...] = BATCHES if has_batches(method) else (0,)
    scales: tuple[float, ...] = (
        SPLITS if isinstance(method, DpAgdAlgorithm) else MULTIPLES
    )
    if is_smoke:
        batches = batches[len(batches) // 2 :][:1]
        scales = scales[2:3]
    return list(itertools.product(batches, scales))


def table_of(experiment: str) -> PaperTable:
    """Return the table of an experiment."""
    return TABLES[experiment.removeprefix(PAPER)]


def cells() -> list[RowCell]:
    """Return all methods with all kinds of noise and epsilons; the non-private method occurs once."""
    private = [method for method in METHODS if method.is_private]
    every = [
        RowCell(method, epsilon, noise)
        for epsilon, noise, method in itertools.product(EPSILONS, NOISES, private)
    ]
    return [RowCell(STORM, EPSILONS[0], "needed"), *every]


class TablePanel(Panel):
    """A table on a data set."""

    evaluations = 8
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
        return [
            trial_of(method, problem, noise, epsilon, passes, *setting)
            for setting in settings
        ]

    def loss(self, w: Vector) -> float:
        return self.parts.problem.loss(w)

    def evaluate(self, w: Vector) -> tuple[float, float]:
        return self.parts.problem.loss(w), float(
            np.linalg.norm(self.parts.problem.gradient(w))
        )

    def measures(
        self,
        trial: TunedTrial,
        run: SampledRun,
        seed: int,
        history: list[tuple[Any, ...]],
        seconds: float,
    ) -> RunMeasures:
        parts = self.parts
        z = parts.x_test @ run.w
        random_loss, random_norm = self.evaluate(run.output)
        *_, (_, loss, norm) = history
        if not all(math.isfinite(value) for point in history for value in point):
            raise ArgumentError(
                "data",
                parts.name,
                f"must keep the loss finite: it is not at seed {seed}",
            )
        return RunMeasures(
            seed=seed,
            test_error=float(np.mean((z > 0) != (parts.y_test == 1.0))),
            test_loss=float(np.logaddexp(0.0, (1.0 - 2.0 * parts.y_test) * z).mean()),
            loss=loss,
            gradient_norm=norm,
            random_loss=random_loss,
            random_gradient_norm=random_norm,
            seconds=seconds,
            path=[
                (trial.setting["passes"] * step / trial.steps, *measurement)
                for step, *measurement in history
            ],
        )

    def table(self, rows: list[MethodRow]) -> DataTable:
        parts = self.parts
        n, d = parts.problem.x.shape
        positive = float(parts.problem.y.mean())
        share = float(parts.y_test.mean())
        chance = min(max(positive, 1e-12), 1.0 - 1e-12)
        return DataTable(
            name=parts.name,
            real=parts.is_published,
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
    """Judge DP-SRM against each baseline and DP-SGD at the same noise and epsilon."""
    row_of = {(row.method, row.noise, row.epsilon): row for row in rows}
    return orderings(
        [
            OrderedPair(
                s,
                row_of[s.method.name, noise, epsilon],
                row_of[s.other.name, noise, epsilon],
            )
            for epsilon, noise in itertools.product(EPSILONS, NOISES)
            for s in STATEMENTS
        ],
        _differences,
    )


def _differences(column: str, row: MethodRow, other_row: MethodRow) -> list[float]:
    values = (_values(row, column, row.passes), _values(other_row, column, row.passes))
    return [a - b for a, b in zip(*values, strict=True)]


def _values(row: MethodRow, column: str, passes: int) -> list[float]:
    """Return the values of a column by seed; ``loss_at_equal_passes`` interpolates the objective after ``passes``."""
    if column != "loss_at_equal_passes":
        return [float(getattr(run, column)) for run in row.runs]
    return [
        line([(x, loss) for x, loss, _ in run.path], float(passes)) for run in row.runs
    ]


def table_panels(request: ExperimentRequest) -> list[TablePanel]:
    """Load the data sets of a table."""
    return [
        TablePanel(request, parts)
        for parts in load(request, table_of(request.experiment))
    ]


def table_sources(request: ExperimentRequest, panels: list[TablePanel]) -> str:
    """Return a text that identifies the files; synthetic data are determined by the request."""
    del panels
    return str(
        [
            source_of(file)
            for file in (request.data, request.test_data)
            if file is not None
        ]
    )
