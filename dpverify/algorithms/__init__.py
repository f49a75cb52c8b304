"""Optimizers as objects with settings, runs, accountants and audits. ``ALGORITHMS`` maps names to these objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.algorithms.algorithm import Algorithm, ProblemSize
    from dpverify.algorithms.audited import AuditTarget
    from dpverify.algorithms.registry import ALGORITHMS, algorithm_named
    from dpverify.algorithms.settings import (
        NoisySettings,
        SettingInfo,
        Settings,
        described,
        options,
    )

_HOMES = {
    "algorithm": "Algorithm ProblemSize",
    "audited": "AuditTarget",
    "registry": "ALGORITHMS algorithm_named",
    "settings": "NoisySettings SettingInfo Settings described options",
}

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "AuditTarget",
    "NoisySettings",
    "ProblemSize",
    "SettingInfo",
    "Settings",
    "algorithm_named",
    "described",
    "options",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
