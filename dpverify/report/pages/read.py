"""Reading what runs recorded in ``data/*.json``."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import msgspec

from dpverify.ledger.results import Run, decode
from dpverify.report.collect import ReportError
from dpverify.report.pages.places import OTHERS

SCHEMA = 1  # the version of the JSON that this code reads


def read_runs(folder: Path, besides: Container[str] = ()) -> dict[str, Run]:
    """Read the recorded runs of a folder, by the names of their files; data of other pages are left out."""
    paths = sorted((folder / "data").glob("*.json"))
    wanted = [path for path in paths if path.stem not in OTHERS and path.stem not in besides]
    return {path.stem: decode_run(f"data/{path.name}", path.read_bytes()) for path in wanted}


def other_pages(folder: Path) -> list[str]:
    """Names of the pages made of other data than verdicts whose data the folder holds."""
    return [name for name in OTHERS if (folder / "data" / f"{name}.json").is_file()]


def decode_run(name: str, content: bytes) -> Run:
    """Decode a run; ``name`` is that of its file, for the ReportError that damage raises."""
    try:
        run = decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReportError(f"{name}: {' '.join(str(error).split())}") from error
    if run.schema != SCHEMA:
        raise ReportError(f"{name}: schema={run.schema}: this version reads schema {SCHEMA}")
    return run
