"""Load a specs folder and check every rule. The files are only text, and an error names file, field and rule.

An outside paper is a Python package that is installed or that a pyproject.toml names. The package has the paper's key
as its name, and its folder has the records in ``specs/<key>/``. An installed package declares an entry point of the
group ``dpverify.papers``. A package that is not installed is named in the list ``papers`` of the table
``[tool.dpverify]``. This table is read from the nearest pyproject.toml that has it, in the working folder or above it.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from dpverify.foreign import ForeignError, foreign_code
from dpverify.ledger.definitions import DefinitionsFile
from dpverify.ledger.errors import Place, Problems, SpecError, shown, suggest
from dpverify.ledger.files import (
    PaperRecords,
    content,
    keep_records,
    key_of,
    recall_records,
    records_in,
)
from dpverify.ledger.papers import PaperReader
from dpverify.ledger.proof_book import ProofsFile
from dpverify.ledger.reading import find_cycle
from dpverify.ledger.records import ClaimsFile, Record, VerdictsFile
from dpverify.ledger.specs import ChaptersFile, PaperSpec, Specs, chapter_problems

GROUP = "dpverify.papers"
PROJECT = "pyproject.toml"


@cache
def outside_papers(folder: Path) -> dict[str, Path]:
    """Return the folders with the records of all outside papers that are visible in a working folder, by key.

    Packages that a pyproject.toml names are made importable. Two packages with one key are refused, because Python
    would import the code of only one of them.
    """
    folders: dict[str, Path] = {}
    for package in (*_installed(), *_project_papers(folder)):
        specs = package.resolve() / "specs" / package.name
        if folders.setdefault(package.name, specs) != specs:
            rule = f"two papers have this key: {folders[package.name]} and {specs}; uninstall or rename one"
            raise SpecError(
                "papers outside of dpverify", "", "", shown(package.name), rule
            )
    return folders


def _installed() -> Iterator[Path]:
    for point in entry_points(group=GROUP):
        try:
            with foreign_code(point.value):
                spec = find_spec(point.value)  # imports its parent packages
        except ForeignError as error:
            raise SpecError(
                f"entry point {GROUP}", "", "", shown(point.value), f"it {error.reason}"
            ) from error
        if spec is None or not spec.submodule_search_locations:
            raise SpecError(
                f"entry point {GROUP}",
                "",
                "",
                shown(point.value),
                "it must name a package",
            )
        yield Path(spec.submodule_search_locations[0])


def _project_papers(folder: Path) -> Iterator[Path]:
    for above in (folder, *folder.parents):
        file = above / PROJECT
        if file.is_file() and (table := _table(file)) is not None:
            for i, name in enumerate(table):
                package = above / name
                if not (package / "specs" / package.name / "claims.toml").is_file():
                    rule = f"there must be {Path(name, 'specs', package.name, 'claims.toml')}"
                    raise SpecError(
                        str(file), "", f"tool.dpverify.papers[{i}]", shown(name), rule
                    )
                if str(package.parent) not in sys.path:
                    sys.path.append(str(package.parent))
                yield package
            return


def _table(file: Path) -> list[str] | None:
    """Return the papers that a pyproject.toml names; None if it has no table for dpverify."""
    try:
        table = (
            tomllib.loads(file.read_text(encoding="utf-8"))
            .get("tool", {})
            .get("dpverify")
        )
    except (OSError, ValueError) as error:
        raise SpecError(
            str(file), "", "", "", f"the file cannot be read: {error}"
        ) from None
    if table is None:
        return None
    papers = table.get("papers") if isinstance(table, dict) else None
    if not isinstance(papers, list) or not all(
        isinstance(name, str) for name in papers
    ):
        raise SpecError(
            str(file),
            "",
            "tool.dpverify.papers",
            shown(papers),
            "it must be a list of folders",
        )
    return papers


R = TypeVar("R", bound=Record)

CLAIMS = "claims.toml"
VERDICTS = "verdicts.toml"
CHAPTERS = "chapters.toml"
QUESTIONS = "questions.toml"
DEFINITIONS = "definitions.toml"
PROOFS = "proofs.toml"
FILES = (CLAIMS, VERDICTS, DEFINITIONS, PROOFS, CHAPTERS)
# folders of specs without a paper: proofs of rules, faults of the selftest
NO_PAPERS = {"proofs", "faults"}

_PACKAGE = Path(__file__).resolve().parents[1]


def bundled_specs(package: Path = _PACKAGE) -> Path:
    """Return the folder of dpverify's specs."""
    return bundled("specs", package)


def bundled(name: str, package: Path = _PACKAGE) -> Path:
    """Return a folder of dpverify's data: ``_name`` in the package (a wheel), or ``name`` next to it (a checkout)."""
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
        A folder with one folder per paper. Each has a ``claims.toml`` and optionally
        ``verdicts.toml``, ``definitions.toml``, ``proofs.toml`` and ``chapters.toml``.
        None loads dpverify's specs and outside papers.

    Raises
    ------
    SpecError
        For the first broken rule. The message has file, claim, field, value and rule in
        one line.

    Examples
    --------
    >>> import dpverify as dv
    >>> specs = dv.load_specs()
    >>> specs.claim("tran2022:lemma-12").record.where
    'Lemma 12, appendix D.2'
    """
    outside = outside_papers(Path.cwd()) if directory is None else {}
    return read_specs(
        bundled_specs() if directory is None else Path(directory), Problems(), outside
    )


def read_specs(
    directory: Path,
    problems: Problems,
    outside: Mapping[str, Path] = MappingProxyType({}),
) -> Specs:
    """Read a specs folder, and add its errors to `problems`. Papers whose claims cannot be read are left out.

    ``outside`` has the folders of outside papers, by key.
    """
    papers: dict[str, PaperSpec] = {}
    unread: set[str] = set()
    bundled_ones = _paper_folders(directory, problems)
    for twice in outside.keys() & {folder.name for folder in bundled_ones}:
        problems.append(
            Place(shown_path(outside[twice])).error(
                shown(twice), "a paper of dpverify has this key"
            )
        )
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
    """Return the folders of the papers, without hidden folders, Python's caches and the folders ``NO_PAPERS``."""
    place = Place(shown_path(directory))
    try:
        entries = sorted(directory.iterdir())
        visible = [
            entry
            for entry in entries
            if entry.is_dir() and not entry.name.startswith((".", "__"))
        ]
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
    """Read one paper; return None if its claims cannot be read."""
    places = [Place(shown_path(folder / name)) for name in FILES]
    contents = [
        content(folder / name, place)
        if name == CLAIMS or _exists(folder / name)
        else None
        for name, place in zip(FILES, places, strict=True)
    ]
    readable = [data for data in contents if not isinstance(data, SpecError)]
    key = key_of(folder.name, readable) if len(readable) == len(FILES) else ""
    recalled = recall_records(folder.name, key) if key else None
    if recalled is not None:
        reader = PaperReader(folder.name, places[:4], problems, checked=True)
        paper = reader.read(
            recalled.claims, recalled.verdicts, recalled.definitions, recalled.proofs
        )
        return replace(paper, chapters=tuple(recalled.chapters.chapter))
    before = len(problems)
    claims = records_in(contents[0] or b"", ClaimsFile, places[0], problems)
    verdicts = _optional(contents[1], VerdictsFile(), places[1], problems)
    definitions = _optional(contents[2], DefinitionsFile(), places[2], problems)
    proofs = _optional(contents[3], ProofsFile(), places[3], problems)
    if claims is None:
        return None
    paper = PaperReader(folder.name, places[:4], problems).read(
        claims, verdicts, definitions, proofs
    )
    chapters = _optional(contents[4], ChaptersFile(), places[4], problems)
    problems.extend(chapter_problems(chapters, paper.claims, places[4]))
    if key and len(problems) == before:
        records = PaperRecords(
            claims=claims,
            verdicts=verdicts,
            definitions=definitions,
            proofs=proofs,
            chapters=chapters,
        )
        keep_records(folder.name, key, records)
    return replace(paper, chapters=tuple(chapters.chapter))


def _optional(
    data: bytes | SpecError | None, empty: R, place: Place, problems: Problems
) -> R:
    """Read an optional file; return `empty` if it is missing or has errors, and add the errors to `problems`."""
    return (
        empty
        if data is None
        else records_in(data, type(empty), place, problems) or empty
    )


def _exists(path: Path) -> bool:
    """Test whether a path exists; a broken link and a path without access permission exist too."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True  # the later attempt to read it reports the reason
    return True


def _link_problems(specs: Specs, unread: Collection[str]) -> Iterator[SpecError]:
    """Yield the errors in the `uses` and `quotes` of all claims: unknown ids and cycles."""
    graph = specs.uses()
    for claim in specs.claims():
        place = Place(claim.file, claim.record.id)
        for i, used in enumerate(claim.uses):
            if used not in graph and used.partition(":")[0] not in unread:
                rule = f"no paper here has this claim{suggest(used, graph)}"
                yield place.at(f"uses[{i}]").error(shown(claim.record.uses[i]), rule)
        for i, quotation in enumerate(claim.record.quotes):
            paper = quotation.claim.partition(":")[0]
            if (
                quotation.claim not in graph and paper in specs.papers
            ) or paper == claim.paper:
                rule = f"a claim of another paper is quoted{suggest(quotation.claim, graph)}"
                yield place.at(f"quotes[{i}].claim").error(shown(quotation.claim), rule)
    if cycle := find_cycle(graph):
        first = specs.claim(cycle[0])
        rule = (
            f"claims rest on each other in a circle: {' -> '.join((*cycle, cycle[0]))}"
        )
        yield Place(first.file, first.record.id, "uses").error("", rule)


def shown_path(path: Path) -> str:
    """Return a path for an error message: relative to the working folder if it is below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(path)
