"""``dpverify calibrate``: which sigma?"""

from __future__ import annotations

from dpverify.calibrate.command import run_calibrate

__all__ = ["run_calibrate"]
