"""``dpverify calibrate`` without the command line: plain arguments in, text out, an exit code back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dpverify.calibrate.calibrate import calibrate
from dpverify.calibrate.request import CalibrateRequest
from dpverify.calibrate.words import summary
from dpverify.kernels.check import ArgumentError
from dpverify.ledger.errors import printable
from dpverify.ledger.records import encode
from dpverify.report.files import STDOUT, check_target, write_whole

DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130


def run_calibrate(request: CalibrateRequest | None = None, *, json: str | None = None, **arguments: Any) -> int:
    """Calibrate, and write the answer.

    Parameters
    ----------
    request : CalibrateRequest or None
        What is asked; None: made from the arguments.
    json : str or None
        File for the ``Calibration``, or ``-`` for stdout in place of the text.
    **arguments
        As ``CalibrateRequest`` takes them.

    Returns
    -------
    int
        0: done. 2: bad input, or no sigma can be certified; one line on stderr. 130: interrupted.
    """
    try:
        check_target("json", Path(json) if json not in (None, STDOUT) else None)
        result = calibrate(request if request is not None else CalibrateRequest(**arguments))
        if json == STDOUT:
            sys.stdout.write(encode(result).decode("utf-8"))
            return DONE
        sys.stdout.write(summary(result) + "\n")
        if json is not None:
            write_whole("json", Path(json), encode(result))
            sys.stdout.write(f"wrote {json}\n")
    except ArgumentError as error:
        sys.stderr.write(f"dpverify: {printable(str(error), 2000)}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("dpverify: interrupted\n")
        return INTERRUPTED
    return DONE
