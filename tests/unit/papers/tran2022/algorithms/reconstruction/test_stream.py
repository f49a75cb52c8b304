"""Algorithm 4 against its definition, and the stream against Algorithm 4."""

from __future__ import annotations

import inspect
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.dyadic import floor_log2
from dpverify.kernels.jit import python_of
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Matrix, Vector
from dpverify.papers.tran2022.algorithms.composition import compose
from dpverify.papers.tran2022.algorithms.reconstruction import literal as literal_module
from dpverify.papers.tran2022.algorithms.reconstruction import nodes as nodes_module
from dpverify.papers.tran2022.algorithms.reconstruction import stream as module
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    REPAIRS,
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    first_rows,
    node_count,
    node_intervals,
)
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    new_constants,
    new_state,
    reconstruct,
    state_floats,
)
from tests.for_each import for_each

ROUNDING = 1e-12
"""Largest relative difference allowed between two ways of adding up the same numbers: the issue's own figure."""


jitted_only = pytest.mark.skipif(
    python_of(module.reconstruct_steps) is module.reconstruct_steps,
    reason="the jit is switched off: too long for plain Python",
)


def random_nodes(N: int, T: int, d: int = 2, seed: int = 0) -> Nodes:
    """Random nodes in all rows that a step may read, NaN in the others."""
    nodes = Nodes(*generator(seed).standard_normal((3, node_count(T), d)))
    intervals = node_intervals(T)
    first, length = intervals[:, 0], intervals[:, 1] - intervals[:, 0] + 1
    nodes.g[length > N] = np.nan
    nodes.delta[(length > N) | (first <= N)] = np.nan
    nodes.r[(first - 1) // length % 2 == 1] = np.nan
    return nodes


def agree(a: Matrix, b: Matrix) -> bool:
    assert np.isfinite(a).all()
    difference = np.linalg.norm(a - b, axis=1)
    return bool((difference <= ROUNDING * np.linalg.norm(b, axis=1)).all())


def from_definition(nodes: Nodes, t: int, N: int, alpha: float, gamma: float) -> Vector:
    """Lemma 17's right side and equation 2, with every window written out."""
    beta, rows = (
        1 - alpha,
        {
            (int(y), int(z)): i
            for i, (y, z) in enumerate(node_intervals(steps_of(nodes)))
        },
    )

    def window(family: Matrix, a: int, b: int) -> Vector:
        total = np.zeros(family.shape[1])
        for y, z in compose(a, b):
            total += beta ** float(b - z) * family[rows[int(y), int(z)]]
        return total

    q, r = divmod(t, N)
    found = beta ** float(q * N) * window(nodes.g, 1, r)
    if q > 0:
        share = sum(
            beta ** float(N * i) * (1 - gamma) ** float(q - i - 1) for i in range(q)
        )
        found += share * window(nodes.g, r + 1, r + N)
    for i in range(1, q):
        c = sum(
            (1 - gamma) ** float(j) * beta ** float((i - 1 - j) * N) for j in range(i)
        )
        a, b = t - i * N + 1, t - (i - 1) * N
        found += c * (
            (1 - gamma) * window(nodes.delta, a, b) + gamma * window(nodes.g, a, b)
        )
    total: Vector = alpha * (found + window(nodes.r, 1, t))
    return total


def steps_of(nodes: Nodes) -> int:
    return next(T for T in range(1, 10**4) if node_count(T) == len(nodes.g))


@for_each(
    ("N", "T", "alpha", "gamma"),
    [
        (1, 5, 0.3, 0.4),
        (3, 17, 0.2, 0.5),
        (4, 16, 0.25, 0.0),
        (5, 23, 1.0, 1.0),
        (9, 4, 0.1, 0.3),
    ],
)
def test_both_forms_are_lemma_17(N: int, T: int, alpha: float, gamma: float) -> None:
    nodes = random_nodes(N, T)
    expected = np.array(
        [from_definition(nodes, t, N, alpha, gamma) for t in range(1, T + 1)]
    )
    assert agree(
        reconstruct_literal(nodes, examples=N, alpha=alpha, gamma=gamma)[0], expected
    )
    assert agree(reconstruct(nodes, examples=N, alpha=alpha, gamma=gamma)[0], expected)


@given(
    N=st.integers(1, 70),
    T=st.integers(1, 300),
    alpha=st.one_of(st.floats(1e-9, 1.0), st.sampled_from([1.0, 0.5, 1e-12])),
    gamma=st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 1e-12, 1 - 1e-12])),
    seed=st.integers(0, 2**32),
)
@example(N=1, T=300, alpha=0.3, gamma=0.01, seed=0)
@example(N=64, T=300, alpha=1 / 64, gamma=0.1, seed=0)
@example(N=63, T=300, alpha=1e-9, gamma=0.0, seed=0)
@example(N=65, T=300, alpha=1.0, gamma=1.0, seed=0)
@example(N=300, T=299, alpha=0.01, gamma=0.5, seed=0)
@settings(max_examples=150)
def test_the_stream_is_algorithm_4(
    N: int, T: int, alpha: float, gamma: float, seed: int
) -> None:
    nodes = random_nodes(N, T, seed=seed)
    slow, _ = reconstruct_literal(nodes, examples=N, alpha=alpha, gamma=gamma)
    fast, _ = reconstruct(nodes, examples=N, alpha=alpha, gamma=gamma)
    assert agree(fast, slow)


@jitted_only
@for_each("N", [1, 2, 3, 100, 255, 256, 257, 384, 1000, 1023, 1025])
def test_long_runs(N: int) -> None:
    T = 4096 + 37
    nodes = random_nodes(N, T, d=8)  # the norm of one number may be small by chance
    fast, _ = reconstruct(nodes, examples=N, alpha=1 / N, gamma=0.05)
    slow, _ = reconstruct_literal(
        nodes, examples=N, alpha=1 / N, gamma=0.05, looked_up=True
    )
    assert agree(fast, slow)


@for_each(("N", "T"), [(1, 60), (6, 100), (16, 15)])
def test_looking_up_changes_no_bit(N: int, T: int) -> None:
    nodes = random_nodes(N, T)
    printed, quick = (
        reconstruct_literal(
            nodes, examples=N, alpha=1 / 7, gamma=0.05, looked_up=tables
        )
        for tables in (False, True)
    )
    assert np.array_equal(printed[0], quick[0])
    assert np.array_equal(printed[1], quick[1])


def test_special_values() -> None:
    nodes = random_nodes(4, 21)
    leaves, window = nodes.g[:21], nodes.r[:21]
    only_g = nodes._replace(delta=np.zeros_like(nodes.delta), r=np.zeros_like(nodes.r))
    # alpha = gamma = 1: nothing of the past is left, and a window is its last node, the
    # one that COMPOSE ends with
    ends = np.array([nodes.g[rows_of(t, 4)] for t in range(1, 22)])
    assert np.allclose(
        reconstruct(only_g, examples=4, alpha=1.0, gamma=1.0)[0], ends, rtol=1e-15
    )
    # N = 1, gamma = 1: every window is one step, so this is a momentum of the leaves
    momentum, expected = np.zeros(2), []
    for leaf in leaves:
        momentum = 0.75 * momentum + 0.25 * leaf
        expected.append(momentum)
    assert np.allclose(
        reconstruct(only_g, examples=1, alpha=0.25, gamma=1.0)[0], expected, rtol=1e-12
    )
    # T = 1: the two leaves
    one = Nodes(nodes.g[:1], nodes.delta[:1], window[:1])
    assert np.array_equal(
        reconstruct(one, examples=3, alpha=0.5, gamma=0.5)[0],
        0.5 * (leaves[:1] + window[:1]),
    )


def rows_of(t: int, N: int) -> int:
    """Row of the last node of COMPOSE(max(1, t - N + 1), t)."""
    y, z = compose(max(1, t - N + 1), t)[-1]
    return next(
        i for i, interval in enumerate(node_intervals(21)) if tuple(interval) == (y, z)
    )


@given(N=st.integers(1, 200), t=st.integers(1, 10**6))
def test_a_window_is_a_suffix_at_most_one_block_and_a_prefix(N: int, t: int) -> None:
    t, B = t + N - 1, 1 << floor_log2(N)
    nodes = compose(t - N + 1, t)
    lengths = (nodes[:, 1] - nodes[:, 0] + 1).tolist()
    assert max(lengths) <= B
    middle = ((t - N) // B + 1) * B
    assert (t - N) // B == (nodes[0][1] - 1) // B  # no node leaves its block
    up = [int(z - y + 1) for y, z in nodes if z <= middle]
    assert up == sorted(up)
    assert sum(length == B for length in lengths[len(up) :]) <= 1
    assert sum(lengths[len(up) :]) == t - middle


@jitted_only
@for_each("N", [1, 2, 3, 16, 255, 256, 300, 511])
def test_t_steps_cost_at_most_10_t_additions(N: int) -> None:
    # two nodes of H to make; a prefix and a suffix;
    # r; a window of three parts; g_t, G_t, and m^_t
    T = 64 * N
    _, adds = reconstruct(
        Nodes(*np.zeros((3, node_count(T), 1))), examples=N, alpha=0.1, gamma=0.1
    )
    assert (np.cumsum(adds) <= 10 * np.arange(1, T + 1)).all()
    assert adds[2 * N :].mean() >= 4


def test_the_literal_costs_grow_with_t_over_n() -> None:
    adds = {}
    for T in (512, 1024):
        nodes = Nodes(*np.zeros((3, node_count(T), 1)))
        adds[T] = reconstruct_literal(nodes, examples=16, alpha=0.1, gamma=0.1)[1]
    assert np.array_equal(adds[1024][:512], adds[512])
    assert adds[1024].sum() > 3.8 * adds[512].sum()
    q, r, t = 20, 5, 20 * 16 + 5
    windows = [(t - i * 16 + 1, t - (i - 1) * 16) for i in range(1, q)]
    expected = (
        len(compose(1, r)) + len(compose(r + 1, r + 16)) + len(compose(1, t)) + q + 1
    )
    expected += sum(2 * len(compose(a, b)) + 2 for a, b in windows)
    assert adds[512][t - 1] == expected


def test_jitted_stream_is_its_python_body() -> None:
    nodes, results = random_nodes(5, 40), []
    for steps, spare in product(
        (module.reconstruct_steps, python_of(module.reconstruct_steps)), (0, 2)
    ):
        constants, state = new_constants(5, 0.2, 0.3), new_state(5, 40, 2)
        out, adds = np.full((40, 2), np.nan), np.zeros(40, dtype=np.int64)
        steps(1, 2, constants, nodes, first_rows(40), state, np.empty(spare), out, adds)
        results.append((out, adds))
        assert state.rings.size + state.prefixes.size == state_floats(5, 40, 2)
    for out, adds in results[1:]:
        assert np.array_equal(results[0][0], out)
        assert np.array_equal(results[0][1], adds)


def test_python_bodies_of_a_step() -> None:
    nodes, T = random_nodes(3, 30, d=1), 30
    expected, _ = reconstruct(nodes, examples=3, alpha=0.2, gamma=0.3)
    constants, state = new_constants(3, 0.2, 0.3), new_state(3, T, 1)
    space, first = np.full_like(state.prefixes, np.nan), first_rows(T)
    for t in range(1, T + 1):
        for k in range((t & -t).bit_length()):
            row = first[k] + (t >> k) - 1
            space[:, k] = [family[row] for family in nodes]
        m_hat = np.empty(1)
        python_of(module.reconstruct_step)(t, 1, constants, space, state, m_hat)
        assert m_hat == expected[t - 1]
    python_of(nodes_module.absorb)(
        module.G, 2, 2, 1, constants.powers, nodes.g, first, *new_state(3, T, 1)[:2]
    )
    python_of(nodes_module.finish_block)(
        module.G, 2, 1, constants.powers, new_state(3, T, 1).rings
    )
    python_of(nodes_module.prefetch_node)(nodes.g.reshape(-1), 0, 1)
    assert python_of(nodes_module.place)(first, 1, 6) == first[1] + 2
    assert python_of(nodes_module.place)(first[:0], 1, 6) == 1


def test_jitted_literal_is_its_python_body() -> None:
    nodes, T, N = random_nodes(3, 20), 20, 3
    expected, adds = reconstruct_literal(nodes, examples=N, alpha=0.2, gamma=0.3)
    made = literal_module.Tables(np.empty(T + 1), np.empty(7), np.empty(7))
    python_of(literal_module.fill_tables)(0.2, 0.3, N, made)
    assert made.c[:4] == pytest.approx(
        [0, 1, 0.7 + 0.8**3, 0.49 + 0.7 * 0.8**3 + 0.8**6], rel=1e-14
    )
    out, count = np.empty((T, 2)), np.zeros(T, dtype=np.int64)
    space = np.empty((124, 2), dtype=np.int64), np.zeros((3, 2))
    for tables in (made, literal_module.Tables(*(part[:0] for part in made))):
        python_of(literal_module.literal_run)(
            N, 0.2, 0.3, nodes, first_rows(T), tables, *space, out, count
        )
        assert np.array_equal(out, expected)
        assert np.array_equal(count, adds)


def test_repairs_name_what_they_change() -> None:
    assert len({repair.id for repair in REPAIRS}) == len(REPAIRS) == 5
    assert all(part for repair in REPAIRS for part in repair)
    text = inspect.getsource(literal_module)
    for repair in REPAIRS:
        assert text.count(repair.id) >= 2, "in the list, and at the line"


@for_each("literally", [False, True])
def test_bad_arguments(literally: bool) -> None:
    nodes, run = random_nodes(2, 5), reconstruct_literal if literally else reconstruct
    for change, text in (
        ({"examples": 0}, "examples must be an integer, at least 1"),
        ({"alpha": 0.0}, r"alpha must lie in \(0, 1\]"),
        ({"gamma": 1.5}, r"gamma must lie in \[0, 1\], got gamma=1.5"),
        ({"gamma": math.nan}, r"gamma must lie in \[0, 1\]"),
    ):
        arguments = {"examples": 2, "alpha": 0.5, "gamma": 0.5, **change}
        with pytest.raises(ArgumentError, match=text):
            run(nodes, **arguments)  # type: ignore[arg-type]  # wrong on purpose


@for_each("literally", [False, True])
def test_output_into_an_array_that_is_there(literally: bool) -> None:
    nodes, run = random_nodes(3, 20), reconstruct_literal if literally else reconstruct
    expected, counts = run(nodes, examples=3, alpha=0.2, gamma=0.3)
    out = np.full((20, 2), np.nan)
    found, adds = run(nodes, examples=3, alpha=0.2, gamma=0.3, out=out)
    assert found is out
    assert np.array_equal(out, expected)
    assert np.array_equal(adds, counts)
    fixed = np.empty((20, 2))
    fixed.flags.writeable = False
    shape, flags = (
        r"out must be an array of float64 of shape \(20, 2\)",
        "out must be contiguous",
    )
    for wrong, text in (
        (np.empty((21, 2)), shape),
        (np.empty((20, 2), dtype=np.float32), shape),
        (np.empty((2, 20)).T, flags),
        (fixed, flags),
        (nodes.r[5:25], "out must not share memory with what is read"),
    ):
        with pytest.raises(ArgumentError, match=text):
            run(nodes, examples=3, alpha=0.2, gamma=0.3, out=wrong)  # type: ignore[arg-type]  # float32, on purpose


@jitted_only
def test_writing_around_the_caches_changes_no_bit() -> None:
    N, T, d = 48, 2048, module.LARGE // 2048
    assert d >= module.LONG
    nodes = Nodes(*generator(5).standard_normal((3, node_count(T), d)))
    expected, _ = reconstruct(nodes, examples=N, alpha=1 / N, gamma=0.05)
    for shift in range(3):  # lines of the cache begin elsewhere in a row
        out = np.full(T * d + 9, np.nan)
        found, _ = reconstruct(
            nodes,
            examples=N,
            alpha=1 / N,
            gamma=0.05,
            out=out[shift : shift + T * d].reshape(T, d),
        )
        assert np.array_equal(found, expected)
        assert np.isnan(out[:shift]).all()
        assert np.isnan(out[shift + T * d :]).all()


def test_state_that_does_not_fit() -> None:
    with pytest.raises(
        ArgumentError, match="examples and steps and dimension must fit in memory"
    ):
        reconstruct(random_nodes(2, 5), examples=10**15, alpha=0.5, gamma=0.5)
