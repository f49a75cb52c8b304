"""Loading a specs folder: only text is accepted, every rule is checked, and an error names file, field and rule."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_args

import msgspec

from dpverify.ledger.chapters import ChaptersFile, chapter_problems
from dpverify.ledger.definitions import Definition, DefinitionsFile
from dpverify.ledger.errors import Place, Problems, SpecError, shown, suggest
from dpverify.ledger.outside import outside_papers
from dpverify.ledger.papers import PaperReader
from dpverify.ledger.reading import find_cycle
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
from dpverify.ledger.specs import PaperSpec, Specs

MAX_BYTES = 2_000_000

R = TypeVar("R", bound=Record)

_CHOICES: dict[str, tuple[str, ...]] = {
    "kind": get_args(Kind),
    "relation": get_args(Relation),
    "severity": get_args(Severity),
    "source": get_args(SourceText),
    "status": get_args(Status),
}
_TABLES: dict[str, type[Record]] = {"symbols": Symbol, "functions": Function, "quantities": Quantity}
_ARRAYS: dict[type[Record], tuple[str, str, type[Record]]] = {
    ClaimsFile: ("claim", "id", Claim),
    VerdictsFile: ("verdict", "claim", Verdict),
    DefinitionsFile: ("definition", "name", Definition),
}
"""Arrays of tables whose entries are named in errors: the array, the field that names an entry, and its record."""
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


def _decode(data: Mapping[str, Any], record: type[R], place: Place, problems: Problems) -> R | None:
    """Turn the tables of a file into records; None if anything is wrong, which is added to `problems`."""
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
            _convert(entry, kind, place.of(named), problems)
    return _convert(data, record, place, problems) if len(problems) == before else None


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


CLAIMS = "claims.toml"
VERDICTS = "verdicts.toml"
CHAPTERS = "chapters.toml"
QUESTIONS = "questions.toml"
DEFINITIONS = "definitions.toml"
NO_PAPERS = {"proofs", "faults"}  # folders of specs that are no papers: proofs of rules, faults of the selftest

_PACKAGE = Path(__file__).resolve().parents[1]


def bundled_specs(package: Path = _PACKAGE) -> Path:
    """Folder of dpverify's specs."""
    return bundled("specs", package)


def bundled(name: str, package: Path = _PACKAGE) -> Path:
    """A folder that comes with dpverify: ``_name`` of a wheel, else ``name`` beside the package, or a `SpecError`."""
    places = (package / f"_{name}", package.parent / name)
    for place in places:
        if place.is_dir():
            return place
    tried = " and ".join(str(place) for place in places)
    raise SpecError(str(package), "", "", "", f"no bundled {name}: looked for {tried}")


def load_specs(directory: Path | str | None = None) -> Specs:
    """Load all papers of a specs folder.

    Parameters
    ----------
    directory
        It has a folder per paper, with ``claims.toml`` and perhaps ``verdicts.toml``, ``definitions.toml`` and
        ``chapters.toml``. None for the specs that come with dpverify and those of outside papers.

    Raises
    ------
    SpecError
        For the first rule that is broken: file, claim, field, value and rule in one line.

    Examples
    --------
    >>> import dpverify as dv
    >>> specs = dv.load_specs()
    >>> specs.claim("tran2022:lemma-12").record.where
    'Lemma 12, appendix D.2'
    """
    outside = outside_papers(Path.cwd()) if directory is None else {}
    return read_specs(bundled_specs() if directory is None else Path(directory), Problems(), outside)


def read_specs(directory: Path, problems: Problems, outside: Mapping[str, Path] = MappingProxyType({})) -> Specs:
    """Read a specs folder, without the papers whose claims cannot be read: what is wrong is added to `problems`.

    ``outside``: folders of further papers, by key.
    """
    papers: dict[str, PaperSpec] = {}
    unread: set[str] = set()
    bundled_ones = _paper_folders(directory, problems)
    for twice in outside.keys() & {folder.name for folder in bundled_ones}:
        problems.append(Place(shown_path(outside[twice])).error(shown(twice), "a paper of dpverify has this key"))
    for folder in (*bundled_ones, *outside.values()):
        paper = _read_paper(folder, problems)
        if paper is None:
            unread.add(folder.name)
        else:
            papers[folder.name] = paper
    specs = Specs(directory, papers)
    problems.extend(_link_problems(specs, unread))
    return specs


def _paper_folders(directory: Path, problems: Problems) -> list[Path]:
    """Return the folders of the papers; hidden ones, Python's caches and the folders of others are none."""
    place = Place(shown_path(directory))
    try:
        entries = sorted(directory.iterdir())
        visible = [entry for entry in entries if entry.is_dir() and not entry.name.startswith((".", "__"))]
        folders = [entry for entry in visible if entry.name not in NO_PAPERS]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        problems.append(place.error("", f"the specs folder cannot be read: {reason}"))
        return []
    if not folders:
        rule = "there is no paper here: a specs folder holds one folder per paper, each with a claims.toml"
        if directory / CLAIMS in entries:
            rule = "this is the folder of one paper; give the folder above it"
        problems.append(place.error("", rule))
    return folders


def _read_paper(folder: Path, problems: Problems) -> PaperSpec | None:
    """Read one paper, or return None where its claims cannot be read."""
    places = [Place(shown_path(folder / name)) for name in (CLAIMS, VERDICTS, DEFINITIONS, CHAPTERS)]
    claims = _read_file(folder / CLAIMS, ClaimsFile, places[0], problems)
    verdicts, definitions, chapters = VerdictsFile(), DefinitionsFile(), ChaptersFile()
    if _is_there(folder / VERDICTS):
        verdicts = _read_file(folder / VERDICTS, VerdictsFile, places[1], problems) or verdicts
    if _is_there(folder / DEFINITIONS):
        definitions = _read_file(folder / DEFINITIONS, DefinitionsFile, places[2], problems) or definitions
    if claims is None:
        return None
    paper = PaperReader(folder.name, places[:3], problems).read(claims, verdicts, definitions)
    if _is_there(folder / CHAPTERS):
        chapters = _read_file(folder / CHAPTERS, ChaptersFile, places[3], problems) or chapters
    problems.extend(chapter_problems(chapters, paper.claims, places[3]))
    return replace(paper, chapters=tuple(chapters.chapter))


def _read_file(path: Path, record: type[R], place: Place, problems: Problems) -> R | None:
    """Read a file into its record, or return None where that cannot be."""
    try:
        data = read_toml(path, place)
    except SpecError as problem:
        problems.append(problem)
        return None
    return _decode(data, record, place, problems)


def _is_there(path: Path) -> bool:
    """Tell whether anything has this name: a broken link too, and what may not be looked at."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True  # reading it will say why it cannot be read
    return True


def _link_problems(specs: Specs, unread: Collection[str]) -> Iterator[SpecError]:
    """Yield what is wrong with the `uses` of all claims: unknown ids, and cycles."""
    graph = specs.uses()
    for claim in specs.claims():
        place = Place(claim.file, claim.record.id)
        for i, used in enumerate(claim.uses):
            if used not in graph and used.partition(":")[0] not in unread:
                rule = f"no paper here has this claim{suggest(used, graph)}"
                yield place.at(f"uses[{i}]").error(shown(claim.record.uses[i]), rule)
    if cycle := find_cycle(graph):
        first = specs.claim(cycle[0])
        rule = f"claims rest on each other in a circle: {' -> '.join((*cycle, cycle[0]))}"
        yield Place(first.file, first.record.id, "uses").error("", rule)


def shown_path(path: Path) -> str:
    """Return a path as an error shows it: from the working folder if it lies below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(path)
