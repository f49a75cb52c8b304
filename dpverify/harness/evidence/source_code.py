"""What the evidence hash needs of each source file, cached under the digest of its content; and the place of a check.

To parse and spell the syntax trees of all files that a check imports takes most of a second; to read them again and
compare their digests takes a hundredth of that. The evidence hash of a check covers the line that registers it, and not
the checks beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from dpverify.cache_files import Snapshot, digest_of, keep, recall, snapshot


class CheckPlace(NamedTuple):
    """Position of a check among the arguments of the call that adds it; without a line, all of the module counts."""

    module: str
    line: int = 0
    argument: int = 0  # its number
    arguments: int = 0  # how many there are


def first_line(module: str) -> int:
    """Line of a module that is being executed now, whoever it called meanwhile; 0 where it is not being imported."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == module:
            return frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has none
    return 0


KIND = "code"
FILE = "files"  # the one file of this kind: a table by the content of source files
MOST_FILES = 5000  # source files in the table: past that, it is begun again

_NEW: set[str] = set()  # keys that this process has added and not yet written


class ImportedNames(msgspec.Struct, frozen=True, array_like=True):
    """An import of ours: names, each with what it is called here if that differs."""

    names: list[tuple[str, str | None]]
    package: str | None = None  # None for ``import name``
    level: int = 0  # number of leading dots
    after: int = 0  # number of units before it


class Unit(msgspec.Struct, frozen=True, array_like=True):
    """A statement at the top of a module, or one argument of a call that adds checks: what a check may depend on."""

    digest: str  # of its tree without places, documentation and imports of ours
    lines: tuple[int, int]  # first and last
    binds: list[str]
    uses: list[str]  # names that may be the module's, with attributes
    imports: list[ImportedNames]  # of ours, made when its functions run; a module taken whole is called "*"
    called: list[str]  # names that are called when the module is imported
    has_effect: bool = False  # whether to import the module does more than to bind names
    changes: list[str] = []  # names of the module whose values its functions may change
    reads_module: bool = False  # whether it may use any name of the module
    is_registered: bool = False  # whether it adds checks


class Registration(msgspec.Struct, frozen=True, array_like=True):
    """A statement that adds checks: the units of its arguments, and which of these are several checks."""

    lines: tuple[int, int]
    units: list[int]
    starred: list[int]


class Code(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a module."""

    units: list[Unit]
    imports: list[ImportedNames]  # of ours, made when the module is imported
    on_use: list[ImportedNames]  # what the module loads when its names are used
    registrations: list[Registration]
    registry: str = ""  # name that the checks are added to

    @property
    def every_import(self) -> list[ImportedNames]:
        """All imports of ours."""
        return [*self.imports, *(node for unit in self.units for node in unit.imports), *self.on_use]


def code_of(source: bytes, top: str, parsed: Callable[[bytes, str], Code]) -> Code:
    """Return what is kept of a file of this content in the top-level package ``top``, and parse what is new."""
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
    """The table as this process found it, with what it adds."""
    return _read_table()


@cache
def _made_by() -> Snapshot:
    files = snapshot([Path(__file__).parent])
    return Snapshot(digest_of((files.digest, sys.version)), files.changed_at)


def _read_table() -> dict[str, Code]:
    payload = recall(KIND, FILE)
    if payload is None:
        return {}
    try:
        made_by, table = msgspec.json.decode(payload, type=tuple[str, dict[str, Code]])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return table if made_by == _made_by().digest else {}


def keep_new_code() -> None:
    """Add what is new to the table that is there now: another process may have added to it meanwhile."""
    if not _NEW or not _made_by().is_older_than_process:
        return
    added = {key: _table()[key] for key in _NEW}
    table = _read_table() | added
    keep(KIND, FILE, msgspec.json.encode((_made_by().digest, table if len(table) <= MOST_FILES else added)))
    _NEW.clear()
