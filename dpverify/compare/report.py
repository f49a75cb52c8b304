"""The page and figures of ``dpverify compare --report``, pure functions of ``data/comparison.json``; their check."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from dpverify.compare.figure import svg
from dpverify.compare.page import figure_names, page
from dpverify.compare.record import Comparisons, RecordedComparison, decode, merged
from dpverify.kernels.check import ArgumentError
from dpverify.ledger.records import encode
from dpverify.report.files import check_folder, outdated, update

STEM = "comparison"  # name of the page and of its data, without their endings
PAGE, DATA = f"{STEM}.md", f"data/{STEM}.json"
NAME = "report"  # what the folder is called in messages


def check_report(folder: Path | None) -> None:
    """Refuse a folder that could not take the report after the run, or whose comparisons cannot be read."""
    if folder is not None:
        for inside in (folder, folder / "data", folder / "figures"):
            check_folder(NAME, inside)
        read(folder)


def read(folder: Path) -> Comparisons | None:
    """Read what is recorded."""
    path = folder / DATA
    try:
        return decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        words = " ".join(str(error).split())
        raise ArgumentError(NAME, str(path), f"holds comparisons that cannot be read ({words})") from error


def add(folder: Path, comparison: RecordedComparison) -> list[str]:
    """Record a comparison with those that are there; returns the files that changed or went away, sorted."""
    comparisons = merged(read(folder), comparison)
    return _update(folder, {DATA: encode(comparisons), **render(comparisons)})


def regenerate(folder: Path) -> list[str]:
    """Write page and figures anew from the data, where there are any; returns the files that changed, sorted."""
    return _update(folder, _rendered(folder))


def check(folder: Path) -> list[str]:
    """Compare the page and the figures with what the data give; returns the files that differ, sorted."""
    return sorted(outdated(folder, _rendered(folder), STEM))


def _rendered(folder: Path) -> dict[str, bytes]:
    comparisons = read(folder)
    return {} if comparisons is None else render(comparisons)


def render(comparisons: Comparisons) -> dict[str, bytes]:
    """Make every file but the data. Path below the folder to content."""
    files = {PAGE: page(comparisons).encode()}
    for one, name in zip(comparisons.comparisons, figure_names(comparisons), strict=True):
        files[f"figures/{name}"] = svg(one.result)
    return files


def _update(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    try:
        return update(folder, files, STEM)
    except OSError as error:
        raise ArgumentError(NAME, str(folder), f"must be a folder that can be written ({error})") from error
