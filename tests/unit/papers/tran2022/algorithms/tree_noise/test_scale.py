from fractions import Fraction

import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.papers.tran2022.algorithms.scales import levels, node_deviation, printed_v
from tests.for_each import for_each


@for_each(
    ("examples", "steps", "depth", "want"),
    [
        (1, 1, 0, Fraction(1)),  # (min(0, 0) + 1) * 1
        (1, 1, 1, Fraction(1)),  # and floor(1/2) more
        (1, 8, 3, Fraction(8 + 4 + 2 + 1)),
        (4, 8, 3, Fraction(3 * 2 + 1)),
        (4, 10, 2, Fraction(3 * 10, 4)),  # no integer: T is no multiple of N
        (5, 10, 2, Fraction(3 * 2)),  # floor(log2 5) = 2
        (3, 7, 3, Fraction(2 * 7, 3) + 1 + 0),
        (100, 7, 3, Fraction(4 * 7, 100)),
        (
            1000,
            10**6,
            20,
            10 * Fraction(1000) + sum(10**6 // 2**j for j in range(10, 21)),
        ),
    ],
)
def test_printed_v(examples: int, steps: int, depth: int, want: Fraction) -> None:
    assert printed_v(examples, steps, depth) == want


def test_node_deviation_is_the_root_of_the_printed_variance() -> None:
    alpha, lipschitz, sigma, v = 0.1, 3.0, 2.0, Fraction(7, 2)
    variance = 16 * alpha**2 * lipschitz**2 * sigma**2 * float(v)
    assert node_deviation(alpha, lipschitz, sigma, v) ** 2 == pytest.approx(
        variance, rel=1e-14
    )
    assert node_deviation(alpha, lipschitz, 0.0, v) == 0.0


def test_levels() -> None:
    assert [levels(steps) for steps in (1, 2, 3, 4, 7, 8, 1023, 1024)] == [
        1,
        2,
        2,
        3,
        3,
        4,
        10,
        11,
    ]


@for_each(
    ("arguments", "text"),
    [
        ((0, 1, 1), "examples must be an integer, at least 1"),
        ((1, 0, 1), "steps must be an integer, at least 1"),
        ((1, 1, -1), "depth must be an integer, at least 0"),
        ((1, 1, 1.0), "depth must be an integer"),
    ],
)
def test_bad_sizes(arguments: tuple[int, int, int], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        printed_v(*arguments)


def test_bad_numbers() -> None:
    with pytest.raises(ArgumentError, match="lipschitz must be finite and above 0"):
        node_deviation(0.5, 0.0, 1.0, 1)
    with pytest.raises(ArgumentError, match="v must be finite and above 0"):
        node_deviation(0.5, 1.0, 1.0, Fraction(0))
