"""Files that a command writes: refused before the run where they cannot be written, never seen half written."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from dpverify.kernels.check import ArgumentError

STDOUT = "-"
"""The target that stands for stdout."""


def check_target(name: str, target: Path | None, suffix: str = "") -> None:
    """Refuse a file that could not be written after the run.

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    target : Path or None
        The file; None is fine.
    suffix : str
        What its name must end with.

    Raises
    ------
    ArgumentError
        If it could not be written.
    """
    if target is None:
        return
    if suffix and target.suffix != suffix:
        raise ArgumentError(name, str(target), f"must be a file named *{suffix}")
    if target.is_dir():
        raise ArgumentError(name, str(target), "must be a file, not a folder")
    if target.exists() and not target.is_file():
        return  # a device or a pipe
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        rule = f"must be in a folder that can be written to ({error.strerror})"
        raise ArgumentError(name, str(target), rule) from error


def write_whole(name: str, target: Path, content: bytes) -> None:
    """Write a file that is never seen half written.

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    target : Path
        The file.
    content : bytes
        All of it.

    Raises
    ------
    ArgumentError
        If it cannot be written.
    """
    aside = target.with_name(f".{target.name}.part")
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content)
            return
        try:
            aside.write_bytes(content)
            aside.replace(target)
        finally:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)
    except OSError as error:
        raise ArgumentError(name, str(target), f"must be a file that can be written ({error.strerror})") from error


def deliver(text: str, record: bytes, json: str | None, figure: Path | None, draw: Callable[[], bytes]) -> None:
    """Print what a person reads, and write the files; the text comes first, so that nothing done is lost.

    Parameters
    ----------
    text : str
        Without a line end at the end; it goes to stderr where stdout is for the record.
    record : bytes
        The result as JSON.
    json : str or None
        File for it, or ``-`` for stdout.
    figure : Path or None
        File for the figure.
    draw : callable
        Makes the figure; called only where one is wanted.

    Raises
    ------
    ArgumentError
        If a file cannot be written.
    """
    out = sys.stderr if json == STDOUT else sys.stdout
    out.write(text + "\n")
    out.flush()
    if json == STDOUT:
        sys.stdout.write(record.decode("utf-8"))
    elif json is not None:
        write_whole("json", Path(json), record)
    if figure is not None:
        write_whole("figure", figure, draw())
    for target in (None if json == STDOUT else json, figure):
        if target is not None:
            out.write(f"wrote {target}\n")
