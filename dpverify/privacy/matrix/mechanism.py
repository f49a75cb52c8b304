"""Matrix mechanisms as objects, with certified sensitivity, epsilon, noise and error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.signal import lfilter

from dpverify.kernels import check
from dpverify.privacy.gaussian_safe import safe_epsilon, safe_mu, violated_epsilon
from dpverify.privacy.matrix.participation import Floats, Participation
from dpverify.privacy.matrix.sensitivity import sensitivity
from dpverify.privacy.matrix.strategies import Dense, Strategy, Toeplitz, Trees
from dpverify.privacy.participation import Bounds

Neighbours: TypeAlias = Literal["add-remove", "zero-out", "replace-one"]
CHANGES: dict[str, float] = {"add-remove": 1.0, "zero-out": 1.0, "replace-one": 2.0}
"""Largest change of the sum of clipped gradients in one step by one example, in units of the clip length."""

# bound on the relative rounding error of a quotient and a product
QUOTIENT = 4.0 * 2.0**-53


@dataclass(frozen=True, eq=False)
class MatrixMechanism:
    """A matrix mechanism ``C G + Z`` on the clipped gradients of all steps; use a class method to make one.

    Sensitivities are in units of the clip length. ``sigma`` is the standard deviation
    of an entry of Z in these units, which libraries call the noise multiplier.

    Parameters
    ----------
    name : str
        A short description of the mechanism.
    strategy : Strategy
        C.

    Examples
    --------
    >>> import dpverify as dv
    >>> from dpverify.privacy.matrix import Separated
    >>> mechanism = dv.MatrixMechanism.square_root(steps=1000, bands=10)
    >>> participation = Separated(100, most=5)
    >>> round(mechanism.sensitivity(participation).upper, 4)
    2.9928
    >>> mechanism.sigma(2.0, 1e-6, participation) > mechanism.sigma(4.0, 1e-6, participation)
    True
    """

    name: str
    strategy: Strategy

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self.strategy.steps

    @classmethod
    def matrix(cls, matrix: Any) -> MatrixMechanism:
        """Make a mechanism from its strategy matrix.

        Parameters
        ----------
        matrix : array, shape (rows, steps)
            C. It must be lower triangular if gradients depend on earlier releases.

        Raises
        ------
        ValueError
            If it is not a matrix of finite numbers.
        """
        return cls("matrix", Dense(check.array(None, None, matrix=matrix)))

    @classmethod
    def identity(cls, steps: int) -> MatrixMechanism:
        """Make a mechanism with independent noise in each step: DP-SGD without amplification."""
        return cls("identity", Toeplitz(np.ones(1), check.whole(1, steps=steps)))

    @classmethod
    def tree(cls, steps: int, restart: int | None = None) -> MatrixMechanism:
        """Make tree aggregation (Dwork et al. 2010), with a new tree after every ``restart`` steps, if given.

        C has one row for each complete node. The noise of a prefix sum is the sum over the fewest nodes that cover it.
        """
        steps = check.whole(1, steps=steps)
        restart = steps if restart is None else check.whole(1, steps, restart=restart)
        return cls(
            "tree" if restart == steps else f"tree, new after {restart} steps",
            Trees(steps, restart),
        )

    @classmethod
    def toeplitz(
        cls, coefficients: Sequence[float] | Floats, steps: int
    ) -> MatrixMechanism:
        """Make a lower triangular Toeplitz mechanism.

        Parameters
        ----------
        coefficients : array, shape (bands,)
            Entries of C by their distance to the diagonal; the first is not 0. Entries
            beyond the last are 0.
        steps : int
            Number of steps, at least 1.
        """
        return cls(
            "Toeplitz",
            Toeplitz(
                check.array(None, coefficients=coefficients),
                check.whole(1, steps=steps),
            ),
        )

    @classmethod
    def square_root(cls, steps: int, bands: int | None = None) -> MatrixMechanism:
        """Make the square root of the matrix of prefix sums (Fichtenberger et al. 2023), cut to ``bands`` if given."""
        bands = _bands(bands, steps)
        return cls(
            f"square root, {bands} bands",
            Toeplitz(_binomial_series(-0.5, bands), steps),
        )

    @classmethod
    def inverse_square_root(cls, steps: int, bands: int) -> MatrixMechanism:
        """Make the mechanism whose ``C^-1`` is the banded inverse square root (Kalinin et al. 2025)."""
        bands = _bands(bands, steps)
        impulse = np.zeros(steps)
        impulse[0] = 1.0
        column = lfilter([1.0], _binomial_series(0.5, bands), impulse)
        return cls(f"inverse square root, {bands} bands", Toeplitz(column, steps))

    @classmethod
    def buffered(
        cls,
        scale: Sequence[float] | Floats,
        decay: Sequence[float] | Floats,
        steps: int,
    ) -> MatrixMechanism:
        """Make a buffered linear Toeplitz mechanism (McMahan et al. 2024).

        Parameters
        ----------
        scale, decay : array, shape (buffers,)
            The coefficient at distance t > 0 is the sum of ``scale * decay**(t - 1)``,
            and 1 at distance 0.
        steps : int
            Number of steps, at least 1.
        """
        steps = check.whole(1, steps=steps)
        scales = check.array(None, scale=scale)
        decays = check.array(len(scales), decay=decay)
        column = np.ones(steps)
        powers = np.ones(len(decays))
        for step in range(1, steps):
            column[step] = scales @ powers
            powers *= decays
        return cls(f"buffered Toeplitz, {len(scales)} buffers", Toeplitz(column, steps))

    def sensitivity(
        self, participation: Participation, neighbours: Neighbours = "add-remove"
    ) -> Bounds:
        """Bound the largest change of ``C G`` by one example, in clip lengths.

        Parameters
        ----------
        participation : Once, Cyclic, Epochs or Separated
            The steps in which one example can take part.
        neighbours : {"add-remove", "zero-out", "replace-one"}
            Whether the example is added or removed, its gradients become 0, or it is
            replaced by another example.

        Returns
        -------
        Bounds
            ``lower`` is attained by the steps of ``pattern`` (counted from 0).
            ``upper`` holds for all gradients, and ``method`` says how it was computed.
            ``exact`` is True if the bounds differ by rounding only.

        Raises
        ------
        ValueError
            If a name is unknown, or the matrix has too many steps for this
            participation.
        """
        if neighbours not in CHANGES:
            raise check.ArgumentError(
                "neighbours", neighbours, f"must be one of {', '.join(CHANGES)}"
            )
        factor = CHANGES[neighbours]
        single = sensitivity(self.strategy, participation)
        return Bounds(
            factor * single.lower,
            factor * single.upper,
            single.exact,
            single.pattern,
            single.method,
        )

    def epsilon(
        self,
        sigma: float,
        delta: float,
        participation: Participation,
        neighbours: Neighbours = "add-remove",
    ) -> Bounds:
        """Bound the smallest epsilon from above and below.

        Parameters
        ----------
        sigma : float
            Standard deviation of an entry of Z in clip lengths, above 0.
        delta : float
            Privacy parameter in (0, 1).
        participation, neighbours
            As for :meth:`sensitivity`.

        Returns
        -------
        Bounds
            ``upper`` holds for all data, and ``lower`` is attained.

        Raises
        ------
        ValueError
            If a number is out of its range, or as for :meth:`sensitivity`.
        """
        sigma = check.positive(sigma=sigma)
        change = self.sensitivity(participation, neighbours)
        lower = violated_epsilon(change.lower / sigma * (1.0 - QUOTIENT), delta)
        upper = safe_epsilon(change.upper / sigma * (1.0 + QUOTIENT), delta)
        return Bounds(lower, upper, change.exact, change.pattern, change.method)

    def sigma(
        self,
        epsilon: float,
        delta: float,
        participation: Participation,
        neighbours: Neighbours = "add-remove",
    ) -> float:
        """Return a ``sigma`` that certainly gives an epsilon; arguments and errors are as for :meth:`epsilon`."""
        change = self.sensitivity(participation, neighbours)
        return change.upper / safe_mu(epsilon, delta) * (1.0 + QUOTIENT)

    def error(
        self, sigma: float, workload: Sequence[float] | Floats | None = None
    ) -> Floats:
        """Return the standard deviation of the noise of each answer.

        Parameters
        ----------
        sigma : float
            As for :meth:`epsilon`.
        workload : array, shape (steps,), optional
            Weights of the gradients in an answer by their age. Default: 1, for prefix
            sums.

        Returns
        -------
        array, shape (steps,)
            Standard deviation of one coordinate of each answer, in clip lengths.

        Raises
        ------
        ValueError
            If a number is out of its range.
        """
        weights = (
            np.ones(self.steps)
            if workload is None
            else check.array(self.steps, workload=workload)
        )
        return check.positive(sigma=sigma) * self.strategy.inverse_row_norms(weights)

    def dense(self) -> Floats:
        """Return C as an array, shape (rows, steps)."""
        self.strategy.check_size()
        columns = [
            self.strategy.column_sum((step,), np.ones(1)) for step in range(self.steps)
        ]
        return np.stack(columns, axis=1)

    def covariance(self) -> Floats:
        """Return the covariance of the noise ``C^-1 Z`` over the steps for ``sigma=1``, shape (steps, steps).

        Raises
        ------
        ValueError
            If C is not square.
        """
        if self.strategy.rows != self.steps:
            raise check.ArgumentError("strategy", self.name, "must be a square matrix")
        return np.asarray(np.linalg.inv(self.strategy.gram()), dtype=np.float64)


def _bands(bands: int | None, steps: int) -> int:
    steps = check.whole(1, steps=steps)
    return steps if bands is None else check.whole(1, steps, bands=bands)


def _binomial_series(exponent: float, count: int) -> Floats:
    """Return the first coefficients of ``(1 - x)**exponent``."""
    numbers = np.arange(1, count)
    ratios = (numbers - 1.0 - exponent) / numbers
    series: Floats = np.concatenate([np.ones(1), np.cumprod(ratios)])
    return series
