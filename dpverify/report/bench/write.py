"""The benchmarks' part of a report: ``data/benchmarks.json`` in, ``benchmarks.md`` and ``figures/bench-*.svg`` out."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dpverify.ledger.records import encode
from dpverify.report.bench.figures import figures
from dpverify.report.bench.page import DATA, PAGE, bench_page
from dpverify.report.bench.records import SCHEMA, Bench, merged
from dpverify.report.collect import ReportError
from dpverify.report.files import outdated, update


def read_bench(path: Path, name: str = "") -> Bench:
    """Read a run of the benchmarks."""
    called = name or str(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ReportError(f"{called}: cannot be read ({(error.strerror or str(error)).lower()})") from error
    try:
        head = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReportError(f"{called}: no JSON: {' '.join(str(error).split())}") from error
    if not isinstance(head, dict) or head.get("kind") != "dpverify benchmarks":
        raise ReportError(f"{called}: is no run of dpverify bench")
    if head.get("schema") != SCHEMA:
        raise ReportError(f"{called}: schema={head.get('schema')}: this version reads schema {SCHEMA}")
    try:
        bench = msgspec.json.decode(content, type=Bench)
    except msgspec.DecodeError as error:
        raise ReportError(f"{called}: {' '.join(str(error).split())}") from error
    for case in bench.cases:
        for form in case.forms:
            for seconds in (each for rounds in form.samples for each in rounds):
                if seconds <= 0:
                    raise ReportError(f"{called}: {case.name}, {form.name}: {seconds}: a time is above 0")
    return bench


def recorded_bench(folder: Path) -> Bench | None:
    """The benchmarks that a report holds; None where it has none."""
    path = folder / "data" / f"{DATA}.json"
    return read_bench(path, f"data/{path.name}") if path.exists() else None


def render_bench(bench: Bench) -> dict[str, bytes]:
    """The page and its figures. Path below the report's folder to content; the same for the same run."""
    found = figures(bench)
    files = {PAGE: bench_page(bench, found).encode()}
    return files | {f"figures/bench-{group}.svg": svg for group, (_, svg) in found.items()}


def write_bench(bench: Bench, folder: Path) -> list[str]:
    """Record a run, in the place of what is recorded of its groups, and write the page on all that is recorded."""
    old = recorded_bench(folder)
    whole = merged(bench, old) if old is not None else bench
    return update(folder, {f"data/{DATA}.json": encode(whole), **render_bench(whole)}, DATA)


def regenerate_bench(folder: Path) -> list[str]:
    """Write the page and the figures anew, from the data; see :func:`write_bench`."""
    return update(folder, _rendered(folder), DATA)


def check_bench(folder: Path) -> list[str]:
    """Compare the page and the figures with what the data give; returns the files that differ."""
    return sorted(outdated(folder, _rendered(folder), DATA))


def _rendered(folder: Path) -> dict[str, bytes]:
    bench = recorded_bench(folder)
    return {} if bench is None else render_bench(bench)
