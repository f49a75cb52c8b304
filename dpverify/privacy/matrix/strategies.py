"""Strategies of matrix mechanisms: the properties of a matrix C from which the sensitivity is computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.signal import fftconvolve, lfilter

from dpverify.kernels import check
from dpverify.privacy.matrix.participation import Floats, Pattern

MOST_DENSE = 4096
"""Largest number of steps for which the matrix of inner products of all pairs of columns is built: 128 MiB."""

ROUNDING = 2.0**-53

# largest number of bands for which a recurrence is faster than a transform
FEW_BANDS = 64


class Strategy(ABC):
    """A matrix C with one column per step."""

    steps: int
    rows: int

    @property
    @abstractmethod
    def energies(self) -> Floats:
        """Squared lengths of the columns, shape (steps,)."""

    @property
    @abstractmethod
    def bandwidth(self) -> int:
        """Number w such that columns that are at least w steps apart are orthogonal."""

    @property
    def is_decreasing(self) -> bool:
        """Whether C is lower triangular Toeplitz with nonnegative entries that decrease away from the diagonal."""
        return False

    @abstractmethod
    def column_sum(self, pattern: Pattern, signs: Floats) -> Floats:
        """Return the sum of some columns, each times its sign."""

    @abstractmethod
    def absolute_gram(self) -> Floats:
        """Return the products of the columns of ``abs(C)``, shape (steps, steps), for the bounds of rounding errors."""

    @abstractmethod
    def gram(self) -> Floats:
        """Return the products of all pairs of columns, shape (steps, steps)."""

    @abstractmethod
    def inverse_row_norms(self, workload: Floats) -> Floats:
        """Return the norms of the rows of ``A C^-1``, where A is Toeplitz with the coefficients ``workload``."""

    @property
    def relative_error(self) -> float:
        """Bound on the relative rounding error of a sum of nonnegative products."""
        return 4.0 * (self.rows + self.steps + 16) * ROUNDING

    def check_size(self) -> None:
        """Raise an ArgumentError if a matrix of all pairs of steps would be too large."""
        if self.steps > MOST_DENSE:
            rule = f"must be at most {MOST_DENSE} for this strategy and participation, which needs all pairs of steps"
            raise check.ArgumentError("steps", self.steps, rule)


@dataclass(frozen=True, eq=False)
class Dense(Strategy):
    """Any matrix, shape (rows, steps)."""

    matrix: Floats

    @property
    def steps(self) -> int:  # type: ignore[override]  # a property serves as the attribute
        """Number of columns."""
        return int(self.matrix.shape[1])

    @property
    def rows(self) -> int:  # type: ignore[override]  # a property serves as the attribute
        """Number of rows."""
        return int(self.matrix.shape[0])

    @cached_property
    def energies(self) -> Floats:
        """Squared lengths of the columns, shape (steps,)."""
        energies: Floats = np.einsum("ij,ij->j", self.matrix, self.matrix)
        return energies

    @cached_property
    def bandwidth(self) -> int:
        """Number w such that columns that are at least w steps apart are orthogonal."""
        rows, columns = np.nonzero(self.absolute_gram())
        return int(np.abs(rows - columns).max(initial=0)) + 1

    def column_sum(self, pattern: Pattern, signs: Floats) -> Floats:
        """Return the sum of some columns, each times its sign."""
        result: Floats = self.matrix[:, list(pattern)] @ signs
        return result

    def gram(self) -> Floats:
        """Return the products of all pairs of columns, shape (steps, steps)."""
        self.check_size()
        products: Floats = self.matrix.T @ self.matrix
        return products

    def absolute_gram(self) -> Floats:
        """Return the products of the columns of ``abs(C)``, shape (steps, steps)."""
        self.check_size()
        size = np.abs(self.matrix)
        products: Floats = size.T @ size
        return products

    def inverse_row_norms(self, workload: Floats) -> Floats:
        """Return the norms of the rows of ``A C^-1``, where A is Toeplitz with the coefficients ``workload``."""
        from scipy.linalg import toeplitz

        self.check_size()
        sums = toeplitz(workload, np.zeros(self.steps))
        norms: Floats = np.linalg.norm(sums @ np.linalg.pinv(self.matrix), axis=1)
        return norms


@dataclass(frozen=True, eq=False)
class Toeplitz(Strategy):
    """A lower triangular Toeplitz matrix; entries beyond the last coefficient are 0."""

    coefficients: Floats
    steps: int

    def __post_init__(self) -> None:
        if self.coefficients[0] == 0.0:
            raise check.ArgumentError("coefficients[0]", 0.0, "must not be 0")

    @property
    def rows(self) -> int:  # type: ignore[override]  # a property serves as the attribute
        """Number of rows."""
        return self.steps

    @property
    def bands(self) -> int:
        """Number of coefficients that occur in the matrix."""
        return min(self.steps, len(self.coefficients))

    @cached_property
    def column(self) -> Floats:
        """First column, shape (steps,)."""
        column = np.zeros(self.steps)
        column[: self.bands] = self.coefficients[: self.bands]
        return column

    @cached_property
    def energies(self) -> Floats:
        """Squared lengths of the columns, shape (steps,)."""
        energies: Floats = np.cumsum(self.column**2)[::-1]
        return energies

    @property
    def bandwidth(self) -> int:
        """Number w such that columns that are at least w steps apart are orthogonal."""
        return int(np.flatnonzero(self.column)[-1]) + 1

    @cached_property
    def is_decreasing(self) -> bool:
        """Whether the entries are nonnegative and decrease away from the diagonal."""
        return bool((np.diff(self.column) <= 0.0).all() and self.column[-1] >= 0.0)

    def column_sum(self, pattern: Pattern, signs: Floats) -> Floats:
        """Return the sum of some columns, each times its sign."""
        total = np.zeros(self.steps)
        for step, sign in zip(pattern, signs, strict=True):
            length = min(self.bands, self.steps - step)
            total[step : step + length] += sign * self.column[:length]
        return total

    def gram(self) -> Floats:
        """Return the products of all pairs of columns, shape (steps, steps)."""
        return self._products(self.column)

    def absolute_gram(self) -> Floats:
        """Return the products of the columns of ``abs(C)``, shape (steps, steps)."""
        return self._products(np.abs(self.column))

    def _products(self, column: Floats) -> Floats:
        self.check_size()
        steps = self.steps
        products = np.zeros((steps, steps))
        for distance in range(self.bandwidth):
            sums = np.cumsum(column[: steps - distance] * column[distance:])[::-1]
            later = np.arange(distance, steps)
            products[later, later - distance] = sums
            products[later - distance, later] = sums
        return products

    def inverse_row_norms(self, workload: Floats) -> Floats:
        """Return the norms of the rows of ``A C^-1``, where A is Toeplitz with the coefficients ``workload``."""
        if self.bands <= FEW_BANDS:
            answers = lfilter([1.0], self.coefficients[: self.bands], workload)
        else:
            answers = fftconvolve(workload, reciprocal(self.column))[: self.steps]
        norms: Floats = np.sqrt(np.cumsum(answers**2))
        return norms


@dataclass(frozen=True, eq=False)
class Trees(Strategy):
    """Nodes of binary trees, with a new tree after every ``restart`` steps; a row sums the steps of a node."""

    steps: int
    restart: int

    @property
    def rows(self) -> int:  # type: ignore[override]  # a property serves as the attribute
        """Number of nodes."""
        return len(self.nodes)

    @cached_property
    def nodes(self) -> list[tuple[int, int]]:
        """First step, and the step after the last, of each node."""
        nodes: list[tuple[int, int]] = []
        for begin in range(0, self.steps, self.restart):
            size = min(self.restart, self.steps - begin)
            for level in range(size.bit_length()):
                width = 1 << level
                nodes.extend(
                    (begin + at, begin + at + width)
                    for at in range(0, size - width + 1, width)
                )
        return nodes

    @cached_property
    def energies(self) -> Floats:
        """Squared lengths of the columns, shape (steps,): the number of nodes that contain each step."""
        changes = np.zeros(self.steps + 1)
        begins, ends = np.array(self.nodes).T
        np.add.at(changes, begins, 1.0)
        np.add.at(changes, ends, -1.0)
        energies: Floats = np.cumsum(changes)[:-1]
        return energies

    @property
    def bandwidth(self) -> int:
        """Number w such that columns that are at least w steps apart are orthogonal."""
        return 1 << (min(self.restart, self.steps).bit_length() - 1)

    def column_sum(self, pattern: Pattern, signs: Floats) -> Floats:
        """Return the sum of some columns, each times its sign."""
        weights = np.zeros(self.steps + 1)
        weights[np.array(pattern) + 1] = signs
        before = np.cumsum(weights)
        begins, ends = np.array(self.nodes).T
        total: Floats = before[ends] - before[begins]
        return total

    def gram(self) -> Floats:
        """Return the number of nodes that contain both of two steps, shape (steps, steps)."""
        self.check_size()
        products = np.zeros((self.steps, self.steps))
        for begin, end in self.nodes:
            products[begin:end, begin:end] += 1.0
        return products

    def absolute_gram(self) -> Floats:
        """Return the result of ``gram``, because no entry of C is negative."""
        return self.gram()

    def inverse_row_norms(self, workload: Floats) -> Floats:
        """Return the norms of the noise of prefix sums: a prefix uses one node for each binary digit 1 of its length.

        Each earlier tree contributes the nodes of its whole length.
        """
        if not (workload == 1.0).all():
            raise check.ArgumentError(
                "workload",
                "coefficients",
                "must all be 1 for a tree, which answers prefix sums",
            )
        lengths = np.arange(1, self.steps + 1)
        whole, remaining = np.divmod(lengths, self.restart)
        digits = np.bitwise_count(remaining) + whole * self.restart.bit_count()
        norms: Floats = np.sqrt(digits.astype(np.float64))
        return norms


def reciprocal(coefficients: Floats) -> Floats:
    """Return the coefficients of the reciprocal of a power series, as many as given, by Newton's method."""
    result = np.array([1.0 / coefficients[0]])
    while len(result) < len(coefficients):
        length = min(2 * len(result), len(coefficients))
        product = fftconvolve(coefficients[:length], result)[:length]
        correction = -product
        correction[0] += 2.0
        result = fftconvolve(result, correction)[:length]
    return result
