"""Optimizers of low precision: right ones pass with a note on their grid, and what rounding breaks is found."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.conform import Conformance, PrivateOptimizer, conformance
from dpverify.conform.rounding import (
    DTYPES,
    Dtype,
    accumulated_error,
    change_rounding,
    has_digits_of,
    round_to,
)
from tests.for_each import for_each
from tests.unit.conform.precision import (
    Step,
    clips_in,
    in_torch,
    keeps_clean,
    momentum,
    promise,
    reuses,
    right,
    scaled,
)

LOW: tuple[Dtype, ...] = ("float32", "bfloat16", "float16")


def judged(step: Step, dtype: Dtype, seed: int = 0) -> Conformance:
    return conformance(PrivateOptimizer(step), promise(dtype), seed=seed)


def failed(found: Conformance) -> set[str]:
    return {test.name.partition(",")[0] for test in found.failed}


@pytest.mark.parametrize("dtype", LOW)
def test_what_is_right_in_a_type_passes_with_a_note_on_its_grid(dtype: Dtype) -> None:
    for step in (right(dtype), momentum(dtype)):
        found = judged(step, dtype)
        assert found, str(found)
        assert "Mironov 2012" in " ".join(str(found).split())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_clipping_in_the_type_itself_is_a_fault(dtype: Dtype) -> None:
    assert failed(judged(clips_in(dtype), dtype)) == {"sensitivity"}


@pytest.mark.parametrize("dtype", LOW)
def test_other_mistakes_are_found_in_low_precision(dtype: Dtype) -> None:
    assert "scale of noise" in failed(judged(scaled(dtype, 0.95), dtype))
    assert failed(judged(keeps_clean(dtype), dtype)) == {"state"}
    assert "noise of two steps" in failed(judged(reuses(dtype), dtype))


@pytest.mark.parametrize(
    ("dtype", "promised"),
    [("float32", "float64"), ("bfloat16", "float32"), ("float16", "float32")],
)
def test_a_coarser_type_than_promised_is_a_fault(dtype: Dtype, promised: Dtype) -> None:
    found = judged(right(dtype), promised)
    assert "precision" in failed(found)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_tensors_that_are_clipped_in_float32_pass(dtype: Dtype) -> None:
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    found = conformance(in_torch(dtype, "float32"), promise(dtype))
    assert found, str(found)


def test_tensors_that_are_clipped_in_bfloat16_are_found() -> None:
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    found = conformance(in_torch("bfloat16", "bfloat16"), promise("bfloat16"))
    assert failed(found) == {"sensitivity"}


def test_the_excess_of_an_optimizer_that_clips_in_bfloat16_is_no_rounding_of_its_release() -> (
    None
):
    """0.0645 where 0.0625 is allowed: one rounding of a release explains 0.0003 of it."""
    released = np.array([0.0645, 0.0])
    extra = change_rounding(
        "bfloat16",
        dimension=2,
        allowed=0.0625,
        clipped_norm_sum=0.0,
        terms=1,
        released=released,
        neighbour_released=0 * released,
    )
    assert 0.0625 * 2.0**-8 < extra < 0.0003


@for_each(("dtype", "numpy_type"), [("float32", np.float32), ("float16", np.float16)])
def test_numbers_are_rounded_like_those_of_numpy(
    dtype: Dtype, numpy_type: type
) -> None:
    x = np.random.default_rng(0).standard_normal(1000)
    np.testing.assert_array_equal(
        round_to(x, dtype), x.astype(numpy_type).astype(float)
    )
    assert has_digits_of(round_to(x, dtype), dtype, "float64")
    assert not has_digits_of(x, dtype, "float64")


def test_the_bound_on_a_sum_in_float32_is_kept_and_not_loose() -> None:
    """Naive sums of random numbers stay below it, and the worst of them is above a hundredth."""
    x = np.random.default_rng(0).uniform(0.0, 1.0, (4096, 200)).astype(np.float32)
    total = np.zeros(200, dtype=np.float32)
    for row in x:
        total += row
    errors = np.abs(total / x.astype(float).sum(axis=0) - 1.0)
    assert accumulated_error(4096) / 100.0 < errors.max() < accumulated_error(4096)


def test_the_types_are_those_of_the_promise() -> None:
    assert list(DTYPES) == ["float64", *LOW]
    with pytest.raises(
        ValueError,
        match="dtype must be one of float64, float32, bfloat16, float16, got 'int8'",
    ):
        promise("int8")  # type: ignore[arg-type]
