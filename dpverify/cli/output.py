"""Shared option types, checks of output files, and error messages of commands."""

from __future__ import annotations

import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

from cyclopts import Parameter, Token

if TYPE_CHECKING:
    from dpverify.ledger.records import Record
    from dpverify.report.folder import RecordedPage

    RecordT = TypeVar("RecordT", bound=Record)

OK = 0
BAD_INPUT = 2
INTERNAL_FAILURE = 3
INTERRUPTED = 130
BROKEN_PIPE = 141


class BadInput(Exception):  # noqa: N818 it is what happened, and main turns it into one line
    """Raised for invalid input; the message is one line with the variable, the value and the rule."""

    def __init__(self, variable: str, value: object, rule: str) -> None:
        super().__init__(f"{variable} {value}: {rule}")

    def __reduce__(self) -> tuple[Callable[[str], BadInput], tuple[str]]:
        return _bad_input, (str(self),)  # also raised in child processes


def _bad_input(line: str) -> BadInput:
    error = BadInput.__new__(BadInput)
    error.args = (line,)
    return error


def complain(message: str) -> None:
    """Print a message on stderr as one line. If stderr cannot be written, do nothing."""
    from dpverify.ledger.errors import printable

    with suppress(OSError, ValueError):
        print(
            f"dpverify: {printable(' '.join(message.split()), 2000)}",
            file=sys.stderr,
            flush=True,
        )


TRACEBACK = "DPVERIFY_TRACEBACK"  # environment variable that requests a traceback


def internal_failure(error: BaseException) -> int:
    """Report an unexpected exception on one line, with its traceback if requested, and return the exit code."""
    from dpverify.foreign import error_text

    with_traceback = os.environ.get(TRACEBACK, "") not in {"", "0"}
    if with_traceback:
        with suppress(OSError, ValueError):
            traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = (
        f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
        if frames
        else ""
    )
    advice = "" if with_traceback else f"; {TRACEBACK}=1 prints the traceback"
    complain(f"internal failure: {error_text(error)}{place}{advice}")
    return INTERNAL_FAILURE


def open_closed_streams() -> None:
    """Open the null device for a closed stdout or stderr, so that no other file gets its file descriptor."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  it stays open


def stdout_failure() -> OSError | None:
    """Return the error if stdout cannot be written, and drop the buffer, which Python would flush again at exit."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # a stream without a file descriptor has nothing to drop
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None


def whole(type_: object, tokens: Sequence[Token]) -> int:
    """Parse an integer; 1.5 raises an error and is not rounded."""
    word = tokens[0].value
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", word):
        raise ValueError(f"{word!r} must be a whole number of at most 18 digits")
    return int(word)


def real(type_: object, tokens: Sequence[Token]) -> float:
    """Parse a finite decimal number; unlike ``float``, do not accept 1_000, nan, or digits of other scripts."""
    word = tokens[0].value
    if not re.fullmatch(
        r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", word
    ) or not math.isfinite(float(word)):
        raise ValueError(f"{word!r} must be a finite number, such as 2, 0.5 or 1e-5")
    return float(word)


# integer option
Whole: TypeAlias = Annotated[int, Parameter(converter=whole, n_tokens=1)]

# finite number option
Real: TypeAlias = Annotated[float, Parameter(converter=real, n_tokens=1)]

# whether the store is ignored
Fresh: TypeAlias = Annotated[bool, Parameter(negative="--resume")]

# file, or - for stdout
Target: TypeAlias = Annotated[str, Parameter(allow_leading_hyphen=True)]


STDOUT = "-"


def check_json(target: str | None) -> None:
    """Raise BadInput if ``--json`` could not be written after the run."""
    if target is None or target == STDOUT:
        return
    if not target or target.startswith("--"):
        raise BadInput("--json", repr(target), "must be a file, or - for stdout")
    from dpverify.report.files import check_target

    with refused():
        check_target("--json", Path(target))


def check_folder(option: str, folder: Path) -> None:
    """Create a folder; raise BadInput if it could not be written to after the run."""
    from dpverify.report.files import check_folder as check

    with refused():
        check(option, folder)


def check_file(option: str, file: Path) -> None:
    """Raise BadInput if a file could not be written after the run."""
    from dpverify.report.files import check_target

    with refused():
        check_target(option, file)


def check_report(folder: Path, names: Iterable[str]) -> None:
    """Create a report's folder; raise BadInput if one of these files exists and was not written by dpverify."""
    check_folder("--report", folder)
    from dpverify.report.collect import ReportError
    from dpverify.report.files import check_names

    try:
        check_names(folder, names)
    except (ReportError, OSError) as error:
        raise BadInput("--report", folder, str(error)) from error


def write_page(page: RecordedPage[RecordT], run: RecordT, folder: Path) -> None:
    """Record a run in a report's folder and write its page."""
    from dpverify.report.collect import ReportError

    try:
        page.write(run, folder)
    except (ReportError, OSError) as error:
        raise BadInput("--report", folder, f"cannot be written ({error})") from error


def check_figure(option: str, target: Path) -> None:
    """Raise BadInput if a file exists that the user did not name, unless it is a figure drawn by dpverify."""
    from dpverify.report.files import is_generated

    if os.path.lexists(target) and not is_generated(target):
        raise BadInput(
            option,
            target,
            "exists and is not a figure of dpverify; name another file, or move it away",
        )


def write_record(record: Record, target: str | None) -> None:
    """Write a record as JSON if requested."""
    if target is not None:
        from dpverify.ledger.records import encode
        from dpverify.report.files import write_json

        with refused():
            write_json("--json", target, encode(record))


@contextmanager
def refused() -> Iterator[None]:
    """Convert an ArgumentError into BadInput for the option."""
    from dpverify.kernels.check import ArgumentError

    try:
        yield
    except ArgumentError as error:
        raise BadInput(error.variable, error.value, error.rule) from error
