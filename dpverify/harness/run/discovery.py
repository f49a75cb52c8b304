"""The files with checks below a paper's folder, and an index of their claims, so that one claim imports few of them.

A file registers its checks itself, by a line ``CHECKS = PaperChecks(key, __name__)``. The index keeps what it judges
with a digest of it; where that differs, the file is imported and asked, so that a stale index costs time only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from dpverify.harness.run.registry import PaperChecks, import_checks

MARK = "\nCHECKS = PaperChecks("
DIGITS = 12


class IndexedFile(msgspec.Struct, frozen=True):
    """What the index keeps of a file: a digest of its source, and the claims that it judges, without the paper."""

    source: str
    claims: list[str]


class Index(msgspec.Struct, frozen=True):
    """All files of all papers by module name, and the core seconds that one search may take in each budget."""

    search_seconds: dict[str, float]
    files: dict[str, IndexedFile]


def load_paper(key: str, package: str, index_of_files: Mapping[str, IndexedFile]) -> PaperChecks | None:
    """Load the checks of the paper whose code is the package of this name; None where there is no such package."""
    if not key.isidentifier() or find_spec(package) is None:
        return None
    checks = PaperChecks(key, package)
    for module, source in check_files(package, key):
        file = index_of_files.get(module)
        checks.announce(module, file.claims if file and file.source == source else claims_in(module))
    return checks


def check_files(package: str, key: str = "") -> Iterator[tuple[str, str]]:
    """Names of the modules below a package that register checks, in the order of their paths, each with its digest.

    ``key``: only those of this paper.
    """
    mark = f'{MARK}"{key}"' if key else MARK
    spec = find_spec(package)
    for folder in [] if spec is None else spec.submodule_search_locations or []:
        for path in sorted(Path(folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if mark in text:
                module = ".".join([package, *path.relative_to(folder).with_suffix("").parts])
                yield module, hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def claims_in(module: str) -> list[str]:
    """Import a file and list what it judges."""
    return sorted(import_checks(module).claims())


def made_index(packages: Sequence[str], search_seconds: Mapping[str, float]) -> Index:
    """Import every file of some papers, and write down what it judges."""
    files = {
        module: IndexedFile(source, claims_in(module))
        for package in packages
        for module, source in check_files(package)
    }
    return Index(dict(search_seconds), files)


def read_index(path: Path) -> Index:
    """Read the index; an empty one where there is no file."""
    return msgspec.json.decode(path.read_bytes(), type=Index) if path.is_file() else Index({}, {})


def index_text(index: Index) -> str:
    """Text of an index file."""
    return msgspec.json.format(msgspec.json.encode(index), indent=1).decode() + "\n"
