"""Files of a cache: each is there whole or not at all, and carries a digest, so that a damaged file counts as missing.

The name of a file holds the digest of all that its content follows from. A change of any of that leads to another
name, so a cache never gives an old answer, and it needs no clock and no lock.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

SUFFIX = ".kept"
MOST_FILES = 64  # of one kind: past that, the oldest go


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
    digest, payload = content[:32], content[32:]
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
    found = []
    for other in file.parent.glob(f"{base}.*{file.suffix}"):
        try:
            found.append((other.stat().st_mtime_ns, other))
        except OSError:  # another process was faster
            continue
    for _, other in sorted(found)[:-MOST_FILES]:
        other.unlink(missing_ok=True)


def digest_of(parts: Iterable[bytes | str]) -> str:
    """Digest of some texts in their order, 32 hex digits: two lists have the same one only if they are equal."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part.encode() if isinstance(part, str) else part).digest())
    return total.hexdigest()[:32]


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
