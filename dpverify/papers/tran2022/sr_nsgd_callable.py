"""Sensitivity-reduced NSGD on any Python function that gives the gradient of one example."""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.tape import Seed, shuffle
from dpverify.kernels.typing import Indices, Tape, Vector
from dpverify.papers.tran2022.dp_nsgd_callable import IndexGradient
from dpverify.papers.tran2022.reconstruct import DELTA, G, R
from dpverify.papers.tran2022.sr_nsgd import sr_step
from dpverify.papers.tran2022.sr_nsgd_parameters import SrParameters
from dpverify.papers.tran2022.sr_nsgd_run import SrRun


class SrNsgdCallable(SrRun):
    """Sensitivity-reduced NSGD on a Python function: a model of PyTorch or JAX, a simulator, a closure.

    Parameters
    ----------
    gradient : callable
        ``gradient(w, n)``: the gradient of the loss of example n (0, ..., N - 1) at w, shape (d,). It gets a copy of w,
        and is called two times a step in the first epoch and three times after it.
    examples : int
        N, at least 1.
    start : (d,) array of float
        w_1.
    parameters : SrParameters
        T, alpha, gamma, eta, and the noise.
    seed : int, sequence of int or SeedSequence
        Of permutations and noise.
    tape : (n, d) array of float or None
        Unit Gaussians to use instead of drawing them, with the rows of ``sr_nsgd_noise.tape_layout(N, T)``.
    schedule : (T,) array of int or None
        The example of each step, in place of permutations; None: as ``parameters.ordering`` says.
    keep : bool
        Whether to keep all iterates and momenta, about 3T vectors.

    Raises
    ------
    ArgumentError
        If a shape does not fit, an entry is not finite, or what is kept does not fit in memory; later, if a gradient
        has another shape than (d,), or is not finite.

    Notes
    -----
    Source: Algorithm 2.
    """

    def __init__(
        self, gradient: IndexGradient, examples: int, start: Vector, parameters: SrParameters, *,
        seed: Seed = 0, tape: Tape | None = None, schedule: Indices | None = None, keep: bool = False,
    ) -> None:  # fmt: skip
        if not callable(gradient):
            raise check.ArgumentError("gradient", gradient, "must be a function (w, n)")
        self._function = gradient
        super().__init__(examples, start, parameters, seed, tape, schedule, keep)
        self._chunk = 1
        self._epoch = -1  # which permutation is at hand

    def _steps(self, first: int, last: int) -> None:
        for t in range(first, last + 1):
            n = self._example(t)
            self._ask(G, self._anchors[0], n, t)
            if t > len(self._order):
                self._ask(DELTA, self._anchors[1], n, t)
            self._ask(R, self._w, n, t)
            failed = sr_step(t, *self._step_arguments)
            if failed:
                self._fail(failed)

    def _example(self, t: int) -> int:
        if len(self._given):
            return int(self._given[t - 1])
        q, i = divmod(t - 1, len(self._order))
        if self._epoch < (q if self.parameters.ordering == "fresh" else 0):
            shuffle(self._order_rng, self._order)  # "Sample a permutation pi^q of {1, ..., N} uniformly at random"
            self._epoch = q
        return int(self._order[i])

    def _ask(self, f: int, w: Vector, n: int, t: int) -> None:
        found = np.asarray(self._function(w.copy(), n))
        if found.shape != self._w.shape or found.dtype.kind not in "fiu":
            value = f"{found.dtype} of shape {found.shape} for example {n} at step {t}"
            raise check.ArgumentError("gradient", value, f"must be an array of numbers of shape {self._w.shape}")
        self._gradients[f] = found
