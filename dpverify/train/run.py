"""The run itself: load, scale, train, measure."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Vector
from dpverify.problems.data import MOST_CLASSES, Dataset, load_dataset
from dpverify.problems.regression import Regression, measured, regression_problem, scaled
from dpverify.problems.sparse.rows import CsrRows, Rows
from dpverify.problems.stepped_run import LongRun
from dpverify.train.ddp import ddp_constants
from dpverify.train.optimizer import account, optimizer
from dpverify.train.parties import run_parties
from dpverify.train.records import (
    SRM,
    DataInfo,
    NoiseConstants,
    Point,
    Request,
    TrainResult,
    mean_gradient_norm,
)
from dpverify.train.settings import Settings
from dpverify.train.staged import staged_notes

MOST_POINTS = 100  # of a run that is not asked for more: loss and gradient norm are measured so often after the start
EVALUATIONS_PER_POINT = 2  # passes over the data in gradients with noise, for one in measuring: at most a fifth of both
UNNOTICED = 2_000_000  # numbers of the data that are measured in no time, some milliseconds, however short the run is

# Of sparse rows an example costs as much as 12 entries besides its own, and a coordinate of the iterate with its noise
# as much as 4, without as much as 2. In measuring, where all rows come from far away, that takes up to 4 times as long.
ROW, COORDINATE, WORK_PER_POINT = 12, 4, 16

SAMPLE_STREAM = 2  # the seed's stream that chooses examples; permutations and noise have streams 0 and 1

Report = Callable[[int, int, Point], None]


def train(request: Request, report: Report | None = None, dataset: Dataset | None = None) -> TrainResult:
    """Train with an algorithm of one of three papers from w_1 = 0, and measure loss and gradient norm on the way.

    Parameters
    ----------
    request : Request
        What to run.
    report : callable or None
        ``report(step, steps, point)``: called many times with the number of steps done, the number of steps of the
        whole run, and the last point measured.
    dataset : Dataset or None
        Data that are loaded already, or made from arrays by ``dataset_of``, instead of ``request.data``.

    Returns
    -------
    TrainResult
        The whole run; after Ctrl-C, what was done so far, with ``interrupted`` set. ``w`` is the last iterate;
        the iterate of which Theorems 6 and 9 speak is drawn from all of them, and ``mean_gradient_norm`` is about it.

    Raises
    ------
    DataError
        If the data cannot be used.
    ArgumentError
        If a setting is out of its domain, or the run leaves the finite numbers.

    Notes
    -----
    Source: Algorithms 1 and 2 of tran2022, with their V as printed, for ``depth`` levels; 1/sqrt(N T) and 1/N are the
    eta and the alpha of Theorems 6 and 9. Algorithm 1 of wang2019, with clipping as in its Remark 4.3.
    Algorithms 1 and 2 of zhang2021 with the schedules of its section 4.1.
    """
    if dataset is None:
        most = most_classes(request.algorithm)
        dataset = load_dataset(request.data, standardise=request.standardise, most=most)
    elif request.standardise and not dataset.standardised:
        raise ArgumentError("standardise", True, "must be left out for data that are given: nothing is done to them")
    if request.n is not None:
        dataset = dataset.sample(request.n, generator(request.seed, SAMPLE_STREAM))
    settings = request.settle(len(dataset.x))
    problem = problem_of(dataset, settings)
    settings, guarantee = account(request, settings, dataset, problem)
    began = time.perf_counter()
    if request.algorithm == "ddp-srm":
        constants, path, w = distributed(problem, request, settings, report)
        interrupted = False
    else:
        run, constants = optimizer(request.algorithm, problem, settings)
        steps = steps_to_measure(request, settings, problem)
        path, w, interrupted = _follow(run, problem, steps, report)
    return TrainResult(
        algorithm=request.algorithm,
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
        notes=[*_notes(request.algorithm, dataset, settings), *staged_notes(request, problem, settings)],
    )


def most_classes(algorithm: str) -> int:
    """How many classes an algorithm can tell apart at most."""
    return 2 if algorithm == "ddp-srm" else MOST_CLASSES


def data_info(dataset: Dataset, problem: Regression) -> DataInfo:
    """Describe the data of a problem."""
    n, d = len(problem.x), len(problem.start)
    return DataInfo(name=dataset.name, n=n, d=d, classes=dataset.classes, standardised=dataset.standardised)


def problem_of(dataset: Dataset, settings: Settings) -> Regression:
    """Scale the rows and make the problem; with scaled rows its constants do not depend on the data."""
    if settings.scale == "none":
        try:
            return regression_problem(dataset.x, dataset.y, len(dataset.classes), lam=settings.lam)
        except ValueError as error:
            raise ArgumentError("scale", settings.scale, f"must be unit or clip for these rows: {error}") from error
    x = scaled(dataset.x, settings.scale)
    return regression_problem(x, dataset.y, len(dataset.classes), lam=settings.lam, radius=1.0)


def _follow(
    run: LongRun, problem: Regression, stops: list[int], report: Report | None
) -> tuple[list[Point], Vector, bool]:
    """Advance to each step at which to measure; on Ctrl-C measure once more, where the run has come to."""
    path: list[Point] = []
    at: tuple[int, Vector] = (0, run.w)
    steps = stops[-1]

    def here(t: int, w: Vector) -> None:
        nonlocal at
        at = t, w
        if report is not None:
            report(t, steps, path[-1])

    def measure() -> None:
        path.append(_measure(problem, *at))
        if report is not None:
            report(at[0], steps, path[-1])

    try:
        measure()
        for step in stops:
            run.advance(step - run.t, here)
            measure()
    except KeyboardInterrupt:
        if not path or path[-1].step < at[0]:
            path.append(_measure(problem, *at))
        return path, at[1], True
    return path, at[1], False


def distributed(
    problem: Regression, request: Request, settings: Settings, report: Report | None
) -> tuple[NoiseConstants, list[Point], Vector]:
    """Run the parties of ddp-srm as processes; their noise, and the points of the path."""
    path, last = [_measure(problem, 0, problem.start)], problem.start

    def follow(t: int, w: Vector) -> None:
        nonlocal last
        path.append(_measure(problem, t, w))
        last = w
        if report is not None:
            report(t, settings.steps, path[-1])

    constants = ddp_constants(problem, settings)
    same = {name: getattr(settings, name) for name in ("steps", "sigma", "gamma", "eta", "batch", "parties")}
    asked = replace(request, **same, epochs=None, epsilon=None, delta=None, data=None, n=None)
    run_parties(problem.x, problem.y, asked, steps_to_measure(request, settings, problem), follow)
    return constants, path, last


def steps_to_measure(request: Request, settings: Settings, problem: Regression) -> list[int]:
    """Evenly spaced steps from 1 to T, the last one T: as many as are asked for, or as cost little beside the steps."""
    evaluations = settings.steps * (2 if request.algorithm in SRM else 1) * settings.batch
    cheap = cheap_points(problem.x, evaluations, settings.steps, noisy=settings.sigma > 0.0)
    points = min(settings.steps, request.points or max(1, min(MOST_POINTS, cheap)))
    return [settings.steps * i // points for i in range(1, points + 1)]


def cheap_points(x: Rows, evaluations: int, steps: int, *, noisy: bool) -> int:
    """How many points cost little beside a run, or are not noticed; work is counted in entries of rows."""
    if not isinstance(x, CsrRows):
        return max(evaluations // (EVALUATIONS_PER_POINT * len(x)), UNNOTICED // x.size)
    n, d = x.shape
    point = x.stored + ROW * n + COORDINATE * d
    run = evaluations * (x.stored / n + ROW) + steps * (COORDINATE if noisy else COORDINATE // 2) * d
    return max(int(run / (WORK_PER_POINT * point)), UNNOTICED // point)


def _measure(problem: Regression, step: int, w: Vector) -> Point:
    """Measure loss and gradient norm; refuse a run that has left the finite numbers."""
    with np.errstate(over="ignore", invalid="ignore"):  # only plain Python would warn; what comes of it is looked at
        loss, norm = measured(problem, w)
    if not (math.isfinite(loss) and math.isfinite(norm)):
        rule = "must be small enough for the loss to stay finite"
        raise ArgumentError("eta", f"a loss of {loss} at step {step}", rule)
    return Point(step=step, loss=loss, gradient_norm=norm)


def _notes(algorithm: str, dataset: Dataset, settings: Settings) -> list[str]:
    """Say what a user of the result should know."""
    n = len(dataset.x)
    floats = "not accounted for: noise is drawn as floats, by a generator that is not cryptographic"
    whole = "noise is drawn in whole units from the system's randomness; batches come from a seed that one user holds"
    notes = [
        whole if algorithm == "ddp-srm" else floats,
        "loss and gradient norm are computed from the data without noise: showing them to others is not private",
    ]
    if settings.sigma == 0:
        notes.append("sigma = 0: no noise was added")
    elif algorithm == "dp-nsgd" and settings.steps % n:
        visits = f"T/N = {settings.steps / n:.4g} visits of an example, up to {-(-settings.steps // n)} occur"
        notes.append(f"V as printed counts {visits}")
    if algorithm == "sr-nsgd" and settings.sigma > 0:
        notes.append("delta_Delta and delta_r as printed lack the factor L")
        if n == 1:
            notes.append("N = 1: both V as printed are 0, so no noise was added")
    if len(dataset.classes) > 2:
        notes.append("the classes are those that occur in the data: that there is an example of each is not hidden")
    if dataset.standardised:
        notes.append("columns were standardised with the data's own means and deviations, which no guarantee covers")
    if settings.scale == "none":
        notes.append("rows were not scaled: G is that of the longest row and depends on the data")
    return notes
