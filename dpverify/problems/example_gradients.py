"""Batch means of clipped gradients, and of their clipped changes, for any function that returns gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from dpverify.kernels import check
from dpverify.kernels.typing import Indices, Matrix, Vector

Gradients: TypeAlias = Callable[[Vector, Indices], ArrayLike]
"""``gradients(w, batch)``: the gradient of each example of a batch at w, shape (B, d)."""


class BatchMean(Protocol):
    """The interface that plain descent needs; see ``BatchGradient`` and :class:`ExampleGradients`."""

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean of the batch's gradients at ``w`` to ``out``."""


@runtime_checkable
class CompiledDescent(Protocol):
    """The interface of an oracle with a compiled kernel for many steps of noisy descent."""

    def descend(
        self,
        order: Indices,
        size: int,
        etas: Vector,
        rhos: Vector,
        std: float,
        w: Vector,
        old: Vector,
        batches: Generator,
        noise: Generator,
        iterates: Matrix,
    ) -> int:
        """Make a step of noisy descent for each entry of ``etas``; return the number of steps before a non-finite one.

        ``rhos`` (T,): momentum of each step, a factor of ``w - old``, where ``old`` is the iterate before ``w``. Both
        iterates are updated. ``order`` (n,): a permutation of the examples. Afterwards its first ``size`` examples are
        the last batch. ``iterates`` (0 or T, d): receives the iterates, unless it is empty.
        """


class BatchOracle(BatchMean, Protocol):
    """The interface that recursive momentum needs; see ``RecursiveGradient`` and :class:`ExampleGradients`."""

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write the mean over ``batch`` of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)) to ``out``."""


class ExampleGradients:
    """Means of clipped gradients and of their clipped changes, for any function that returns per-example gradients.

    Parameters
    ----------
    gradients : callable
        ``gradients(w, batch)`` returns an array of shape (B, d), a row for each example
        of the batch.
    clip, change_clip : float
        Clip lengths of gradients and of their changes, above 0; an infinite length does
        not clip.

    Raises
    ------
    ArgumentError
        If a clip length is not positive. A call raises it if gradients have the wrong
        shape or are not finite. Evaluations 1, 2, 4, 8, ... of the gradients also raise
        it if the last row of a batch differs from the row of this example alone.
    """

    def __init__(
        self,
        gradients: Gradients,
        clip: float = math.inf,
        change_clip: float = math.inf,
    ) -> None:
        if not callable(gradients):
            raise check.ArgumentError(
                "gradients", gradients, "must be a function (w, batch)"
            )
        self._gradients = gradients
        self.clip = clip if clip == math.inf else check.positive(clip=clip)
        self.change_clip = (
            change_clip
            if change_clip == math.inf
            else check.positive(change_clip=change_clip)
        )
        self._calls = 0

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean of the batch's clipped gradients at ``w``, shape (d,), to ``out``."""
        out[:] = clipped(self._checked_rows(w, batch), self.clip).mean(axis=0)

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write gamma times the mean of clipped gradients plus 1 - gamma times the mean of clipped changes to ``out``.

        The gradients are those at ``new``, and the changes are grad f(new) - grad f(old).
        """
        now = self._checked_rows(new, batch)
        out[:] = gamma * clipped(now, self.clip).mean(axis=0)
        if gamma < 1.0:
            out += (1.0 - gamma) * clipped(
                now - self._checked_rows(old, batch), self.change_clip
            ).mean(axis=0)

    def _checked_rows(self, w: Vector, batch: Indices) -> Matrix:
        rows = self._rows(w, batch)
        self._calls += 1
        if len(batch) > 1 and self._calls & (self._calls - 1) == 0:
            alone = self._rows(w, batch[-1:])[0]
            if np.abs(rows[-1] - alone).max() > 1e-3 * np.abs(alone).max() + 1e-9:
                value = f"a row for example {batch[-1]} that it has not alone"
                raise check.ArgumentError(
                    "gradients",
                    value,
                    "must be each example's own, whoever else is in the batch",
                )
        return rows

    def _rows(self, w: Vector, batch: Indices) -> Matrix:
        gradients = np.asarray(self._gradients(w.copy(), batch))
        if gradients.shape != (len(batch), len(w)) or gradients.dtype.kind not in "fiu":
            value = f"{gradients.dtype} of shape {gradients.shape}"
            raise check.ArgumentError(
                "gradients", value, f"must be numbers of shape ({len(batch)}, {len(w)})"
            )
        if not np.isfinite(gradients).all():
            row, column = np.argwhere(~np.isfinite(gradients))[0]
            value = f"{gradients[row, column]} in coordinate {column} for example {batch[row]}"
            raise check.ArgumentError("gradients", value, "must be finite")
        rows: Matrix = gradients.astype(np.float64, copy=False)
        return rows


def clipped(rows: Matrix, length: float) -> Matrix:
    """Return the rows, shape (B, d), with longer rows scaled to this length."""
    if length == math.inf:
        return rows
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    shortened: Matrix = rows * np.minimum(
        1.0, length / np.maximum(norms, np.finfo(np.float64).tiny)
    )
    return shortened
