"""Files that a command writes, as the command line names them; how they are written is ``report.files``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpverify.cli.exits import BadInput

STDOUT = "-"


def check_json(target: str | None) -> None:
    """Refuse a ``--json`` that could not be written after the run.

    Parameters
    ----------
    target : str or None
        A file, ``-`` for stdout, or None.

    Raises
    ------
    BadInput
        When it is empty, an option, a folder, or in a folder that is not there or not writable.
    """
    if target is None or target == STDOUT:
        return
    if not target or target.startswith("--"):
        raise BadInput("--json", repr(target), "must be a file, or - for stdout")
    from dpverify.report.files import check_target

    with _refused():
        check_target("--json", Path(target))


def check_folder(option: str, folder: Path) -> None:
    """Make a folder, and refuse one that could not be written to after the run.

    Parameters
    ----------
    option : str
        The option that names it.
    folder : pathlib.Path
        The folder; its parents are made as well.

    Raises
    ------
    BadInput
        When it is a file, or cannot be made or written to.
    """
    from dpverify.report.files import check_folder as check

    with _refused():
        check(option, folder)


def write_json(target: str, data: bytes) -> None:
    """Write a finished JSON document: to stdout, or to a file that is never seen half written.

    Parameters
    ----------
    target : str
        A file, or ``-`` for stdout.
    data : bytes
        UTF-8 text.

    Raises
    ------
    BadInput
        When the file cannot be written after all.
    """
    from dpverify.report.files import write_stdout, write_whole

    if target == STDOUT:
        write_stdout(data)
        return
    with _refused():
        write_whole("--json", Path(target), data)


@contextmanager
def _refused() -> Iterator[None]:
    """Turn the refusal of an argument into that of an option."""
    from dpverify.kernels.check import ArgumentError

    try:
        yield
    except ArgumentError as error:
        raise BadInput(error.variable, error.value, error.rule) from error
