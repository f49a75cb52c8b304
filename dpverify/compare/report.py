"""The page and figures of ``dpverify compare --report``, pure functions of ``data/comparison.json``; their check."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import msgspec

from dpverify.compare.figure import svg
from dpverify.compare.page import figure_names, page
from dpverify.compare.records import CompareRequest, CompareResult, Comparisons, RecordedComparison, source_of
from dpverify.kernels.check import ArgumentError
from dpverify.ledger.records import encode
from dpverify.report.files import check_folder
from dpverify.report.pages.folder import finish, outdated, update
from dpverify.report.pages.ownership import check_names

STEM = "comparison"  # name of the page and of its data, without their endings
PAGE = f"{STEM}.md"
DATA = f"data/{STEM}.json"
NAME = "report"  # what the folder is called in messages


def check_report(folder: Path | None) -> None:
    """Refuse a folder that could not take the report after the run, or whose comparisons cannot be read."""
    if folder is not None:
        check_folder(NAME, folder)
        read(folder)
        check_pages(folder, (PAGE, DATA))


def check_pages(folder: Path, names: Sequence[str]) -> None:
    """Refuse a folder that cannot be written to, or where one of these files is not of dpverify."""
    check_names(folder, names)
    for inside in (folder / "data", folder / "figures"):
        check_folder(NAME, inside)


def read(folder: Path) -> Comparisons | None:
    """Read what is recorded."""
    finish(folder)
    path = folder / DATA
    try:
        return msgspec.json.decode(path.read_bytes(), type=Comparisons)
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
    for comparison, name in zip(comparisons.comparisons, figure_names(comparisons), strict=True):
        files[f"figures/{name}"] = svg(comparison.result)
    return files


def _update(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    try:
        return update(folder, files, STEM)
    except OSError as error:
        raise ArgumentError(NAME, str(folder), f"must be a folder that can be written ({error})") from error


def recorded(request: CompareRequest, result: CompareResult) -> RecordedComparison:
    """Put a result together with what it takes to make it again."""
    from dpverify.harness.run.manifest import commit, machine, versions

    return RecordedComparison(
        command=command(request),
        source=source_of(request.data),
        versions=versions(),
        machine=machine(),
        commit=commit(),
        result=result,
    )


def command(request: CompareRequest) -> str:
    """Write a request as a command line, defaults left out. ``dpverify compare --epsilon 1 --delta 1e-05``."""
    words = ["dpverify", "compare"]
    for field in fields(request):
        value = getattr(request, field.name)
        if field.name != "seeds" and value == field.default:
            continue
        option = f"--{field.name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(option if value else f"--no-{field.name}")
        elif isinstance(value, tuple):
            words += [word for item in value for word in (option, item)]
        else:
            words += [option, value.name if isinstance(value, Path) else f"{value:g}" if _exact(value) else str(value)]
    return shlex.join(words)


def merged(old: Comparisons | None, new: RecordedComparison) -> Comparisons:
    """Add a comparison to those on a page; one made by the same command is replaced in its place."""
    listed = {comparison.command: comparison for comparison in ([] if old is None else old.comparisons)}
    return Comparisons(comparisons=list({**listed, new.command: new}.values()))


def _exact(value: object) -> bool:
    """Whether six digits say all of a number."""
    return isinstance(value, float) and float(f"{value:g}") == value
