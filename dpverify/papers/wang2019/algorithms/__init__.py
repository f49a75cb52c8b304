"""The algorithms of the paper: DP-SRM and its baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.papers.wang2019.algorithms.baselines import (
        AgdParameters,
        DpAgd,
        Storm,
        StormParameters,
        dp_gd,
        dp_sgd,
        rrpsgd,
    )
    from dpverify.papers.wang2019.algorithms.dp_srm import DdpSrm, DpSrm, SrmParameters

__all__ = [
    "AgdParameters",
    "DdpSrm",
    "DpAgd",
    "DpSrm",
    "SrmParameters",
    "Storm",
    "StormParameters",
    "dp_gd",
    "dp_sgd",
    "rrpsgd",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "dp_srm": "DdpSrm DpSrm SrmParameters",
        "baselines": "dp_gd dp_sgd rrpsgd AgdParameters DpAgd Storm StormParameters",
    },
)
