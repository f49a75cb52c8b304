"""Loading a specs folder: every rule is checked, nothing is evaluated, and one error says what is wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpverify.ledger.chapters import Chapter, ChaptersFile, chapter_problems
from dpverify.ledger.errors import Place, Problems, SpecError, shown, suggest
from dpverify.ledger.files import decode_chapters, decode_claims, decode_verdicts, read_toml
from dpverify.ledger.papers import PaperReader
from dpverify.ledger.reading import find_cycle
from dpverify.ledger.records import VerdictsFile
from dpverify.ledger.specs import PaperSpec, Specs

CLAIMS = "claims.toml"
VERDICTS = "verdicts.toml"
CHAPTERS = "chapters.toml"

_PACKAGE = Path(__file__).resolve().parents[1]


def bundled_specs(package: Path = _PACKAGE) -> Path:
    """Folder of dpverify's specs: ``_specs`` of a wheel, else ``specs`` beside the package, or a `SpecError`."""
    places = (package / "_specs", package.parent / "specs")
    for place in places:
        if place.is_dir():
            return place
    tried = " and ".join(str(place) for place in places)
    raise SpecError(str(package), "", "", "", f"no bundled specs: looked for {tried}")


def load_specs(directory: Path | str | None = None) -> Specs:
    """Load all papers of a specs folder.

    Parameters
    ----------
    directory
        A folder with one folder per paper, each with its ``claims.toml`` and, where we have something to say, its
        ``verdicts.toml`` and ``chapters.toml``. None for the specs that come with dpverify.

    Raises
    ------
    SpecError
        For the first rule that is broken: file, claim, field, value and rule in one line.
    """
    return read_specs(bundled_specs() if directory is None else Path(directory), Problems())


def read_specs(directory: Path, problems: Problems) -> Specs:
    """Read a specs folder, without the papers whose claims cannot be read: what is wrong is added to `problems`."""
    papers: dict[str, PaperSpec] = {}
    unread: set[str] = set()
    for folder in _paper_folders(directory, problems):
        paper = _read_paper(folder, problems)
        if paper is None:
            unread.add(folder.name)
        else:
            papers[folder.name] = paper
    specs = Specs(directory, papers)
    problems.extend(_link_problems(specs, unread))
    return specs


def _paper_folders(directory: Path, problems: Problems) -> list[Path]:
    """Return the folders of the papers; hidden ones and Python's caches are none."""
    place = Place(shown_path(directory))
    try:
        entries = sorted(directory.iterdir())
        folders = [entry for entry in entries if entry.is_dir() and not entry.name.startswith((".", "__"))]
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
    claims_place, verdicts_place = (Place(shown_path(folder / name)) for name in (CLAIMS, VERDICTS))
    table = _table(folder / CLAIMS, claims_place, problems)
    claims = None if table is None else decode_claims(table, claims_place, problems)
    verdicts = VerdictsFile()
    if _is_there(folder / VERDICTS) and (table := _table(folder / VERDICTS, verdicts_place, problems)) is not None:
        verdicts = decode_verdicts(table, verdicts_place, problems) or verdicts
    if claims is None:
        return None
    paper = PaperReader(folder.name, claims_place, verdicts_place, problems).read(claims, verdicts)
    return replace(paper, chapters=_read_chapters(folder, paper, problems))


def _read_chapters(folder: Path, paper: PaperSpec, problems: Problems) -> tuple[Chapter, ...]:
    """Read what we tell of a paper, if we tell anything."""
    place = Place(shown_path(folder / CHAPTERS))
    if not _is_there(folder / CHAPTERS) or (table := _table(folder / CHAPTERS, place, problems)) is None:
        return ()
    file = decode_chapters(table, place, problems) or ChaptersFile()
    problems.extend(chapter_problems(file, paper.claims, place))
    return tuple(file.chapter)


def _table(path: Path, place: Place, problems: Problems) -> dict[str, Any] | None:
    """Read a TOML file, or return None where it cannot be read."""
    try:
        return read_toml(path, place)
    except SpecError as problem:
        problems.append(problem)
        return None


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
