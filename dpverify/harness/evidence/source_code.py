"""Data of each source file for the evidence hash, cached under the digest of its content; and positions of checks.

Parsing the syntax trees of all files that a check imports takes most of a second. Reading the files again and comparing
their digests takes a hundredth of that. The evidence hash of a check covers the line that registers it, but not the
other checks that are registered there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from dpverify.cache_files import (
    Snapshot,
    digest_of,
    read_cached,
    snapshot,
    write_cached,
)


class CheckPlace(NamedTuple):
    """Position of a check among the arguments of the call that adds it. Without a line, the whole module counts."""

    module: str
    line: int = 0
    argument: int = 0  # index of the argument
    arguments: int = 0  # number of arguments


def first_line(module: str) -> int:
    """Return the line of a module that is being executed now, also inside calls; 0 if it is not being imported."""
    frame = sys._getframe(1)
    while frame is not None:
        if (
            frame.f_code.co_name == "<module>"
            and frame.f_globals.get("__name__") == module
        ):
            return frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has none
    return 0


KIND = "code"
# the only file of this kind: a table indexed by the content of source files
FILE = "files"
# limit of source files in the table; above it, only new files are kept
MOST_FILES = 5000

_NEW: set[str] = set()  # keys that this process has added but not yet written


class ImportedNames(msgspec.Struct, frozen=True, array_like=True):
    """An import from our package: names, each with its alias in this module if there is one."""

    names: list[tuple[str, str | None]]
    package: str | None = None  # None for ``import name``
    level: int = 0  # number of leading dots
    after: int = 0  # number of units before it


class Unit(msgspec.Struct, frozen=True, array_like=True):
    """A top-level statement of a module, or one argument of a call that adds checks: the unit of dependencies."""

    # of its syntax tree without positions, documentation
    # and names of imported modules of ours
    digest: str
    lines: tuple[int, int]  # first and last line
    binds: list[str]
    uses: list[str]  # names, with attributes, that may belong to the module
    # from our package, made when its functions run; a whole module is named "*"
    imports: list[ImportedNames]
    called: list[str]  # names that are called when the module is imported
    has_effect: bool = False  # whether importing the module does more than bind names
    # names of the module whose values the unit's functions may change
    changes: list[str] = []
    reads_module: bool = False  # whether it may use every name of the module
    is_registered: bool = False  # whether it adds checks


class Registration(msgspec.Struct, frozen=True, array_like=True):
    """A statement that adds checks: the units of its arguments, and the places of its starred arguments."""

    lines: tuple[int, int]
    units: list[int]
    starred: list[int]


class Code(msgspec.Struct, frozen=True, array_like=True):
    """The data that are stored about a module."""

    units: list[Unit]
    imports: list[ImportedNames]  # from our package, made when the module is imported
    on_use: list[ImportedNames]  # imports that the module makes when its names are used
    registrations: list[Registration]
    registry: str = ""  # name of the object to which the checks are added

    @property
    def every_import(self) -> list[ImportedNames]:
        """All imports from our package."""
        return [
            *self.imports,
            *(node for unit in self.units for node in unit.imports),
            *self.on_use,
        ]


def code_of(source: bytes, top: str, parsed: Callable[[bytes, str], Code]) -> Code:
    """Return the stored data of a source file in the top-level package ``top``; parse the file if it is new."""
    table = _table()
    key = digest_of((top, source))
    code = table.get(key)
    if code is None:
        code = parsed(source, top)
        table[key] = code
        _NEW.add(key)
    return code


@cache
def _table() -> dict[str, Code]:
    """Return the table as this process found it, with the entries that this process adds."""
    return _read_table()


@cache
def _made_by() -> Snapshot:
    files = snapshot([Path(__file__).parent])
    return Snapshot(digest_of((files.digest, sys.version)), files.changed_at)


def _read_table() -> dict[str, Code]:
    payload = read_cached(KIND, FILE)
    if payload is None:
        return {}
    try:
        made_by, table = msgspec.json.decode(payload, type=tuple[str, dict[str, Code]])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return table if made_by == _made_by().digest else {}


def keep_new_code() -> None:
    """Add new entries to the stored table, to which other processes may have added entries in the meantime."""
    if not _NEW or not _made_by().is_older_than_process:
        return
    added = {key: _table()[key] for key in _NEW}
    table = _read_table() | added
    write_cached(
        KIND,
        FILE,
        msgspec.json.encode(
            (_made_by().digest, table if len(table) <= MOST_FILES else added)
        ),
    )
    _NEW.clear()
