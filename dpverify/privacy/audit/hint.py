"""What the Gaussian law would give, where outputs do not contradict it: a hint, not part of the bound."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy.audit.gaussian import bound_mu
from dpverify.privacy.audit.moments import LEAST, ClassMoments, check_law
from dpverify.privacy.audit.records import AuditError
from dpverify.privacy.gaussian import epsilon_of

Floats = NDArray[np.float64]

MOST = 100
"""Numbers in an output, at most."""


class Hint:
    """Moments of the outputs of a game, on each data set."""

    def __init__(self) -> None:
        self._sides: tuple[ClassMoments, ClassMoments] | None = None

    def add(self, low: Floats, high: Floats) -> None:
        """Add a block of outputs, shape (m, d), on each data set."""
        if low.shape[1] > MOST or min(len(low), len(high)) == 0:
            return
        if self._sides is None:
            self._sides = ClassMoments(low.mean(axis=0)), ClassMoments(high.mean(axis=0))
        with np.errstate(over="ignore", invalid="ignore"):
            for moments, rows in zip(self._sides, (low, high), strict=True):
                moments.add(rows)

    def notes(self, delta: float, alpha: float, claimed: float | None) -> tuple[str, ...]:
        """Say what the law "gaussian" would give.

        Empty where the outputs contradict the law, or are too few to tell.
        """
        if self._sides is None or min(side.count for side in self._sides) < LEAST:
            return ()
        if not all(np.isfinite(side.fourth).all() and np.isfinite(side.products).all() for side in self._sides):
            return ()
        try:
            check_law(*self._sides)
        except AuditError:
            return ()
        mu = bound_mu(*self._sides, alpha).mu
        if not 0.0 < mu < math.inf:
            return ()
        epsilon = epsilon_of(mu, delta)
        text = f"outputs do not contradict a Gaussian law; if that is given, epsilon >= {epsilon:.4g}"
        if claimed is not None and epsilon > claimed:
            return (f"{text}, and the claim is REFUTED: judge it with the law 'gaussian'",)
        return (f"{text} (see the law 'gaussian')",)
