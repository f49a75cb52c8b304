"""How a command that writes files ends: with an exit code, and one line on stderr where there is no result."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from dpverify.kernels.check import ArgumentError
from dpverify.ledger.errors import printable
from dpverify.problems.errors import DataError
from dpverify.report.collect import ReportError
from dpverify.report.files import STDOUT, check_target

DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130


def answer(work: Callable[[], bool], json: str | None, figure: Path | None = None) -> int:
    """Do the work, and return the exit code; bad input and Ctrl-C get one line on stderr.

    ``work`` tells whether it was interrupted with something to show. What cannot be written is refused before it.
    """
    try:
        check_target("json", Path(json) if json not in (None, STDOUT) else None)
        check_target("figure", figure, suffix=".svg")
        return INTERRUPTED if work() else DONE
    except (ArgumentError, DataError, ReportError) as error:
        sys.stderr.write(f"dpverify: {printable(str(error), 2000)}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("dpverify: interrupted\n")
        return INTERRUPTED
