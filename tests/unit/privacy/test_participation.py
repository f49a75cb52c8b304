import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.privacy.participation import Bounds, pattern_count, patterns
from dpverify.shared_types import ORDERINGS, Ordering
from tests.for_each import for_each


def test_patterns_of_a_run_with_a_last_epoch_cut_short() -> None:
    assert list(patterns(3, 2, "fresh")) == [(1, 3), (1,), (2, 3), (2,)]
    assert list(patterns(3, 2, "once")) == [(1, 3), (2,)]


def test_a_run_shorter_than_an_epoch_may_miss_the_example() -> None:
    assert list(patterns(2, 5, "fresh")) == [(1,), (2,), ()]
    assert list(patterns(2, 5, "once")) == [(1,), (2,), (), (), ()]


@for_each("ordering", ORDERINGS)
@for_each(("steps", "examples"), [(1, 1), (7, 3), (6, 3), (2, 5), (5, 1)])
def test_the_count_is_the_number_of_patterns(
    steps: int, examples: int, ordering: Ordering
) -> None:
    found = list(patterns(steps, examples, ordering))
    assert len(found) == pattern_count(steps, examples, ordering)
    for pattern in found:
        epochs = [(t - 1) // examples for t in pattern]
        assert len(set(epochs)) == len(epochs)
        assert set(range(steps // examples)) <= set(epochs)


def test_an_unknown_ordering_is_refused() -> None:
    with pytest.raises(ArgumentError, match="ordering must be fresh or once"):
        pattern_count(3, 2, "random")  # type: ignore[arg-type]  # what is tested is the refusal


def test_bounds_in_the_wrong_order_are_refused() -> None:
    assert Bounds(0.0, 0.0, exact=True).ratio == 1.0
    assert Bounds(2.0, 3.0, exact=False).ratio == 1.5
    with pytest.raises(ArgumentError, match="lower"):
        Bounds(2.0, 1.0, exact=False)
