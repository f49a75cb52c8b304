"""Read the TOML files of a paper's folder into records, strictly, and cache the records.

An error names file, field, value and rule. The records of a paper are cached after all of its files have passed all
checks. The key of the cache is a digest of the files' content, of the code that reads and checks them, and of the
versions of the libraries that it uses. Cached records are JSON, so reading them executes no code.
"""

from __future__ import annotations

import re
import stat
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from dpverify.cache_files import (
    Snapshot,
    digest_of,
    read_cached,
    snapshot,
    write_cached,
)
from dpverify.ledger.definitions import Definition, DefinitionsFile
from dpverify.ledger.errors import Place, Problems, SpecError, shown, suggest
from dpverify.ledger.proof_book import Proof, ProofsFile
from dpverify.ledger.records import (
    Claim,
    ClaimsFile,
    Function,
    Kind,
    Quantity,
    Record,
    Relation,
    Severity,
    SourceText,
    Status,
    Symbol,
    Verdict,
    VerdictsFile,
)
from dpverify.ledger.specs import ChaptersFile

MAX_BYTES = 2_000_000

R = TypeVar("R", bound=Record)

_CHOICES: dict[str, tuple[str, ...]] = {
    "kind": get_args(Kind),
    "relation": get_args(Relation),
    "severity": get_args(Severity),
    "source": get_args(SourceText),
    "status": get_args(Status),
}
_TABLES: dict[str, type[Record]] = {
    "symbols": Symbol,
    "functions": Function,
    "quantities": Quantity,
}
_ARRAYS: dict[type[Record], tuple[str, str, type[Record]]] = {
    ClaimsFile: ("claim", "id", Claim),
    VerdictsFile: ("verdict", "claim", Verdict),
    DefinitionsFile: ("definition", "name", Definition),
    ProofsFile: ("proof", "of", Proof),
}
"""Arrays of tables whose entries are named in errors: the array, the field that names an entry, and its record."""
_MESSAGE_PATH = re.compile(r"(?P<rule>.*) - at `\$(?P<path>.*)`", re.DOTALL)
_FIELD = re.compile(
    r"Object (?P<what>contains unknown|missing required) field `(?P<name>.*)`",
    re.DOTALL,
)


def content(path: Path, place: Place) -> bytes | SpecError:
    """Return the content of a file, or the error if it cannot be read."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return place.error(
                "",
                f"{_kind_of_file(status.st_mode)} stands where a regular file must be",
            )
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return place.error("", "the file is missing")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return place.error("", f"the file cannot be read: {reason}")
    if len(data) > MAX_BYTES:
        return place.error(
            f"{status.st_size} bytes", f"a file has at most {MAX_BYTES} bytes"
        )
    return data


def records_in(
    data: bytes | SpecError, record: type[R], place: Place, problems: Problems
) -> R | None:
    """Turn the content of a file into its record; on an error, return None and add the error to `problems`."""
    if isinstance(data, SpecError):
        problems.append(data)
        return None
    try:
        tables = _tables(data, place)
    except SpecError as problem:
        problems.append(problem)
        return None
    return _decode(tables, record, place, problems)


def _tables(data: bytes, place: Place) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise place.error(
            f"byte {error.start}", f"the file is not UTF-8: {error.reason}"
        ) from None
    except RecursionError:
        raise place.error("", "arrays or tables are nested too deeply") from None
    except ValueError as error:
        raise place.error("", f"malformed TOML: {error}") from None


def _kind_of_file(mode: int) -> str:
    """Name the type of something that is not a regular file."""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "a device, pipe or socket"


def _decode(
    data: Mapping[str, Any], record: type[R], place: Place, problems: Problems
) -> R | None:
    """Turn the tables of a file into its record; on errors, return None and add them to `problems`."""
    before = len(problems)
    for table, kind in _TABLES.items() if record is ClaimsFile else ():
        entries = data.get(table)
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            _convert(entry, kind, place.at(f"{table}.{name}"), problems)
    if record in _ARRAYS:
        array, label, kind = _ARRAYS[record]
        entries = data.get(array)
        for i, entry in enumerate(entries if isinstance(entries, list) else ()):
            name = entry.get(label) if isinstance(entry, dict) else None
            named = name if isinstance(name, str) and name else f"{array}[{i}]"
            _convert(entry, kind, place.in_record(named), problems)
    return _convert(data, record, place, problems) if len(problems) == before else None


def _convert(
    data: object, record: type[R], place: Place, problems: Problems
) -> R | None:
    """Convert data to a record without converting strings to numbers or numbers to strings."""
    try:
        return msgspec.convert(data, record, strict=True)
    except msgspec.ValidationError as error:
        problems.append(_error_from_message(str(error), data, record, place))
        return None


def _error_from_message(
    message: str, data: object, record: type[Record], place: Place
) -> SpecError:
    """Turn msgspec's message into an error that names field, value and rule."""
    match = _MESSAGE_PATH.fullmatch(message)
    rule, path = (
        (match["rule"], match["path"].removeprefix(".")) if match else (message, "")
    )
    prefix = f"{place.field}.{path}".strip(".")
    if about := _FIELD.fullmatch(rule):
        name = about["name"]
        field_place = place.at(f"{prefix}.{name}".removeprefix("."))
        if about["what"] == "missing required":
            return field_place.error("", "this field is required")
        fields = record.__struct_fields__ if not path else ()
        return field_place.error(shown(name), f"unknown field{suggest(name, fields)}")
    value = _value_at(data, path)
    choices = _CHOICES.get(path.rpartition(".")[2])
    if choices and isinstance(value, str):
        rule = f"it is one of: {', '.join(choices)}{suggest(value, choices)}"
    return place.at(prefix).error(shown(value), rule.replace("`object`", "`table`"))


def _value_at(data: object, path: str) -> object:
    """Return the value at a path such as ``let[0].value``; steps that do not exist are skipped."""
    for key, index in re.findall(r"([A-Za-z_]+)|\[([0-9]+)\]", path):
        if key and isinstance(data, dict):
            data = data.get(key)
        elif index and isinstance(data, list):
            data = data[int(index)]
    return data


PACKAGE = Path(__file__).parent
VERSIONS = (sys.version, msgspec.__version__, version("jinja2"))


class PaperRecords(Record, frozen=True):
    """The records of all files of a paper."""

    claims: ClaimsFile
    verdicts: VerdictsFile
    definitions: DefinitionsFile
    proofs: ProofsFile
    chapters: ChaptersFile


_RECORDS = msgspec.json.Decoder(PaperRecords)


def key_of(folder: str, contents: Sequence[bytes | None]) -> str:
    """Return a digest of everything that determines a paper's records.

    ``contents`` has the content of each of its files, None for a missing file.
    """
    parts = [part for data in contents for part in (str(data is None), data or b"")]
    return digest_of((_rules().digest, *VERSIONS, folder, *parts))


def recall_records(folder: str, key: str) -> PaperRecords | None:
    """Return the cached records; None if there are none or they cannot be decoded."""
    payload = read_cached(_kind(folder), key)
    return None if payload is None else _decoded(payload)


def keep_records(folder: str, key: str, records: PaperRecords) -> None:
    """Cache records of files without errors, if decoding their JSON returns equal records."""
    payload = msgspec.json.encode(records)
    if _decoded(payload) == records and _rules().is_older_than_process:
        write_cached(_kind(folder), key, payload)


def _decoded(payload: bytes) -> PaperRecords | None:
    try:
        return _RECORDS.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _kind(folder: str) -> str:
    """Return the cache category of a paper's records, with a digest because a folder's name may have any character."""
    return f"specs-{digest_of([folder])[:8]}"


@cache
def _rules() -> Snapshot:
    """Return a snapshot of the code that reads and checks records."""
    return snapshot((PACKAGE, *sorted(PACKAGE.parent.glob("*.py"))))
