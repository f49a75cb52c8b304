"""Papers that do not come with dpverify: packages that are installed, or that a pyproject.toml names.

Such a package is named as its paper's key and holds the records in ``specs/<key>/`` beside its code. An installed one
announces itself by an entry point of the group ``dpverify.papers``; one in a folder stands in the list ``papers`` below
``[tool.dpverify]`` of the nearest pyproject.toml, above the working folder, that has this table.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from dpverify.foreign import ForeignError, foreign_code
from dpverify.ledger.errors import SpecError, shown

GROUP = "dpverify.papers"
PROJECT = "pyproject.toml"


@cache
def outside_papers(folder: Path) -> dict[str, Path]:
    """Folders with the records of the papers that are known in a working folder, by key.

    Packages that a pyproject.toml names can be imported from then on. Two with one key are refused, as Python would
    import the code of one of them for the records of both.
    """
    folders: dict[str, Path] = {}
    for package in (*_installed(), *_of_project(folder)):
        specs = package.resolve() / "specs" / package.name
        if folders.setdefault(package.name, specs) != specs:
            rule = f"two papers have this key: {folders[package.name]} and {specs}; uninstall or rename one"
            raise SpecError("papers outside of dpverify", "", "", shown(package.name), rule)
    return folders


def _installed() -> Iterator[Path]:
    for point in entry_points(group=GROUP):
        try:
            with foreign_code(point.value):
                spec = find_spec(point.value)  # imports the packages above it
        except ForeignError as error:
            raise SpecError(f"entry point {GROUP}", "", "", shown(point.value), f"it {error.reason}") from error
        if spec is None or not spec.submodule_search_locations:
            raise SpecError(f"entry point {GROUP}", "", "", shown(point.value), "it must name a package")
        yield Path(spec.submodule_search_locations[0])


def _of_project(folder: Path) -> Iterator[Path]:
    for above in (folder, *folder.parents):
        file = above / PROJECT
        if file.is_file() and (table := _table(file)) is not None:
            for i, name in enumerate(table):
                package = above / name
                if not (package / "specs" / package.name / "claims.toml").is_file():
                    rule = f"there must be {Path(name, 'specs', package.name, 'claims.toml')}"
                    raise SpecError(str(file), "", f"tool.dpverify.papers[{i}]", shown(name), rule)
                if str(package.parent) not in sys.path:
                    sys.path.append(str(package.parent))
                yield package
            return


def _table(file: Path) -> list[str] | None:
    """The papers that a pyproject.toml names; None where it says nothing of dpverify."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("dpverify")
    except (OSError, ValueError) as error:
        raise SpecError(str(file), "", "", "", f"the file cannot be read: {error}") from None
    if table is None:
        return None
    papers = table.get("papers") if isinstance(table, dict) else None
    if not isinstance(papers, list) or not all(isinstance(name, str) for name in papers):
        raise SpecError(str(file), "", "tool.dpverify.papers", shown(papers), "it must be a list of folders")
    return papers
