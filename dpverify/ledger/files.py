"""From bytes on disk to records: nothing but text is accepted, and every refusal names the file and the field."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from dpverify.ledger.chapters import ChaptersFile
from dpverify.ledger.errors import Place, Problems, SpecError, shown, suggest
from dpverify.ledger.records import (
    Claim,
    ClaimsFile,
    Function,
    Kind,
    Quantity,
    Record,
    Relation,
    SourceText,
    Status,
    Symbol,
    Verdict,
    VerdictsFile,
)

MAX_BYTES = 2_000_000

R = TypeVar("R", bound=Record)

_CHOICES: dict[str, tuple[str, ...]] = {
    "kind": get_args(Kind),
    "relation": get_args(Relation),
    "source": get_args(SourceText),
    "status": get_args(Status),
}
_TABLES: dict[str, type[Record]] = {"symbols": Symbol, "functions": Function, "quantities": Quantity}
_AT = re.compile(r"(?P<rule>.*) - at `\$(?P<path>.*)`", re.DOTALL)
_FIELD = re.compile(r"Object (?P<what>contains unknown|missing required) field `(?P<name>.*)`", re.DOTALL)


def read_toml(path: Path, place: Place) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise place.error("", f"{_kind_of_file(status.st_mode)} stands where a regular file must be")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise place.error("", "the file is missing") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise place.error("", f"the file cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise place.error(f"{status.st_size} bytes", f"a file has at most {MAX_BYTES} bytes")
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise place.error(f"byte {error.start}", f"the file is not UTF-8: {error.reason}") from None
    except RecursionError:
        raise place.error("", "arrays or tables are nested too deeply") from None
    except ValueError as error:
        raise place.error("", f"malformed TOML: {error}") from None


def _kind_of_file(mode: int) -> str:
    """Name what is there instead of a regular file."""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "a device, pipe or socket"


def decode_claims(data: Mapping[str, Any], place: Place, problems: Problems) -> ClaimsFile | None:
    """Turn the tables of ``claims.toml`` into records; None if anything is wrong, which is added to `problems`."""
    before = len(problems)
    for table, record in _TABLES.items():
        entries = data.get(table)
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            _convert(entry, record, place.at(f"{table}.{name}"), problems)
    for where, entry in _entries(data, "claim", "id", place):
        _convert(entry, Claim, where, problems)
    return _convert(data, ClaimsFile, place, problems) if len(problems) == before else None


def decode_verdicts(data: Mapping[str, Any], place: Place, problems: Problems) -> VerdictsFile | None:
    """Turn the tables of ``verdicts.toml`` into records, as :func:`decode_claims`."""
    before = len(problems)
    for where, entry in _entries(data, "verdict", "claim", place):
        _convert(entry, Verdict, where, problems)
    return _convert(data, VerdictsFile, place, problems) if len(problems) == before else None


def decode_chapters(data: Mapping[str, Any], place: Place, problems: Problems) -> ChaptersFile | None:
    """Turn the tables of ``chapters.toml`` into records, as :func:`decode_claims`."""
    return _convert(data, ChaptersFile, place, problems)


def _entries(data: Mapping[str, Any], array: str, label: str, place: Place) -> list[tuple[Place, Any]]:
    """Return the entries of an array of tables, each with its place: named by its label, or by its number."""
    entries = data.get(array)
    named = []
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        name = entry.get(label) if isinstance(entry, dict) else None
        named.append((place.of(name if isinstance(name, str) and name else f"{array}[{i}]"), entry))
    return named


def _convert(data: object, record: type[R], place: Place, problems: Problems) -> R | None:
    """Convert to a record, strictly: no string is taken for a number, no number for a string."""
    try:
        return msgspec.convert(data, record, strict=True)
    except msgspec.ValidationError as error:
        problems.append(_explain(str(error), data, record, place))
        return None


def _explain(message: str, data: object, record: type[Record], place: Place) -> SpecError:
    """Turn msgspec's message into one that names field, value and rule."""
    match = _AT.fullmatch(message)
    rule, path = (match["rule"], match["path"].removeprefix(".")) if match else (message, "")
    prefix = f"{place.field}.{path}".strip(".")
    if about := _FIELD.fullmatch(rule):
        name = about["name"]
        here = place.at(f"{prefix}.{name}".removeprefix("."))
        if about["what"] == "missing required":
            return here.error("", "this field is required")
        known = record.__struct_fields__ if not path else ()
        return here.error(shown(name), f"unknown field{suggest(name, known)}")
    value = _value_at(data, path)
    choices = _CHOICES.get(path.rpartition(".")[2])
    if choices and isinstance(value, str):
        rule = f"it is one of: {', '.join(choices)}{suggest(value, choices)}"
    return place.at(prefix).error(shown(value), rule.replace("`object`", "`table`"))


def _value_at(data: object, path: str) -> object:
    """Follow a path such as ``let[0].value``; what cannot be followed ends where it is."""
    for key, index in re.findall(r"([A-Za-z_]+)|\[([0-9]+)\]", path):
        if key and isinstance(data, dict):
            data = data.get(key)
        elif index and isinstance(data, list):
            data = data[int(index)]
    return data
