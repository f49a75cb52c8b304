import numpy as np
import pytest

from dpverify.kernels.check import MOST_STEPS, ArgumentError
from dpverify.kernels.jit import kernel, python_of
from dpverify.kernels.typing import Intervals
from dpverify.papers.tran2022.algorithms import composition as module
from dpverify.papers.tran2022.algorithms.composition import compose, compose_prefix
from tests.for_each import for_each

LAST = MOST_STEPS - 1


def recursion(a: int, b: int) -> list[list[int]]:
    """Algorithm 3 as a recursion over sets of k, for small intervals."""
    k = max(
        k
        for k in range(b.bit_length() + 1)
        if a % 2**k == 1 % 2**k and a + 2**k - 1 <= b
    )
    nodes = [[a, a + 2**k - 1]]
    return nodes if a + 2**k > b else nodes + recursion(a + 2**k, b)


def test_compose_is_the_recursion_of_the_paper() -> None:
    for a in range(1, 70):
        for b in range(a, 70):
            assert compose(a, b).tolist() == recursion(a, b), (a, b)


@for_each(
    ("a", "b", "want"),
    [
        (1, 1, [[1, 1]]),
        (1, 7, [[1, 4], [5, 6], [7, 7]]),
        (1, 8, [[1, 8]]),
        (2, 7, [[2, 2], [3, 4], [5, 6], [7, 7]]),
        (2, 2, [[2, 2]]),
        (LAST, LAST, [[LAST, LAST]]),
        (1, 2**61, [[1, 2**61]]),
        (2**61 + 1, LAST, None),
    ],
)
def test_special_values(a: int, b: int, want: list[list[int]] | None) -> None:
    nodes = compose(a, b)
    assert nodes.dtype == np.int64
    assert want is None or nodes.tolist() == want
    assert nodes[0, 0] == a
    assert nodes[-1, 1] == b
    assert np.array_equal(nodes[1:, 0], nodes[:-1, 1] + 1)


def test_the_longest_list_fits() -> None:
    nodes = compose(2, LAST)
    assert len(nodes) == 2 * 61 <= module.MOST_NODES
    assert (np.bincount(np.log2(nodes[:, 1] - nodes[:, 0] + 1).astype(int)) <= 2).all()


@for_each(("a", "b"), [(1, 0), (2, 1), (9, 3)])
def test_an_empty_interval_has_no_node(a: int, b: int) -> None:
    assert compose(a, b).shape == (0, 2)


def test_a_prefix_read_off_the_bits_is_the_literal_one() -> None:
    for t in [*range(300), 2**40 - 1, 2**40, 2**40 + 12345, LAST]:
        assert np.array_equal(compose_prefix(t), compose(1, t)), t


@kernel
def nodes_of_all_prefixes(steps: int, out: Intervals) -> int:
    total = 0
    for t in range(1, steps + 1):
        total += module.compose_into(1, t, out)
    return total


def test_from_inside_a_kernel_and_in_python() -> None:
    out = np.zeros((module.MOST_NODES, 2), dtype=np.int64)
    assert nodes_of_all_prefixes(100, out) == sum(t.bit_count() for t in range(101))
    again = out.copy()
    assert module.compose_into(3, 61, out) == python_of(module.compose_into)(
        3, 61, again
    )
    assert np.array_equal(out, again)


@for_each(
    ("a", "b", "text"),
    [
        (0, 3, r"a must be an integer, at least 1 and at most \d+, got a=0\."),
        (1, -1, r"b must be an integer, at least 0 and at most \d+, got b=-1\."),
        (1, 2.0, r"b must be an integer, .* got b=2\.0\."),
        (1, MOST_STEPS, "b must be an integer"),
    ],
)
def test_bad_arguments(a: int, b: int, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        compose(a, b)


def test_bad_prefix() -> None:
    with pytest.raises(ArgumentError, match="t must be an integer, at least 0"):
        compose_prefix(-1)
