"""Rules that import-linter has no pattern for: they read call sites and count."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

JIT_NAMES = frozenset({"njit", "jit", "vectorize", "guvectorize", "stencil", "cfunc", "jit_module", "generated_jit"})


def imports_of_checks(source: str) -> Iterator[str]:
    """Each import of a paper's checks, by which algebra could reach a kernel."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and ".papers." in node.module:
            words = [*node.module.split("."), *(alias.name for alias in node.names)]
            yield from [ast.unparse(node)] if "checks" in words else []


def jit_uses(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each use of numba's decorators: ``from numba import njit``, ``numba.njit``, ``nb.jit``."""
    tree = ast.parse(source)
    aliases = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.split(".")[0] == "numba"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
            for alias in node.names:
                if alias.name in JIT_NAMES:
                    yield node.lineno, f"from {node.module} import {alias.name}"
        elif isinstance(node, ast.Attribute) and node.attr in JIT_NAMES and _root(node) in aliases:
            yield node.lineno, ast.unparse(node)


def fastmath_uses(source: str) -> Iterator[int]:
    """Line of each ``fastmath=...`` that is not literally ``False``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "fastmath" and ast.unparse(node.value) != "False":
            yield node.value.lineno


def random_uses(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each import or attribute named ``random`` or ``default_rng``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if {"random", "secrets", "default_rng"} & {*module.split("."), *alias.name.split(".")}:
                    yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Attribute) and node.attr in {"random", "default_rng"}:
            yield node.lineno, ast.unparse(node)


def python_files(*folders: Path) -> list[Path]:
    """All Python files below the folders, in a stable order."""
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def _root(node: ast.Attribute) -> str:
    value = node.value
    while isinstance(value, ast.Attribute):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""
