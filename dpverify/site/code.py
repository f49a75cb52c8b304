"""From a claim to the code that judges it: its checks, kernels and bounds, each with a page of its source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from dpverify.harness.evidence.hashes import imported_names
from dpverify.harness.run.sources import PAPERS, load_checks
from dpverify.report import markdown as md

Names = dict[str, list[str]]  # module to the names that are taken from it; a module taken whole has none

FOLDER = "source"


def code_of(claim: str, source: str = PAPERS) -> dict[str, Names]:
    """The code behind a claim, by its full id: its checks, and the kernels and bounds that they meet.

    ``source``: of the checks.
    """
    paper, _, name = claim.partition(":")
    loaded = load_checks(source, paper)
    judges = list(dict.fromkeys(entry.place.module for entry in loaded.entries(name))) if loaded else []
    package = loaded.module if loaded else ""
    checks: Names = {module: [] for module in judges}
    code_by_title: dict[str, Names] = {"Checks": checks, "Kernels": {}, "Bounds and derivations": {}}
    todo = list(judges)
    while todo:
        for home, imported in imported_names(todo.pop()):
            if not _below(home, package):
                continue
            if ".checks" in home:
                if home not in checks:
                    checks[home] = []
                    todo.append(home)
                continue
            kernel = ".algorithms" in home or ".accounting.algorithm" in home
            names = code_by_title["Kernels" if kernel else "Bounds and derivations"].setdefault(home, [])
            if imported and imported not in names:
                names.append(imported)
    return {title: dict(sorted(modules.items())) for title, modules in code_by_title.items() if modules}


def code_block(code: Mapping[str, Names], up: str) -> str:
    """The code behind a claim as markdown; ``up`` leads from the page to the site's root."""
    return "\n\n".join(
        f"{title}:\n\n" + md.bullets(_links(module, names, up) for module, names in modules.items())
        for title, modules in code.items()
    )


def _links(module: str, names: Sequence[str], up: str) -> str:
    page = f"{up}{page_of(module)}"
    short = md.code(module.removeprefix("dpverify.papers."))
    links = ", ".join(md.link(md.code(name), f"{page}#{name}") for name in sorted(names))
    return md.link(short, page) + (f": {links}" if links else "")


def page_of(module: str) -> str:
    """The page of a module's source, as a path below the site's root."""
    return f"{FOLDER}/{module.replace('.', '/')}.md"


@cache
def source_page(module: str) -> str:
    """A module's source as markdown: each function and class under its name, with the numbers of its lines."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"module must have Python source, got module={module!r}.")
    lines = Path(spec.origin).read_text(encoding="utf-8").splitlines()
    return md.document(["---\norphan: true\nnosearch: true\n---", f"# {md.code(module)}", *_pieces(lines)])


def _pieces(lines: Sequence[str]) -> Iterator[str]:
    """The source cut before each function and class."""
    start = 0
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
            yield _piece(lines, start, first)
            yield f"{md.anchor(node.name)}\n\n## {md.code(node.name)}"
            yield _piece(lines, first, node.end_lineno or first)
            start = node.end_lineno or first
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names = [
                name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            ]
            yield _piece(lines, start, node.lineno - 1)
            yield "\n".join(map(md.anchor, names))
            start = node.lineno - 1
    yield _piece(lines, start, len(lines))


def _piece(lines: Sequence[str], start: int, end: int) -> str:
    while start < end and not lines[start].strip():
        start += 1
    text = "\n".join(lines[start:end]).rstrip()
    fence = "`" * max(6, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{{code-block}} python\n:lineno-start: {start + 1}\n\n{text}\n{fence}" if text else ""


def _below(module: str, package: str) -> bool:
    return module.startswith(f"{package}.")
