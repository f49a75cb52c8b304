"""The paper's algorithm and its baselines: one run in stages, with schedules as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.papers.zhang2021.algorithms.dpageem import StagedDescent
    from dpverify.papers.zhang2021.algorithms.stages import (
        Stage,
        StageSchedule,
        stagewise,
    )

__all__ = ["Stage", "StageSchedule", "StagedDescent", "stagewise"]

__getattr__, __dir__ = lazy_names(
    __name__, {"dpageem": "StagedDescent", "stages": "Stage StageSchedule stagewise"}
)
