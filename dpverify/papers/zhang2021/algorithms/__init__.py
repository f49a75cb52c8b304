"""The algorithm of the paper and what it is compared with: one run in stages, with schedules as data."""

from dpverify.papers.zhang2021.algorithms.dpageem import StagedDescent
from dpverify.papers.zhang2021.algorithms.stages import Stage, StageSchedule, stagewise

__all__ = ["Stage", "StageSchedule", "StagedDescent", "stagewise"]
