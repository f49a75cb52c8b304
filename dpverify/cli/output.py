"""Words of the command line that several commands take, the files that they name, and how a command ends."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter, Token

if TYPE_CHECKING:
    from dpverify.ledger.records import Record

OK = 0
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


class BadInput(Exception):  # noqa: N818 it is what happened, and main turns it into one line
    """Input that a command refuses: one line that names the variable, the value and the rule."""

    def __init__(self, variable: str, value: object, rule: str) -> None:
        super().__init__(f"{variable} {value}: {rule}")


def complain(message: str) -> None:
    """Print one line on stderr, whatever the message holds."""
    from dpverify.ledger.errors import printable

    print(f"dpverify: {printable(' '.join(message.split()), 2000)}", file=sys.stderr)


def whole(type_: object, tokens: Sequence[Token]) -> int:
    """Read a whole number as it is written; 1.5 is none, and is not rounded to one."""
    word = tokens[0].value
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", word):
        raise ValueError(f"{word!r} must be a whole number of at most 18 digits")
    return int(word)


Whole: TypeAlias = Annotated[int, Parameter(converter=whole, n_tokens=1)]  # a whole number

Fresh: TypeAlias = Annotated[bool, Parameter(negative="--resume")]  # whether nothing is taken from the store

Target: TypeAlias = Annotated[str, Parameter(allow_leading_hyphen=True)]  # a file, or - for stdout


STDOUT = "-"


def check_json(target: str | None) -> None:
    """Refuse a ``--json`` that could not be written after the run."""
    if target is None or target == STDOUT:
        return
    if not target or target.startswith("--"):
        raise BadInput("--json", repr(target), "must be a file, or - for stdout")
    from dpverify.report.files import check_target

    with _refused():
        check_target("--json", Path(target))


def check_folder(option: str, folder: Path) -> None:
    """Make a folder, and refuse one that could not be written to after the run."""
    from dpverify.report.files import check_folder as check

    with _refused():
        check(option, folder)


def write_record(record: Record, target: str | None) -> None:
    """Write a record as JSON, where that is asked for."""
    if target is not None:
        from dpverify.ledger.records import encode
        from dpverify.report.files import write_json

        with _refused():
            write_json("--json", target, encode(record))


@contextmanager
def _refused() -> Iterator[None]:
    """Turn the refusal of an argument into that of an option."""
    from dpverify.kernels.check import ArgumentError

    try:
        yield
    except ArgumentError as error:
        raise BadInput(error.variable, error.value, error.rule) from error
