from typing import Any, cast

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import is_kernel, kernel
from dpverify.kernels.typing import Vector
from dpverify.problems import stepped_run as module


@kernel
def good(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
    for j in range(w.shape[0]):
        out[j] = w[j] - y * x_row[j]


@kernel
def bad(w: Any, x_row: Any, y: Any, out: Any) -> None:
    out[:] = w + "text"


@pytest.mark.skipif(
    is_kernel(len), reason="the jit is switched off: every function will do"
)
def test_only_kernels_are_kernels() -> None:
    assert module.compiled(good, "Other") is good
    with pytest.raises(
        ArgumentError,
        match=r"gradient must be a kernel \(w, x_row, y, out\); see Other, got",
    ):
        module.compiled(cast("Any", len), "Other")
    with (
        pytest.raises(
            ArgumentError, match=r"gradient must compile as \(w, x_row, y, out\)"
        ),
        module.compiling(bad),
    ):
        bad(np.ones(2), np.ones(2), 1.0, np.ones(2))


def test_other_errors_pass_through() -> None:
    with pytest.raises(ZeroDivisionError), module.compiling(good):
        raise ZeroDivisionError


def test_a_function_gets_a_copy_and_its_answer_is_looked_at() -> None:
    w, out = np.array([1.0, 2.0]), np.empty(2)

    def spoil(at: Vector, n: int) -> Vector:
        at *= 2.0
        return at + n

    module.ask(module.any_function(spoil), w, 3, 1, out)
    assert np.array_equal(out, [5.0, 7.0])
    assert np.array_equal(w, [1.0, 2.0])
    for wrong in (np.ones(3), "text", np.ones((1, 2)), np.array(["a", "b"])):
        with pytest.raises(
            ArgumentError,
            match=r"must be an array of numbers of shape \(2,\), got gradient=",
        ):
            module.ask(lambda w, n, wrong=wrong: wrong, w, 0, 1, out)  # type: ignore[misc]  # no type for a default
    with pytest.raises(
        ArgumentError, match=r"gradient must be a function \(w, n\), got gradient="
    ):
        module.any_function(cast("Any", 3))
