"""The imports of a module, read from its syntax tree, and the source of the modules that it imports.

A module imports names at once or when they are first used. Code for type checkers does not count. Modules are located
without executing them.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dpverify.harness.evidence.source_code import ImportedNames

FOR_TYPE_CHECKERS = "TYPE_CHECKING"
LATE = "lazy_names"  # the function of dpverify.lazy
ON_USE = "__getattr__"


def imported(node: ast.Import | ast.ImportFrom, after: int = 0) -> ImportedNames:
    """Convert an import statement. ``after``: number of units before it."""
    names = [(alias.name, alias.asname) for alias in node.names]
    if isinstance(node, ast.Import):
        return ImportedNames(names=names, after=after)
    return ImportedNames(
        names=names, package=node.module or "", level=node.level, after=after
    )


def is_ours(node: ast.Import | ast.ImportFrom, top: str) -> bool:
    """Return whether an import is from the top-level package ``top``."""
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or is_below(node.module or "", top)
    return all(is_below(alias.name, top) for alias in node.names)


def is_below(module: str, top: str) -> bool:
    """Return whether a module is a top-level package or inside it."""
    return module.partition(".")[0] == top


def without_type_checking(tree: ast.Module) -> tuple[ast.Module, list[ImportedNames]]:
    """Return a module without code for type checkers, and the imports that it makes when its names are used.

    If the module's ``__getattr__`` does not come from ``lazy_names``, it may load anything, and no code is left out.
    """
    late = list(_late_names(tree))
    if _is_constant_of_typing(tree) and (late or not bindings(tree)[ON_USE]):
        tree = _WithoutTypeChecking().visit(tree)
    return tree, late


def bindings(tree: ast.Module) -> Counter[str]:
    """Count how often each name is bound anywhere in a module."""
    times: Counter[str] = Counter()
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                times.update(alias.asname or alias.name for alias in node.names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                times[node.name] += 1
            case ast.Name() if not isinstance(node.ctx, ast.Load):
                times[node.id] += 1
            case ast.Global():
                times.update(node.names)
    return times


class _WithoutTypeChecking(ast.NodeTransformer):
    """Removes the statements below ``if TYPE_CHECKING:``."""

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        return (
            node.orelse
            if isinstance(node.test, ast.Name) and node.test.id == FOR_TYPE_CHECKERS
            else node
        )


def _is_constant_of_typing(tree: ast.Module) -> bool:
    """Return whether TYPE_CHECKING is the constant of typing, which is false at run time."""
    return (
        _imports(tree, "typing", FOR_TYPE_CHECKERS)
        and bindings(tree)[FOR_TYPE_CHECKERS] == 1
    )


def _imports(tree: ast.Module, module: str, name: str) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and (node.module, node.level) == (module, 0)
        and any((alias.name, alias.asname) == (name, None) for alias in node.names)
        for node in tree.body
    )


def _late_names(tree: ast.Module) -> Iterator[ImportedNames]:
    """Yield the table of ``__getattr__, __dir__ = lazy_names(__name__, TABLE)``, if a module has this line."""
    late = [
        node for node in tree.body if isinstance(node, ast.Assign) and _is_late(node)
    ]
    if len(late) != 1 or not _imports(tree, "dpverify.lazy", LATE):
        return
    times = bindings(tree)
    if times[ON_USE] != 1 or times[LATE] != 1:
        return
    table = late[0].value.args[1]  # type: ignore[attr-defined]
    if isinstance(table, ast.Name):
        table = _constant(tree, table.id)
    if not isinstance(table, ast.Dict):
        return
    texts = [
        node.value if isinstance(node, ast.Constant) else None
        for node in (*table.keys, *table.values)
    ]
    if not all(isinstance(text, str) for text in texts):
        return
    for module, entries in ast.literal_eval(table).items():
        pairs = [entry.partition("=") for entry in entries.split()]
        names: list[tuple[str, str | None]] = [
            (attribute or name, name) for name, _, attribute in pairs
        ]
        yield ImportedNames(names=names, package=module, level=1)


def _is_late(node: ast.Assign) -> bool:
    """Return whether a statement is ``__getattr__, __dir__ = lazy_names(...)``."""
    value = node.value
    target = node.targets[0]
    names = (
        [getattr(name, "id", "") for name in target.elts]
        if isinstance(target, ast.Tuple)
        else []
    )
    is_call = (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id == LATE
    )
    return is_call and names == [ON_USE, "__dir__"]


def _constant(tree: ast.Module, name: str) -> ast.expr | None:
    """Return the value of a variable that is set once and used once, so that it cannot change; otherwise None."""
    uses = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name
    ]
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0] in uses
    ]
    return values[0] if len(values) == 1 and len(uses) == 2 else None


class SourceText(NamedTuple):
    """Source text of a module."""

    text: bytes
    is_package: bool


Find = Callable[[str], SourceText | None]


def find_source(module: str) -> SourceText | None:
    """Read the source of a module; None if there is no such module or it is not Python source."""
    path = _path(module)
    return (
        None
        if path is None
        else SourceText(path.read_bytes(), path.name == "__init__.py")
    )


@cache
def _path(module: str) -> Path | None:
    spec = _spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


@cache
def _spec(module: str) -> ModuleSpec | None:
    """Find a module as an import would, but without importing the packages above it."""
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


def bindings_of(
    imports: list[ImportedNames],
) -> dict[str, list[tuple[ImportedNames, str]]]:
    """Group imports by the name that each binds, with the name that is imported."""
    bindings: dict[str, list[tuple[ImportedNames, str]]] = {}
    for node in imports:
        for attribute, alias in node.names:
            name = alias or (
                attribute if node.package is not None else attribute.partition(".")[0]
            )
            bindings.setdefault(name, []).append((node, attribute))
    return bindings


def packages_above(module: str) -> Iterator[str]:
    """Yield the packages that Python imports before a module."""
    while "." in module:
        module = module.rpartition(".")[0]
        yield module
