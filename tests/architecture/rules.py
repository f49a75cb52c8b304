"""Rules about imports and names that import-linter has no pattern for: they read suffixes and call sites."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from grimp import ImportGraph

ALGEBRA = ("_bounds", "_derivations")
"""Suffixes of modules that hold algebra, beside the kernel that they are about."""

ACCOUNTING = ("_accounting",)
"""Suffix of modules where numbers of kernels and of the algebra meet to certify a noise; they hold neither."""

JIT_NAMES = frozenset({"njit", "jit", "vectorize", "guvectorize", "stencil", "cfunc", "jit_module", "generated_jit"})


def algebra_modules(graph: ImportGraph) -> list[str]:
    """Every module of the package with a name that ends like algebra."""
    return sorted(module for module in graph.modules if module.endswith(ALGEBRA))


def kernel_modules(graph: ImportGraph, package: str = "dpverify") -> list[str]:
    """The kernels layer and, in a paper's folder, all that is neither algebra nor accounting nor ``checks``."""
    found = {module for module in graph.modules if _below(module, f"{package}.kernels")}
    for module in graph.modules:
        parts = module.split(".")
        if parts[:2] == [package, "papers"] and len(parts) > 3:
            inside_checks = any(part == "checks" or part.startswith("checks_") for part in parts[3:])
            if not inside_checks and not module.endswith(ALGEBRA + ACCOUNTING):
                found.add(module)
    return sorted(found)


def chains(graph: ImportGraph, importers: Iterable[str], forbidden: Iterable[str]) -> list[str]:
    """How each importer reaches each forbidden module, directly or not, as ``a -> b -> c``."""
    targets = [module for module in forbidden if module in graph.modules]
    found = []
    for importer in importers:
        for target in targets:
            chain = graph.find_shortest_chain(importer, target) if importer != target else None
            if chain:
                found.append(" -> ".join(chain))
    return found


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


def _below(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def _root(node: ast.Attribute) -> str:
    value = node.value
    while isinstance(value, ast.Attribute):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""
