"""Files that a command writes: refused before the work when they cannot be written, whole when they are."""

from __future__ import annotations

import os
import sys
import tempfile
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
    path = Path(target)
    if path.is_dir():
        raise BadInput("--json", target, "is a folder; name a file, or - for stdout")
    if path.exists() and not path.is_file():
        return  # a device or a pipe
    _try_to_write("--json", target, path.parent)


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
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(option, folder, f"cannot be made a folder ({_why(error)})") from error
    _try_to_write(option, folder, folder)


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
    if target == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)  # JSON is UTF-8, whatever the terminal speaks
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            file.write(data)
        Path(file.name).chmod(0o666 & ~_umask())
        Path(file.name).replace(path)
    except OSError as error:
        raise BadInput("--json", target, f"cannot be written ({_why(error)})") from error


def _try_to_write(option: str, value: object, folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(option, value, f"no file can be made in {folder} ({_why(error)})") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
