"""The evidence hash: the record, and the code of the checks with all of ours that it imports. Nothing is executed.

Comments, docstrings and layout do not count, and neither does the Python version. A name that a package only passes on
is followed to the module that defines it, so that a package's front page does not tie all of its modules together.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
Import = ast.Import | ast.ImportFrom
PASSED_OVER = frozenset({"kind", "type_comment"})
DIGITS = 16


def evidence_hash(record_hash: str, modules: Iterable[str]) -> str:
    """Hash what a piece of evidence rests on.

    Parameters
    ----------
    record_hash : str
        Of the claim's record; with the text of an amendment where there is one.
    modules : iterable of str
        Names of the modules that make the checks.

    Returns
    -------
    str
        16 hex digits.
    """
    roots = sorted(set(modules))
    total = hashlib.sha256(record_hash.encode())
    for module in sorted(import_closure(roots)):
        total.update(f"\0{module}\0{code_hash(module)}".encode())
    return total.hexdigest()[:DIGITS]


def evidence_hashes(wanted: Sequence[tuple[str, tuple[str, ...]]]) -> list[str]:
    """Hash what several pieces of evidence rest on.

    Parameters
    ----------
    wanted : sequence of (str, tuple of str)
        The record's hash and the modules of each; see :func:`evidence_hash`.

    Returns
    -------
    list of str
        In the same order.
    """
    return [evidence_hash(*each) for each in wanted]


def import_closure(modules: Iterable[str]) -> set[str]:
    """Modules of the same top-level packages that some modules import, directly or not, themselves included.

    Parameters
    ----------
    modules : iterable of str
        Names of modules.

    Returns
    -------
    set of str
        Names of modules.
    """
    closure: set[str] = set()
    todo = list(modules)
    while todo:
        module = todo.pop()
        if module not in closure:
            closure.add(module)
            todo.extend(_imported(module))
    return closure


def code_hash(module: str) -> str:
    """Hash the syntax tree of a module.

    Parameters
    ----------
    module : str
        Its name.

    Returns
    -------
    str
        64 hex digits; the same for two sources that differ only in comments, docstrings and layout.
    """
    return _read(module).digest


@dataclass(frozen=True)
class _Code:
    """What is kept of a module: the hash of its tree, the imports anywhere in it, and those at its top."""

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
    _spell(tree, words, imports)
    digest = hashlib.sha256("".join(words).encode()).hexdigest()
    return _Code(digest, tuple(imports), tuple(node for node in tree.body if isinstance(node, ast.ImportFrom)))


def _spell(node: object, words: list[str], imports: list[Import]) -> None:
    """Spell a syntax tree without places, docstrings and empty fields, which differ between Python versions.

    Each word ends with a zero byte. Lists are filled, for generators of generators would take twice the time.
    """
    if isinstance(node, ast.AST):
        if isinstance(node, Import):
            imports.append(node)
        kind = type(node)
        words.append(f"({kind.__name__}\0")
        for name in kind._fields:
            if name in PASSED_OVER:
                continue
            value: Any = getattr(node, name, None)
            if name == "body" and isinstance(node, DOCUMENTED):
                value = _without_docstring(value)
            if value is None or (not value and isinstance(value, list)):
                continue
            words.append(f".{name}\0")
            _spell(value, words, imports)
        words.append(")\0")
    elif isinstance(node, list):
        for item in node:
            _spell(item, words, imports)
    else:
        words.append(f"{type(node).__name__}:{node!r}\0")


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(ast.Constant(str())), *rest]:
            return rest
        case _:
            return body


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
def _imported(module: str) -> tuple[str, ...]:
    """Modules of the same top-level package that a module's own code imports, anywhere in it."""
    top = module.partition(".")[0]
    found: dict[str, None] = {}
    for node in _read(module).imports:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            package = _absolute(module, node)
            names = [_defining(package, alias.name) for alias in node.names]
        found.update((name, None) for name in names if name.partition(".")[0] == top and _source(name) is not None)
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
    if _source(f"{package}.{name}") is not None:
        return f"{package}.{name}"
    path = _source(package)
    if path is not None and path.name == "__init__.py":
        for node in _read(package).passed_on:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _defining(_absolute(package, node), alias.name)
    return package
