from collections.abc import Callable

import numpy as np

from dpverify.kernels import dyadic
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.jit import kernel, python_of
from tests.for_each import for_each

STEPS = [
    *range(1, 300),
    1023,
    1024,
    1025,
    2**31,
    2**31 + 5,
    MOST_STEPS - 1,
    MOST_STEPS // 2,
]


@for_each("form", [lambda f: f, python_of], ids=["jitted", "python"])
def test_bits(form: Callable[[Callable[[int], int]], Callable[[int], int]]) -> None:
    for t in STEPS:
        text = bin(t)[2:]
        level = len(text) - len(text.rstrip("0"))
        assert form(dyadic.level)(t) == level
        assert form(dyadic.lowbit)(t) == 2**level
        assert form(dyadic.floor_log2)(t) == len(text) - 1
        assert form(dyadic.popcount)(t) == text.count("1")


def nodes(t: int) -> list[list[int]]:
    out = np.zeros((63, 2), dtype=np.int64)
    count = dyadic.prefix_nodes(t, out)
    assert not out[count:].any()
    again = np.zeros_like(out)
    assert python_of(dyadic.prefix_nodes)(t, again) == count
    assert np.array_equal(out, again)
    return [[int(y), int(z)] for y, z in out[:count]]


def test_prefix_nodes_are_dyadic_and_tile_the_prefix() -> None:
    for t in STEPS:
        end = 0
        for y, z in nodes(t):
            length = z - y + 1
            assert y == end + 1
            assert length & (length - 1) == 0
            assert z % length == 0
            end = z
        assert end == t
        assert nodes(t)[-1] == [t - dyadic.lowbit(t) + 1, t]


def test_prefix_nodes_of_nothing() -> None:
    assert nodes(0) == []


@kernel
def all_levels(steps: int) -> int:
    total = 0
    for t in range(1, steps + 1):
        total += dyadic.level(t)
    return total


def test_from_inside_a_kernel() -> None:
    assert all_levels(20) == python_of(all_levels)(20)
