"""``dpverify calibrate`` without the command line: plain arguments in, text out, an exit code back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dpverify.calibrate.calibrate import calibrate
from dpverify.calibrate.request import CalibrateRequest
from dpverify.calibrate.words import summary
from dpverify.ledger.records import encode
from dpverify.report.files import STDOUT, answer, write_whole


def run_calibrate(*, json: str | None = None, **asked: Any) -> int:
    """Calibrate as ``CalibrateRequest`` asks, write text or JSON (``-``: to stdout), and give the exit code."""

    def work() -> bool:
        result = calibrate(CalibrateRequest(**asked))
        if json == STDOUT:
            sys.stdout.write(encode(result).decode("utf-8"))
            return False
        sys.stdout.write(summary(result) + "\n")
        if json is not None:
            write_whole("json", Path(json), encode(result))
            sys.stdout.write(f"wrote {json}\n")
        return False

    return answer(work, json)
