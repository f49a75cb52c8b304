import sys
from typing import Any, cast

import numpy as np
import pytest
from numba.core.caching import NullCache

from dpverify.kernels.jit import (
    CompilationError,
    for_types_of,
    inner_kernel,
    is_kernel,
    kernel,
    python_of,
    step_kernel,
)
from dpverify.kernels.numba_internals import KernelCache, seconds_compiling
from dpverify.kernels.tape import generator


@kernel
def ratio(x: float, y: float) -> float:
    return x / y


@kernel
def sum_of_ratios(x: np.ndarray, y: float) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        total += ratio(x[i], y)
    return total


def test_a_kernel_and_its_python_body_give_the_same_number() -> None:
    assert ratio(1.0, 3.0) == python_of(ratio)(1.0, 3.0)
    assert is_kernel(ratio)
    assert python_of(python_of(ratio)) is python_of(ratio)


def test_time_counts_as_compiling_where_a_kernel_is_new_and_not_where_it_runs() -> None:
    def third(x: float) -> float:
        return x / 3

    new, before = kernel(third), seconds_compiling()
    cast("Any", new)._cache = NullCache()
    new(1.0)
    once = seconds_compiling()
    assert once > before
    new(2.0)
    assert seconds_compiling() == once


def test_division_by_zero_is_infinite() -> None:
    with np.errstate(divide="ignore", invalid="ignore"):
        assert ratio(1.0, np.float64(0.0)) == np.inf
        assert np.isnan(ratio(0.0, np.float64(0.0)))


def test_a_kernel_calls_a_kernel() -> None:
    assert sum_of_ratios(np.array([1.0, 2.0]), 4.0) == 0.75


def test_sums_are_not_reordered() -> None:
    x = np.array([1e16, 1.0, -1e16, 1.0])
    assert sum_of_ratios(x, 1.0) == ((1e16 + 1.0) - 1e16) + 1.0


@pytest.mark.skipif(
    python_of(ratio) is ratio, reason="the jit is switched off: nothing is compiled"
)
def test_a_type_that_cannot_be_compiled_is_an_error_of_its_own() -> None:
    with pytest.raises(CompilationError):
        sum_of_ratios({"no": "array"}, 1.0)  # type: ignore[arg-type]  # the wrong type is the point


@pytest.mark.skipif(
    python_of(ratio) is ratio, reason="the jit is switched off: nothing is compiled"
)
def test_a_kernel_is_compiled_once_for_numbers_written_out_and_for_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # from the disk, no inner kernel is typed
    monkeypatch.setattr(KernelCache, "of", lambda function: NullCache())

    @kernel
    def every_second(first: int, values: np.ndarray, negated: bool) -> float:
        total = 0.0
        for i in range(first, values.shape[0], 2):
            total += -values[i] if negated else values[i]
        return total

    @kernel
    def both(first: int, values: np.ndarray) -> float:
        written = every_second(0, values, negated=True) + every_second(
            first=1, values=values, negated=False
        )
        return written + every_second(first, values, first > 0)

    assert both(1, np.array([1.0, 10.0, 100.0])) == -101.0 + 10.0 - 10.0
    assert len(cast("Any", every_second).signatures) == 1
    assert "Literal" not in str(cast("Any", every_second).signatures)


@inner_kernel
def row_sum(x: np.ndarray, i: int) -> float:
    row, total = x[i], 0.0
    for j in range(row.shape[0]):
        total += row[j]
    return total


@step_kernel
def drawn_sum(x: np.ndarray, rng: np.random.Generator) -> float:
    return row_sum(x, 0) + 0.0 * rng.random()


def test_what_counts_no_references_leaves_their_number_as_it_was() -> None:
    x, rng = np.ones((2, 3)), generator(0)
    called, before = (
        for_types_of(drawn_sum, x, rng),
        (sys.getrefcount(x), sys.getrefcount(rng)),
    )
    for _ in range(100):
        assert called(x, rng) == row_sum(x, 1) == 3.0
    assert (sys.getrefcount(x), sys.getrefcount(rng)) == before


@pytest.mark.slow
def test_what_counts_no_references_cannot_make_an_array() -> None:
    @inner_kernel
    def made(n: int) -> float:
        return float(np.zeros(n)[0])

    @kernel
    def caller(n: int) -> float:
        return made(n)

    with pytest.raises(
        CompilationError,
        match="Only accept returning of array passed into the function",
    ):
        caller(3)
    assert made(3) == 0.0  # of Python's calls all are counted
