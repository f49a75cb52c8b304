"""A part of the data set is held out for testing; columns are standardised with the training part's numbers alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems.data import Dataset
from dpverify.problems.rows import RowScaling, scale_rows


@dataclass(frozen=True, eq=False)
class Split:
    """A training part and a test part, rows scaled."""

    x: Matrix  # (n, d) Training part, labels 0 or 1
    y: Vector
    x_test: Matrix  # (m, d) Test part
    y_test: Vector


def test_size(n: int, part: float) -> int:
    """How many of n examples are held out: the nearest whole number, at least 1."""
    held_out = max(1, round(part * n))
    if held_out >= n:
        raise ArgumentError("test_part", part, f"must leave at least one of the {n} examples for training")
    return held_out


def split(dataset: Dataset, part: float, rng: Generator, scale: RowScaling) -> Split:
    """Hold a part out, at random; within each part, examples keep their order."""
    n = len(dataset.x)
    held_out = np.zeros(n, dtype=np.bool_)
    held_out[rng.permutation(n)[: test_size(n, part)]] = True
    x, x_test = dataset.x[~held_out], dataset.x[held_out]
    if dataset.standardised:
        x, x_test = _standardised(x, x_test)
    return Split(scale_rows(x, scale), dataset.y[~held_out], scale_rows(x_test, scale), dataset.y[held_out])


def _standardised(x: Matrix, x_test: Matrix) -> tuple[Matrix, Matrix]:
    """Shift and scale by the means and deviations of ``x``; a column that is constant there becomes 0 in both."""
    largest = np.abs(x).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    mean = (x / unit).mean(axis=0)
    deviation = (x / unit).std(axis=0)
    constant = deviation <= 1e-14
    safe = np.where(constant, 1.0, deviation)
    first, second = (np.where(constant, 0.0, (part / unit - mean) / safe) for part in (x, x_test))
    return first, second
