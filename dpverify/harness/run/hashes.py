"""The evidence hash: the record, and the code of the checks with all of ours that it imports. Nothing is executed.

Documentation, layout and the Python version do not count, nor does where a module lies: an import of ours counts as
the code that defines the name, even where a package only passes it on. What only type checkers see does not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dpverify.harness.finished.code_cache import Code, ImportedNames, code_of
from dpverify.harness.finished.names import as_run, bindings, imported, passed_on

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


@cache
def _read(module: str) -> Code:
    path = _source(module)
    if path is None:
        raise ValueError(f"module must have Python source, got module={module!r}.")
    return code_of(path.read_bytes(), module.partition(".")[0], _parsed)


def _parsed(source: bytes, top: str) -> Code:
    tree, late = as_run(ast.parse(source))
    words: list[str] = []
    imports: list[ImportedNames] = []
    _spell(tree, top, words, imports)
    digest = hashlib.sha256("".join(words).encode()).hexdigest()
    times = bindings(tree)
    passed = [*passed_on(tree, times), *late]
    bound = times.keys() - {alias or name for node in passed for name, alias in node.names}
    return Code(digest=digest, imports=[*imports, *late], passed_on=passed, bound=frozenset(bound))


def _spell(node: object, top: str, words: list[str], imports: list[ImportedNames]) -> None:
    """Spell a syntax tree into a list: no places, documentation, imports of ours, nor fields empty in some Pythons."""
    if isinstance(node, ast.AST):
        if isinstance(node, ast.Import | ast.ImportFrom) and _is_ours(node, top):
            imports.append(imported(node))
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


def _is_ours(node: ast.Import | ast.ImportFrom, top: str) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").partition(".")[0] == top
    return all(alias.name.partition(".")[0] == top for alias in node.names)


@cache
def _source(module: str) -> Path | None:
    """File of a module; None where there is no such module or it is not Python source."""
    spec = _spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


@cache
def _spec(module: str) -> ModuleSpec | None:
    """Find a module as an import would, without the import of the packages above it."""
    package, _, _ = module.rpartition(".")
    try:
        if not package:
            return find_spec(module)
        above = _spec(package)
        if above is None or above.submodule_search_locations is None:
            return None
        return PathFinder.find_spec(module, above.submodule_search_locations)
    except (ImportError, ValueError):
        return None


@cache
def imported_names(module: str) -> tuple[tuple[str, str], ...]:
    """Modules of ours that a module's code imports, anywhere in it, each with the name that is taken and its own."""
    found: dict[tuple[str, str], None] = {}
    for node in _read(module).imports:
        for name, alias in node.names:
            if node.package is None:
                homes, whole, own = [name], name, alias or ""
            else:
                package = _absolute(module, node)
                homes, whole, own = _homes(package, name), f"{package}.{name}", alias or name
            for home in homes:
                taken = "" if home == whole else name  # a module is taken whole
                if _source(home) is not None:
                    found[home, f"{taken}:{own}"] = None
    return tuple(found)


def _absolute(module: str, node: ImportedNames) -> str:
    if node.level == 0:
        return node.package or ""
    path = _source(module)
    parts = module.split(".")
    is_package = path is not None and path.name == "__init__.py"
    base = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*base, *([node.package] if node.package else [])])


def _homes(package: str, name: str) -> list[str]:
    """Modules that ``from package import name`` needs: a submodule, and where the package has the name from.

    A submodule and a name of the package may be called the same; then what was imported before decides.
    """
    submodule = f"{package}.{name}"
    homes = [submodule] if _source(submodule) is not None else []
    path = _source(package)
    if path is None or path.name != "__init__.py":
        return homes or [package]
    code = _read(package)
    for node in code.passed_on:
        for taken, alias in node.names:
            if (alias or taken) == name:
                origin = _absolute(package, node)
                return [*homes, *_homes(origin, taken)] if (origin, taken) != (package, name) else homes
    return [*homes, package] if not homes or code.bound & {name, "*"} else homes
