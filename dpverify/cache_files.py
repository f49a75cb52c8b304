"""Files of a cache: each is there whole or not at all, and carries a digest, so that a damaged file counts as missing.

The name of a file holds the digest of all that its content follows from. A change of any of that leads to another
name, so what is found never depends on a clock or on the time stamp of a file, and it needs no lock. Time stamps can
only prevent that an answer is kept: where source files have changed since this process began, the code that it loaded
may not be the code that it reads.
"""

from __future__ import annotations

import hashlib
import os
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dpverify.lazy import LOADED_AT

SUFFIX = ".kept"
MOST_FILES = 64  # of one kind: past that, the oldest go
FINE_CLOCK = 20_000_000  # nanoseconds by which the time stamps of a file system may lag behind the clock
COARSE_CLOCK = 2_000_000_000  # the same where they have no fractions of a second


def default_store() -> Path:
    """Where blocks are kept by default: the file that DPVERIFY_STORE names, or one in the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("DPVERIFY_STORE") or cache / "dpverify" / "evidence.sqlite")


def read(file: Path) -> bytes | None:
    """Read a file that ``write`` wrote; None where there is none, or it is damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest = content[:32]
    payload = content[32:]
    return payload if hashlib.sha256(payload).digest() == digest else None


def write(file: Path, payload: bytes) -> None:
    """Write a file with its digest, whole or not at all."""
    aside = file.with_name(f"{file.name}.{uuid.uuid4().hex[:16]}.tmp")
    try:
        aside.write_bytes(hashlib.sha256(payload).digest() + payload)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def prune(file: Path) -> None:
    """Remove the oldest files of this kind, ``name.*.suffix``, so that old versions do not pile up."""
    base = file.name.rsplit(".", 2)[0]
    files = []
    for cached_file in file.parent.glob(f"{base}.*{file.suffix}"):
        try:
            files.append((cached_file.stat().st_mtime_ns, cached_file))
        except OSError:  # another process was faster
            continue
    for _, cached_file in sorted(files)[:-MOST_FILES]:
        cached_file.unlink(missing_ok=True)


def digest_of(parts: Iterable[bytes | str]) -> str:
    """Digest of some texts in their order, 32 hex digits: two lists have the same one only if they are equal."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part.encode() if isinstance(part, str) else part).digest())
    return total.hexdigest()[:32]


class Snapshot(NamedTuple):
    """What some files held when they were read."""

    digest: str
    changed_at: int  # time stamp of the latest change of a file or of what is known of it, in nanoseconds

    @property
    def is_older_than_process(self) -> bool:
        """Whether no file has changed since this process began to load dpverify."""
        lag = FINE_CLOCK if self.changed_at % 1_000_000_000 else COARSE_CLOCK
        return self.changed_at + lag < LOADED_AT


def snapshot(places: Iterable[Path]) -> Snapshot:
    """Read files, and all files in folders, without Python's caches. Links are followed.

    What is missing, and what is no regular file, counts as such. Raises OSError where a file cannot be read.
    """
    total = hashlib.blake2b(digest_size=16)
    changed_at = 0
    for place in places:
        for name, path in _files(place):
            status = path.stat()
            is_file = stat.S_ISREG(status.st_mode)
            content = hashlib.blake2b(path.read_bytes()).digest() if is_file else b""
            total.update(
                f"{len(name)} {name} {stat.S_IFMT(status.st_mode)} ".encode(errors="surrogateescape") + content
            )
            changed_at = max(changed_at, status.st_ctime_ns, status.st_mtime_ns)
        total.update(b"end of a place")
    return Snapshot(total.hexdigest(), changed_at)


def _files(place: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files in a folder with their names from there, or the file itself; nothing where it is missing."""
    if not place.is_dir():
        if place.exists():
            yield place.name, place
        return
    visited: set[str] = set()
    for folder, below, names in os.walk(place, onerror=_refuse, followlinks=True):
        real = os.path.realpath(folder)
        if real in visited:  # a link to a folder above
            below.clear()
            continue
        visited.add(real)
        below[:] = sorted(name for name in below if name != "__pycache__")
        for name in sorted(names):
            path = Path(folder, name)
            if path.exists():  # no broken link
                yield path.relative_to(place).as_posix(), path


def _refuse(error: OSError) -> None:
    raise error


def recall(kind: str, key: str) -> bytes | None:
    """Return what was kept of a kind under a key; None where there is nothing, or it cannot be read."""
    with suppress(OSError, RuntimeError, ValueError):  # also a user without a home folder
        return read(_file(kind, key))
    return None


def keep(kind: str, key: str, payload: bytes) -> None:
    """Keep a payload beside the store of evidence; a folder that cannot be written changes nothing."""
    with suppress(OSError, RuntimeError, ValueError):
        file = _file(kind, key)
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, payload)
        prune(file)


def _file(kind: str, key: str) -> Path:
    """A kind has no dot; a key is a digest, or a word where the payload itself names what it follows from."""
    return default_store().with_suffix(".cache") / f"{kind}.{key}{SUFFIX}"
