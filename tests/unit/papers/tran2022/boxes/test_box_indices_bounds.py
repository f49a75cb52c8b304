import graphlib

import pytest

from dpverify.papers.tran2022.boxes.box_indices_bounds import (
    algorithm_3,
    dependencies,
    dyadic_nodes,
    epoch_loop,
    epoch_steps,
    made_nodes,
    node_exponents,
    windows_read,
)
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import compose_intervals


def test_loops_of_both_boxes() -> None:
    assert list(epoch_loop(5, 2, 1, 2)) == [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]
    assert [t for _, t in epoch_loop(4, 2, 0, 1)] == [0, 1, 2, 3, 4]


def test_nodes_made_step_by_step_are_all_dyadic_intervals() -> None:
    assert made_nodes(4) == [(4, 4), (3, 4), (1, 4)]
    assert {node for t in range(1, 23) for node in made_nodes(t)} == dyadic_nodes(22)


def test_exponents_of_algorithm_3_and_its_intervals() -> None:
    assert node_exponents(1, 5) == [0, 1, 2]
    assert node_exponents(2, 9) == [0]
    assert node_exponents(2, 9, as_remainder=True) == []
    assert node_exponents(1, 0) == []
    for b in range(1, 40):
        for a in range(1, b + 1):
            assert list(algorithm_3(a, b)) == compose_intervals(a, b)


def test_windows_of_the_loop() -> None:
    assert windows_read(7, 2, 0) == [(8, 9), (6, 7), (4, 5)]
    assert windows_read(1, 2, 0) == []


def test_epochs_under_each_reading() -> None:
    assert list(epoch_steps("one-based", 1, 3)) == [4, 5, 6]
    assert list(epoch_steps("quotient", 1, 3)) == [3, 4, 5]
    assert list(epoch_steps("shifted", 0, 3)) == [1, 2, 3]


def test_printed_update_is_a_circle_and_the_repaired_one_is_not() -> None:
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(dependencies(2, ahead=False)).prepare()
    order = list(graphlib.TopologicalSorter(dependencies(2, ahead=True)).static_order())
    assert order.index("w_2") < order.index("m-hat_2") < order.index("w_3")
