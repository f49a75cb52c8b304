"""Graph of the dependencies between statements of our modules, built from syntax trees alone.

Modules are located and their bindings are read without executing them. Their source may
be passed in instead of being read from a file.

Every possible meaning of a name counts. A unit depends on every unit that may bind a name which it uses, on the code
that an import executes besides binding names, and on a whole module if the module itself is used as a value. A class is
one unit. A module is also taken as a whole if code may look up any of its names, or names given by a string.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpverify.harness.evidence.imports import (
    Find,
    SourceText,
    bindings_of,
    find_source,
    packages_above,
)
from dpverify.harness.evidence.source_code import (
    CheckPlace,
    Code,
    ImportedNames,
    code_of,
)
from dpverify.harness.evidence.units import ADD, parse


class Module:
    """A module of our package."""

    def __init__(self, name: str, source: SourceText) -> None:
        self.name = name
        self.is_package = source.is_package
        self.code: Code = code_of(source.text, name.partition(".")[0], parse)
        self.units: dict[str, list[int]] = {}  # places of the units that bind each name
        for place, unit in enumerate(self.code.units):
            for bound in unit.binds:
                self.units.setdefault(bound, []).append(place)
        # places of the units whose functions may change each name
        self.changed: dict[str, list[int]] = {}
        for place, unit in enumerate(self.code.units):
            for changed in unit.changes:
                self.changed.setdefault(changed.partition(".")[0], []).append(place)
        self.imports: dict[str, list[tuple[ImportedNames, str]]] = bindings_of(
            [*self.code.imports, *self.code.on_use]
        )

    def absolute(self, node: ImportedNames) -> str:
        """Return the full name of the package in ``from package import name``."""
        if node.level == 0:
            return node.package or ""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + (1 if self.is_package else 0)]
        return ".".join([*base, *([node.package] if node.package else [])])


Node = tuple[str, int]  # a module and the place of a unit, or
WHOLE_MODULE = -1  # the whole module, in its order
# names that are being looked up; prevents infinite recursion
VisitedNames = frozenset[tuple[str, str]]

ON_USE = "__getattr__"
BY_TEXT = "*"  # marks a module that is imported by a string
# the location of a module does not count
WITHOUT_VALUE = frozenset({"__name__", "__all__", "__package__", "__spec__"})


class CodeGraph:
    """The units of all modules of our package, linked on demand. ``find`` returns the source of a module."""

    def __init__(self, find: Find = find_source) -> None:
        self._find = find
        self._modules: dict[str, Module | None] = {}
        self._uses: dict[Node, dict[str, set[Node]]] = {}
        self._loads: dict[str, set[str]] = {}
        self._direct: dict[str, set[str]] = {}
        self._own_effects: dict[str, list[Node]] = {}

    def module(self, name: str) -> Module | None:
        """Return a module of our package, or None if there is no such module or it has no source."""
        if name not in self._modules:
            source = self._find(name)
            self._modules[name] = None if source is None else Module(name, source)
        return self._modules[name]

    def get_module(self, name: str) -> Module:
        """Return a module, or raise a ValueError if it has no Python source."""
        module = self.module(name)
        if module is None:
            raise ValueError(f"module must have Python source, got module={name!r}.")
        return module

    def digest(self, node: Node) -> str:
        """Describe a node without its dependencies: the digest of a unit, or the ordered digests of a module."""
        code = self.get_module(node[0]).code
        if node[1] >= 0:
            return code.units[node[1]].digest
        imports = (
            f"{statement.after} {alias or attribute}"
            for statement in code.imports
            for attribute, alias in statement.names
        )
        return "\0".join([*(unit.digest for unit in code.units), *imports])

    def made_at(self, place: CheckPlace) -> list[Node]:
        """Return the units that create a check, or the whole module if they cannot be determined."""
        module = self.get_module(place.module)
        for lines, units, starred in (
            (registration.lines, registration.units, registration.starred)
            for registration in module.code.registrations
            if place.line
        ):
            if lines[0] <= place.line <= lines[1]:
                return [
                    (place.module, unit) for unit in _arguments(units, starred, place)
                ]
        return [(place.module, WHOLE_MODULE)]

    def uses(self, node: Node) -> dict[str, set[Node]]:
        """Return the dependencies of a node, grouped by the name through which it uses them."""
        if node not in self._uses:
            targets_by_name: dict[str, set[Node]] = {}
            for name, target in self._targets(node):
                targets_by_name.setdefault(name, set()).add(target)
            self._uses[node] = targets_by_name
        return self._uses[node]

    def reached(self, nodes: Iterable[Node]) -> set[Node]:
        """Return all nodes that some nodes depend on, including themselves."""
        reachable: set[Node] = set()
        todo = list(nodes)
        while todo:
            node = todo.pop()
            if node not in reachable:
                reachable.add(node)
                todo.extend(
                    target for targets in self.uses(node).values() for target in targets
                )
        return reachable

    def _targets(self, node: Node) -> Iterator[tuple[str, Node]]:
        module = self.get_module(node[0])
        place = node[1]
        if place == WHOLE_MODULE:
            yield from (
                ("", (module.name, number)) for number in range(len(module.code.units))
            )
            yield from self._imported_nodes(
                module, [*module.code.imports, *module.code.on_use], is_whole=True
            )
            return
        unit = module.code.units[place]
        if unit.reads_module:
            yield "", (module.name, WHOLE_MODULE)
        yield from self._imported_nodes(module, unit.imports)
        for used in unit.uses:
            targets = self._named(module, used.split("."), unit.imports)
            yield from (
                (f"{used} {number}", target) for number, target in enumerate(targets)
            )

    def _imported_nodes(
        self, module: Module, imports: list[ImportedNames], *, is_whole: bool = False
    ) -> Iterator[tuple[str, Node]]:
        """Yield the nodes that imports bind.

        They are numbered, because the meaning of a name may depend on the order.
        """
        for number, node in enumerate(imports):
            for attribute, alias in node.names:
                if node.package is not None:
                    yield from (
                        (f"{number} {attribute}", target)
                        for target in self._resolve(
                            module.absolute(node), attribute, []
                        )
                    )
                elif (is_whole or alias == BY_TEXT) and self.module(
                    attribute
                ) is not None:
                    yield f"{number} {attribute}", (attribute, WHOLE_MODULE)

    def loading(self, node: Node) -> set[str]:
        """Return the modules that must be loaded for a node, without those that its dependencies load."""
        module = self.get_module(node[0])
        units = (
            module.code.units
            if node[1] == WHOLE_MODULE
            else [module.code.units[node[1]]]
        )
        return {node[0]}.union(
            *(self._imported(module, unit.imports) for unit in units)
        )

    def effects(self, loaded: Iterable[str]) -> set[Node]:
        """Return the units that imports of modules execute besides binding names, including imported modules."""
        return {
            node
            for home in set[str]().union(*map(self.loads, loaded))
            for node in self._effects(home)
        }

    def loads(self, name: str) -> set[str]:
        """Return the modules of our package that an import of a module executes, including itself."""
        if name not in self._loads:
            modules: set[str] = set()
            todo = [name]
            while todo:
                module = todo.pop()
                if module not in modules:
                    modules.add(module)
                    todo.extend(self._imports_of(module))
            self._loads[name] = modules
        return self._loads[name]

    def _imports_of(self, name: str) -> set[str]:
        """Return the modules that a module imports directly."""
        if name not in self._direct:
            module = self.get_module(name)
            self._direct[name] = {
                *self._packages_above(name),
                *self._imported(module, module.code.imports),
            }
        return self._direct[name]

    def _effects(self, name: str) -> list[Node]:
        """Return the units that an import of a module executes besides binding names, without imported modules."""
        if name not in self._own_effects:
            module = self.get_module(name)
            self._own_effects[name] = [
                (name, place)
                for place, unit in enumerate(module.code.units)
                if unit.has_effect
                or any(self._registers(module, called) for called in unit.called)
            ]
        return self._own_effects[name]

    def _registers(self, module: Module, name: str) -> bool:
        """Return whether a function or class that is called during an import may change objects of a module."""
        nodes = (
            node
            for node in self._named(module, name.split("."))
            if node[1] != WHOLE_MODULE
        )
        units = (self.get_module(home).code.units[place] for home, place in nodes)
        return any(unit.changes and not unit.is_registered for unit in units)

    def _imported(
        self, module: Module, imports: Iterable[ImportedNames]
    ) -> Iterator[str]:
        """Yield the modules of our package that imports load, including those loaded lazily for the names."""
        for node in imports:
            for attribute, _ in node.names:
                homes = [attribute] if node.package is None else [module.absolute(node)]
                if node.package is not None:
                    homes += [
                        home
                        for home, _ in self._resolve(
                            module.absolute(node), attribute, []
                        )
                    ]
                for home in homes:
                    if self.module(home) is not None:
                        yield home
                        yield from self._packages_above(home)

    def _packages_above(self, name: str) -> Iterator[str]:
        return (
            above for above in packages_above(name) if self.module(above) is not None
        )

    def defining_modules(
        self, module: Module, node: ImportedNames, attribute: str
    ) -> Iterator[tuple[str, str]]:
        """Yield the modules that define an imported name, each with the name, or "" for a whole module."""
        if node.package is None:
            yield attribute, ""
            return
        for home, place in self._resolve(module.absolute(node), attribute, []):
            yield home, "" if place == WHOLE_MODULE else attribute

    def _named(
        self,
        module: Module,
        name: list[str],
        late: list[ImportedNames] | None = None,
        visited: VisitedNames = frozenset(),
    ) -> Iterator[Node]:
        """Yield the nodes to which a dotted name may refer in a module; none if the name is a builtin of Python."""
        first, *attributes = name
        units = module.units.get(first, [])
        imports = module.imports.get(first, [])
        stars = module.imports.get("*", [])
        yield from (
            (module.name, place) for place in (*units, *module.changed.get(first, ()))
        )
        if first == module.code.registry and attributes[:1] != [ADD]:
            yield from (
                (module.name, place)
                for place, unit in enumerate(module.code.units)
                if unit.is_registered
            )
        if (imports or stars) and len(units) + len(imports) + len(stars) > 1:
            # its meaning depends on the order of all bindings
            yield module.name, WHOLE_MODULE
        for node, attribute in (*imports, *(bindings_of(late or []).get(first, ()))):
            if node.package is not None:
                yield from self._resolve(
                    module.absolute(node), attribute, attributes, visited
                )
            else:
                is_renamed = any(
                    alias == first
                    for imported_name, alias in node.names
                    if imported_name == attribute
                )
                yield from self._inside(
                    attribute if is_renamed else first, attributes, visited
                )
        yield from (
            (home, WHOLE_MODULE)
            for node, _ in stars
            if self.module(home := module.absolute(node)) is not None
        )

    def _inside(
        self, home: str, name: list[str], visited: VisitedNames = frozenset()
    ) -> Iterator[Node]:
        """Yield the nodes to which attributes of a module refer; the whole module if there are no attributes."""
        if self.module(home) is None:
            return
        if not name:
            yield home, WHOLE_MODULE
        else:
            yield from self._resolve(home, name[0], name[1:], visited)

    def _resolve(
        self,
        home: str,
        attribute: str,
        attributes: list[str],
        visited: VisitedNames = frozenset(),
    ) -> Iterator[Node]:
        """Yield the nodes to which a name of a module, or a module of a package, refers."""
        module = self.module(home)
        if module is None or (home, attribute) in visited:
            return
        visited |= {(home, attribute)}
        inner = f"{home}.{attribute}"
        is_module = module.is_package and self.module(inner) is not None
        if is_module:
            yield from self._inside(inner, attributes, visited)
        if (
            attribute in module.units
            or attribute in module.imports
            or "*" in module.imports
        ):
            yield from self._named(module, [attribute, *attributes], None, visited)
        elif (
            not is_module
            and attribute not in WITHOUT_VALUE
            and not (module.code.on_use and attribute == ON_USE)
        ):
            yield home, WHOLE_MODULE


def _arguments(units: list[int], starred: list[int], place: CheckPlace) -> list[int]:
    """Return the units of the arguments that may have created a check.

    A starred argument creates any number of checks.
    """
    if not starred:
        return (
            units[place.argument : place.argument + 1]
            if len(units) == place.arguments
            else units
        )
    after = len(units) - 1 - starred[-1]
    if place.argument < starred[0]:
        return [units[place.argument]]
    if place.arguments - place.argument <= after:
        return [units[place.argument - place.arguments]]
    return units[starred[0] : starred[-1] + 1]
