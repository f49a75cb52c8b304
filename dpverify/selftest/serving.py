"""Which claims of a file of checks a function serves, read from the names in the sources: nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

HOLDS = (ast.Call, ast.Tuple, ast.List, ast.Dict)
"""What puts a claim's id beside what judges it: a check, or a row of a table from which checks are made."""


def served(root: Path, file: str, claims: Collection[str], modules: Collection[str], function: str) -> list[str]:
    """Claims of a file of checks whose check uses a function of some modules, itself or by others; in their order.

    ``function``: by its name alone, so that one that only shares it is taken for it.
    """
    sources = [_path(root, name).read_text("utf-8") for name in dict.fromkeys((file, *modules))]
    uses: dict[str, set[str]] = {}
    for source in sources:
        for name, used in _uses(source).items():
            uses.setdefault(name, set()).update(used)
    functions = {function}
    grown = True
    while grown:
        callers = {name for name, used in uses.items() if used & functions} - functions
        functions = functions | callers
        grown = bool(callers)
    used_claims = {claim for claim, names in _beside(sources[0], frozenset(claims)) if names & functions}
    return [claim for claim in claims if claim in used_claims]


def _path(root: Path, module: str) -> Path:
    return (root / Path(*module.split("."))).with_suffix(".py")


@cache
def _uses(source: str) -> dict[str, set[str]]:
    """Names that each function, class and constant of a module uses, and each method."""
    tree = ast.parse(source)
    names_used = dict[str, set[str]]()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            methods = {part.name for part in ast.walk(node) if isinstance(part, ast.FunctionDef)}  # methods of a class
            names_used.setdefault(node.name, set()).update((_names(node) | methods) - {node.name})
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else ()
        )
        for target in (part for item in targets for part in ast.walk(item) if isinstance(part, ast.Name)):
            names_used.setdefault(target.id, set()).update(_names(node) - {target.id})
        if isinstance(node, ast.ImportFrom):
            for name in (item for item in node.names if item.asname):
                names_used.setdefault(str(name.asname), set()).add(name.name)
    return names_used


def _names(node: ast.AST) -> set[str]:
    parts = list(ast.walk(node))
    return {p.id for p in parts if isinstance(p, ast.Name)} | {p.attr for p in parts if isinstance(p, ast.Attribute)}


def _beside(source: str, claims: frozenset[str]) -> Iterator[tuple[str, set[str]]]:
    """Each place where a claim's id stands, with the names in the least part around it that has some."""
    tree = ast.parse(source)
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in claims:
            around = above.get(node)
            while around is not None and not (isinstance(around, HOLDS) and _names(around)):
                around = above.get(around)
            if around is not None:
                yield str(node.value), _names(around)
