"""An experiment with networks made: every method on every network and data set, tuned alike, over seeds."""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import replace
from functools import cached_property

import numpy as np

from dpverify.compare.networks.records import NetworkResult, NetworkRow, NetworkRun, NetworkTable
from dpverify.compare.networks.settings import NetworkRequest, Panel, ReadyNetwork
from dpverify.compare.tables.run import TUNING
from dpverify.harness.run.work import Means
from dpverify.kernels.check import ArgumentError
from dpverify.problems.networks.oracle import load_torch
from dpverify.shared_types import ReportProgress

LOOKS = 16  # times that a run is looked at on the way
SHOWN = 5000  # images of either part that are looked at, at most


class NetworkRows:
    """All rows of an experiment with networks by number: panel by panel, and for each of them cell by cell."""

    label = "an experiment with networks"
    terms = ()
    parts = (NetworkRow,)

    def __init__(self, request: NetworkRequest) -> None:
        self.request = request
        digest = hashlib.sha256()
        for images in (part for panel in self.panels for part in (panel.train, panel.test)):
            digest.update(images.x.tobytes() + images.y.tobytes())
        self.asked = f"compare {replace(request, data=None)!r} {digest.hexdigest()}"

    @cached_property
    def panels(self) -> list[Panel]:
        """The networks on their data sets; a worker reads these from the same folder."""
        from dpverify.compare.networks import figures_1_2, section_6_2

        load_torch().set_num_threads(1)  # the last digit depends on it
        panels = figures_1_2.panels if self.request.experiment in figures_1_2.FIGURES else section_6_2.panels
        return list(panels(self.request))

    @cached_property
    def cells(self) -> list[tuple[Panel, str, float | None]]:
        """Every panel with every method and epsilon."""
        return [(panel, *cell) for panel in self.panels for cell in panel.cells]

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is worked out again."""
        return {"request": self.request, "asked": self.asked}

    def run(self, block: int) -> NetworkRow:
        """Make a row."""
        return _row(self.request, *self.cells[block])


def run_networks(
    request: NetworkRequest, command: str, report: ReportProgress | None = None, means: Means | None = None
) -> NetworkResult:
    """Make an experiment; after Ctrl-C, the rows that are finished, if there is one."""
    began = time.perf_counter()
    work = NetworkRows(request)
    interrupted = False
    finished = dict[int, NetworkRow]()
    try:
        for number, row in (means or Means()).outcomes(work, len(work.cells)):
            finished[number] = row
            if report is not None:
                report(len(finished), len(work.cells), f"{work.cells[number][0].network}, {row.method}")
    except KeyboardInterrupt:
        if not finished:
            raise
        interrupted = True
    rows = [
        [finished[number] for number, cell in enumerate(work.cells) if cell[0] is panel and number in finished]
        for panel in work.panels
    ]
    done = [_table(panel, panel_rows) for panel, panel_rows in zip(work.panels, rows, strict=True) if panel_rows]
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


def _row(request: NetworkRequest, panel: Panel, method: str, epsilon: float | None) -> NetworkRow:
    """Choose for a method the setting whose loss is least on the tuning seed, and run it on every seed."""
    tried = list(panel.trials(method, epsilon))
    if len(tried) == 1:
        best = tried[0]
        best.start(request.seed).advance(min(2, best.steps))  # so that nothing is compiled while a clock runs
    else:
        best = min(tried, key=lambda one: _loss(one, panel, request.seed + TUNING))
    return NetworkRow(
        method=method,
        epsilon=epsilon,
        attained=best.epsilon.lower if best.epsilon else None,
        certified=best.epsilon.upper if best.epsilon else None,
        setting=best.setting,
        steps=best.steps,
        tried=len(tried),
        runs=[_measured(best, panel, request.seed + index) for index in range(request.seeds)],
    )


def _loss(setting: ReadyNetwork, panel: Panel, seed: int) -> float:
    run = setting.start(seed)
    try:
        run.advance()
    except ArgumentError:  # too long a step: the iterates have left the finite numbers
        return math.inf
    loss = panel.oracle.judged(run.w, panel.train)[1]
    return loss if math.isfinite(loss) else math.inf


def _measured(setting: ReadyNetwork, panel: Panel, seed: int) -> NetworkRun:
    run = setting.start(seed)
    path = list[tuple[int, float, float]]()
    seconds = 0.0
    looked = [part.part(np.arange(min(SHOWN, len(part.y)))) for part in (panel.train, panel.test)]
    for step in sorted({setting.steps * look // LOOKS for look in range(LOOKS + 1)}):
        began = time.process_time()
        run.advance(step - run.t)
        seconds += time.process_time() - began
        train, test = (1.0 - panel.oracle.judged(run.w, images)[0] for images in looked)
        path.append((step, train, test))
    return NetworkRun(seed=seed, seconds=seconds, path=path)
