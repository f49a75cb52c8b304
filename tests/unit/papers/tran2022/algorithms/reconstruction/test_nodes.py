from __future__ import annotations

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import python_of
from dpverify.kernels.tape import generator
from dpverify.papers.tran2022.algorithms.reconstruction import nodes as module
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    check_nodes,
    first_rows,
    node_count,
    node_intervals,
    nodes_of_leaves,
)
from dpverify.papers.tran2022.algorithms.tree_noise.literal import node_row
from tests.for_each import for_each


@for_each("steps", [1, 2, 3, 4, 7, 8, 9, 100])
def test_rows_are_all_dyadic_intervals_once(steps: int) -> None:
    intervals = node_intervals(steps)
    expected = {
        (a * 2**b + 1, (a + 1) * 2**b)
        for b in range(8)
        for a in range(steps)
        if (a + 1) * 2**b <= steps
    }
    assert len(intervals) == node_count(steps) == len(expected) < 2 * steps
    assert {(int(y), int(z)) for y, z in intervals} == expected
    for row, (y, z) in enumerate(intervals):
        b = int(z - y + 1).bit_length() - 1
        assert (
            row
            == first_rows(steps)[b] + ((y - 1) >> b)
            == node_row(b, int(y - 1) >> b, steps)
        )


def test_nodes_are_weighted_sums_of_leaves() -> None:
    leaves = generator(1).standard_normal((13, 2))
    made = nodes_of_leaves(leaves, alpha=0.3)
    for row, (y, z) in enumerate(node_intervals(13)):
        expected = sum(0.7 ** (z - t) * leaves[t - 1] for t in range(y, z + 1))
        assert np.allclose(made[row], expected, rtol=0, atol=1e-14)
    assert np.array_equal(
        nodes_of_leaves(leaves, alpha=1.0)[node_intervals(13)[:, 1] == 8],
        leaves[[7] * 4],
    )


def test_a_missing_leaf_shows_in_every_node_that_holds_it() -> None:
    leaves = np.ones((10, 1))
    leaves[4] = np.nan
    intervals = node_intervals(10)
    missing = np.isnan(nodes_of_leaves(leaves, alpha=0.5))[:, 0]
    assert np.array_equal(missing, (intervals[:, 0] <= 5) & (intervals[:, 1] >= 5))


def test_jitted_sums_are_their_python_bodies() -> None:
    leaves, results = generator(2).standard_normal((11, 3)), []
    for fill, add in (
        (module.fill_level_decay, module.add_levels),
        (python_of(module.fill_level_decay), python_of(module.add_levels)),
    ):
        decay, out = np.empty(5), np.zeros((node_count(11), 3))
        fill(0.2, decay)
        out[:11] = leaves
        add(11, decay, out)
        results.append(out)
        assert decay[2] == 0.8**4.0
    assert np.array_equal(results[0], results[1])


@for_each("steps", [*range(1, 40), 1000])
def test_the_number_of_rows_gives_the_number_of_steps(steps: int) -> None:
    family = np.zeros((node_count(steps), 2))
    assert check_nodes(Nodes(family, family, family))[1:] == (steps, 2)


def test_bad_nodes() -> None:
    good = np.zeros((4, 2))
    with pytest.raises(
        ArgumentError,
        match=r"nodes.r must have the shape \(n, d\) of nodes.g, \(4, 2\)",
    ):
        check_nodes(Nodes(good, good, good[:3]))
    with pytest.raises(
        ArgumentError,
        match=r"nodes.g must have as many rows as a tree has nodes, got nodes.g=5 rows",
    ):
        check_nodes(Nodes(*np.zeros((3, 5, 1))))
    with pytest.raises(ArgumentError, match=r"nodes.g must have the shape"):
        check_nodes(Nodes(*np.zeros((3, 0, 1))))
    with pytest.raises(ArgumentError, match=r"leaves must have shape \(any, any\)"):
        nodes_of_leaves(np.zeros(3), alpha=0.5)
    with pytest.raises(ArgumentError, match="steps must fit in memory"):
        node_intervals(10**14)
