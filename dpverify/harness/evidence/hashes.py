"""The evidence hash: the record, and the code that its checks depend on. Nothing is executed.

Documentation, layout and the Python version do not count, nor does where a module lies. What only type checkers see
does not count. What a check depends on is decided by ``graph``: more counts than is needed, and never less.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache

from dpverify.harness.evidence.graph import CodeGraph, Node, find_source
from dpverify.harness.evidence.source_code import CheckPlace

DIGITS = 16


class CodeHashes:
    """Hashes of nodes of a graph with all that they depend on: equal exactly where all of that is equal.

    Definitions that depend on each other are hashed together, by rounds, each of which looks one step further.
    """

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph
        self._hashes: dict[Node, str] = {}
        self._loaded: dict[Node, frozenset[str]] = {}  # modules that a node and all that it depends on need

    def evidence(self, record_hash: str, places: Iterable[CheckPlace]) -> str:
        """Hash a claim's record and the code that makes its checks: 16 hex digits."""
        registrations, effects = self.roots(places)
        parts = [sorted(set(map(self.of, nodes))) for nodes in (registrations, effects)]
        return _digest([record_hash, *parts[0], "", *parts[1]])[:DIGITS]

    def roots(self, places: Iterable[CheckPlace]) -> tuple[set[Node], set[Node]]:
        """Units that make some checks, and those that are executed when all that these depend on is imported."""
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
        """Hash of a node."""
        if node not in self._hashes:
            for group in self._groups(node):
                self._hash(group)
        return self._hashes[node]

    def _hash(self, group: list[Node]) -> None:
        """Hash nodes that depend on each other, after all others that they depend on."""
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
            node: [(name, t) for name, targets in self.graph.uses(node).items() for t in targets & inside]
            for node in group
        }
        if any(inner.values()):
            for _ in group:
                before = len(set(hashes.values()))
                hashes = {
                    node: _digest([hashes[node], *sorted({f"{name} {hashes[target]}" for name, target in inner[node]})])
                    for node in group
                }
                if len(set(hashes.values())) == before:
                    break
            together = _digest(sorted(hashes.values()))
            hashes = {node: _digest([node_hash, together]) for node, node_hash in hashes.items()}
        self._hashes |= hashes
        targets = {
            t for node in group for node_targets in self.graph.uses(node).values() for t in node_targets
        } - inside
        loaded = frozenset[str]().union(*(self._loaded[target] for target in targets), *map(self.graph.loading, group))
        self._loaded |= dict.fromkeys(group, loaded)

    def _groups(self, start: Node) -> Iterator[list[Node]]:
        """Yield the nodes below one that have no hash, those that depend on each other together, innermost first.

        This is Tarjan's algorithm for strongly connected components, without recursion.
        """
        number: dict[Node, int] = {}
        lowest: dict[Node, int] = {}
        open_nodes: list[Node] = []
        path: list[tuple[Node, Iterator[Node]]] = []

        def enter(node: Node) -> None:
            number[node] = lowest[node] = len(number)
            open_nodes.append(node)
            path.append((node, iter([t for targets in self.graph.uses(node).values() for t in targets])))

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
    """Hashes of the code as it is now."""
    return CodeHashes(CodeGraph(find_source))


def evidence_hash(record_hash: str, places: tuple[CheckPlace, ...]) -> str:
    """Hash a claim's record and the code that makes its checks, as it is now: 16 hex digits."""
    return today().evidence(record_hash, places)


def imported_names(module: str) -> list[tuple[str, str]]:
    """Modules of ours that a module's code imports, anywhere in it, each with the name that is taken, if not all."""
    graph = today().graph
    code_module = graph.known(module)
    imports = ((node, name) for node in code_module.code.every_import for name, _ in node.names)
    return list(dict.fromkeys(home for node, name in imports for home in graph.homes(code_module, node, name)))


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
