from __future__ import annotations

import pytest

from dpverify.ledger.graph import find_cycle, rests_on, topological_order

CHAIN = {"a": ["b", "c"], "b": ["c"], "c": []}


def test_no_cycle() -> None:
    assert find_cycle(CHAIN) == ()
    assert find_cycle({}) == ()
    assert find_cycle({"a": ["elsewhere"]}) == ()


@pytest.mark.parametrize(
    ("graph", "cycle"),
    [
        ({"a": ["a"]}, ("a",)),
        ({"b": ["a"], "a": ["b"]}, ("a", "b")),
        ({"x": ["c"], "c": ["b"], "b": ["a"], "a": ["c"]}, ("a", "c", "b")),
    ],
)
def test_a_cycle_is_named_in_the_direction_of_use(graph: dict[str, list[str]], cycle: tuple[str, ...]) -> None:
    assert find_cycle(graph) == cycle
    for here, there in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        assert there in graph[here]


def test_order() -> None:
    assert topological_order(CHAIN) == ("c", "b", "a")
    with pytest.raises(ValueError, match="cycle"):
        topological_order({"a": ["a"]})


def test_what_a_node_rests_on() -> None:
    assert rests_on(CHAIN, "a") == {"b", "c"}
    assert rests_on(CHAIN, "c") == frozenset()
    assert rests_on(CHAIN, "nowhere") == frozenset()


def test_long_chains_need_no_stack() -> None:
    graph = {str(i): [str(i + 1)] for i in range(50_000)}
    assert find_cycle(graph) == ()
    assert len(topological_order(graph)) == 50_001
    assert len(rests_on(graph, "0")) == 50_000
    graph["50000"] = ["0"]
    assert len(find_cycle(graph)) == 50_001
