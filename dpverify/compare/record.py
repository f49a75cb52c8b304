"""What the page of comparisons is made of: comparisons, each with what it takes to make it again."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Literal

import msgspec

from dpverify.compare.request import CompareRequest
from dpverify.compare.result import CompareResult
from dpverify.ledger.records import Record


class RecordedComparison(Record, frozen=True, kw_only=True):
    """A comparison and how to make it again."""

    command: str  # the command line, with the name of the data file and not its place
    source: str  # where the data are from; of a file its SHA-256
    versions: dict[str, str]  # what it was made with
    machine: dict[str, str]
    commit: str  # of the checkout, where there is one
    result: CompareResult  # what came out


class Comparisons(Record, frozen=True, kw_only=True):
    """All of ``data/comparison.json``."""

    schema: Literal[1] = 1
    comparisons: list[RecordedComparison]


def recorded(request: CompareRequest, result: CompareResult) -> RecordedComparison:
    """Put a result together with what it takes to make it again."""
    from dpverify.harness.run.manifest import commit, machine, versions

    return RecordedComparison(
        command=command(request),
        source=_source(request.data),
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
        else:
            words += [option, value.name if isinstance(value, Path) else f"{value:g}" if _exact(value) else str(value)]
    return shlex.join(words)


def merged(old: Comparisons | None, new: RecordedComparison) -> Comparisons:
    """Add a comparison to those on a page; one made by the same command is replaced in its place."""
    listed = {one.command: one for one in ([] if old is None else old.comparisons)}
    return Comparisons(comparisons=list({**listed, new.command: new}.values()))


def decode(content: bytes) -> Comparisons:
    """Decode; raises ``msgspec.DecodeError`` where the JSON is not one."""
    return msgspec.json.decode(content, type=Comparisons)


def _source(data: Path | None) -> str:
    if data is None:
        return "comes with scikit-learn"
    return f"file {data.name}, SHA-256 {hashlib.sha256(data.read_bytes()).hexdigest()}"


def _exact(value: object) -> bool:
    """Whether six digits say all of a number."""
    return isinstance(value, float) and float(f"{value:g}") == value
