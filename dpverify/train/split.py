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
    """A training part and a test part, rows scaled.

    Attributes
    ----------
    x, y : (n, d) and (n,) array of float
        Training part, labels 0 or 1.
    x_test, y_test : (m, d) and (m,) array of float
        Test part.
    """

    x: Matrix
    y: Vector
    x_test: Matrix
    y_test: Vector


def test_size(n: int, part: float) -> int:
    """How many of n examples are held out: the nearest whole number, at least 1.

    Parameters
    ----------
    n : int
        Number of examples.
    part : float
        Part that is held out, above 0 and below 1.

    Returns
    -------
    int
        From 1 to n - 1.

    Raises
    ------
    ArgumentError
        If nothing would be left for training.
    """
    held_out = max(1, round(part * n))
    if held_out >= n:
        raise ArgumentError("test_part", part, f"must leave at least one of the {n} examples for training")
    return held_out


def split(dataset: Dataset, part: float, rng: Generator, scale: RowScaling, *, standardise: bool) -> Split:
    """Hold a part out, at random.

    Parameters
    ----------
    dataset : Dataset
        As it is in its source: columns not standardised.
    part : float
        Part that is held out.
    rng : Generator
        Source of randomness.
    scale : {"unit", "clip"}
        What is done to each row, after the columns.
    standardise : bool
        Give the training part's columns mean 0 and deviation 1, and do the same to the test part.

    Returns
    -------
    Split
        Both parts; within each, examples keep their order.

    Raises
    ------
    ArgumentError
        If nothing would be left for training.
    """
    n = len(dataset.x)
    held_out = np.zeros(n, dtype=np.bool_)
    held_out[rng.permutation(n)[: test_size(n, part)]] = True
    x, x_test = dataset.x[~held_out], dataset.x[held_out]
    if standardise:
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
