import math

import numpy as np
import pytest

from dpverify.kernels import check
from dpverify.kernels.check import ArgumentError
from tests.for_each import for_each


def test_whole() -> None:
    assert check.whole(1, T=np.int32(3)) == 3
    for bad in (0, 5, 2.0, "2", True, None, math.nan):
        with pytest.raises(
            ArgumentError,
            match="T must be an integer, at least 1 and at most 4, got T=",
        ):
            check.whole(1, 4, T=bad)


@for_each(
    ("rule", "good", "bad"),
    [
        (
            check.weight,
            [1e-9, 1, np.float64(0.5)],
            [0, -1, 1.0000001, math.nan, math.inf, "1", True, None, [1]],
        ),
        (
            check.proportion,
            [0, 0.5, 1],
            [-0.1, 1.1, math.nan, math.inf, "text", True, None],
        ),
        (check.positive, [1e-9, 5], [0, -1, math.nan, math.inf, 10**400]),
        (check.not_negative, [0, 5], [-1e-9, math.nan, math.inf]),
    ],
)
def test_numbers(rule: object, good: list[object], bad: list[object]) -> None:
    assert callable(rule)
    for value in good:
        assert rule(alpha=value) == value
    for value in bad:
        with pytest.raises(ArgumentError, match=r"^alpha must .*, got alpha=.*\.$"):
            rule(alpha=value)


def test_the_error_has_its_parts() -> None:
    with pytest.raises(ArgumentError) as caught:
        check.weight(alpha=1.5)
    assert str(caught.value) == "alpha must lie in (0, 1], got alpha=1.5."
    assert (caught.value.variable, caught.value.value, caught.value.rule) == (
        "alpha",
        "1.5",
        "must lie in (0, 1]",
    )


def test_array() -> None:
    x = np.ones((2, 3))
    assert check.array(None, 3, x=x) is x
    assert check.array(2, x=[1, 2]).dtype == np.float64
    for bad, text in (
        (np.ones(3), r"x must have shape \(any, 3\), got x=an array of shape \(3,\)\."),
        (np.ones((0, 3)), "x must have shape"),
        ("ab", r"x must be an array of numbers of shape \(any, 3\)"),
        ([[1, 2, 3], [1, 2]], "x must be an array of numbers"),
        (
            [[1.0, 2.0, 3.0], [1.0, math.nan, 3.0]],
            r"x must be finite everywhere, got x=nan at \[1, 1\]\.",
        ),
    ):
        with pytest.raises(ArgumentError, match=text):
            check.array(None, 3, x=bad)


def test_long_values_are_cut_and_kept_in_one_line() -> None:
    with pytest.raises(ArgumentError) as caught:
        check.weight(alpha="x\n" * 500)
    assert len(str(caught.value)) < 140
    assert "\n" not in str(caught.value)


def test_memory() -> None:
    check.memory(1000, T=1000)
    with pytest.raises(
        ArgumentError, match=r"T and d must fit in memory: .* GB are needed.*T=5, d=7"
    ):
        check.memory(1 << 60, T=5, d=7)
