"""The evidence hash: it covers the record of a claim and the code that its checks depend on. Nothing is executed.

Documentation, layout, the Python version, the location of modules and code for type checkers do not count. ``graph``
determines the dependencies of a check. It may include more than is needed, and never less.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache

from dpverify.harness.evidence.graph import CodeGraph, Node
from dpverify.harness.evidence.imports import find_source
from dpverify.harness.evidence.source_code import CheckPlace

DIGITS = 16


class CodeHashes:
    """Hashes of nodes together with all their dependencies. Two hashes are equal if and only if all of these are equal.

    Definitions that depend on each other are hashed together, in rounds. Each round covers dependencies that are one
    step further away.
    """

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph
        self._hashes: dict[Node, str] = {}
        # modules that a node and its dependencies need
        self._loaded: dict[Node, frozenset[str]] = {}

    def evidence(self, record_hash: str, places: Iterable[CheckPlace]) -> str:
        """Hash a claim's record and the code that creates its checks: 16 hex digits."""
        registrations, effects = self.roots(places)
        parts = [sorted(set(map(self.of, nodes))) for nodes in (registrations, effects)]
        return _digest([record_hash, *parts[0], "", *parts[1]])[:DIGITS]

    def roots(self, places: Iterable[CheckPlace]) -> tuple[set[Node], set[Node]]:
        """Return the units that create some checks, and the units executed when all their dependencies are imported."""
        registrations = {node for place in places for node in self.graph.made_at(place)}
        effects: set[Node] = set()
        while True:
            loaded = set[str]().union(*map(self._loaded_for, registrations | effects))
            new_effects = self.graph.effects(loaded)
            if new_effects == effects:
                return registrations, effects
            effects = new_effects

    def _loaded_for(self, node: Node) -> frozenset[str]:
        self.of(node)
        return self._loaded[node]

    def of(self, node: Node) -> str:
        """Return the hash of a node."""
        if node not in self._hashes:
            for group in self._groups(node):
                self._hash(group)
        return self._hashes[node]

    def _hash(self, group: list[Node]) -> None:
        """Hash nodes that depend on each other, after all their other dependencies."""
        inside = set(group)
        hashes: dict[Node, str] = {}
        for node in group:
            outer = {
                f"{name} {self._hashes[target]}"
                for name, targets in self.graph.uses(node).items()
                for target in targets
                if target not in inside
            }
            hashes[node] = _digest([self.graph.digest(node), *sorted(outer)])
        inner = {
            node: [
                (name, t)
                for name, targets in self.graph.uses(node).items()
                for t in targets & inside
            ]
            for node in group
        }
        if any(inner.values()):
            for _ in group:
                before = len(set(hashes.values()))
                hashes = {
                    node: _digest(
                        [
                            hashes[node],
                            *sorted(
                                {
                                    f"{name} {hashes[target]}"
                                    for name, target in inner[node]
                                }
                            ),
                        ]
                    )
                    for node in group
                }
                if len(set(hashes.values())) == before:
                    break
            together = _digest(sorted(hashes.values()))
            hashes = {
                node: _digest([node_hash, together])
                for node, node_hash in hashes.items()
            }
        self._hashes |= hashes
        targets = {
            t
            for node in group
            for node_targets in self.graph.uses(node).values()
            for t in node_targets
        } - inside
        loaded = frozenset[str]().union(
            *(self._loaded[target] for target in targets),
            *map(self.graph.loading, group),
        )
        self._loaded |= dict.fromkeys(group, loaded)

    def _groups(self, start: Node) -> Iterator[list[Node]]:
        """Yield the unhashed nodes below a node, grouped by mutual dependency, innermost group first.

        This is Tarjan's algorithm for strongly connected components, without recursion.
        """
        number: dict[Node, int] = {}
        lowest: dict[Node, int] = {}
        open_nodes: list[Node] = []
        path: list[tuple[Node, Iterator[Node]]] = []

        def enter(node: Node) -> None:
            number[node] = lowest[node] = len(number)
            open_nodes.append(node)
            path.append(
                (
                    node,
                    iter(
                        [
                            t
                            for targets in self.graph.uses(node).values()
                            for t in targets
                        ]
                    ),
                )
            )

        enter(start)
        while path:
            node, targets = path[-1]
            target = next((t for t in targets if t not in self._hashes), None)
            if target is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == number[node]:
                    at = open_nodes.index(node)
                    group = open_nodes[at:]
                    del open_nodes[at:]
                    yield group
            elif target in number:
                lowest[node] = min(lowest[node], number[target])
            else:
                enter(target)


@cache
def today() -> CodeHashes:
    """Return the hashes of the present code."""
    return CodeHashes(CodeGraph(find_source))


def evidence_hash(record_hash: str, places: tuple[CheckPlace, ...]) -> str:
    """Hash a claim's record and the present code that creates its checks: 16 hex digits."""
    return today().evidence(record_hash, places)


def imported_names(module: str) -> list[tuple[str, str]]:
    """List the modules of our package that a module imports anywhere, each with the imported name, or ""."""
    graph = today().graph
    code_module = graph.get_module(module)
    imports = (
        (node, name) for node in code_module.code.every_import for name, _ in node.names
    )
    return list(
        dict.fromkeys(
            home
            for node, name in imports
            for home in graph.defining_modules(code_module, node, name)
        )
    )


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
