"""A cache of block outcomes in a sqlite file, for checks and other long work, so that an interrupted run can continue.

The cache does not increase any error rate. The random numbers of a block depend on the seed of the run, the claim, the
check and the number of the block. A block is reused only under the same seed, budget and share, the same evidence hash,
and the same versions of the libraries, so that it equals what the same block would give now. A run that reuses some
blocks and draws the others has, bit for bit, the outcome of an uninterrupted run. A check is judged only when all
blocks of its plan exist, so that stopping and continuing cannot select outcomes. Each block is one transaction, so that
it is stored completely or not at all.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import msgspec

from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run.manifest import versions
from dpverify.harness.run.store_file import (
    StoreError,
    begin,
    check_whole,
    sealed,
    unsealed,
)

LIST = "list"
TUPLE = "tuple"
ARRAY = "array"
RECORD = "record"


class NotStorableError(ValueError):
    """A part contains an object of a type that the check does not list in ``parts``."""


def packed(part: Any, types: tuple[type, ...]) -> bytes:
    """Encode a part. Raises `NotStorableError` if `unpacked` could not read it."""
    try:
        return msgspec.msgpack.encode(_plain(part, types))
    except (TypeError, OverflowError) as error:
        raise NotStorableError(str(error)) from None


def unpacked(data: bytes, types: tuple[type, ...]) -> Any:
    """Decode a part. Raises a ``ValueError`` if the bytes do not encode one."""
    return _part(msgspec.msgpack.decode(data), types)


def _plain(part: Any, types: tuple[type, ...]) -> Any:
    """Return plain values unchanged, and other values as a list that begins with their kind."""
    if part is None or type(part) in (bool, int, float, str):
        return part
    if type(part) in (list, tuple):
        return [
            LIST if type(part) is list else TUPLE,
            *(_plain(item, types) for item in part),
        ]
    import numpy as np  # imported here because a stored whole run needs no arrays

    if isinstance(part, np.ndarray) and part.dtype.kind in "iufb":
        return [ARRAY, part.dtype.str, part.shape, part.tobytes()]
    if type(part) in types:
        values: Any
        if isinstance(part, msgspec.Struct):
            values = msgspec.to_builtins(part)
        else:
            values = {
                item.name: _plain(getattr(part, item.name), types)
                for item in fields(part)
            }
        return [RECORD, type(part).__name__, values]
    raise NotStorableError(f"a part holds a {type(part).__name__}")


def _part(value: Any, types: tuple[type, ...]) -> Any:
    if not isinstance(value, list):
        return value
    kind, *arguments = value
    if kind == LIST:
        return [_part(item, types) for item in arguments]
    if kind == TUPLE:
        return tuple(_part(item, types) for item in arguments)
    if kind == ARRAY:
        import numpy as np

        dtype, shape, data = arguments
        return np.frombuffer(data, dtype).reshape(shape).copy()
    if kind != RECORD:
        raise ValueError(f"a part must be of a known kind, got {kind!r}.")
    name, values = arguments
    record_type = next((item for item in types if item.__name__ == name), None)
    if record_type is None:
        raise ValueError(
            f"a part must be of a type that its check names, got {name!r}."
        )
    if issubclass(record_type, msgspec.Struct):
        return msgspec.convert(values, record_type)
    return record_type(**{key: _part(item, types) for key, item in values.items()})


BUSY_SECONDS = 30.0  # how long to wait for another run that has locked the file


class Storable(Protocol):
    """Work whose blocks can be stored."""

    @property
    def label(self) -> str:
        """Name of the work in messages."""

    @property
    def request_key(self) -> str:
        """Key of the request, including the seed. Blocks of other requests are never reused."""

    @property
    def terms(self) -> tuple[str, ...]:
        """Further inputs of a block besides the evidence. Under other terms it is stale."""

    @property
    def parts(self) -> tuple[type, ...]:
        """The types, besides plain ones, in the parts of its blocks."""


class Store:
    """A sqlite file of blocks. An instance is used by one process, and several processes may open the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failure = ""  # why a run had to continue without the store
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            check_whole(path, BUSY_SECONDS)
            self._file = begin(path, BUSY_SECONDS)
        except (OSError, sqlite3.Error, StoreError) as error:
            raise StoreError(
                f"{path} is no store of evidence that can be used: {error}"
            ) from None

    def __reduce__(self) -> tuple[type[Store], tuple[Path]]:
        return Store, (self.path,)  # another process opens the file again

    def stored_blocks(self, job: Storable, evidence: str) -> dict[int, BlockOutcome]:
        """Return the stored blocks of a check, by number."""
        key = job.request_key, _evidence(job, evidence)
        types = job.parts
        try:
            rows = self._file.execute(
                "select block, part, seconds from blocks where check_of = ? and evidence = ?",
                key,
            ).fetchall()
            return {
                row[0]: BlockOutcome(unpacked(unsealed((*key, *row)), types), row[2])
                for row in rows
            }
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise StoreError(
                f"{self.path}: what is kept of {job.label} cannot be read: {error}"
            ) from None

    def requests(self, label: str) -> list[tuple[str, int]]:
        """Return the budgets and seeds of stored blocks of works whose labels begin with ``label``."""
        try:
            rows = self._file.execute("select distinct check_of from blocks").fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be read: {error}") from None
        words = (str(row[0]).split() for row in rows if str(row[0]).startswith(label))
        return sorted(
            {
                (parts[-2], int(parts[-1]))
                for parts in words
                if len(parts) > 2 and parts[-1].isdigit()
            }
        )

    def stale(self, job: Storable, evidence: str) -> bool:
        """Return whether there are blocks of a check from another record, other code or other versions."""
        key = job.request_key, _evidence(job, evidence)
        try:
            row = self._file.execute(
                "select 1 from blocks where check_of = ? and evidence != ?", key
            ).fetchone()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be read: {error}") from None
        return row is not None

    def save(
        self, job: Storable, evidence: str, block: int, outcome: BlockOutcome
    ) -> bool:
        """Store a block, unless it has an error of ours, and drop stale blocks of its check.

        Return whether it was stored.
        """
        if outcome.error:
            return False
        key = job.request_key, _evidence(job, evidence)
        try:
            part = packed(outcome.part, job.parts)
        except NotStorableError:
            return False
        try:
            self._file.execute(
                "delete from blocks where check_of = ? and evidence != ?", key
            )
            self._file.execute(
                "insert or replace into blocks values (?, ?, ?, ?, ?)",
                sealed((*key, block, part, outcome.seconds)),
            )
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be written: {error}") from None
        return True

    def drop(self, jobs: Sequence[Storable]) -> None:
        """Delete all blocks of some works in one transaction. If that fails, ``failure`` says why."""
        try:
            self._file.execute("begin immediate")
            self._file.executemany(
                "delete from blocks where check_of = ?",
                [(job.request_key,) for job in jobs],
            )
            self._file.execute("commit")
        except sqlite3.Error as error:
            self.failure = f"{self.path} cannot be written: {error}"

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass
class BlockCache:
    """The store for a run of some checks. If the store fails, the run continues without it."""

    store: Store
    jobs: Sequence[Storable]
    evidence: Sequence[str]  # for each job
    fresh: bool = False  # whether to ignore stored blocks
    reused: int = 0  # number of checks whose blocks were all stored
    # number of checks that were judged before, with another record or other code
    stale: int = 0
    # whether a block that was run is not stored, because of an error or its type
    is_incomplete: bool = False
    # number of checks with blocks, once all blocks are stored and each check is decided
    whole: int | None = None

    def stored_blocks(self, place: int) -> dict[int, BlockOutcome]:
        """Return the stored blocks of a job, which need not be run."""
        if self.fresh or self.store.failure:
            return {}
        job = self.jobs[place]
        evidence = self.evidence[place]
        try:
            blocks = self.store.stored_blocks(job, evidence)
            self.stale += not blocks and self.store.stale(job, evidence)
        except StoreError as error:
            self.store.failure = str(error)
            return {}
        return blocks

    def save(self, place: int, block: int, outcome: BlockOutcome) -> None:
        """Store the outcome of a block."""
        if not self.store.failure:
            try:
                self.is_incomplete |= not self.store.save(
                    self.jobs[place], self.evidence[place], block, outcome
                )
            except StoreError as error:
                self.store.failure = str(error)


def _evidence(job: Storable, evidence: str) -> str:
    terms = "\0".join([evidence, *job.terms, _versions()])
    return hashlib.sha256(terms.encode()).hexdigest()[:16]


@cache
def _versions() -> str:
    return repr(sorted(versions().items()))
