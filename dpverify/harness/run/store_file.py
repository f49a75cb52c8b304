"""The file below the store: begun where there is none, and refused as it is where it is damaged or somebody else's.

A damaged file must cost no verdict: sqlite itself sees broken pages, but not a number that was changed inside one.
Therefore each block carries a digest of its row. A file of zero bytes, or one without a table, is what a run leaves
that is killed while it begins the file; it is begun again.
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
VERSION: Final = 1  # of the table; blocks of version 0 have no digest, and are dropped
DIGEST: Final = 16  # bytes
MAGIC: Final = b"SQLite format 3\0"
WAL_MAGIC: Final = 0x377F0682, 0x377F0683  # the first four bytes of a log of sqlite's


class StoreError(ValueError):
    """The file is no store, or cannot be read or written; the message is one line."""


def check_whole(path: Path, seconds: float) -> None:
    """Refuse a file that is damaged, or not a store, without a change of it; ``seconds``: how long to wait for it."""
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
    begun = path.with_name(f"{path.name}-journal").exists()  # a run was killed in its first write: to be taken back
    with path.open("rb") as file:  # sqlite takes any file that is shorter than a page for a new one, and overwrites it
        if not begun and file.read(len(MAGIC)) != MAGIC:
            raise StoreError("it is no database of sqlite")
    source = f"{path.absolute().as_uri()}?mode={'rw' if begun else 'ro'}"
    with closing(sqlite3.connect(source, timeout=seconds, uri=True)) as database:
        _check_tables(database)
        answers = [row[0] for row in database.execute("pragma quick_check(1)")]
        if answers != ["ok"]:
            raise StoreError(f"it is damaged ({' '.join(str(answers[0]).split())})")
        if _version(database) == VERSION:
            for row in database.execute("select check_of, evidence, block, part, seconds from blocks"):
                unsealed(row)


def _check_tables(database: sqlite3.Connection) -> None:
    """Refuse what holds other tables than ours."""
    names = {str(row[0]) for row in database.execute("select name from sqlite_master")}
    if foreign_tables := sorted(name for name in names if name != "blocks" and not name.startswith("sqlite_")):
        raise StoreError(f"it is a database with other tables ({', '.join(foreign_tables[:3])})")
    columns = sorted(str(row[0]) for row in database.execute("select name from pragma_table_info('blocks')"))
    if names and tuple(columns) != COLUMNS:
        raise StoreError(f"its table blocks has the columns {', '.join(columns)}, and must have {', '.join(COLUMNS)}")
    if _version(database) not in (0, VERSION):
        raise StoreError(f"it was written by another version of dpverify (format {_version(database)}, not {VERSION})")
    if not names and _version(database) == VERSION:
        raise StoreError("it is damaged: its table is gone")


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("pragma user_version").fetchone()[0])


def begin(path: Path, seconds: float) -> sqlite3.Connection:
    """Open a file that is whole, or new, to be written."""
    database = sqlite3.connect(path, timeout=seconds, isolation_level=None)
    try:
        database.execute("pragma journal_mode = wal")
        database.execute("pragma synchronous = normal")  # a killed process loses nothing
        database.execute("begin immediate")  # one of several runs that begin the file at once does it
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
    """Put the row's digest before what the block gave."""
    check_of, evidence, block, part, seconds = row
    return check_of, evidence, block, _digest(row) + part, seconds


def unsealed(row: Row) -> bytes:
    """Take what a block gave, refused where its row is not as it was written."""
    check_of, evidence, block, part, seconds = row
    content = part[DIGEST:]
    if _digest((check_of, evidence, block, content, seconds)) != part[:DIGEST]:
        raise StoreError(f"it is damaged: block {block!r} of {str(check_of)[:60]!r} is not as it was written")
    return content


def _digest(row: Row) -> bytes:
    check_of, evidence, block, part, seconds = row
    key = repr((check_of, evidence, block, seconds)).encode()
    return hashlib.blake2b(key + part, digest_size=DIGEST).digest()
