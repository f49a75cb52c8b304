"""The sqlite file of the store: it is created if it does not exist, and refused if it is damaged or foreign.

A damaged file must not change a verdict. sqlite detects broken pages, but not a number that was changed inside a page.
Therefore each block carries a digest of its row. A run that is killed while it creates the file leaves a file of zero
bytes or without a table. Such a file is created again.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, TypeAlias

Row: TypeAlias = tuple[str, str, int, bytes, float]
"""A row of the table."""

TABLE: Final = """
create table if not exists blocks (
    check_of text not null,  -- the check, with its claim, reading and statement, the budget and the seed
    evidence text not null,  -- hash of the evidence, the share and the versions: under another one a block is stale
    block integer not null,
    part blob not null,      -- a digest of the row, then what the block gave
    seconds real not null,
    primary key (check_of, evidence, block)
) without rowid
"""
COLUMNS: Final = "block", "check_of", "evidence", "part", "seconds"
# version of the table; blocks of version 0 have no digest and are dropped
VERSION: Final = 1
DIGEST: Final = 16  # number of bytes
MAGIC: Final = b"SQLite format 3\0"
# first four bytes of a write-ahead log of sqlite
WAL_MAGIC: Final = 0x377F0682, 0x377F0683


class StoreError(ValueError):
    """The file is not a store, or cannot be read or written. The message is one line."""


def check_whole(path: Path, seconds: float) -> None:
    """Raise a StoreError if a file is damaged or not a store, without changing it.

    ``seconds``: time to wait for a lock.
    """
    if not path.exists():
        return
    if path.is_dir():
        raise StoreError("it is a folder")
    log = path.with_name(f"{path.name}-wal")
    logged = log.stat().st_size if log.exists() else 0
    if not path.stat().st_size:
        if logged:  # sqlite would delete the log
            raise StoreError(f"it is empty, but {log.name} beside it is not")
        return
    with log.open("rb") if logged else path.open("rb") as file:
        if logged and int.from_bytes(file.read(4), "big") not in WAL_MAGIC:
            raise StoreError(
                f"{log.name} beside it is damaged; without that file, what was moved into the store counts"
            )
    # a run was killed in its first write, which must be rolled back
    begun = path.with_name(f"{path.name}-journal").exists()
    # sqlite treats a file shorter than a page as new, and overwrites it
    with path.open("rb") as file:
        if not begun and file.read(len(MAGIC)) != MAGIC:
            raise StoreError("it is no database of sqlite")
    source = f"{path.absolute().as_uri()}?mode={'rw' if begun else 'ro'}"
    with closing(sqlite3.connect(source, timeout=seconds, uri=True)) as database:
        _check_tables(database)
        answers = [row[0] for row in database.execute("pragma quick_check(1)")]
        if answers != ["ok"]:
            raise StoreError(f"it is damaged ({' '.join(str(answers[0]).split())})")
        if _version(database) == VERSION:
            for row in database.execute(
                "select check_of, evidence, block, part, seconds from blocks"
            ):
                unsealed(row)


def _check_tables(database: sqlite3.Connection) -> None:
    """Raise a StoreError if the file contains other tables than ours."""
    names = {str(row[0]) for row in database.execute("select name from sqlite_master")}
    if foreign_tables := sorted(
        name for name in names if name != "blocks" and not name.startswith("sqlite_")
    ):
        raise StoreError(
            f"it is a database with other tables ({', '.join(foreign_tables[:3])})"
        )
    columns = sorted(
        str(row[0])
        for row in database.execute("select name from pragma_table_info('blocks')")
    )
    if names and tuple(columns) != COLUMNS:
        raise StoreError(
            f"its table blocks has the columns {', '.join(columns)}, and must have {', '.join(COLUMNS)}"
        )
    if _version(database) not in (0, VERSION):
        raise StoreError(
            f"it was written by another version of dpverify (format {_version(database)}, not {VERSION})"
        )
    if not names and _version(database) == VERSION:
        raise StoreError("it is damaged: its table is gone")


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("pragma user_version").fetchone()[0])


def begin(path: Path, seconds: float) -> sqlite3.Connection:
    """Open an intact or new file for writing."""
    database = sqlite3.connect(path, timeout=seconds, isolation_level=None)
    try:
        database.execute("pragma journal_mode = wal")
        # a killed process loses nothing
        database.execute("pragma synchronous = normal")
        # if several runs create the file at the same time, one of them does it
        database.execute("begin immediate")
        database.execute(TABLE)
        if _version(database) != VERSION:
            database.execute("delete from blocks")
            database.execute(f"pragma user_version = {VERSION}")
        database.execute("commit")
    except sqlite3.Error:
        database.close()
        raise
    return database


def sealed(row: Row) -> Row:
    """Return a row with its digest in front of the part."""
    check_of, evidence, block, part, seconds = row
    return check_of, evidence, block, _digest(row) + part, seconds


def unsealed(row: Row) -> bytes:
    """Return the part of a row. Raises a StoreError if the row was changed since it was written."""
    check_of, evidence, block, part, seconds = row
    content = part[DIGEST:]
    if _digest((check_of, evidence, block, content, seconds)) != part[:DIGEST]:
        raise StoreError(
            f"it is damaged: block {block!r} of {str(check_of)[:60]!r} is not as it was written"
        )
    return content


def _digest(row: Row) -> bytes:
    check_of, evidence, block, part, seconds = row
    key = repr((check_of, evidence, block, seconds)).encode()
    return hashlib.blake2b(key + part, digest_size=DIGEST).digest()
