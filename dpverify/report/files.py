"""Files that a command writes. Unwritable files are refused before the run, and files are replaced atomically."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from dpverify.kernels.check import ArgumentError
from dpverify.ledger.errors import printable
from dpverify.problems.errors import DataError
from dpverify.report.collect import ReportError
from dpverify.report.text.paragraphs import prose_wrapped

STDOUT = "-"  # the target that stands for stdout


def check_target(name: str, target: Path | None, suffix: str = "") -> None:
    """Refuse a file that could not be written after the run."""
    if target is None:
        return
    if suffix and target.suffix != suffix:
        raise ArgumentError(name, str(target), f"must be a file named *{suffix}")
    if target.is_dir():
        raise ArgumentError(name, str(target), "must be a file, not a folder")
    if target.exists() and not target.is_file():
        return  # a device or a pipe
    _try_to_write(name, str(target), target.parent)


def check_folder(name: str, folder: Path) -> None:
    """Make a folder, and refuse one that could not be written to after the run."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(name, str(folder), f"cannot be made a folder ({reason(error)})") from error
    _try_to_write(name, str(folder), folder)


def write_whole(name: str, target: Path, content: bytes) -> None:
    """Replace a file atomically."""
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _replace(target, content)
    except OSError as error:
        raise ArgumentError(name, str(target), f"must be a file that can be written ({reason(error)})") from error


def _replace(target: Path, content: bytes) -> None:
    replace_together({target: content}, lambda: None)


def replace_together(files: Mapping[Path, bytes], commit: Callable[[], object]) -> None:
    """Write new contents beside the files, call ``commit``, and put them in the files' places.

    If a content cannot be written or ``commit`` raises, no file is changed. The names of the new contents are
    random, so that no file of the user's is in the way.
    """
    prepared: dict[Path, Path] = {}
    try:
        for target, content in files.items():
            aside = target.with_name(f".{target.name}.{uuid.uuid4().hex[:16]}.part")
            with aside.open("xb") as file:
                prepared[target] = aside
                file.write(content)
        commit()
        for target, aside in prepared.items():
            aside.replace(target)
    finally:
        for aside in prepared.values():
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)


def write_json(name: str, target: str, content: bytes) -> None:
    """Write a document to a file, or to stdout for -, always as UTF-8."""
    if target == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_whole(name, Path(target), content)


def deliver(text: str, record: bytes, json: str | None, figure: Path | None, draw: Callable[[], bytes]) -> None:
    """Print the text, then write the files, so that a file that cannot be written does not lose the text."""
    out = sys.stderr if json == STDOUT else sys.stdout
    out.write(prose_wrapped(text) + "\n")
    out.flush()
    if json is not None:
        write_json("json", json, record)
    if figure is not None:
        write_whole("figure", figure, draw())
    for target in (None if json == STDOUT else json, figure):
        if target is not None:
            out.write(f"wrote {target}\n")


def _try_to_write(name: str, value: str, folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ArgumentError(name, value, f"must be in a folder that can be written to ({reason(error)})") from error


def reason(error: OSError) -> str:
    """Return the system's reason for an error, in lower case."""
    return (error.strerror or str(error)).lower()


DONE = 0
BAD_INPUT = 2
INTERRUPTED = 130


def answer(work: Callable[[], bool], json: str | None, figure: Path | None = None) -> int:
    """Call ``work``, which returns whether it was interrupted, and return the exit code. Bad input is one line."""
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
