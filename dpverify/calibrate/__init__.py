"""The command ``dpverify calibrate``: the noise for a target epsilon and delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.calibrate.command import run_calibrate

__all__ = ["run_calibrate"]

__getattr__, __dir__ = lazy_names(__name__, {"command": "run_calibrate"})
