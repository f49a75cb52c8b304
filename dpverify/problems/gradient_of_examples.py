"""The gradient of one example as callers give it, a kernel or any Python function; what is wrong with it, in a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.kernels import check
from dpverify.kernels.jit import CompilationError, is_kernel
from dpverify.kernels.typing import ExampleGradient, Vector

IndexGradient: TypeAlias = Callable[[Vector, int], ArrayLike]
"""``gradient(w, n)``: the gradient of the loss of example n, 0..N-1, at w, shape (d,)."""


def compiled(gradient: ExampleGradient, otherwise: str = "") -> ExampleGradient:
    """Refuse a gradient that is not compiled; ``otherwise`` names what takes any function."""
    if not is_kernel(gradient):
        see = f"; see {otherwise}" if otherwise else ""
        raise check.ArgumentError("gradient", gradient, f"must be a kernel (w, x_row, y, out){see}")
    return gradient


@contextmanager
def compiling(gradient: ExampleGradient) -> Iterator[None]:
    """Turn what a gradient raises that cannot be compiled into one line."""
    try:
        yield
    except CompilationError as error:
        text = str(error).strip().splitlines()[0]
        rule = "must compile as (w, x_row, y, out) with float64 arrays and a float y"
        raise check.ArgumentError("gradient", f"{gradient!r}: {text}", rule) from error


def any_function(gradient: IndexGradient) -> IndexGradient:
    """Refuse what cannot be called."""
    if not callable(gradient):
        raise check.ArgumentError("gradient", gradient, "must be a function (w, n)")
    return gradient


def ask(gradient: IndexGradient, w: Vector, n: int, t: int, out: Vector) -> None:
    """Call a Python gradient and write what it gives. Shapes: ``w`` (d,), ``out`` (d,)."""
    value_at_w = np.asarray(gradient(w.copy(), n))
    if value_at_w.shape != w.shape or value_at_w.dtype.kind not in "fiu":
        value = f"{value_at_w.dtype} of shape {value_at_w.shape} for example {n} at step {t}"
        raise check.ArgumentError("gradient", value, f"must be an array of numbers of shape {w.shape}")
    out[:] = value_at_w
