"""Run an experiment by name: all methods are tuned in the same way and run on all seeds."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from dpverify.compare.experiments.experiment import (
    Experiment,
    ExperimentRequest,
    Panel,
    RowCell,
    TunedTrial,
)
from dpverify.compare.experiments.network_panel import NetworkPanel, image_digest
from dpverify.compare.experiments.networks import network_panels
from dpverify.compare.experiments.records import (
    MethodRow,
    NetworkResult,
    NetworkRow,
    TableResult,
    TunedRow,
)
from dpverify.compare.experiments.stages import FIGURES, figure_panels
from dpverify.compare.experiments.tables import PAPER, table_panels, table_sources
from dpverify.harness.run.backend import Backend
from dpverify.kernels.check import ArgumentError
from dpverify.papers.wang2019.experiments.printed_results import TABLES
from dpverify.problems.networks.oracle import load_torch
from dpverify.shared_types import ReportProgress


def _with_networks(request: ExperimentRequest) -> list[NetworkPanel]:
    load_torch().set_num_threads(1)  # the last digits depend on the number of threads
    panels = figure_panels if request.experiment in FIGURES else network_panels
    return list(panels(request))


TABLE: Final = Experiment(
    table_panels,
    table_sources,
    MethodRow,
    TableResult,
    unused_arguments=("epochs", "settings"),
)
NETWORKS: Final = Experiment(
    _with_networks,
    image_digest,
    NetworkRow,
    NetworkResult,
    unused_arguments=("test_data",),
    sends_panels=False,
    requires_all_rows=False,
)

EXPERIMENTS: Final = {
    **dict.fromkeys((PAPER + name for name in TABLES), TABLE),
    "wang2019:section-6-2": NETWORKS,
    **dict.fromkeys(FIGURES, NETWORKS),
}


# added to the seed for tuning, so that no result uses the tuning seed
TUNING_SEED = 1 << 40


class RowsWork:
    """All rows of an experiment, numbered by data set and, for each data set, by cell."""

    label = "an experiment"
    terms = ()

    def __init__(self, request: ExperimentRequest) -> None:
        self.request = request
        self.parts = (self.experiment.row,)
        # ``sources`` identifies the data, wherever its files are
        request_without_files = replace(request, data=None, test_data=None)
        self.request_key = f"compare {request_without_files!r} {self.experiment.sources(request, self.panels)}"

    @property
    def experiment(self) -> Experiment:
        """The requested experiment."""
        return EXPERIMENTS[self.request.experiment]

    @cached_property
    def panels(self) -> list[Panel]:
        """The data sets of the experiment."""
        return self.experiment.panels(self.request)

    @cached_property
    def cells(self) -> list[tuple[Panel, RowCell]]:
        """All rows, each with its data set."""
        return [(panel, cell) for panel in self.panels for cell in panel.cells]

    def __getstate__(self) -> dict[str, object]:
        """Exclude attributes that a worker computes again."""
        left_out = ("cells",) if self.experiment.sends_panels else ("cells", "panels")
        return {
            name: value for name, value in vars(self).items() if name not in left_out
        }

    def run(self, block: int) -> TunedRow:
        """Compute a row: select the setting with the least loss on the tuning seed, and run it on all seeds."""
        panel, cell = self.cells[block]
        request = self.request
        trials = panel.trials(cell)
        best = trials[0]
        if len(trials) > 1:
            best = min(
                trials,
                key=lambda trial: tuning_loss(panel, trial, request.seed + TUNING_SEED),
            )
        else:
            # compile before the timed runs
            best.start(request.seed).advance(min(2, best.steps))
        return panel.row(
            method=cell.method.name,
            epsilon=cell.epsilon,
            attained=best.epsilon.lower if best.epsilon else None,
            certified=best.epsilon.upper if best.epsilon else None,
            steps=best.steps,
            tried=len(trials),
            runs=[
                measured_run(panel, best, request.seed + index)
                for index in range(request.seeds)
            ],
            **best.setting,
        )


def tuning_loss(panel: Panel, trial: TunedTrial, seed: int) -> float:
    """Return the loss at the end of a run, or infinity if the iterates diverge."""
    run = trial.start(seed)
    try:
        run.advance()
    except ArgumentError:  # the step is too long
        return math.inf
    loss = panel.loss(run.w)
    return loss if math.isfinite(loss) else math.inf


def measured_run(panel: Panel, trial: TunedTrial, seed: int) -> Any:
    """Run a setting, and measure it during the run and at its end."""
    run = trial.start(seed)
    history = list[tuple[Any, ...]]()
    seconds = 0.0
    for step in sorted(
        {
            trial.steps * evaluation // panel.evaluations
            for evaluation in range(panel.evaluations + 1)
        }
    ):
        start_time = time.process_time()
        run.advance(step - run.t)
        seconds += time.process_time() - start_time
        history.append((step, *panel.evaluate(run.w)))
    return panel.measures(trial, run, seed, history, seconds)


def run_experiment(
    request: ExperimentRequest,
    report: ReportProgress | None = None,
    backend: Backend | None = None,
) -> TableResult | NetworkResult:
    """Run an experiment of a paper; after Ctrl-C or the loss of the cluster, return the finished part.

    ``report(done, total, label)`` is called after each row. ``backend`` runs and caches the rows. Raises DataError if
    the data cannot be used, and KeyboardInterrupt if nothing was finished. Source: section 6 of wang2019, section 4 of
    zhang2021.
    """
    start_time = time.perf_counter()
    work = RowsWork(request)
    experiment = work.experiment

    def label(number: int, row: TunedRow) -> str:
        return f"{work.cells[number][0].name}, {row.method}"

    finished, interrupted = (backend or Backend()).run(
        work, len(work.cells), label, report
    )
    tables = []
    for panel in work.panels:
        numbers = [
            number
            for number, cell in enumerate(work.cells)
            if cell[0] is panel and number in finished
        ]
        if numbers and (
            len(numbers) == len(panel.cells) or not experiment.requires_all_rows
        ):
            tables.append(panel.table([finished[number] for number in numbers]))
    if not tables:
        raise KeyboardInterrupt
    return experiment.result(
        experiment=request.experiment,
        command=request.command,
        seeds=request.seeds,
        done=request.seeds,
        budget=request.budget,
        interrupted=interrupted,
        seconds=time.perf_counter() - start_time,
        tables=tables,
    )
