"""Cycles are found and named; what else reading refuses is in test_load.py and test_damage.py."""

from __future__ import annotations

from dpverify.ledger.reading import find_cycle
from tests.for_each import for_each

CHAIN = {"a": ["b", "c"], "b": ["c"], "c": []}


def test_no_cycle() -> None:
    assert find_cycle(CHAIN) == ()
    assert find_cycle({}) == ()
    assert find_cycle({"a": ["elsewhere"]}) == ()


@for_each(
    ("graph", "cycle"),
    [
        ({"a": ["a"]}, ("a",)),
        ({"b": ["a"], "a": ["b"]}, ("a", "b")),
        ({"x": ["c"], "c": ["b"], "b": ["a"], "a": ["c"]}, ("a", "c", "b")),
    ],
)
def test_a_cycle_is_named_in_the_direction_of_use(
    graph: dict[str, list[str]], cycle: tuple[str, ...]
) -> None:
    assert find_cycle(graph) == cycle
    for here, there in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        assert there in graph[here]


def test_long_chains_need_no_stack() -> None:
    graph = {str(i): [str(i + 1)] for i in range(50_000)}
    assert find_cycle(graph) == ()
    graph["50000"] = ["0"]
    assert len(find_cycle(graph)) == 50_001
