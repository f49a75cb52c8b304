"""The papers: each folder holds kernels, bounds, and the checks that compare them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.harness.run.registry import Index, PaperChecks

# Generated from the files with checks by ``.ci/generated.py --write``
INDEX = Path(__file__).with_name("index.json")


@cache
def load(key: str) -> PaperChecks | None:
    """Load the checks of a paper by its key, such as ``tran2022``, or return None if it has no code yet."""
    from dpverify.harness.run.registry import load_paper
    from dpverify.ledger.load import outside_papers

    if key in outside_papers(Path.cwd()):
        return load_paper(key, key, {})
    return load_paper(key, f"{__name__}.{key}", index().files)


def packages() -> list[str]:
    """Return the names of the papers' packages."""
    return [
        f"{__name__}.{package.name}"
        for package in iter_modules([str(INDEX.parent)])
        if package.ispkg
    ]


@cache
def index() -> Index:
    """Read the index of the files with checks."""
    from dpverify.harness.run.registry import read_index

    return read_index(INDEX)


def __getattr__(name: str) -> Any:
    """Return ``SEARCH_SECONDS``, the core seconds per budget that one search may take so that all checks fit."""
    if name == "SEARCH_SECONDS":
        return index().search_seconds
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
