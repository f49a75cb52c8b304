"""What the evidence hash needs of each source file, kept under the digest of the file's content.

To parse and spell the syntax trees of all files that a check imports takes most of a second; to read them again and
compare their digests takes a hundredth of that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec

from dpverify.cache_files import Snapshot, digest_of, keep, recall, snapshot

KIND = "code"
FILE = "files"  # the one file of this kind: a table by the content of source files
MOST = 5000  # source files in the table: past that, it is begun again

_NEW: set[str] = set()  # keys that this process has added and not yet written


class ImportedNames(msgspec.Struct, frozen=True, array_like=True):
    """An import of ours: names, each with what it is called here if that differs."""

    names: list[tuple[str, str | None]]
    package: str | None = None  # None for ``import name``
    level: int = 0  # number of leading dots


class Code(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a module: the hash of its tree without imports of ours, those imports, and what it passes on."""

    digest: str
    imports: list[ImportedNames]
    passed_on: list[ImportedNames]
    bound: frozenset[str]  # all other names that it binds


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
    folder = Path(__file__).parents[1]
    files = snapshot(
        [folder / "run" / "hashes.py", *(folder / "finished" / f"{name}.py" for name in ("code_cache", "names"))]
    )
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
    keep(KIND, FILE, msgspec.json.encode((_made_by().digest, table if len(table) <= MOST else added)))
    _NEW.clear()
