"""Run a comparison of optimizers with the same data, privacy and splits, over many seeds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator

from dpverify.compare.methods import BASELINE, METHODS, STANDARDISED, Method, prepare
from dpverify.compare.records import (
    CompareRequest,
    CompareResult,
    MethodResult,
    SeedOutcome,
    differences,
    intervals,
)
from dpverify.harness.run.backend import Backend
from dpverify.kernels import check
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems.data import Dataset, is_bundled, load_dataset
from dpverify.problems.errors import MOST_CLASSES
from dpverify.problems.regression import (
    Regression,
    gradient_norm,
    measured,
    predicted,
    regression_problem,
    scaled,
)
from dpverify.problems.rows import RowScaling
from dpverify.problems.sparse.rows import CsrRows, Rows
from dpverify.shared_types import ReportProgress
from dpverify.train.run import SAMPLE_STREAM, data_info

SPLIT_STREAM = 3  # random stream of a seed for the split into training and test part


def compare(
    request: CompareRequest,
    report: ReportProgress | None = None,
    dataset: Dataset | None = None,
    backend: Backend | None = None,
) -> CompareResult:
    """Run every method on every seed.

    Parameters
    ----------
    request : CompareRequest
        The checked request.
    report : callable or None
        Progress callback ``report(done, total, label)``, called after each run and
        while a file is read.
    dataset : Dataset or None
        Data made from arrays by ``dataset_of``, used instead of ``request.data``. Such
        data are standardised only on request.
    backend : Backend or None
        Executes and caches the runs. By default they run in this process without a
        cache.

    Returns
    -------
    CompareResult
        The whole comparison. After Ctrl-C or the loss of the cluster, it contains the
        seeds that every method has finished.

    Raises
    ------
    DataError
        If the data cannot be used.
    ArgumentError
        If a setting is out of its domain, or no noise can be certified.
    KeyboardInterrupt
        If the comparison was interrupted before every method finished a seed.
    """
    start_time = time.perf_counter()
    dataset = _load(request, report, dataset)
    first_split = _split(request, dataset, request.seed)
    problem = first_split.problem
    n = len(problem.x)
    batch = (
        round(math.sqrt(n))
        if request.batch is None
        else check.whole(1, n, batch=request.batch)
    )
    work = Comparison(request, dataset, batch)
    methods = work.methods
    outcomes, interrupted = _run(work, report, backend)
    baseline_outcomes = outcomes[METHODS.index(BASELINE)]
    return CompareResult(
        data=data_info(dataset, problem),
        tested=len(first_split.x_test),
        epsilon=request.epsilon,
        delta=request.delta,
        lipschitz=problem.lipschitz,
        smoothness=problem.smoothness,
        lam=request.lam,
        scale=request.scale,
        seeds=request.seeds,
        done=len(baseline_outcomes),
        interrupted=interrupted,
        seconds=time.perf_counter() - start_time,
        methods=[
            _result(method, outcomes_of_method, baseline_outcomes)
            for method, outcomes_of_method in zip(methods, outcomes, strict=True)
        ],
        notes=_notes(dataset.standardised),
    )


def _load(
    request: CompareRequest,
    report: ReportProgress | None = None,
    arrays: Dataset | None = None,
) -> Dataset:
    """Load the data unchanged; ``standardised`` of the result says whether to standardise columns after the split."""

    def progress(done: int, size: int) -> None:
        if report is not None:
            report(done, size, f"reading {request.data}")

    is_bundled_data = arrays is None and is_bundled(request.data)
    standardise = (
        is_bundled_data if request.standardise is None else request.standardise
    )
    dataset = arrays or load_dataset(
        request.data,
        standardise=False,
        dense=standardise,
        most=MOST_CLASSES,
        progress=progress,
    )
    if standardise and isinstance(dataset.x, CsrRows):
        raise check.ArgumentError(
            "standardise",
            standardise,
            "must be left out for sparse rows: it would fill them",
        )
    if request.n is not None:
        dataset = dataset.sample(request.n, generator(request.seed, SAMPLE_STREAM))
    test_size(len(dataset.x), request.test_part)
    return replace(dataset, standardised=standardise)


def _split(request: CompareRequest, dataset: Dataset, seed: int) -> Split:
    return split(
        dataset,
        request.test_part,
        generator(seed, SPLIT_STREAM),
        request.scale,
        request.lam,
    )


class Comparison:
    """All runs of a comparison, numbered by seed and, for each seed, by method."""

    label = "a comparison"
    terms = ()
    parts = (SeedOutcome,)

    def __init__(self, request: CompareRequest, dataset: Dataset, batch: int) -> None:
        self.request = request
        self.dataset = dataset
        self.batch = batch
        self.names = (*METHODS, *request.also)
        # a run does not depend on the number of seeds
        request_without_data = replace(request, data=None, seeds=2)
        self.request_key = f"compare {request_without_data!r} {dataset.digest}"

    @cached_property
    def methods(self) -> list[Method]:
        """The methods, calibrated for the split of the first seed."""
        problem = _split(self.request, self.dataset, self.request.seed).problem
        return [
            prepare(self.request.shared(), name, self.dataset, problem, self.batch)
            for name in self.names
        ]

    def __getstate__(self) -> dict[str, object]:
        """Exclude the methods, which can be computed again."""
        return {name: value for name, value in vars(self).items() if name != "methods"}

    def run(self, block: int) -> SeedOutcome:
        """Run one method on one seed."""
        index, place = divmod(block, len(self.names))
        seed = self.request.seed + index
        return _measure(
            self.methods[place], _split(self.request, self.dataset, seed), seed
        )


def _run(
    work: Comparison, report: ReportProgress | None, backend: Backend | None
) -> tuple[list[list[SeedOutcome]], bool]:
    """Run all methods on all seeds; on Ctrl-C, keep the leading seeds that all methods have finished."""
    count = len(work.names)
    total = work.request.seeds * count

    def label(number: int, outcome: SeedOutcome) -> str:
        return f"seed {outcome.seed}, {work.names[number % count]}"

    outcomes, interrupted = (backend or Backend()).run(work, total, label, report)
    done = (
        next((number for number in range(total) if number not in outcomes), total)
        // count
    )
    if done == 0:
        raise KeyboardInterrupt
    return [
        [outcomes[index * count + place] for index in range(done)]
        for place in range(count)
    ], interrupted


def _measure(method: Method, parts: Split, seed: int) -> SeedOutcome:
    """Run a method and measure its iterates, including the error on the held-out examples."""
    problem = parts.problem
    with np.errstate(over="ignore", invalid="ignore"):  # the results are checked below
        iterates = method.run(problem, seed)
        w = iterates.last
        loss, norm = measured(problem, w)
        mean = math.fsum(
            gradient_norm(problem, iterate) for iterate in iterates.selected
        ) / len(iterates.selected)
        test_error = float(np.mean(predicted(problem, w, parts.x_test) != parts.y_test))
    if not (math.isfinite(loss) and math.isfinite(norm) and math.isfinite(mean)):
        value = f"a loss of {loss} by {method.name}"
        raise check.ArgumentError("eta or epsilon", value, "must keep the loss finite")
    return SeedOutcome(
        seed=seed,
        gradient_norm=norm,
        mean_gradient_norm=mean,
        loss=loss,
        test_error=test_error,
    )


def _result(
    method: Method, outcomes: list[SeedOutcome], baseline: list[SeedOutcome]
) -> MethodResult:
    return MethodResult(
        name=method.name,
        steps=method.numbers.steps,
        batch=method.numbers.batch,
        eta=method.numbers.eta,
        sigma=method.sigma,
        noise_std=method.noise_std,
        epsilon=method.guarantee.epsilon,
        delta=method.guarantee.delta,
        privacy=method.guarantee.words,
        outcomes=outcomes,
        means=intervals(outcomes),
        minus_dp_nsgd={}
        if method.name == BASELINE
        else differences(outcomes, baseline),
    )


def _notes(standardise: bool) -> list[str]:
    """Return notes for the reader of a comparison."""
    notes = [
        "each interval is a 95% t-interval over splits and noise on this data set, and says nothing about other data",
        "nsgd: alpha = 1/N, gamma = min(1, eta N), a fresh permutation in each epoch, as in train",
        "no step length was tuned to the data; other choices may change the order of the methods",
        "step length of nsgd: 1/sqrt(N T), as Theorems 6 and 9 print, or the given one",
        "step length of dp-gd and dp-sgd: minimizes 2R/(eta T) + L eta V, at most 1/L",
        "step length of dp-srm: zeta = gamma = C_2 as in Theorem 4.4 of wang2019, with the constant 1",
        "gradient, loss and test error are those of the last iterate",
        "mean: the mean gradient norm over at most 50 evenly spaced iterates, which Theorems 6 and 9 bound",
        "not accounted for: noise is drawn as floats, by a generator that is not cryptographic",
        "the values are computed from the data without noise: showing them to others is not private",
    ]
    if standardise:
        notes.append(f"{STANDARDISED}, which no guarantee covers")
    return notes


@dataclass(frozen=True, eq=False)
class Split:
    """A problem on the training part, and the test part; rows are scaled."""

    problem: Regression
    x_test: Rows  # shape (m, p)
    y_test: Vector


def test_size(n: int, part: float) -> int:
    """Return how many of n examples are held out: ``part * n`` rounded, at least 1."""
    held_out = max(1, round(part * n))
    if held_out >= n:
        raise check.ArgumentError(
            "test_part",
            part,
            f"must leave at least one of the {n} examples for training",
        )
    return held_out


def split(
    dataset: Dataset, part: float, rng: Generator, scale: RowScaling, lam: float
) -> Split:
    """Hold out a random part of the examples. Both parts keep the order of the examples."""
    n = len(dataset.x)
    held_out = np.zeros(n, dtype=np.bool_)
    held_out[rng.permutation(n)[: test_size(n, part)]] = True
    x = dataset.x[~held_out]
    x_test = dataset.x[held_out]
    # else rejected
    if (
        dataset.standardised
        and not isinstance(x, CsrRows)
        and not isinstance(x_test, CsrRows)
    ):
        x, x_test = _standardised(x, x_test)
    rows = scaled(x, scale)
    y = dataset.y[~held_out]
    problem = regression_problem(rows, y, len(dataset.classes), lam=lam, radius=1.0)
    return Split(problem, scaled(x_test, scale), dataset.y[held_out])


def _standardised(x: Matrix, x_test: Matrix) -> tuple[Matrix, Matrix]:
    """Standardise both with the means and deviations of ``x``; columns that are constant in ``x`` become 0."""
    largest = np.abs(x).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    mean = (x / unit).mean(axis=0)
    deviation = (x / unit).std(axis=0)
    constant = deviation <= 1e-14
    safe = np.where(constant, 1.0, deviation)
    first, second = (
        np.where(constant, 0.0, (part / unit - mean) / safe) for part in (x, x_test)
    )
    return first, second
