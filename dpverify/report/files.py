"""Files that a command writes: check targets before the run, replace files atomically, recognize dpverify's files.

In a report's folder dpverify overwrites and deletes only files that it wrote, and only inside the folder. Each
generated file has a marker: a page begins with a comment, a figure ends with a comment, and data are a record of a
known kind. A list of files in the folder would prove nothing, because anybody can write one. Targets that cannot be
written are refused before the run.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from dpverify.kernels.check import ArgumentError
from dpverify.ledger.errors import printable
from dpverify.ledger.results import decode
from dpverify.problems.errors import DataError
from dpverify.report.collect import ReportError
from dpverify.report.text.paragraphs import prose_wrapped
from dpverify.report.words import FIGURE_MARK, GENERATED

STDOUT = "-"  # the target that means stdout


def check_target(name: str, target: Path | None, suffix: str = "") -> None:
    """Raise an ArgumentError if a file could not be written after the run."""
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
    """Make a folder; raise an ArgumentError if files could not be written to it after the run."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(
            name, str(folder), f"cannot be made a folder ({reason(error)})"
        ) from error
    _try_to_write(name, str(folder), folder)


def write_whole(name: str, target: Path, content: bytes) -> None:
    """Replace a file atomically."""
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _replace(target, content)
    except OSError as error:
        raise ArgumentError(
            name, str(target), f"must be a file that can be written ({reason(error)})"
        ) from error


def _replace(target: Path, content: bytes) -> None:
    replace_together({target: content}, lambda: None)


def replace_together(files: Mapping[Path, bytes], commit: Callable[[], object]) -> None:
    """Write new contents to temporary files in the same folders, call ``commit``, and rename them to the targets.

    If a content cannot be written or ``commit`` raises, no target is changed. The temporary files have random names
    so that they cannot collide with the user's files.
    """
    prepared: dict[Path, Path] = {}
    try:
        for target, content in files.items():
            temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:16]}.part")
            with temporary.open("xb") as file:
                prepared[target] = temporary
                file.write(content)
        commit()
        for target, temporary in prepared.items():
            temporary.replace(target)
    finally:
        for temporary in prepared.values():
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_json(name: str, target: str, content: bytes) -> None:
    """Write a JSON document to a file, or to stdout if the target is ``-``."""
    if target == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_whole(name, Path(target), content)


def deliver(
    text: str,
    record: bytes,
    json: str | None,
    figure: Path | None,
    draw: Callable[[], bytes],
) -> None:
    """Print the text before writing the files, so that a failing write does not lose the text."""
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
        raise ArgumentError(
            name, value, f"must be in a folder that can be written to ({reason(error)})"
        ) from error


def reason(error: OSError) -> str:
    """Return the system's reason for an error, in lower case."""
    return (error.strerror or str(error)).lower()


DONE = 0
BAD_INPUT = 2
INTERRUPTED = 130


def answer(
    work: Callable[[], bool], json: str | None, figure: Path | None = None
) -> int:
    """Call ``work``, which returns whether it was interrupted, and return the exit code.

    For bad input, print the error in one line.
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


_NAME = re.compile(
    r"(?:[A-Za-z0-9_][\w.-]*/)?[A-Za-z0-9_][\w.-]*\.(?:md|svg|json)", re.ASCII
)
"""Path of a report's file below its folder: at most one folder deep, without hidden names."""

REMEDY = "move it away, or name another folder"


def check_names(folder: Path, names: Iterable[str]) -> None:
    """Raise a ReportError for a path that leads out of a report's folder, or to a file that dpverify did not write."""
    for name in names:
        target = path_inside(folder, name)
        if _exists(target) and not is_generated(target):
            raise ReportError(
                f"{target}: exists, and was not written by dpverify; {REMEDY}"
            )


def path_inside(folder: Path, name: str) -> Path:
    """Return the path of a report's file; raise a ReportError for an invalid name, or if the parent is not a folder."""
    if not _NAME.fullmatch(name):
        raise ReportError(f"{folder}: {name!r} is not the path of a file of a report")
    target = folder / name
    parent = target.parent
    if (
        parent != folder
        and _exists(parent)
        and not stat.S_ISDIR(parent.lstat().st_mode)
    ):
        raise ReportError(
            f"{parent}: must be a folder, and not a link to one; {REMEDY}"
        )
    return target


def generated_files(folder: Path, patterns: Iterable[str]) -> list[str]:
    """Return the relative paths of dpverify's files in a report's folder that match a pattern, without links."""
    paths = (path for pattern in patterns for path in folder.glob(pattern))
    return [
        path.relative_to(folder).as_posix()
        for path in paths
        if _is_inside(folder, path) and is_generated(path)
    ]


def _is_inside(folder: Path, path: Path) -> bool:
    name = path.relative_to(folder).as_posix()
    return _NAME.fullmatch(name) is not None and (
        path.parent == folder or not path.parent.is_symlink()
    )


def is_generated(path: Path) -> bool:
    """Test whether a path is a regular file (not a link) with the marker of its type."""
    return is_regular(path) and has_marker(path.name, path.read_bytes())


def is_regular(path: Path) -> bool:
    """Test whether a path is a regular file and not a symbolic link."""
    return _exists(path) and stat.S_ISREG(path.lstat().st_mode)


def has_marker(name: str, content: bytes) -> bool:
    """Test whether the content of a file has the marker that dpverify writes into files of its type."""
    if name.endswith(".md"):
        return content.startswith(GENERATED.removesuffix(" -->").encode())
    if name.endswith(".svg"):
        return content.rstrip().endswith(FIGURE_MARK.encode())
    return _is_record(content)


def _is_record(content: bytes) -> bool:
    """Test whether a JSON file is a record that a report stores in its folder ``data``."""
    try:
        record = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    if not isinstance(record, Mapping):
        return False
    if str(record.get("kind", "")).startswith("dpverify "):
        return True
    run = record.get("run")
    versions = run.get("versions") if isinstance(run, Mapping) else None
    if (
        isinstance(versions, Mapping)
        and "dpverify" in versions
        and isinstance(record.get("results"), list)
    ):
        return True  # maybe from another version with different records
    commands = list(_commands(record))
    if commands:
        return all(command.startswith("dpverify ") for command in commands)
    try:
        decode(content)
    except msgspec.DecodeError:
        return False
    return True


def _commands(record: Mapping[str, object]) -> Iterator[str]:
    """Yield the command lines of the comparisons and experiments in a record."""
    for key in ("comparisons", "experiments", "networks"):
        entries = record.get(key)
        if isinstance(entries, list):
            yield from (
                str(entry.get("command", "")) if isinstance(entry, Mapping) else ""
                for entry in entries
            )


def _exists(path: Path) -> bool:
    """Test whether a path exists; a link without a target exists too."""
    return os.path.lexists(path)
