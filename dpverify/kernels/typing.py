"""Type aliases for the arrays that kernels take. The shapes are in the docstrings of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]  # shape (d,)

Matrix: TypeAlias = NDArray[np.float64]  # shape (n, d)

Tape: TypeAlias = NDArray[np.float64]
"""Standard normal numbers drawn before the run, shape (T, d); row t - 1 belongs to step t."""

Intervals: TypeAlias = NDArray[np.int64]  # closed intervals [y, z], shape (n, 2)

Indices: TypeAlias = NDArray[np.int64]  # indices of examples, shape (n,)

ExampleGradient: TypeAlias = Callable[[Vector, Vector, float, Vector], None]
"""Kernel ``gradient(w, x_row, y, out)``: writes the gradient of one example's loss at ``w`` into ``out``."""
