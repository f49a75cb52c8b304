"""Which files of a report's folder dpverify wrote: it overwrites and deletes only those, and only inside the folder.

Each generated file carries its own marker: a page begins with a comment, a figure ends with one, and data are a record
of a known kind. A list of files in the folder proves nothing, because anybody can write one.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from dpverify.ledger.results import decode
from dpverify.report.collect import ReportError
from dpverify.report.words import FIGURE_MARK, GENERATED

_NAME = re.compile(r"(?:[A-Za-z0-9_][\w.-]*/)?[A-Za-z0-9_][\w.-]*\.(?:md|svg|json)", re.ASCII)
"""Path of a report's file below its folder: at most one folder deep, without hidden names."""

REMEDY = "move it away, or name another folder"


def check_names(folder: Path, names: Iterable[str]) -> None:
    """Refuse paths below a report's folder that lead out of it, or to a file that dpverify did not write."""
    for name in names:
        target = path_inside(folder, name)
        if _exists(target) and not is_generated(target):
            raise ReportError(f"{target}: exists, and was not written by dpverify; {REMEDY}")


def path_inside(folder: Path, name: str) -> Path:
    """Return the path of a report's file; a ReportError where a report has no such file, or a link leads elsewhere."""
    if not _NAME.fullmatch(name):
        raise ReportError(f"{folder}: {name!r} is not the path of a file of a report")
    target = folder / name
    parent = target.parent
    if parent != folder and _exists(parent) and not stat.S_ISDIR(parent.lstat().st_mode):
        raise ReportError(f"{parent}: must be a folder, and not a link to one; {REMEDY}")
    return target


def generated_files(folder: Path, patterns: Iterable[str]) -> list[str]:
    """Paths below a report's folder of the files that dpverify wrote and that match a pattern; links are left out."""
    paths = (path for pattern in patterns for path in folder.glob(pattern))
    return [path.relative_to(folder).as_posix() for path in paths if _is_inside(folder, path) and is_generated(path)]


def _is_inside(folder: Path, path: Path) -> bool:
    name = path.relative_to(folder).as_posix()
    return _NAME.fullmatch(name) is not None and (path.parent == folder or not path.parent.is_symlink())


def is_generated(path: Path) -> bool:
    """Whether a path is a regular file, not a link, that carries the marker of its type."""
    return is_regular(path) and has_marker(path.name, path.read_bytes())


def is_regular(path: Path) -> bool:
    """Whether a path is a regular file and not a symbolic link."""
    return _exists(path) and stat.S_ISREG(path.lstat().st_mode)


def has_marker(name: str, content: bytes) -> bool:
    """Whether the content of a file carries the marker that dpverify writes into files of its type."""
    if name.endswith(".md"):
        return content.startswith(GENERATED.removesuffix(" -->").encode())
    if name.endswith(".svg"):
        return content.rstrip().endswith(FIGURE_MARK.encode())
    return _is_record(content)


def _is_record(content: bytes) -> bool:
    """Whether a JSON file is a record that a report keeps in its folder ``data``."""
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
    if isinstance(versions, Mapping) and "dpverify" in versions and isinstance(record.get("results"), list):
        return True  # of another version perhaps, whose records are not those of today
    commands = list(_commands(record))
    if commands:
        return all(command.startswith("dpverify ") for command in commands)
    try:
        decode(content)
    except msgspec.DecodeError:
        return False
    return True


def _commands(record: Mapping[str, object]) -> Iterator[str]:
    """Command lines of the comparisons and experiments that a record holds."""
    for key in ("comparisons", "experiments", "networks"):
        entries = record.get(key)
        if isinstance(entries, list):
            yield from (str(entry.get("command", "")) if isinstance(entry, Mapping) else "" for entry in entries)


def _exists(path: Path) -> bool:
    """Whether a path exists; a link whose target is missing exists too."""
    return os.path.lexists(path)
