"""Files of a cache. A file is either complete or missing, and has a digest, so a damaged file counts as missing.

The name of a file has the digest of all inputs of its content. If an input changes, the name changes. Results therefore
do not depend on a clock or on time stamps, and no locks are needed. Time stamps can only prevent that a result is
stored: if source files have changed since this process began, the loaded code may differ from the files.
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
MAX_FILES = 64  # most files of one kind; the oldest files are removed
# nanoseconds by which the time stamps of a file system may lag behind the clock
FINE_CLOCK_LAG = 20_000_000
# the same for time stamps without fractions of a second
COARSE_CLOCK_LAG = 2_000_000_000


def default_store() -> Path:
    """Return the default file for results: the value of DPVERIFY_STORE, or a file in the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(
        os.environ.get("DPVERIFY_STORE") or cache / "dpverify" / "evidence.sqlite"
    )


def read(file: Path) -> bytes | None:
    """Return the payload of a file written by ``write``, or None if it is missing or damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest = content[:32]
    payload = content[32:]
    return payload if hashlib.sha256(payload).digest() == digest else None


def write(file: Path, payload: bytes) -> None:
    """Write a file with its digest. The file is renamed at the end, so it is either complete or missing."""
    temporary = file.with_name(f"{file.name}.{uuid.uuid4().hex[:16]}.tmp")
    try:
        temporary.write_bytes(hashlib.sha256(payload).digest() + payload)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def prune(file: Path) -> None:
    """Remove the oldest files of this kind, ``name.*.suffix``, so that old versions do not accumulate."""
    base = file.name.rsplit(".", 2)[0]
    files = []
    for cached_file in file.parent.glob(f"{base}.*{file.suffix}"):
        try:
            files.append((cached_file.stat().st_mtime_ns, cached_file))
        except OSError:  # another process was faster
            continue
    for _, cached_file in sorted(files)[:-MAX_FILES]:
        cached_file.unlink(missing_ok=True)


def digest_of(parts: Iterable[bytes | str]) -> str:
    """Return the digest of a sequence of texts, 32 hex digits; different sequences have different digests."""
    total = hashlib.sha256()
    for part in parts:
        total.update(
            hashlib.sha256(part.encode() if isinstance(part, str) else part).digest()
        )
    return total.hexdigest()[:32]


class Snapshot(NamedTuple):
    """State of some files when they were read."""

    digest: str
    # latest time stamp of a change of a file's content or metadata, in nanoseconds
    changed_at: int

    @property
    def is_older_than_process(self) -> bool:
        """Whether no file has changed since this process began to import dpverify."""
        lag = FINE_CLOCK_LAG if self.changed_at % 1_000_000_000 else COARSE_CLOCK_LAG
        return self.changed_at + lag < LOADED_AT


def snapshot(places: Iterable[Path]) -> Snapshot:
    """Return the state of files, and of all files in folders, except Python's caches. Links are followed.

    Missing files and special files affect the digest too. Raises OSError if a file cannot be read.
    """
    total = hashlib.blake2b(digest_size=16)
    changed_at = 0
    for place in places:
        for name, path in _files(place):
            status = path.stat()
            is_file = stat.S_ISREG(status.st_mode)
            content = hashlib.blake2b(path.read_bytes()).digest() if is_file else b""
            total.update(
                f"{len(name)} {name} {stat.S_IFMT(status.st_mode)} ".encode(
                    errors="surrogateescape"
                )
                + content
            )
            changed_at = max(changed_at, status.st_ctime_ns, status.st_mtime_ns)
        total.update(b"end of a place")
    return Snapshot(total.hexdigest(), changed_at)


def _files(place: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files in a folder with their relative names, or the file itself; nothing if it is missing."""
    if not place.is_dir():
        if place.exists():
            yield place.name, place
        return
    visited: set[str] = set()
    for folder, subfolders, names in os.walk(place, onerror=_refuse, followlinks=True):
        real = os.path.realpath(folder)
        if real in visited:  # a link to a folder above
            subfolders.clear()
            continue
        visited.add(real)
        subfolders[:] = sorted(name for name in subfolders if name != "__pycache__")
        for name in sorted(names):
            path = Path(folder, name)
            if path.exists():  # not a broken link
                yield path.relative_to(place).as_posix(), path


def _refuse(error: OSError) -> None:
    raise error


def read_cached(kind: str, key: str) -> bytes | None:
    """Return the payload stored for a kind and a key, or None if it is missing or cannot be read."""
    # RuntimeError: the user has no home folder
    with suppress(OSError, RuntimeError, ValueError):
        return read(_file(kind, key))
    return None


def write_cached(kind: str, key: str, payload: bytes) -> None:
    """Store a payload in a folder beside the evidence store; do nothing if the folder is not writable."""
    with suppress(OSError, RuntimeError, ValueError):
        file = _file(kind, key)
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, payload)
        prune(file)


def _file(kind: str, key: str) -> Path:
    """Return the file of a kind (without dots) and a key: a digest, or a word if the payload names its inputs."""
    return default_store().with_suffix(".cache") / f"{kind}.{key}{SUFFIX}"
