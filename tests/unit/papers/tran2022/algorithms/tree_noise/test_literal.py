import pickle

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import python_of
from dpverify.kernels.tape import generator, normal_tape
from dpverify.kernels.typing import Matrix
from dpverify.papers.tran2022.algorithms.composition import MOST_NODES, compose
from dpverify.papers.tran2022.algorithms.scales import levels
from dpverify.papers.tran2022.algorithms.tree_noise import literal as module
from dpverify.papers.tran2022.algorithms.tree_noise.literal import (
    UndrawnNodeError,
    check_depth,
    draw_nodes,
    node_row,
    nodes_of_tape,
    noise_from_nodes,
)
from dpverify.papers.tran2022.algorithms.tree_noise.stream import noise_from_tape
from tests.for_each import for_each

CLOSE = 1e-12


def from_the_box(
    steps: int, depth: int, alpha: float, scale: float, dimension: int, seed: int
) -> Matrix:
    """Algorithm 1's noise with a dictionary for Z and numpy for the Gaussians."""
    rng, Z = generator(seed), {}
    for b in range(depth):
        for a in range(steps // 2**b):
            Z[a * 2**b + 1, (a + 1) * 2**b] = scale * rng.standard_normal(dimension)
    out = np.zeros((steps, dimension))
    for t in range(1, steps + 1):
        for y, z in compose(1, t).tolist():
            out[t - 1] += (1 - alpha) ** (t - z) * Z[y, z]
    return out


@for_each(("steps", "dimension"), [(1, 1), (2, 3), (7, 2), (64, 1), (100, 3)])
@for_each("alpha", [1.0, 0.2])
def test_the_kernel_is_the_box(steps: int, dimension: int, alpha: float) -> None:
    depth = levels(steps)
    Z = draw_nodes(generator(9), steps, dimension, depth=depth, scale=1.5)
    out = noise_from_nodes(Z, steps, depth=depth, alpha=alpha)
    assert np.allclose(
        out,
        from_the_box(steps, depth, alpha, 1.5, dimension, 9),
        rtol=CLOSE,
        atol=CLOSE,
    )


@for_each("alpha", [1.0, 0.5, 1e-3])
@for_each(("steps", "dimension"), [(1, 1), (3, 2), (256, 1), (1000, 3)])
def test_literal_and_stream_agree_on_one_tape(
    steps: int, dimension: int, alpha: float
) -> None:
    tape = normal_tape(generator(1), steps, dimension)
    stream = noise_from_tape(tape, alpha=alpha, scale=2.0)
    for depth in (levels(steps), levels(steps) + 3):
        Z = nodes_of_tape(tape, depth=depth, scale=2.0)
        # all other nodes are drawn, and never used
        assert np.isnan(Z).all(axis=1).sum() == len(Z) - steps
        assert np.allclose(
            noise_from_nodes(Z, steps, depth=depth, alpha=alpha),
            stream,
            rtol=CLOSE,
            atol=CLOSE,
        )


def test_jitted_and_python_agree() -> None:
    Z, nodes = (
        draw_nodes(generator(2), 50, 2, depth=6, scale=1.0),
        np.empty((MOST_NODES, 2), dtype=np.int64),
    )
    out, again = np.empty((50, 2)), np.empty((50, 2))
    assert (
        module.literal_noise(Z, 0.25, 6, out, nodes)
        == python_of(module.literal_noise)(Z, 0.25, 6, again, nodes)
        == 0
    )
    # ** of numpy and of compiled code may differ in the last bit
    assert np.allclose(out, again, rtol=CLOSE, atol=0)


def test_rows_of_nodes_count_the_loops() -> None:
    for steps in (1, 5, 8, 13):
        rows = [
            node_row(b, a, steps)
            for b in range(levels(steps))
            for a in range(steps >> b)
        ]
        assert rows == list(range(len(rows)))
        assert len(rows) == 2 * steps - steps.bit_count()


@for_each("steps", [1, 2, 3, 4, 7, 8, 100])
def test_height_as_depth_leaves_a_node_undrawn(steps: int) -> None:
    height = levels(steps) - 1
    with pytest.raises(UndrawnNodeError) as caught:
        noise_from_nodes(
            draw_nodes(generator(0), steps, 1, depth=height, scale=1.0),
            steps,
            depth=height,
            alpha=0.5,
        )
    assert caught.value.node == (1, 2**height)
    assert caught.value.t == 2**height
    assert (
        f"node [1, {2**height}] is used at step t={2**height} but never drawn"
        in str(caught.value)
    )
    assert f"draws lengths up to {2**height // 2}." in str(caught.value)
    with pytest.raises(UndrawnNodeError) as early:
        check_depth(steps, height)
    assert (early.value.node, early.value.t) == (caught.value.node, caught.value.t)
    check_depth(steps, height + 1)
    assert isinstance(caught.value, KeyError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="Z must have 10 rows, one per node drawn"):
        noise_from_nodes(np.ones((3, 1)), 6, depth=3, alpha=0.5)
    with pytest.raises(ArgumentError, match="depth must be an integer, at least 0"):
        draw_nodes(generator(0), 3, 1, depth=-1, scale=1.0)
    with pytest.raises(
        ArgumentError, match="steps and dimension and depth must fit in memory"
    ):
        draw_nodes(generator(0), 10**12, 10**6, depth=40, scale=1.0)
