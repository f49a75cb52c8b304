"""A folder of generated files: which of them are not what they should be, and how it is brought up to date."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path


def differing(folder: Path, wanted: Mapping[str, bytes]) -> list[str]:
    """Files that are missing or have another content. Paths below the folder, in the order of ``wanted``."""
    return [name for name, content in wanted.items() if not _same(folder / name, content)]


def update(folder: Path, files: Mapping[str, bytes], gone: Iterable[str]) -> list[str]:
    """Write the files that differ, none of them ever seen half written, and take others away; sorted."""
    changed = differing(folder, files)
    for name in changed:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.part")
        aside.write_bytes(files[name])
        aside.replace(path)
    removed = list(gone)
    for name in removed:
        (folder / name).unlink()
        with contextlib.suppress(OSError):  # another file is in it
            if (inside := (folder / name).parent) != folder:
                inside.rmdir()
    return sorted([*changed, *removed])


def _same(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
