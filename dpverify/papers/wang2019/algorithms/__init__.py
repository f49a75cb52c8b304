"""The algorithms of the paper: DP-SRM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters

__all__ = ["DpSrm", "SrmParameters"]

__getattr__, __dir__ = lazy_names(__name__, {"dp_srm": "DpSrm SrmParameters"})
