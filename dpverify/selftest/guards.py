"""The tests and claims that should notice a fault in a module, found from imports and from the names in checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from pathlib import Path

from dpverify.papers import index

CONTAINERS = (ast.Call, ast.Tuple, ast.List, ast.Dict)
"""Expressions that combine a claim's id with the code that judges it: a check, or a row of a table of checks."""


def claims_using(
    root: Path,
    file: str,
    claims: Collection[str],
    modules: Collection[str],
    function: str,
) -> list[str]:
    """Return the claims of a file of checks whose check uses a function of some modules, directly or indirectly.

    ``function``: name of the function. Functions with the same name are not distinguished.
    """
    sources = [
        _path(root, name).read_text("utf-8") for name in dict.fromkeys((file, *modules))
    ]
    uses: dict[str, set[str]] = {}
    for source in sources:
        for name, used in _uses(source).items():
            uses.setdefault(name, set()).update(used)
    functions = {function}
    has_grown = True
    while has_grown:
        callers = {name for name, used in uses.items() if used & functions} - functions
        functions = functions | callers
        has_grown = bool(callers)
    used_claims = {
        claim
        for claim, names in _claim_names(sources[0], frozenset(claims))
        if names & functions
    }
    return [claim for claim in claims if claim in used_claims]


def _path(root: Path, module: str) -> Path:
    return (root / Path(*module.split("."))).with_suffix(".py")


@cache
def _uses(source: str) -> dict[str, set[str]]:
    """Return the names that each function, class, method and constant of a module uses."""
    tree = ast.parse(source)
    names_used = dict[str, set[str]]()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            # methods of a class, and functions inside a function
            inner_functions = {
                part.name
                for part in ast.walk(node)
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            names_used.setdefault(node.name, set()).update(
                (_names(node) | inner_functions) - {node.name}
            )
    for node in tree.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else ()
        )
        for target in (
            part
            for item in targets
            for part in ast.walk(item)
            if isinstance(part, ast.Name)
        ):
            names_used.setdefault(target.id, set()).update(_names(node) - {target.id})
        if isinstance(node, ast.ImportFrom):
            for name in (item for item in node.names if item.asname):
                names_used.setdefault(str(name.asname), set()).add(name.name)
    return names_used


def _names(node: ast.AST) -> set[str]:
    parts = list(ast.walk(node))
    return {p.id for p in parts if isinstance(p, ast.Name)} | {
        p.attr for p in parts if isinstance(p, ast.Attribute)
    }


def _claim_names(source: str, claims: frozenset[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield each claim id in a source, with the names in the smallest surrounding expression that has names."""
    tree = ast.parse(source)
    parents = {
        child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in claims:
            container = parents.get(node)
            while container is not None and not (
                isinstance(container, CONTAINERS) and _names(container)
            ):
                container = parents.get(container)
            if container is not None:
                yield str(node.value), _names(container)


# limits of the tests and claims that are run; claims whose
# checks use the changed function come first
MAX_TESTS = 2
MAX_CLAIMS = 8

# template of new papers; its claims are not part of any run
TEMPLATE = "dpverify.papers._template."
TEMPLATE_TESTS = "tests/unit/cli/test_new_paper.py"


def guards(root: Path, module: str, function: str = "") -> list[str]:
    """Return the tests and claims that should notice a fault in a module, or else those of modules that import it.

    Claims whose checks use the changed function come first.
    """
    if module.startswith(TEMPLATE):
        return [TEMPLATE_TESTS]
    own_tests = _own_tests(module)
    importers = [module]
    visited = {module}
    while importers:
        names = list(
            dict.fromkeys(
                name
                for importer in importers
                for name in _guards_of(root, importer, visited, function)
            )
        )
        if names:
            return _limited(
                sorted(
                    names, key=lambda name: own_tests.parent not in Path(name).parents
                )
            )
        importers = sorted(
            {user for importer in importers for user in _users(root, importer)}
            - visited
        )
        visited.update(importers)
    return [_folder(root, module).as_posix()]


def _folder(root: Path, module: str) -> Path:
    """Return the folder of a module's tests, or the nearest folder above it that has tests."""
    return next(
        above
        for above in _own_tests(module).parents
        if any((root / above).glob("test_*.py"))
    )


def folder_tests(root: Path, module: str) -> list[str]:
    """Return all tests of a module's folder, which run if its guards notice nothing."""
    folder = _folder(root, module)
    return [
        (folder / path.name).as_posix()
        for path in sorted((root / folder).glob("test_*.py"))
    ]


def _own_tests(module: str) -> Path:
    _, *folders, stem = module.split(".")
    return Path("tests", "unit", *folders, f"test_{stem}.py")


def _guards_of(
    root: Path, module: str, visited: Collection[str], function: str
) -> list[str]:
    """Return the module's own tests, or tests of its folder that import it, and claims that use the function.

    Only modules of papers have claims. If there are no tests, the result has all claims of the files that import the
    module. If there are no claims either, it has tests in other folders that import the module.
    """
    own_tests = _own_tests(module)
    imports = _imports(module)
    tests_of_module = (
        [own_tests.as_posix()]
        if (root / own_tests).is_file()
        else _importing(root, own_tests.parent, imports)
    )
    if tests_of_module and not module.startswith("dpverify.papers."):
        return tests_of_module
    claims = list[str]()
    other_claims = list[str]()
    for name, file in index().files.items():
        path = (root / Path(*name.split("."))).with_suffix(".py")
        if (name == module or imports(path)) and not name.startswith(TEMPLATE):
            paper = name.split(".")[2]
            chosen = (
                claims_using(root, name, file.claims, visited, function)
                if function
                else []
            )
            claims += [f"{paper}:{claim}" for claim in chosen]
            other_claims += [f"{paper}:{claim}" for claim in file.claims]
    names = _limited(
        [
            *tests_of_module,
            *dict.fromkeys(claims if tests_of_module else [*claims, *other_claims]),
        ]
    )
    return names or _importing(root, Path("tests"), imports)[:MAX_TESTS]


def _importing(root: Path, folder: Path, imports: Callable[[Path], bool]) -> list[str]:
    """Return the tests in a folder that import a module; for the folder ``tests``, at any depth."""
    paths = (
        (root / folder).rglob("test_*.py")
        if folder == Path("tests")
        else (root / folder).glob("test_*.py")
    )
    return [
        path.relative_to(root).as_posix() for path in sorted(paths) if imports(path)
    ]


def _limited(names: list[str]) -> list[str]:
    """Return the first MAX_TESTS tests and the first MAX_CLAIMS claims among names."""
    tests = [name for name in names if name.startswith("tests/")]
    claims = [name for name in names if not name.startswith("tests/")]
    return tests[:MAX_TESTS] + claims[:MAX_CLAIMS]


def _users(root: Path, module: str) -> Iterator[str]:
    """Yield the modules that import a module."""
    imports = _imports(module)
    for path in (root / "dpverify").rglob("*.py"):
        if imports(path):
            yield ".".join(path.relative_to(root).with_suffix("").parts)


def _imports(module: str) -> Callable[[Path], bool]:
    """Return a function that tests whether a source file imports the module."""
    name = module.removesuffix(".__init__")
    folder, _, stem = name.rpartition(".")
    if name != module:
        pattern = re.compile(
            rf"from {re.escape(name)} import|import {re.escape(name)}$", re.MULTILINE
        )
    else:
        pattern = re.compile(
            rf"\b{re.escape(name)}\b|from {re.escape(folder)} import .*\b{stem}\b"
        )

    def imports(path: Path) -> bool:
        text = path.read_text("utf-8")
        # the first test is fast
        return stem in text and pattern.search(text) is not None

    return imports
