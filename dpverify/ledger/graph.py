"""What rests on what: cycles and order of a graph given as node -> the nodes it uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

Graph = Mapping[str, Iterable[str]]


def find_cycle(graph: Graph) -> tuple[str, ...]:
    """Find one cycle.

    Parameters
    ----------
    graph
        Node -> the nodes it uses; a node that is only used need not be a key.

    Returns
    -------
    tuple of str
        The nodes of a cycle, each using the next and the last the first again, beginning with the smallest name;
        empty if there is none.
    """
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = error.args[1][:0:-1]  # graphlib lists it the other way round, with the first node twice
        start = cycle.index(min(cycle))
        return tuple(cycle[start:] + cycle[:start])
    return ()


def topological_order(graph: Graph) -> tuple[str, ...]:
    """Order the nodes so that each comes after all that it uses.

    Parameters
    ----------
    graph
        Node -> the nodes it uses, without cycles.

    Returns
    -------
    tuple of str
        All nodes; the same for the same graph.

    Raises
    ------
    ValueError
        If there is a cycle (``graphlib.CycleError``).
    """
    return tuple(TopologicalSorter(graph).static_order())


def rests_on(graph: Graph, node: str) -> frozenset[str]:
    """Return everything that `node` uses, directly or through others."""
    seen: set[str] = set()
    todo = list(graph.get(node, ()))
    while todo:
        used = todo.pop()
        if used not in seen:
            seen.add(used)
            todo.extend(graph.get(used, ()))
    return frozenset(seen)
