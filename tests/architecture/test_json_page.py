"""docs/json.md has every field of the JSON that commands write, with its type."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from dpverify.bench.results import Bench
from dpverify.calibrate.by_name import SettingsCalibration
from dpverify.calibrate.command import NoiseEpsilon
from dpverify.calibrate.growing import GrowingCalibration
from dpverify.calibrate.records import BatchCalibration, Calibration
from dpverify.cli.app import GENERATED, build
from dpverify.compare.experiments.records import NetworkResult, TableResult
from dpverify.compare.records import CompareResult
from dpverify.ledger.claims import Listing
from dpverify.ledger.records import (
    Amendment,
    Claim,
    Let,
    Reading,
    Regime,
    Severity,
    Status,
    Verdict,
)
from dpverify.ledger.results import Run
from dpverify.privacy.audit.records import AuditorCoverage, AuditResult
from dpverify.selftest.records import MutantsRun, RatesRun, SearchRun, Selftest
from dpverify.train.records import PartyResult, TrainResult
from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
COMMANDS: Mapping[str, tuple[type[msgspec.Struct], ...]] = {
    "verify": (Run,),
    "list": (Listing,),
    "calibrate": (
        Calibration,
        BatchCalibration,
        GrowingCalibration,
        SettingsCalibration,
        NoiseEpsilon,
    ),
    "audit": (AuditResult, AuditorCoverage),
    "train": (TrainResult,),
    "party": (PartyResult,),
    "compare": (CompareResult, TableResult, NetworkResult),
    "bench": (Bench,),
    "selftest": (Selftest, SearchRun, RatesRun, MutantsRun),
}
# described in specs/README.md
OF_SPECS = (Claim, Let, Reading, Verdict, Regime, Amendment)
NAMES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.+) \|$", re.MULTILINE)


def words(kind: Any) -> str:
    """Return the type of a field in the notation of docs/json.md."""
    if kind in NAMES:
        return NAMES[kind]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return (
            f"{kind.__name__}, as in [the records](../specs/README.md)"
            if kind in OF_SPECS
            else link(kind)
        )
    if kind in (Status, Severity):
        return (
            "[status](../specs/README.md#verdicts)"
            if kind == Status
            else "[severity](../specs/README.md#verdicts)"
        )
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return words(parts[0])
    if origin is Literal:
        return " or ".join(
            f'"{part}"' if isinstance(part, str) else str(part) for part in parts
        )
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(words, parts))
    if origin is list or (origin is tuple and parts[-1] is Ellipsis):
        return f"list of {words(parts[0])}"
    if origin is tuple:
        return f"[{', '.join(map(words, parts))}]"
    assert origin is dict, kind
    return f"object of {words(parts[1])}"


def link(kind: type[msgspec.Struct]) -> str:
    return f"[{kind.__name__}](#{kind.__name__.lower()})"


def described(
    kinds: tuple[type[msgspec.Struct], ...],
) -> Iterator[type[msgspec.Struct]]:
    """Yield these records and all records in their fields, each once."""
    seen: list[type[msgspec.Struct]] = []

    def look(kind: Any) -> None:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            if kind not in seen and kind not in OF_SPECS:
                seen.append(kind)
                for each in msgspec.structs.fields(kind):
                    look(each.type)
        else:
            for part in typing.get_args(kind):
                look(part)

    for kind in kinds:
        look(kind)
    yield from seen


ALL = {
    kind.__name__: kind
    for kind in described(tuple(kind for kinds in COMMANDS.values() for kind in kinds))
}


def section(heading: str) -> str:
    """Return the text below a heading, up to the next heading."""
    return re.split(
        r"^#+ ", PAGE.partition(f"{heading}\n")[2], maxsplit=1, flags=re.MULTILINE
    )[0]


@for_each("name", ALL)
def test_the_page_has_the_fields_of_a_record_with_their_types(name: str) -> None:
    rows = [(field, kind) for field, kind, _ in ROW.findall(section(f"\n### {name}"))]
    assert rows == [
        (field.encode_name, words(field.type))
        for field in msgspec.structs.fields(ALL[name])
    ]


def test_the_page_has_no_other_record_and_every_command_with_its_records() -> None:
    assert sorted(re.findall(r"^### (\w+)$", PAGE, re.MULTILINE)) == sorted(ALL)
    for command, kinds in COMMANDS.items():
        assert [
            kind
            for kind in kinds
            if link(kind) not in section(f"\n## `dpverify {command} --json`")
        ] == []


def test_every_command_that_writes_json_is_on_the_page() -> None:
    app = build()
    writers = []
    for name in app:
        if name.startswith("-"):
            continue
        command = app[name]
        if name in GENERATED:
            several = build([name])[name]
            command = several[
                next(word for word in several if not word.startswith("-"))
            ]
        if any(
            "--json" in argument.names
            for argument in command.assemble_argument_collection()
        ):
            writers.append(name)
    assert re.findall(r"^## `dpverify (\S+) --json`$", PAGE, re.MULTILINE) == list(
        COMMANDS
    )
    assert sorted(writers) == sorted(COMMANDS)


@for_each("kind", OF_SPECS)
def test_the_guide_of_records_has_the_other_fields(kind: type[msgspec.Struct]) -> None:
    guide = (ROOT / "specs" / "README.md").read_text(encoding="utf-8")
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    assert [
        name
        for name in names
        if not re.search(rf"`{name}`|\b{name} = |\[verdict\.{name}\]", guide)
    ] == []


def test_a_type_is_written_in_words() -> None:
    assert words(dict[str, list[float]]) == "object of list of number"
    assert words(tuple[float, str | None]) == "[number, string or null]"
    assert words(Literal["a", 1]) == '"a" or 1'
