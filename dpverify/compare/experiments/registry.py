"""All experiments by name."""

from __future__ import annotations

from typing import Final

from dpverify.compare.experiments.experiment import Experiment, ExperimentRequest
from dpverify.compare.experiments.network_panel import NetworkPanel, image_sources
from dpverify.compare.experiments.networks import network_panels
from dpverify.compare.experiments.records import MethodRow, NetworkResult, NetworkRow, TableResult
from dpverify.compare.experiments.stages import FIGURES, figure_panels
from dpverify.compare.experiments.tables import PAPER, table_panels, table_sources
from dpverify.papers.wang2019.experiments.tables import TABLES
from dpverify.problems.networks.oracle import load_torch


def _with_networks(request: ExperimentRequest) -> list[NetworkPanel]:
    load_torch().set_num_threads(1)  # the last digit depends on it
    panels = figure_panels if request.experiment in FIGURES else network_panels
    return list(panels(request))


TABLE: Final = Experiment(table_panels, table_sources, MethodRow, TableResult, without=("epochs", "settings"))
NETWORKS: Final = Experiment(
    _with_networks,
    image_sources,
    NetworkRow,
    NetworkResult,
    without=("test_data",),
    is_sent=False,
    is_whole=False,
)

EXPERIMENTS: Final = {
    **dict.fromkeys((PAPER + name for name in TABLES), TABLE),
    "wang2019:section-6-2": NETWORKS,
    **dict.fromkeys(FIGURES, NETWORKS),
}
