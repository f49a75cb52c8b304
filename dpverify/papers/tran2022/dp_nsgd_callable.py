"""DP-NSGD on any Python function that gives the gradient of one example."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.kernels import check
from dpverify.kernels.tape import Seed, normal_tape, shuffle
from dpverify.kernels.typing import Tape, Vector
from dpverify.papers.tran2022.dp_nsgd import noisy_step
from dpverify.papers.tran2022.dp_nsgd_parameters import Parameters
from dpverify.papers.tran2022.dp_nsgd_run import NsgdRun
from dpverify.papers.tran2022.tree_noise_steps import AHEAD

IndexGradient: TypeAlias = Callable[[Vector, int], ArrayLike]


class DpNsgdCallable(NsgdRun):
    """DP-NSGD on a Python function: a model of PyTorch or JAX, a simulator, a closure.

    Parameters
    ----------
    gradient : callable
        ``gradient(w, n)``: the gradient of the loss of example n (0, ..., N - 1) at w, shape (d,). It gets a copy of w.
    examples : int
        N, at least 1.
    start : (d,) array of float
        w_1.
    parameters : Parameters
        T, alpha, eta, and the noise.
    seed : int, sequence of int or SeedSequence
        Of permutations and noise.
    tape : (T, d) array of float or None
        Unit Gaussians to use instead of drawing them; row t - 1 belongs to step t.
    keep : bool
        Whether to keep all iterates, T + 1 vectors.

    Raises
    ------
    ArgumentError
        If a shape does not fit, an entry is not finite, or what is kept does not fit in memory; later, if a gradient
        has another shape than (d,), or is not finite.

    Notes
    -----
    Source: Algorithm 1.
    """

    def __init__(
        self, gradient: IndexGradient, examples: int, start: Vector, parameters: Parameters, *,
        seed: Seed = 0, tape: Tape | None = None, keep: bool = False,
    ) -> None:  # fmt: skip
        if not callable(gradient):
            raise check.ArgumentError("gradient", gradient, "must be a function (w, n)")
        self._function = gradient
        super().__init__(examples, start, parameters, seed, tape, keep)
        self._chunk = 1
        self._epoch = self._block = -1  # which permutation, and which block of numbers drawn ahead, is at hand
        self._ahead = self._tape

    def _steps(self, first: int, last: int) -> None:
        for t in range(first, last + 1):
            self._step(t)

    def _step(self, t: int) -> None:
        p = self.parameters
        q, i = divmod(t - 1, len(self._order))
        if self._epoch < (q if p.ordering == "fresh" else 0):
            shuffle(self._order_rng, self._order)  # "Sample a permutation pi^q of {1, ..., N} uniformly at random"
            self._epoch = q
        n = int(self._order[i])
        found = np.asarray(self._function(self._w.copy(), n))
        if found.shape != self._w.shape or found.dtype.kind not in "fiu":
            value = f"{found.dtype} of shape {found.shape} for example {n} at step {t}"
            raise check.ArgumentError("gradient", value, f"must be an array of numbers of shape {self._w.shape}")
        self._gradient[:] = found
        unit = self._unit_of(t) if self._scale > 0.0 else self._unit
        if not noisy_step(t, p.alpha, p.eta, self._scale, self._decay, unit, self._gradient, *self._state):
            self._fail(t)

    def _unit_of(self, t: int) -> Vector:
        """Unit Gaussian of step t: a row of the tape, or of the block of numbers drawn ahead."""
        if len(self._tape):
            row: Vector = self._tape[t - 1]
            return row
        d = len(self._w)
        block, i = divmod(t - 1, max(1, AHEAD // d))
        if self._block < block:
            rows = min(max(1, AHEAD // d), self.parameters.steps - t + 1)
            self._ahead = normal_tape(self._noise_rng, rows, d)
            self._block = block
        row = self._ahead[i]
        return row
