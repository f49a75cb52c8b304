"""Links in the documents lead to existing files, and the commands that they show are valid."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dpverify
from dpverify.cli.app import GENERATED, build
from dpverify.cli.training import algorithm_first
from dpverify.report.pages.repository import (
    EXAMPLE_LINES,
    example_block,
    example_command,
    with_block,
)
from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
GUIDES = sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")
)
TOP = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
DOCUMENTS = [*TOP, "tests/README.md", "specs/README.md", *GUIDES]
FIRST_LINES = 120
FIRST_WORDS = 700
CHANGELOG_LINES = 60
FROM_AN_INDEX = re.compile(r"pip install (?:-\S+ )*['\"]?dpverify\b")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words after ``dpverify`` for each line of a console block that calls it."""
    for line in text.splitlines():
        words = (
            shlex.split(line, comments=True) if line.startswith("$ dpverify ") else []
        )
        if words:
            yield words[2 : words.index("|") if "|" in words else None]


@for_each("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    targets = [
        target
        for target in LINK.findall(document.read_text(encoding="utf-8"))
        if ":" not in target
    ]
    assert [
        target for target in targets if not (document.parent / target).exists()
    ] == []


@for_each("name", DOCUMENTS)
def test_commands_are_commands(name: str) -> None:
    for words in commands((ROOT / name).read_text(encoding="utf-8")):
        full = algorithm_first(words) if words[0] in GENERATED else words
        build(full).parse_args(full, exit_on_error=False, print_error=False)


def test_commands_are_found() -> None:
    text = "$ dpverify verify 'a b' --json - | jq .\n$ pytest\n$ dpverify list   # all of them\n"
    assert list(commands(text)) == [["verify", "a b", "--json", "-"], ["list"]]
    assert len(list(commands((ROOT / "README.md").read_text(encoding="utf-8")))) > 5


def first_part() -> str:
    """Return README.md up to its section More."""
    before, heading, _ = (
        (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## More\n")
    )
    assert heading
    return before


def test_the_first_part_of_the_readme_is_short() -> None:
    assert len(first_part().splitlines()) <= FIRST_LINES
    assert len(first_part().split()) <= FIRST_WORDS


def test_the_example_of_the_readme_is_what_its_command_prints() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    output_of: Callable[[str], str] = runpy.run_path(
        str(ROOT / ".ci" / "generated.py")
    )["output_of"]
    block = example_block(example_command(text), output_of(example_command(text)))
    assert len(block.splitlines()) <= EXAMPLE_LINES + 2
    assert with_block(text, "example", block) == text, "run .ci/generated.py --write"


def test_the_readme_has_four_ways_in_with_one_command_each() -> None:
    section = first_part().split("\n## What do you want to do?\n")[1].split("\n## ")[0]
    assert [words[0] for words in commands(section)] == [
        "verify",
        "conform",
        "calibrate",
        "new-paper",
    ]


def test_the_changelog_is_short_and_names_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = text.split("\n## ")[1]
    assert newest.startswith(dpverify.__version__)
    assert len(newest.splitlines()) <= CHANGELOG_LINES, (
        "extend or shorten a line of its area instead of adding one"
    )


def test_the_citation_agrees_with_the_project() -> None:
    yaml: Any = pytest.importorskip("yaml", reason="PyYAML is not installed")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert {"cff-version", "message", "title", "authors"} <= citation.keys(), (
        "the format requires these"
    )
    assert citation["title"] == project["name"]
    assert citation["version"] == dpverify.__version__
    assert citation["license"] == project["license"]
    assert citation["abstract"] == project["description"]
    assert citation["keywords"] == project["keywords"]
    assert [author["name"] for author in citation["authors"]] == [
        author["name"] for author in project["authors"]
    ]


def test_nothing_says_that_the_package_is_on_an_index() -> None:
    assert FROM_AN_INDEX.search("pip install -q 'dpverify[site]'")
    sources = [ROOT / name for name in [*DOCUMENTS, "pyproject.toml"]]
    sources += (ROOT / "dpverify").rglob("*.py")
    assert [
        str(path)
        for path in sources
        if FROM_AN_INDEX.search(path.read_text(encoding="utf-8"))
    ] == []


def test_the_readme_has_the_two_commands_that_ci_reads() -> None:
    start = (
        (ROOT / "README.md")
        .read_text(encoding="utf-8")
        .split("\n## Start\n")[1]
        .split("\n## ")[0]
    )
    first, second = re.findall(r"^```sh\n(.*?)^```$", start, re.MULTILINE | re.DOTALL)
    assert "-c constraints.txt" in first
    assert first.endswith(".venv/bin/dpverify verify --budget smoke\n")
    assert second == ".venv/bin/pytest -n auto --dist loadgroup\n"


def test_the_lines_of_code_that_have_to_be_trusted_are_counted() -> None:
    """The first table in docs/what-proved-means.md has the line counts of the files."""
    text = (ROOT / "docs" / "what-proved-means.md").read_text(encoding="utf-8")
    said: dict[str, int] = {}
    for paths, counts in re.findall(
        r"^\| (`specs/proofs.*?) \| ([\d, ]+) lines \|", text, re.MULTILINE
    ):
        names = re.findall(r"`([^`]+)`", paths)
        folder = names[0].rpartition("/")[0]
        whole = [names[0], *(f"{folder}/{name}" for name in names[1:])]
        said |= dict(
            zip(
                whole,
                (int(count.replace(",", "")) for count in counts.split(", ")),
                strict=True,
            )
        )
    assert len(said) == 5
    for name, count in said.items():
        path = ROOT / name
        files = [path] if path.is_file() else list(path.rglob("*.py"))
        lines = sum(
            len(file.read_text(encoding="utf-8").splitlines()) for file in files
        )
        assert lines == count, f"{name} has {lines} lines, the page says {count}"


def test_the_arithmetic_that_coq_does_not_cover_is_counted() -> None:
    """The second table has the line counts of the methods, and all of them are in the checker."""
    text = (ROOT / "docs" / "what-proved-means.md").read_text(encoding="utf-8")
    program = (ROOT / "specs" / "proofs" / "check_certificate.py").read_text(
        encoding="utf-8"
    )
    nodes = [
        node
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    sizes = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in nodes}
    rows = re.findall(r"^\| [a-z ]+ \((`.*?)\) \| (\d+) \|", text, re.MULTILINE)
    assert len(rows) == 9
    for names, count in rows:
        named = sum(sizes[name] for name in re.findall(r"`([^`]+)`", names))
        assert named == int(count), f"{names} have {named} lines, the page says {count}"
