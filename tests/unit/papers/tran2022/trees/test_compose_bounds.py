import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.papers.tran2022.algorithms.composition import compose
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    compose_count,
    compose_intervals,
)


@given(st.integers(1, 300), st.integers(0, 300))
def test_intervals_are_those_of_the_kernel(a: int, length: int) -> None:
    b = a + length
    assert compose_intervals(a, b) == [tuple(node) for node in compose(a, b).tolist()]
    assert compose_count(a, b) == len(compose_intervals(a, b))


def test_intervals_of_nothing_and_of_a_bad_start() -> None:
    assert compose_intervals(1, 0) == []
    with pytest.raises(ValueError, match="a must be at least 1, got a=0"):
        compose_intervals(0, 3)
