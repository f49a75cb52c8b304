"""STORM (Cutkosky and Orabona 2019, algorithm 1): recursive momentum whose weights follow the gradients; no noise.

    d_1 = g_1(x_1),    x_t+1 = x_t - eta_t d_t,    eta_t = k/(w + sum of |g_i(x_i)|^2 up to t)^(1/3),
    d_t+1 = g_t+1(x_t+1) + (1 - a_t+1) (d_t - g_t+1(x_t)),    a_t+1 = c eta_t^2,

where g_t is the mean over the t-th batch. Their lemma keeps a at most 1; where k, w and c do not, it is cut to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Vector
from dpverify.problems.example_gradients import BatchOracle
from dpverify.problems.sampled_run import SampledRun


@dataclass(frozen=True)
class StormParameters:
    """Parameters of STORM: T and b, at least 1; k, w and c, above 0. An ArgumentError if one is out of range."""

    steps: int
    batch: int
    k: float
    w: float
    c: float

    def __post_init__(self) -> None:
        check.whole(1, steps=self.steps)
        check.whole(1, batch=self.batch)
        check.positive(k=self.k)
        check.positive(w=self.w)
        check.positive(c=self.c)


class Storm(SampledRun):
    """STORM on anything that gives means over batches; arguments as of ``DpSrm``."""

    def __init__(
        self,
        oracle: BatchOracle,
        examples: int,
        start: Vector,
        parameters: StormParameters,
        *,
        seed: Seed = 0,
        keep: bool = False,
    ) -> None:
        self.parameters = parameters
        check.whole(1, check.whole(1, examples=examples), batch=parameters.batch)
        super().__init__(parameters.steps, examples, start, seed, keep=keep, vectors=4)
        self._oracle = oracle
        self._squares = 0.0
        self._eta = 0.0
        self._d, self._old, self._now, self._change = (np.zeros_like(self._w) for _ in range(4))

    def _walk(self, first: int, last: int) -> None:
        p = self.parameters
        for t in range(first, last):
            batch = self._batch(p.batch)
            self._oracle(self._w, batch, self._now)
            if t:
                self._oracle.change(self._w, self._old, batch, 0.0, self._change)
            a = min(1.0, p.c * self._eta**2) if t else 1.0
            self._d = a * self._now + (1.0 - a) * (self._d + self._change)
            self._squares += float(self._now @ self._now)
            if not np.isfinite(self._squares):
                raise check.ArgumentError("d", f"an infinite number or NaN at step {t}", "must stay finite")
            self._eta = p.k / float(np.cbrt(p.w + self._squares))
            self._old[:] = self._w
            self._w -= self._eta * self._d
            self._moved(t + 1)
