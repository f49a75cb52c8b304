"""A training run: load, scale, train, measure."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.algorithms.algorithm import Algorithm
from dpverify.algorithms.settings import Settings
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Vector
from dpverify.problems.data import Dataset, load_dataset
from dpverify.problems.regression import (
    Regression,
    measured,
    regression_problem,
    scaled,
)
from dpverify.problems.sparse.rows import CsrRows, Rows
from dpverify.train.records import (
    DataInfo,
    Point,
    Request,
    TrainResult,
    account,
    mean_gradient_norm,
)

# default number of measurements of loss and gradient norm after the start
MOST_POINTS = 100
# training passes per measuring pass; measuring then takes at most a fifth
EVALUATIONS_PER_POINT = 2
# entries of the data that any run may measure; this takes milliseconds
UNNOTICED = 2_000_000

# Costs on sparse rows, in entries: an example costs 12 besides its own entries. A
# coordinate of the iterate costs 4 with noise and 2 without. Measuring reads all rows
# from memory, which takes up to 4 times as long.
ROW = 12
COORDINATE = 4
WORK_PER_POINT = 16

# stream of the seed that chooses examples; permutations and noise use streams 0 and 1
SAMPLE_STREAM = 2

ReportPoint = Callable[[int, int, Point], None]


def train(
    request: Request, report: ReportPoint | None = None, dataset: Dataset | None = None
) -> TrainResult:
    """Train with an algorithm of one of three papers from w_1 = 0, and measure loss and gradient norm during the run.

    Parameters
    ----------
    request : Request
        The algorithm, its settings, and the data.
    report : callable or None
        ``report(step, steps, point)``: called many times with the number of steps done,
        the total number of steps, and the last measurement.
    dataset : Dataset or None
        Data to use instead of ``request.data``, already loaded or made from arrays by
        ``dataset_of``.

    Returns
    -------
    TrainResult
        The complete run, or after Ctrl-C the steps done so far, with ``interrupted``
        set. ``w`` is the last iterate. Theorems 6 and 9 are about an iterate drawn from
        all; ``mean_gradient_norm`` estimates its expected norm.

    Raises
    ------
    DataError
        If the data cannot be used.
    ArgumentError
        If a setting is out of its domain, or loss or gradient become infinite or NaN.

    Notes
    -----
    Source: Algorithms 1 and 2 of tran2022, with V as printed, for ``depth`` levels; the defaults 1/sqrt(N T) and 1/N
    are eta and alpha in Theorems 6 and 9. Algorithm 1 of wang2019, with clipping as in its Remark 4.3.
    Algorithms 1 and 2 of zhang2021 with the schedules of its section 4.1.
    """
    if dataset is None:
        dataset = load_dataset(
            request.data,
            standardise=request.standardise,
            most=request.algorithm.most_classes,
        )
    elif request.standardise and not dataset.standardised:
        raise ArgumentError(
            "standardise",
            True,
            "must be left out for data given as arrays, which are used unchanged",
        )
    algorithm = request.algorithm
    if request.n is not None:
        dataset = dataset.sample(
            request.n, generator(request.settings.get("seed", 0), SAMPLE_STREAM)
        )
    settings = request.settle(len(dataset.x))
    problem = problem_of(dataset, settings)
    settings, guarantee = account(request, settings, dataset, problem)
    began = time.perf_counter()
    constants = algorithm.constants(problem, settings)
    path, w, interrupted = _follow(
        algorithm,
        problem,
        settings,
        steps_to_measure(request, settings, problem),
        report,
    )
    return TrainResult(
        algorithm=algorithm.name,
        data=data_info(dataset, problem),
        privacy=guarantee.words,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        settings=settings,
        constants=constants,
        path=path,
        mean_gradient_norm=mean_gradient_norm(path),
        w=w.tolist(),
        interrupted=interrupted,
        seconds=time.perf_counter() - began,
        notes=_notes(request, dataset, problem, settings),
    )


def data_info(dataset: Dataset, problem: Regression) -> DataInfo:
    """Return the description of the data of a problem."""
    n = len(problem.x)
    d = len(problem.start)
    return DataInfo(
        name=dataset.name,
        n=n,
        d=d,
        classes=dataset.classes,
        standardised=dataset.standardised,
    )


def problem_of(dataset: Dataset, settings: Settings) -> Regression:
    """Return the problem on the scaled rows; if rows are scaled, its constants do not depend on the data."""
    if settings.scale == "none":
        try:
            return regression_problem(
                dataset.x, dataset.y, len(dataset.classes), lam=settings.lam
            )
        except ValueError as error:
            raise ArgumentError(
                "scale", settings.scale, f"must be unit or clip for these rows: {error}"
            ) from error
    x = scaled(dataset.x, settings.scale)
    return regression_problem(
        x, dataset.y, len(dataset.classes), lam=settings.lam, radius=1.0
    )


def _follow(
    algorithm: Algorithm[Any],
    problem: Regression,
    settings: Settings,
    stops: list[int],
    report: ReportPoint | None,
) -> tuple[list[Point], Vector, bool]:
    """Run and measure at each stop. After Ctrl-C, measure once more at the current step."""
    path: list[Point] = []
    at: tuple[int, Vector] = (0, problem.start)

    def moved(t: int, w: Vector) -> None:
        nonlocal at
        at = t, w
        if report is not None:
            report(t, stops[-1], path[-1])

    def stopped(t: int, w: Vector) -> None:
        nonlocal at
        at = t, w
        path.append(_measure(problem, t, w))
        if report is not None:
            report(t, stops[-1], path[-1])

    try:
        algorithm.run(problem, settings, stops, moved, stopped)
    except KeyboardInterrupt:
        if not path or path[-1].step < at[0]:
            path.append(_measure(problem, *at))
        return path, at[1], True
    return path, at[1], False


def steps_to_measure(
    request: Request, settings: Settings, problem: Regression
) -> list[int]:
    """Return evenly spaced steps up to T, as many as requested, or as many as are cheap compared to the run."""
    evaluations = settings.steps * request.algorithm.gradients_per_step(
        settings, len(problem.x)
    )
    cheap = cheap_points(
        problem.x,
        evaluations,
        settings.steps,
        noisy=request.algorithm.is_noisy(settings),
    )
    points = min(settings.steps, request.points or max(1, min(MOST_POINTS, cheap)))
    return [settings.steps * i // points for i in range(1, points + 1)]


def cheap_points(x: Rows, evaluations: int, steps: int, *, noisy: bool) -> int:
    """Return the number of measurements that are cheap in absolute terms or compared to the run, in entries of rows."""
    if not isinstance(x, CsrRows):
        return max(evaluations // (EVALUATIONS_PER_POINT * len(x)), UNNOTICED // x.size)
    n, d = x.shape
    point = x.stored + ROW * n + COORDINATE * d
    run = (
        evaluations * (x.stored / n + ROW)
        + steps * (COORDINATE if noisy else COORDINATE // 2) * d
    )
    return max(int(run / (WORK_PER_POINT * point)), UNNOTICED // point)


def _measure(problem: Regression, step: int, w: Vector) -> Point:
    """Return loss and gradient norm; raise an ArgumentError if they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):  # the result is checked below
        loss, norm = measured(problem, w)
    if not (math.isfinite(loss) and math.isfinite(norm)):
        rule = "must be small enough for the loss to stay finite"
        raise ArgumentError("eta", f"a loss of {loss} at step {step}", rule)
    return Point(step=step, loss=loss, gradient_norm=norm)


def _notes(
    request: Request, dataset: Dataset, problem: Regression, settings: Settings
) -> list[str]:
    """Return remarks for the user of the result."""
    notes = [
        request.algorithm.noise_note,
        "loss and gradient norm are computed from the data without noise: showing them to others is not private",
    ]
    if not request.algorithm.is_noisy(settings):
        notes.append("sigma = 0: no noise was added")
    notes += request.algorithm.notes(request.settings, problem, settings)
    if len(dataset.classes) > 2:
        notes.append(
            "the classes are read from the data, which reveals that each class has an example"
        )
    if dataset.standardised:
        notes.append(
            "columns were standardised with the data's own means and deviations, which no guarantee covers"
        )
    if settings.scale == "none":
        notes.append(
            "rows were not scaled: G is that of the longest row and depends on the data"
        )
    return notes
