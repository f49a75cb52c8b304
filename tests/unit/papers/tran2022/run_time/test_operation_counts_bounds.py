"""Operation counts against arithmetic that counts itself: the kernels' plain bodies on numbers that keep a tally."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpverify.kernels.jit import is_kernel, python_of
from dpverify.papers.tran2022.algorithms.composition import MOST_NODES, compose_into
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    Tables,
    fill_tables,
    literal_step,
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    first_rows,
    node_count,
)
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    StreamState,
    new_constants,
    new_state,
    reconstruct,
    reconstruct_steps,
)
from dpverify.papers.tran2022.run_time import operation_counts_bounds as counts
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import compose_intervals
from tests.for_each import for_each

SIZES = [(1, 7), (2, 9), (3, 20), (4, 33), (5, 26), (7, 40), (8, 39), (13, 12)]


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take the plain Python body of a kernel, with the plain bodies of the kernels that it calls."""
    body = python_of(function)
    assert isinstance(body, FunctionType)
    names = dict(body.__globals__)
    for name in body.__code__.co_names:
        if name in names and is_kernel(names[name]):
            names[name] = plain(names[name])
    return FunctionType(
        body.__code__, names, body.__name__, body.__defaults__, body.__closure__
    )


class Tally:
    """A number that counts additions to numbers of its kind, and reads of nodes."""

    def __init__(self) -> None:
        self.adds = self.products = self.reads = 0

    def number(self, value: float = 0.0) -> Number:
        return Number(value, self)


class Number:
    """A float under a tally."""

    def __init__(self, value: float, tally: Tally) -> None:
        self.value, self.tally = value, tally

    def __add__(self, other: Number) -> Number:
        self.tally.adds += 1
        return Number(self.value + other.value, self.tally)

    def __mul__(self, other: float) -> Number:
        self.tally.products += 1
        return Number(self.value * float(other), self.tally)

    __rmul__ = __mul__


class Rows:
    """An array of shape (n, 1) whose entries are numbers under a tally; what is written as a float becomes one."""

    def __init__(self, values: Any, tally: Tally, *, nodes: bool = False) -> None:
        self.values = np.asarray(values, dtype=float)
        self.shape, self.size, self.tally, self.nodes = (
            self.values.shape,
            self.values.size,
            tally,
            nodes,
        )

    def __getitem__(self, place: Any) -> Any:
        self.tally.reads += self.nodes
        found = self.values[place]
        return (
            Number(float(found), self.tally)
            if np.ndim(found) == 0
            else View(self, place, self.tally)
        )

    def __setitem__(self, place: Any, value: Any) -> None:
        self.values[place] = value.value if isinstance(value, Number) else value

    def reshape(self, size: int) -> Rows:
        """For a kernel that asks for memory ahead, and reads nothing."""
        return Rows(self.values.reshape(size), Tally())


class View:
    """A row of ``Rows``."""

    def __init__(self, of: Rows, row: Any, tally: Tally) -> None:
        self.of, self.row, self.tally, self.shape = of, row, tally, of.values[row].shape

    def __getitem__(self, j: int) -> Number:
        return Number(float(self.of.values[self.row][j]), self.tally)

    def __setitem__(self, j: int, value: Any) -> None:
        self.of.values[self.row][j] = (
            value.value if isinstance(value, Number) else value
        )


@for_each(("N", "T"), SIZES)
def test_the_literal_box_on_numbers_that_count(N: int, T: int) -> None:
    draw, q, step = np.random.default_rng(N), T // N, plain(literal_step)
    values, alpha, gamma = draw.standard_normal((3, node_count(T), 1)), 0.3, 0.2
    tables = Tables(np.empty(T + 1), np.empty(q + 1), np.empty(q + 1))
    fill_tables(alpha, gamma, N, tables)
    expected, _ = reconstruct_literal(
        Nodes(*values), examples=N, alpha=alpha, gamma=gamma
    )
    for t in range(1, T + 1):
        tally = Tally()
        families: Any = [Rows(family, tally, nodes=True) for family in values]
        work, out = Rows(np.zeros((3, 1)), tally), Rows(np.zeros(1), tally)
        space = np.empty((MOST_NODES, 2), dtype=np.int64)
        step(
            t,
            N,
            alpha,
            gamma,
            Nodes(*families),
            first_rows(T),
            tables,
            space,
            work,
            out,
        )
        said = counts.literal_step(t, N)
        assert out.values[0] == pytest.approx(expected[t - 1, 0], rel=1e-12)
        assert (tally.reads, tally.adds) == said, t
        # one product more than additions in the first line, in the last, and in each
        # turn of the loop: c_i
        assert tally.products == said.adds + 2 + max(t // N - 1, 0)


@for_each(("N", "T"), SIZES)
def test_the_kernels_counters_are_the_counts(N: int, T: int) -> None:
    nodes = Nodes(*np.zeros((3, node_count(T), 1)))
    _, literal = reconstruct_literal(nodes, examples=N, alpha=0.5, gamma=0.5)
    _, stream = reconstruct(nodes, examples=N, alpha=0.5, gamma=0.5)
    assert literal.tolist() == [counts.literal_step(t, N).adds for t in range(1, T + 1)]
    assert stream.tolist() == [counts.stream_step(t, N).adds for t in range(1, T + 1)]


@for_each(("N", "T"), SIZES)
def test_the_stream_does_no_more_than_it_counts(N: int, T: int) -> None:
    """It does add rows of zeros for parts that are not there, at most 6; the bound covers them too."""
    draw, steps, tally = np.random.default_rng(N), plain(reconstruct_steps), Tally()
    values, K = draw.standard_normal((3, node_count(T), 1)), N.bit_length() - 1
    constants, state, first = (
        new_constants(N, 0.3, 0.2),
        new_state(N, T, 1),
        first_rows(T),
    )
    expected, _ = reconstruct(Nodes(*values), examples=N, alpha=0.3, gamma=0.2)
    counted_state: Any = [Rows(part, tally) for part in state]
    families: Any = [Rows(family, tally) for family in values]
    for t in range(1, T + 1):
        before, out, adds = (
            tally.adds,
            Rows(np.zeros((1, 1)), tally),
            np.zeros(1, dtype=np.int64),
        )
        steps(
            t,
            K,
            constants,
            Nodes(*families),
            first,
            StreamState(*counted_state),
            np.empty(0),
            out,
            adds,
        )
        assert out.values[0, 0] == pytest.approx(
            expected[t - 1, 0], rel=1e-12, abs=1e-14
        )
        counted, done = counts.stream_step(t, N).adds, tally.adds - before
        assert adds[0] == counted <= done <= counted + 6, (t, counted, done)
    assert tally.adds <= counts.STREAM_ADDS * T


class Asked(int):
    """A whole number that counts how often a remainder of it is taken."""

    tally: Tally

    def __new__(cls, value: int, tally: Tally) -> Asked:
        made = super().__new__(cls, value)
        made.tally = tally
        return made

    def __add__(self, other: int) -> Asked:
        return Asked(int(self) + other, self.tally)

    def __sub__(self, other: int) -> Asked:
        return Asked(int(self) - other, self.tally)

    def __mod__(self, other: int) -> int:
        self.tally.reads += 1
        return int(self) % other


def compose_tests(a: int, b: int) -> int:
    """For each node of length 2^k, the k tests that succeed and the one that fails: k goes up from 0."""
    return sum((z - y + 1).bit_length() for y, z in compose_intervals(a, b))


@given(a=st.integers(1, 5000), length=st.integers(1, 5000))
def test_compose_asks_as_often_as_counted(a: int, length: int) -> None:
    tally, space = Tally(), np.empty((MOST_NODES, 2), dtype=np.int64)
    plain(compose_into)(Asked(a, tally), a + length - 1, space)
    assert tally.reads == compose_tests(a, a + length - 1)


@given(N=st.integers(1, 40), T=st.integers(1, 400))
@example(N=1, T=400)
@example(N=40, T=39)
def test_totals_are_sums_of_steps(N: int, T: int) -> None:
    each = [counts.literal_step(t, N) for t in range(1, T + 1)]
    assert counts.literal_total(T, N) == (
        sum(c.reads for c in each),
        sum(c.adds for c in each),
    )
    stream = counts.stream_total(T, N)
    assert stream.adds <= counts.STREAM_ADDS * T
    assert stream.reads <= counts.STREAM_READS * T
    if T >= N:
        assert counts.literal_total(T, N).adds <= 10 * counts.levels(T) * Fraction(
            T * T, N
        )
    if T >= 4 * N:
        low, high = counts.literal_bounds(T, N)
        assert low <= counts.literal_total(T, N).adds <= high


def test_the_stream_reads_every_node_that_a_window_may_hold_once() -> None:
    N, T = 6, 50
    lengths = [1 << k for k in range(3)]
    g = sum(T // length for length in lengths)
    delta = sum(
        1
        for length in lengths
        for end in range(length, T + 1, length)
        if end - length >= N
    )
    assert counts.stream_total(T, N).reads == g + delta + T


def test_numbers_of_the_findings() -> None:
    total = counts.literal_total(32768, 512).adds
    assert round(total / 1e6, 1) == 21.8
    assert round(total * 512 / 1e10, 1) == 1.1
    assert round(512 ** (11 / 3) / 512 ** (2 / 3) / 1e8, 1) == 1.3


@given(N=st.integers(1, 50), T=st.integers(1, 2000))
def test_gradients(N: int, T: int) -> None:
    low, high = counts.node_by_node_bounds(T)
    assert low <= counts.gradients_node_by_node(T, N) <= high
    assert 2 * T <= counts.gradients_one_pass(T, N) <= 3 * T
    if N >= T:  # no Delta: three gradients for each level that a step is in
        assert counts.gradients_node_by_node(T, N) == 3 * sum(
            (T >> k) << k for k in range(T.bit_length())
        )


def test_a_power_of_two_and_its_bound() -> None:
    assert counts.gradients_node_by_node(1024, 1024) == 3 * 1024 * 11
    with pytest.raises(ValueError, match=r"at least 4 N, got steps=7, N=2"):
        counts.literal_bounds(7, 2)
