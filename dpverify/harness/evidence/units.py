"""The top-level statements of a module as units that a check may depend on, each with the names that it uses.

Documentation, layout, the Python version and code for type checkers do not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from dpverify.harness.evidence.imports import (
    bindings,
    imported,
    is_below,
    is_ours,
    without_type_checking,
)
from dpverify.harness.evidence.names import Uses, bound, chain
from dpverify.harness.evidence.source_code import (
    Code,
    ImportedNames,
    Registration,
    Unit,
)

IGNORED_FIELDS = frozenset({"kind", "type_comment"})
REGISTRY = "PaperChecks"  # class whose method ``add`` only records checks
ADD = "add"
HARMLESS = frozenset(
    {"abc", "contextlib", "dataclasses", "enum", "functools", "typing"}
)
"""Modules whose decorators only change the function or class that they are given."""

BUILT_IN = frozenset({"classmethod", "property", "staticmethod"})
ACCESSORS = frozenset({"setter", "deleter", "getter"})


def parse(source: bytes, top: str) -> Code:
    """Parse a module of the top-level package ``top``."""
    tree, on_use = without_type_checking(ast.parse(source))
    return _UnitReader(tree, top).code(on_use)


class _UnitReader:
    """Collects the units of one module."""

    def __init__(self, tree: ast.Module, top: str) -> None:
        self.tree = tree
        self.top = top
        self.units: list[Unit] = []
        self.imports: list[ImportedNames] = []
        self.registrations: list[Registration] = []
        self.registry = _registry(tree)
        self.foreign = dict(_foreign_names(tree, top))
        self.future = "".join(_future(tree))

    def code(self, on_use: list[ImportedNames]) -> Code:
        """Read every statement and return the data of the module."""
        for statement in self.tree.body:
            if not _is_documentation(statement):
                self._read(statement)
        return Code(
            self._with_unused_imports(),
            self.imports,
            on_use,
            self.registrations,
            self.registry,
        )

    def _read(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if is_ours(statement, self.top):
                self.imports.append(imported(statement, len(self.units)))
            elif not _is_future(statement):
                self.units += _foreign_imports(statement)
            return
        if (arguments := self._registered_arguments(statement)) is not None:
            parts = list[int]()
            for argument in arguments:
                parts.append(len(self.units))
                self._add_unit(
                    argument, uses=(f"{self.registry}.{ADD}",), is_registered=True
                )
            starred = [
                place
                for place, argument in enumerate(arguments)
                if isinstance(argument, ast.Starred)
            ]
            self.registrations.append(Registration(_lines(statement), parts, starred))
            return
        registers = any(
            map(self._is_registration, ast.walk(statement))
        ) and not isinstance(statement, ast.FunctionDef | ast.ClassDef)
        if registers:
            self.registrations.append(
                Registration(_lines(statement), [len(self.units)], [0])
            )
        self._add_unit(
            statement,
            binds=bound([statement]),
            has_effect=not self._only_binds(statement),
            is_registered=registers,
        )

    def _add_unit(
        self,
        node: ast.stmt | ast.expr,
        binds: Iterator[str] | Sequence[str] = (),
        uses: Sequence[str] = (),
        *,
        has_effect: bool = False,
        is_registered: bool = False,
    ) -> None:
        visitor = Uses(self.top)
        visitor.visit(node)
        late = [
            imported(statement)
            for statement, in_function in visitor.imports
            if in_function
        ]
        late += [
            ImportedNames(names=[(module, "*")])
            for module in sorted(visitor.imported_by_text)
            if is_below(module, self.top)
        ]
        self.imports += [
            imported(statement, len(self.units))
            for statement, in_function in visitor.imports
            if not in_function
        ]
        called = {
            name
            for name in visitor.called
            if name.partition(".")[0] not in self.foreign
        }
        changed = {
            name
            for name in visitor.changed
            if name.partition(".")[0] not in self.foreign
        }
        has_effect |= any(map(self._may_register, visitor.decorators))
        words = [self.future]
        _spell(node, self.top, words)
        self.units.append(
            Unit(
                digest=hashlib.sha256("".join(words).encode()).hexdigest(),
                lines=_lines(node),
                binds=sorted(set(binds)),
                uses=sorted(visitor.names.union(uses)),
                imports=late,
                called=sorted(called),
                has_effect=has_effect,
                changes=sorted(changed),
                reads_module=visitor.reads_module,
                is_registered=is_registered,
            )
        )

    def _registered_arguments(self, statement: ast.stmt) -> list[ast.expr] | None:
        """Return the arguments of a statement that adds checks and does nothing else, otherwise None."""
        if not isinstance(statement, ast.Expr) or not self._is_registration(
            statement.value
        ):
            return None
        call: Any = statement.value
        return None if call.keywords else list(call.args)

    def _is_registration(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Call)
            and self.registry != ""
            and chain(node.func) == [self.registry, ADD]
        )

    def _only_binds(self, statement: ast.stmt) -> bool:
        """Return whether a statement only binds names and adds checks, judged by its form."""
        match statement:
            case (
                ast.FunctionDef()
                | ast.AsyncFunctionDef()
                | ast.ClassDef()
                | ast.Import()
                | ast.ImportFrom()
            ):
                return True
            case ast.Assign():
                return all(map(_is_name, statement.targets))
            case ast.AnnAssign() | ast.AugAssign():
                return _is_name(statement.target)
            case ast.If() | ast.For() | ast.With() | ast.Try():
                parts = [
                    *statement.body,
                    *getattr(statement, "orelse", []),
                    *getattr(statement, "finalbody", []),
                ]
                parts += [
                    part
                    for handler in getattr(statement, "handlers", [])
                    for part in handler.body
                ]
                return all(map(self._only_binds, parts))
            case ast.Expr():
                return (
                    _is_documentation(statement)
                    or self._registered_arguments(statement) is not None
                )
        return isinstance(statement, ast.Pass)

    def _may_register(self, decorator: ast.expr) -> bool:
        """Return whether a decorator may do more than change the object that it decorates.

        ``graph`` examines decorators that are functions of our package.
        """
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        parts = chain(decorator)
        if parts is None:
            return True
        name, *attributes = parts
        if name in self.foreign:
            return self.foreign[name].partition(".")[0] not in HARMLESS or attributes[
                -1:
            ] == ["register"]
        if not attributes:
            return False
        return attributes[-1] not in ACCESSORS and (
            attributes[-1] == "register" or name not in self._modules
        )

    @property
    def _modules(self) -> set[str]:
        """Names that imports from our package bind.

        A decorator that is an attribute of a module is a function. An attribute of any other object may register
        something.
        """
        return {
            alias or attribute.partition(".")[0]
            for node in self.imports
            for attribute, alias in node.names
        }

    def _with_unused_imports(self) -> list[Unit]:
        """Return the units, with an effect for each foreign import that nothing uses.

        Such an import may be there for its effect.
        """
        used = {name.partition(".")[0] for unit in self.units for name in unit.uses}
        return [
            Unit(unit.digest, unit.lines, unit.binds, [], [], [], has_effect=True)
            if unit.digest.startswith(_FOREIGN)
            and not used.intersection(unit.binds)
            and not _is_harmless(unit)
            else unit
            for unit in self.units
        ]


_FOREIGN = "import "


def _is_harmless(unit: Unit) -> bool:
    return unit.digest.removeprefix(_FOREIGN).partition(".")[0] in HARMLESS


def _foreign_imports(statement: ast.Import | ast.ImportFrom) -> Iterator[Unit]:
    """Yield a unit for each name that a foreign import binds."""
    package = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
    for alias in statement.names:
        name = alias.asname or (alias.name if package else alias.name.partition(".")[0])
        attribute = (
            alias.name
            if package or alias.asname is None
            else f"{alias.name} as a whole"
        )
        yield Unit(
            f"{_FOREIGN}{package}{attribute}", _lines(statement), [name], [], [], []
        )


def _foreign_names(tree: ast.Module, top: str) -> Iterator[tuple[str, str]]:
    """Yield names that only a foreign import at the top of a module binds, each with the imported object."""
    times = bindings(tree)
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) and not is_ours(node, top):
            package = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                name = alias.asname or (
                    alias.name if package else alias.name.partition(".")[0]
                )
                if times[alias.asname or alias.name] == 1:
                    yield name, package + alias.name


def _is_future(statement: ast.stmt) -> bool:
    """Return whether a statement is a ``__future__`` import.

    It changes the meaning of the code, so every unit includes it.
    """
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _future(tree: ast.Module) -> list[str]:
    # _is_future lets only imports through
    return sorted(
        f"{alias.name}\0"
        for node in filter(_is_future, tree.body)
        for alias in node.names  # type: ignore[attr-defined]
    )


def _registry(tree: ast.Module) -> str:
    """Return the name that is bound once, to the object to which checks are added, or "" if there is none."""
    names = [
        statement.targets[0].id
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Call)
        and chain(statement.value.func) == [REGISTRY]
    ]
    return names[0] if len(names) == 1 and bindings(tree)[names[0]] == 1 else ""


def _is_name(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_is_name, target.elts))
    return isinstance(target, ast.Name) or (
        isinstance(target, ast.Starred) and _is_name(target.value)
    )


def _lines(node: ast.stmt | ast.expr) -> tuple[int, int]:
    first = min(
        [
            node.lineno,
            *(decorator.lineno for decorator in getattr(node, "decorator_list", [])),
        ]
    )
    return first, node.end_lineno or first


def _spell(node: object, top: str, words: list[str]) -> None:
    """Append the words of a syntax tree to a list.

    Positions, documentation, the modules of our imports, and fields that are empty in some Python versions are left
    out.
    """
    if isinstance(node, ast.AST):
        if isinstance(node, ast.Import | ast.ImportFrom) and is_ours(node, top):
            words += [f"import {alias.asname or alias.name}\0" for alias in node.names]
            return
        kind = type(node)
        words.append(f"({kind.__name__}\0")
        for name in kind._fields:
            if name in IGNORED_FIELDS:
                continue
            value: Any = getattr(node, name, None)
            if value is None or (not value and isinstance(value, list)):
                continue
            words.append(f".{name}\0")
            _spell(value, top, words)
        words.append(")\0")
    elif isinstance(node, list):
        for item in node:
            if not _is_documentation(item):
                _spell(item, top, words)
    else:
        words.append(f"{type(node).__name__}:{node!r}\0")


def _is_documentation(node: object) -> bool:
    """Return whether a statement is a string: a docstring, or the description below a constant or a field."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
