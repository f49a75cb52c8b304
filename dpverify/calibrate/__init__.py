"""``dpverify calibrate``: which sigma?"""

from dpverify.calibrate.command import run_calibrate

__all__ = ["run_calibrate"]
