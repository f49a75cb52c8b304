"""Optimizers as objects: settings, runs, accountants, audits. ``ALGORITHMS`` has all of them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.algorithms.algorithm import Algorithm, Size
    from dpverify.algorithms.audited import AuditTarget
    from dpverify.algorithms.registry import ALGORITHMS
    from dpverify.algorithms.settings import NoisySettings, Setting, Settings

_HOMES = {
    "algorithm": "Algorithm Size",
    "audited": "AuditTarget",
    "registry": "ALGORITHMS",
    "settings": "NoisySettings Setting Settings",
}

__all__ = ["ALGORITHMS", "Algorithm", "AuditTarget", "NoisySettings", "Setting", "Settings", "Size"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
