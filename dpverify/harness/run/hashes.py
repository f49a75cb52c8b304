"""The evidence hash: the record, and the code of the checks with all of ours that it imports. Nothing is executed.

Documentation, layout and the Python version do not count, nor does where a module lies: an import of ours counts as
the code that defines the name, even where a package only passes it on.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Import = ast.Import | ast.ImportFrom
PASSED_OVER = frozenset({"kind", "type_comment"})
DIGITS = 16


@cache
def evidence_hash(record_hash: str, modules: tuple[str, ...]) -> str:
    """Hash a claim's record and the modules, by name, that make its checks: 16 hex digits."""
    total = hashlib.sha256(record_hash.encode())
    for digest in sorted(code_hash(module) for module in import_closure(modules)):
        total.update(f"\0{digest}".encode())
    return total.hexdigest()[:DIGITS]


def import_closure(modules: Iterable[str]) -> set[str]:
    """Modules of the same top-level packages that some modules import, directly or not, themselves included."""
    closure: set[str] = set()
    todo = list(modules)
    while todo:
        module = todo.pop()
        if module not in closure:
            closure.add(module)
            todo.extend(home for home, _ in imported_names(module))
    return closure


@cache
def code_hash(module: str) -> str:
    """Hash a module's code together with the code that defines each name it imports from us: 64 hex digits."""
    bound = sorted(f"{name}\0{_read(home).digest}" for home, name in imported_names(module) if home != module)
    return hashlib.sha256("\0".join([_read(module).digest, *bound]).encode()).hexdigest()


@dataclass(frozen=True)
class _Code:
    """What is kept of a module: the hash of its tree without imports of ours, those imports, and those at its top."""

    digest: str
    imports: tuple[Import, ...]
    passed_on: tuple[ast.ImportFrom, ...]


@cache
def _read(module: str) -> _Code:
    path = _source(module)
    if path is None:
        raise ValueError(f"module must have Python source, got module={module!r}.")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    words: list[str] = []
    imports: list[Import] = []
    _spell(tree, module.partition(".")[0], words, imports)
    digest = hashlib.sha256("".join(words).encode()).hexdigest()
    return _Code(digest, tuple(imports), tuple(node for node in tree.body if isinstance(node, ast.ImportFrom)))


def _spell(node: object, top: str, words: list[str], imports: list[Import]) -> None:
    """Spell a syntax tree into a list: no places, documentation, imports of ours, nor fields empty in some Pythons."""
    if isinstance(node, ast.AST):
        if isinstance(node, Import) and _is_ours(node, top):
            imports.append(node)
            return
        kind = type(node)
        words.append(f"({kind.__name__}\0")
        for name in kind._fields:
            if name in PASSED_OVER:
                continue
            value: Any = getattr(node, name, None)
            if value is None or (not value and isinstance(value, list)):
                continue
            words.append(f".{name}\0")
            _spell(value, top, words, imports)
        words.append(")\0")
    elif isinstance(node, list):
        for item in node:
            if not _is_documentation(item):
                _spell(item, top, words, imports)
    else:
        words.append(f"{type(node).__name__}:{node!r}\0")


def _is_documentation(node: object) -> bool:
    """Whether a statement is a string alone: a docstring, or what stands below a constant or a field to describe it."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_ours(node: Import, top: str) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").partition(".")[0] == top
    return all(alias.name.partition(".")[0] == top for alias in node.names)


@cache
def _source(module: str) -> Path | None:
    """File of a module; None where there is no such module or it is not Python source."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


@cache
def imported_names(module: str) -> tuple[tuple[str, str], ...]:
    """Modules of ours that a module's code imports, anywhere in it, each with the name that is taken and its own."""
    found: dict[tuple[str, str], None] = {}
    for node in _read(module).imports:
        for alias in node.names:
            if isinstance(node, ast.Import):
                home, taken, own = alias.name, "", alias.asname or ""
            else:
                package = _absolute(module, node)
                home, own = _defining(package, alias.name), alias.asname or alias.name
                taken = "" if home == f"{package}.{alias.name}" else alias.name  # a module is taken whole
            if _source(home) is not None:
                found[home, f"{taken}:{own}"] = None
    return tuple(found)


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    path = _source(module)
    parts = module.split(".")
    is_package = path is not None and path.name == "__init__.py"
    base = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*base, *([node.module] if node.module else [])])


def _defining(package: str, name: str) -> str:
    """Module that ``from package import name`` needs: a submodule, or where the package has the name from."""
    path = _source(package)
    if path is None or path.name != "__init__.py":
        return package  # to ask for a submodule would import this module, with all that it needs
    if _source(f"{package}.{name}") is not None:
        return f"{package}.{name}"
    for node in _read(package).passed_on:
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                return _defining(_absolute(package, node), alias.name)
    return package
