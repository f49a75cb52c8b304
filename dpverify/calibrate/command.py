"""``dpverify calibrate`` without the command line: plain arguments in, text out, an exit code back."""

from __future__ import annotations

import sys
from pathlib import Path

from dpverify.calibrate.calibrate import calibrate
from dpverify.calibrate.request import CalibrateRequest
from dpverify.calibrate.result import encode
from dpverify.calibrate.words import summary
from dpverify.kernels.check import ArgumentError
from dpverify.ledger.errors import printable

DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130
STDOUT = "-"


def run_calibrate(request: CalibrateRequest | None = None, *, json: str | None = None, **arguments: object) -> int:
    """Calibrate, and write the answer.

    Parameters
    ----------
    request : CalibrateRequest or None
        What is asked; None: made from the arguments.
    json : str or None
        File for the :class:`~dpverify.calibrate.result.Calibration`, or ``-`` for stdout in place of the text.
    **arguments
        As :class:`~dpverify.calibrate.request.CalibrateRequest` takes them.

    Returns
    -------
    int
        0: done. 2: bad input, or no sigma can be certified; one line on stderr. 130: interrupted.
    """
    try:
        result = calibrate(request if request is not None else CalibrateRequest(**arguments))  # type: ignore[arg-type]  # checked there
        if json == STDOUT:
            sys.stdout.write(encode(result).decode("utf-8"))
            return DONE
        sys.stdout.write(summary(result) + "\n")
        if json is not None:
            _write(json, encode(result))
    except ArgumentError as error:
        sys.stderr.write(f"dpverify: {printable(str(error), 2000)}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("dpverify: interrupted\n")
        return INTERRUPTED
    return DONE


def _write(target: str, content: bytes) -> None:
    try:
        Path(target).write_bytes(content)
    except OSError as error:
        raise ArgumentError("json", target, f"must be a file that can be written ({error.strerror})") from error
    sys.stdout.write(f"wrote {target}\n")
