"""Rules that import-linter cannot express, about call sites and counts.

A source is parsed only if it has the words of a rule, because parsing takes a hundred times as long as a search.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

JIT_NAMES = frozenset(
    {
        "njit",
        "jit",
        "vectorize",
        "guvectorize",
        "stencil",
        "cfunc",
        "jit_module",
        "generated_jit",
    }
)

LONGEST = 400
"""Lines of a file."""
FULLEST = 20
"""Python files of a folder, its ``__init__`` among them."""
MOST_TESTS = 6000
"""Items that pytest collects."""
SECTION = re.compile(
    r"^(Parameters|Attributes|Returns|Yields|Raises|Notes|Examples|See Also)\n-{3,}$",
    re.MULTILINE,
)


def _nodes(source: str, *words: str) -> Iterator[ast.AST]:
    """Return all nodes of a source, or none if it has none of the words."""
    return (
        ast.walk(ast.parse(source))
        if any(word in source for word in words)
        else iter(())
    )


def long_files(paths: Iterable[Path]) -> Iterator[str]:
    """Yield each file with too many lines."""
    for path in paths:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST:
            yield f"{path}: {lines} lines"


def many_items(names: Sequence[str]) -> Iterator[str]:
    """Yield the tests with the most items, if there are too many items in total."""
    if len(names) > MOST_TESTS:
        counts = Counter(name.partition("[")[0] for name in names)
        yield from (
            f"{count} items of {test}" for test, count in counts.most_common(20)
        )


def full_folders(paths: Iterable[Path]) -> Iterator[str]:
    """Yield each folder with too many Python files."""
    held: dict[Path, int] = defaultdict(int)
    for path in paths:
        held[path.parent] += 1
    yield from (
        f"{folder}: {count} modules"
        for folder, count in held.items()
        if count > FULLEST
    )


def shared_class_names(paths: Iterable[Path]) -> Iterator[str]:
    """Yield each name that two classes share, with their files."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        for node in _nodes(path.read_text(encoding="utf-8"), "class"):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path))
    yield from (
        f"{name}: {', '.join(files)}"
        for name, files in sorted(homes.items())
        if len(files) > 1
    )


def exported(root: Path, packages: Iterable[Path]) -> set[tuple[str, str]]:
    """Return module and name of everything that the ``__init__`` files among the paths export in ``__all__``."""
    found: set[tuple[str, str]] = set()
    for path in packages:
        if path.name != "__init__.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        package = ".".join(path.parent.relative_to(root).parts)
        names = {word for node in tree.body if _is_all(node) for word in _strings(node)}
        found.update((package, name) for name in names)
        # also below TYPE_CHECKING, for names loaded on first use
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.update(
                    (node.module, alias.name)
                    for alias in node.names
                    if (alias.asname or alias.name) in names
                )
    return found


def sections(source: str) -> Iterator[tuple[str, str]]:
    """Yield top-level name and qualified name of each function and class whose docstring has a numpydoc section."""
    todo: list[tuple[ast.AST, tuple[str, ...]]] = (
        [(ast.parse(source), ())] if "---" in source else []
    )
    while todo:
        node, outer = todo.pop()
        for child in ast.iter_child_nodes(node):
            path = outer
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                path = (*outer, child.name)
                if SECTION.search(ast.get_docstring(child) or ""):
                    yield path[0], ".".join(path)
            todo.append((child, path))


def _is_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
    )


def _strings(node: ast.AST) -> Iterator[str]:
    yield from (
        n.value
        for n in ast.walk(node)
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    )


def imports_of_checks(source: str) -> Iterator[str]:
    """Yield each import of a paper's checks, through which algebra could import a kernel."""
    for node in _nodes(source, "checks"):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and ".papers." in node.module
        ):
            words = [*node.module.split("."), *(alias.name for alias in node.names)]
            yield from [ast.unparse(node)] if "checks" in words else []


def jit_uses(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each use of numba's decorators: ``from numba import njit``, ``numba.njit``, ``nb.jit``."""
    nodes = list(_nodes(source, "numba"))
    aliases = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.split(".")[0] == "numba"
    }
    for node in nodes:
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[0] == "numba"
        ):
            for alias in node.names:
                if alias.name in JIT_NAMES:
                    yield node.lineno, f"from {node.module} import {alias.name}"
        elif (
            isinstance(node, ast.Attribute)
            and node.attr in JIT_NAMES
            and _root(node) in aliases
        ):
            yield node.lineno, ast.unparse(node)


def fastmath_uses(source: str) -> Iterator[int]:
    """Yield the line of each ``fastmath=...`` that is not literally ``False``."""
    for node in _nodes(source, "fastmath"):
        if (
            isinstance(node, ast.keyword)
            and node.arg == "fastmath"
            and ast.unparse(node.value) != "False"
        ):
            yield node.value.lineno


def random_uses(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each import or attribute named ``random`` or ``default_rng``."""
    for node in _nodes(source, "random", "secrets", "default_rng"):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if {"random", "secrets", "default_rng"} & {
                    *module.split("."),
                    *alias.name.split("."),
                }:
                    yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Attribute) and node.attr in {"random", "default_rng"}:
            yield node.lineno, ast.unparse(node)


def python_files(*folders: Path) -> list[Path]:
    """Return all Python files in the folders, in a stable order."""
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def _root(node: ast.Attribute) -> str:
    value = node.value
    while isinstance(value, ast.Attribute):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""
