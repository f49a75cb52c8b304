"""An experiment with networks made: every method on every network and data set, tuned alike, over seeds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from dpverify.compare.networks.records import NetworkResult, NetworkRow, NetworkRun, NetworkTable
from dpverify.compare.networks.settings import NetworkRequest, Panel, ReadyNetwork
from dpverify.compare.tables.run import TUNING
from dpverify.kernels.check import ArgumentError
from dpverify.problems.networks.oracle import load_torch

LOOKS = 16  # times that a run is looked at on the way
SHOWN = 5000  # images of either part that are looked at, at most

Report = Callable[[int, int, str], None]


def run_networks(request: NetworkRequest, command: str, report: Report | None = None) -> NetworkResult:
    """Make an experiment; after Ctrl-C, the rows that are finished, if there is one."""
    from dpverify.compare.networks import figures_1_2, section_6_2

    panels = figures_1_2.panels if request.experiment in figures_1_2.FIGURES else section_6_2.panels
    load_torch().set_num_threads(1)  # the last digit depends on it
    began, done, interrupted = time.perf_counter(), list[NetworkTable](), False
    try:
        for panel in panels(request):
            done.append(_table(panel, []))
            for row in _rows(request, panel, report):
                done[-1] = _table(panel, [*done[-1].rows, row])
    except KeyboardInterrupt:
        done = [table for table in done if table.rows]
        if not done:
            raise
        interrupted = True
    return NetworkResult(
        experiment=request.experiment,
        command=command,
        seeds=request.seeds,
        budget=request.budget,
        interrupted=interrupted,
        seconds=time.perf_counter() - began,
        tables=done,
    )


def _table(panel: Panel, rows: list[NetworkRow]) -> NetworkTable:
    return NetworkTable(
        network=panel.network,
        data=panel.train.name,
        real=panel.real,
        n=len(panel.train.y),
        tested=len(panel.test.y),
        d=len(panel.oracle.start),
        rows=rows,
        orderings=panel.orderings(rows),
    )


def _rows(request: NetworkRequest, panel: Panel, report: Report | None) -> Iterator[NetworkRow]:
    """Choose for each method the setting whose loss is least on the tuning seed, and run it on every seed."""
    for place, (method, epsilon) in enumerate(panel.cells):
        tried = list(panel.trials(method, epsilon))
        if len(tried) == 1:
            best = tried[0]
            best.start(request.seed).advance(min(2, best.steps))  # so that nothing is compiled while a clock runs
        else:
            best = min(tried, key=lambda one: _loss(one, panel, request.seed + TUNING))
        row = NetworkRow(
            method=method,
            epsilon=epsilon,
            attained=best.epsilon.lower if best.epsilon else None,
            certified=best.epsilon.upper if best.epsilon else None,
            setting=best.setting,
            steps=best.steps,
            tried=len(tried),
            runs=[],
        )
        for index in range(request.seeds):
            row = msgspec.structs.replace(row, runs=[*row.runs, _measured(best, panel, request.seed + index)])
        if report is not None:
            report(place + 1, len(panel.cells), f"{panel.network}, {method}")
        yield row


def _loss(one: ReadyNetwork, panel: Panel, seed: int) -> float:
    run = one.start(seed)
    try:
        run.advance()
    except ArgumentError:  # too long a step: the iterates have left the finite numbers
        return math.inf
    loss = panel.oracle.judged(run.w, panel.train)[1]
    return loss if math.isfinite(loss) else math.inf


def _measured(one: ReadyNetwork, panel: Panel, seed: int) -> NetworkRun:
    run, path, seconds = one.start(seed), list[tuple[int, float, float]](), 0.0
    looked = [part.part(np.arange(min(SHOWN, len(part.y)))) for part in (panel.train, panel.test)]
    for step in sorted({one.steps * look // LOOKS for look in range(LOOKS + 1)}):
        began = time.process_time()
        run.advance(step - run.t)
        seconds += time.process_time() - began
        train, test = (1.0 - panel.oracle.judged(run.w, images)[0] for images in looked)
        path.append((step, train, test))
    return NetworkRun(seed=seed, seconds=seconds, path=path)
