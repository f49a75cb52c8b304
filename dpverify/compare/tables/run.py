"""An experiment run: every method tuned alike, then run on every seed, at the printed and at the needed noise."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpverify.compare.records import source_of
from dpverify.compare.tables.data import TestedProblem, load
from dpverify.compare.tables.methods import ReadyMethod, ready
from dpverify.compare.tables.orderings import orderings
from dpverify.compare.tables.records import DataTable, MethodRow, RunMeasures, TableResult
from dpverify.compare.tables.settings import EPSILONS, METHODS, NOISES, Noise, TableRequest, grid, passes
from dpverify.harness.run.work import Means
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Vector
from dpverify.shared_types import ReportProgress

TUNING = 1 << 40  # added to the first seed: on this one settings are chosen, and it is none of those that count
LOOKS = 8  # times that a run is looked at on the way


class TableRows:
    """All rows of an experiment by number: data set by data set, and for each of them cell by cell."""

    label = "an experiment"
    terms = ()
    parts = (MethodRow,)

    def __init__(self, request: TableRequest, sets: list[TestedProblem]) -> None:
        self.request, self.sets, self.cells = request, sets, list(_cells())
        files = [source_of(file) for file in (request.data, request.test_data) if file is not None]
        self.asked = f"compare {replace(request, data=None, test_data=None)!r} {files}"

    def run(self, block: int) -> MethodRow:
        """Make a row."""
        which, cell = divmod(block, len(self.cells))
        return _row(self.request, self.sets[which], *self.cells[cell])


def run_table(
    request: TableRequest, command: str, report: ReportProgress | None = None, means: Means | None = None
) -> TableResult:
    """Make a table again, as ``command`` asks; after Ctrl-C, the data sets that are finished, if there is one."""
    began = time.perf_counter()
    sets = load(request)
    interrupted = False
    work = TableRows(request, sets)
    finished = dict[int, MethodRow]()
    cell_count = len(work.cells)
    try:
        for number, row in (means or Means()).outcomes(work, len(sets) * cell_count):
            finished[number] = row
            if report is not None:
                report(len(finished), len(sets) * cell_count, f"{sets[number // cell_count].name}, {row.method}")
    except KeyboardInterrupt:
        interrupted = True
    cells_of_set = [range(place * cell_count, (place + 1) * cell_count) for place in range(len(sets))]
    done = [
        _table(parts, [finished[number] for number in numbers])
        for parts, numbers in zip(sets, cells_of_set, strict=True)
        if all(number in finished for number in numbers)
    ]
    if not done:
        raise KeyboardInterrupt
    return TableResult(
        experiment=request.experiment,
        command=command,
        seeds=request.seeds,
        done=request.seeds,
        budget=request.budget,
        interrupted=interrupted,
        seconds=time.perf_counter() - began,
        tables=done,
    )


def _cells() -> Iterator[tuple[str, Noise, float]]:
    """Every method with every noise and epsilon; the one without noise once."""
    yield "storm", "needed", EPSILONS[0]
    for epsilon in EPSILONS:
        for noise in NOISES:
            yield from ((method, noise, epsilon) for method in METHODS if method != "storm")


def _table(parts: TestedProblem, rows: list[MethodRow]) -> DataTable:
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
        orderings=orderings(rows),
    )


def _row(request: TableRequest, parts: TestedProblem, method: str, noise: Noise, epsilon: float) -> MethodRow:
    """Choose the setting whose objective is least on the tuning seed, and run it on every seed."""
    n = len(parts.problem.x)
    data_passes = passes(request.table, epsilon, method)
    tried = [setting for setting in grid(method, request.budget) if setting[0] <= n]
    if not tried:
        raise ArgumentError("n", n, f"must be at least b of {method}, which is {grid(method, request.budget)[0][0]}")
    ready_methods = [ready(method, parts.problem, noise, epsilon, data_passes, *setting) for setting in tried]
    best = (
        ready_methods[0]
        if len(ready_methods) == 1
        else min(ready_methods, key=lambda one: _objective(one, parts, request.seed + TUNING))
    )
    return MethodRow(
        method=method,
        noise="none" if method == "storm" else noise,
        epsilon=epsilon,
        attained=best.epsilon.lower if best.epsilon else None,
        certified=best.epsilon.upper if best.epsilon else None,
        conditions=best.conditions,
        passes=data_passes,
        batch=best.batch,
        scale=float(best.scale),
        steps=best.steps,
        ratio=best.noise,
        tried=len(tried),
        runs=[_measured(best, parts, request.seed + index, data_passes) for index in range(request.seeds)],
    )


def _objective(method: ReadyMethod, parts: TestedProblem, seed: int) -> float:
    run = method.start(seed)
    try:
        run.advance()
    except ArgumentError:  # too long a step: the iterates have left the finite numbers
        return math.inf
    loss = parts.problem.loss(run.w)
    return loss if math.isfinite(loss) else math.inf


def _measured(method: ReadyMethod, parts: TestedProblem, seed: int, data_passes: int) -> RunMeasures:
    run = method.start(seed)
    path = list[tuple[float, float, float]]()
    seconds = 0.0
    for step in sorted({method.steps * look // LOOKS for look in range(LOOKS + 1)}):
        began = time.process_time()
        run.advance(step - run.t)
        seconds += time.process_time() - began
        path.append((data_passes * step / method.steps, *_objective_at(parts, run.w)))
    w = run.w
    z = parts.x_test @ w
    random_loss, random_norm = _objective_at(parts, run.output)
    measures = RunMeasures(
        seed=seed,
        test_error=float(np.mean((z > 0) != (parts.y_test == 1.0))),
        test_loss=float(np.logaddexp(0.0, (1.0 - 2.0 * parts.y_test) * z).mean()),
        loss=path[-1][1],
        gradient_norm=path[-1][2],
        random_loss=random_loss,
        random_gradient_norm=random_norm,
        seconds=seconds,
        path=path,
    )
    if not all(math.isfinite(value) for point in path for value in point):
        raise ArgumentError("data", parts.name, f"must keep the loss finite: it is not at seed {seed}")
    return measures


def _objective_at(parts: TestedProblem, w: Vector) -> tuple[float, float]:
    return parts.problem.loss(w), float(np.linalg.norm(parts.problem.gradient(w)))
