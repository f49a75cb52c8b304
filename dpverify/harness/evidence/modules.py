"""Where modules of ours lie and what they bind; nothing is executed, and the source may be given instead of read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dpverify.harness.evidence.code_cache import Code, ImportedNames, code_of
from dpverify.harness.evidence.units import parse


class SourceText(NamedTuple):
    """SourceText text of a module."""

    text: bytes
    is_package: bool


Find = Callable[[str], SourceText | None]


def find_source(module: str) -> SourceText | None:
    """Read the source of a module; None where there is no such module or it is not Python source."""
    path = _path(module)
    return None if path is None else SourceText(path.read_bytes(), path.name == "__init__.py")


@cache
def _path(module: str) -> Path | None:
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


class Module:
    """A module of ours."""

    def __init__(self, name: str, source: SourceText) -> None:
        self.name = name
        self.is_package = source.is_package
        self.code: Code = code_of(source.text, name.partition(".")[0], parse)
        self.units: dict[str, list[int]] = {}  # by the names that they bind
        for place, unit in enumerate(self.code.units):
            for bound in unit.binds:
                self.units.setdefault(bound, []).append(place)
        self.changed: dict[str, list[int]] = {}  # by the names that their functions may change
        for place, unit in enumerate(self.code.units):
            for changed in unit.changes:
                self.changed.setdefault(changed.partition(".")[0], []).append(place)
        self.imports: dict[str, list[tuple[ImportedNames, str]]] = bindings_of([*self.code.imports, *self.code.on_use])

    def absolute(self, node: ImportedNames) -> str:
        """Name of the package that ``from package import name`` names."""
        if node.level == 0:
            return node.package or ""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + (1 if self.is_package else 0)]
        return ".".join([*base, *([node.package] if node.package else [])])


def bindings_of(imports: list[ImportedNames]) -> dict[str, list[tuple[ImportedNames, str]]]:
    """Imports by the name that each binds, with the name that it takes."""
    bindings: dict[str, list[tuple[ImportedNames, str]]] = {}
    for node in imports:
        for attribute, alias in node.names:
            name = alias or (attribute if node.package is not None else attribute.partition(".")[0])
            bindings.setdefault(name, []).append((node, attribute))
    return bindings


def packages_above(module: str) -> Iterator[str]:
    """Yield the packages that an import of a module imports first."""
    while "." in module:
        module = module.rpartition(".")[0]
        yield module
