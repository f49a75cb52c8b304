from dpverify.harness.search.candidates import (
    PER_DECADE,
    first_below,
    first_below_near,
    size_at,
)
from tests.for_each import for_each


@for_each("threshold", [2, 37, 1000, 123456])
def test_the_onset_is_the_first_size_below_one(threshold: int) -> None:
    def bound(n: int) -> float:
        return float(threshold / n)

    k = first_below(bound)
    assert bound(size_at(k)) < 1 <= bound(size_at(k - 1))
    for guess in (k - 7, k, k + 12):
        assert first_below_near(bound, guess) == k


def test_sizes_are_even_in_logarithms() -> None:
    assert [size_at(k * PER_DECADE) for k in range(4)] == [1, 10, 100, 1000]
