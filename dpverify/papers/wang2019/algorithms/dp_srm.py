"""Algorithms 1 and 2 of the paper, DP-SRM and DDP-SRM: a gradient estimator made of changes of gradients, plus noise.

    v_p^0     = mean over B_0 of grad f_i(theta^0) + u^0,                            u^0 ~ N(0, sigma_0^2 I)
    theta^t+1 = theta^t - eta_t v_p^t,                                eta_t = min(zeta/(L |v_p^t|), 1/(2L))
    v_p^t+1   = mean over B_t+1 of (grad f_i(theta^t+1) - (1 - gamma) grad f_i(theta^t)) + (1 - gamma) v_p^t + u^t+1

Each batch is drawn without replacement, and the output is one of theta^0, ...,
theta^(T-1), with equal probability. The box releases v_p^T last, but no line uses it;
this implementation does not compute it.

DDP-SRM (Algorithm 2) is Algorithm 1 where each of m parties holds examples of its own. Each party draws b_j of its own
examples. The sum over all batches and the noise are made inside a multi-party computation, which opens v_p^t and
nothing else. The box differs from Algorithm 1 in four points: batches are stratified; ``generate index set`` no longer
says how (here, as in Algorithm 1, uniformly and without replacement); the computation makes the noise; and n is m times
the examples of a party in both variances.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.jit import for_types_of, step_kernel
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Indices, Tape, Vector
from dpverify.kernels.vector import norm
from dpverify.problems.example_gradients import BatchOracle
from dpverify.problems.sampled_run import SampledRun


@dataclass(frozen=True)
class SrmParameters:
    """Parameters of DP-SRM.

    Attributes
    ----------
    steps : int
        T, at least 1.
    batch_0, batch : int
        b_0 and b, at least 1 and at most n.
    gamma : float
        Momentum weight, in [0, 1]; with 1, each estimate is a batch's mean gradient.
    zeta : float
        Accuracy, above 0; no step is longer than zeta/L.
    smoothness : float
        L, above 0.
    std_0, std : float
        sigma_0 and sigma, deviations of a coordinate of the noise of the first estimate
        and of the others; at least 0.
    parties : int
        m, at least 1: number of parties that hold the examples, split in order and as
        evenly as possible. Each party draws equally many of its examples for a batch
        (Algorithm 2's releases), so b and b_0 are n or multiples of m.

    Raises
    ------
    ArgumentError
        If a number is out of range.
    """

    steps: int
    batch_0: int
    batch: int
    gamma: float
    zeta: float
    smoothness: float
    std_0: float = 0.0
    std: float = 0.0
    parties: int = 1

    def __post_init__(self) -> None:
        check.whole(1, steps=self.steps)
        check.whole(1, batch_0=self.batch_0)
        check.whole(1, batch=self.batch)
        check.proportion(gamma=self.gamma)
        check.positive(zeta=self.zeta)
        check.positive(smoothness=self.smoothness)
        check.not_negative(std_0=self.std_0)
        check.not_negative(std=self.std)
        check.whole(1, parties=self.parties)


@step_kernel
def srm_move(zeta: float, smoothness: float, v: Vector, w: Vector, old: Vector) -> bool:
    """Do line 5, ``old <- w``, ``w <- w - eta v`` of shape (d,), and return True; if v is not finite, return False."""
    length = norm(v)
    if not math.isfinite(length):
        return False
    eta = 0.5 / smoothness if length <= 2.0 * zeta else zeta / (smoothness * length)
    for j in range(w.shape[0]):
        old[j] = w[j]
        w[j] -= eta * v[j]
    return True


@step_kernel
def srm_release(
    gamma: float, std: float, change: Vector, unit: Vector, v: Vector
) -> None:
    """Do lines 7 and 8: ``v <- change + (1 - gamma) v + std unit``, all of shape (d,)."""
    for j in range(v.shape[0]):
        v[j] = change[j] + (1.0 - gamma) * v[j] + std * unit[j]


class DpSrm(SampledRun):
    """DP-SRM on an oracle for means over batches; it can be advanced, watched and interrupted.

    Parameters
    ----------
    oracle : BatchOracle
        ``RecursiveGradient`` for logistic regression, ``ExampleGradients`` for any
        function.
    examples : int
        n.
    start : (d,) array of float
        theta^0.
    parameters : SrmParameters
        Parameters of the run.
    seed : int, sequence of int or SeedSequence
        Noise comes from its stream 1, batches from its stream 4, the choice of the
        output from its stream 6.
    tape : (T, d) array of float, optional
        Unit noise of u^0, ..., u^(T-1), instead of noise from the seed.
    keep : bool
        Whether to keep all iterates.

    Raises
    ------
    ArgumentError
        If a batch is larger than n, a shape does not fit, or the kept iterates do not
        fit in memory; later, if a gradient or the estimate is not finite.

    Notes
    -----
    Source: Algorithm 1.
    """

    def __init__(
        self, oracle: BatchOracle, examples: int, start: Vector, parameters: SrmParameters, *,
        seed: Seed = 0, tape: Tape | None = None, keep: bool = False,
    ) -> None:  # fmt: skip
        self.parameters = p = parameters
        n = check.whole(1, examples=examples)
        check.whole(1, n, batch_0=p.batch_0)
        check.whole(1, n, batch=p.batch)
        if any(size < n and size % p.parties for size in (p.batch_0, p.batch)):
            raise check.ArgumentError(
                "parties", p.parties, f"must divide b_0 = {p.batch_0} and b = {p.batch}"
            )
        super().__init__(p.steps, n, start, seed, keep=keep, vectors=4)
        d = len(self._w)
        self._oracle = oracle
        self._tape = None if tape is None else check.array(p.steps, d, tape=tape)
        self._v, self._old, self._change, self._unit = (np.zeros(d) for _ in range(4))
        self._move = for_types_of(
            srm_move, p.zeta, p.smoothness, self._v, self._w, self._old
        )
        self._release = for_types_of(
            srm_release, p.gamma, p.std, self._change, self._unit, self._v
        )

    @property
    def v(self) -> Vector:
        """A copy of the last released estimate, v_p^(t-1), shape (d,)."""
        return self._v.copy()

    def _walk(self, first: int, last: int) -> None:
        for t in range(first, last):
            self._estimate(t)
            if not self._move(
                self.parameters.zeta,
                self.parameters.smoothness,
                self._v,
                self._w,
                self._old,
            ):
                raise check.ArgumentError(
                    "v", f"{self._v.max()} at step {t}", "must stay finite"
                )
            self._moved(t + 1)

    def _estimate(self, t: int) -> None:
        """Release v_p^t."""
        p = self.parameters
        batch = self._batch(p.batch if t else p.batch_0)
        if t:
            self._oracle.change(self._w, self._old, batch, p.gamma, self._change)
        else:
            self._oracle(self._w, batch, self._change)
        if self._tape is not None:
            self._unit[:] = self._tape[t]
        elif (p.std if t else p.std_0) > 0.0:
            self._noise_rng.standard_normal(out=self._unit)
        # before the first estimate, v is 0
        self._release(
            p.gamma, p.std if t else p.std_0, self._change, self._unit, self._v
        )

    def _batch(self, size: int) -> Indices:
        m = self.parameters.parties
        n = self._examples
        if m == 1 or size == n:
            return super()._batch(size)
        ends = [n * j // m for j in range(m + 1)]
        drawn = [
            a + self._batches.choice(b - a, size // m, replace=False)
            for a, b in itertools.pairwise(ends)
        ]
        return np.concatenate(drawn)


class DdpSrm(DpSrm):
    """DDP-SRM as one process sees it: the union of all parties, or one party whose sums are made elsewhere.

    Parameters
    ----------
    oracle, start, parameters, tape, keep
        As of ``DpSrm``, with the sizes b_0 and b of this process's examples.
    party_sizes : sequence of int
        Number of examples of each party whose rows this process holds, in their order.
    batches : sequence of Generator
        Generators that draw each such party's batches. Nobody else may know their
        states, since sampling hides nothing from anyone who does.
    seed : int, sequence of int or SeedSequence
        Noise, if it is made here, and the choice of the output.
    """

    def __init__(
        self,
        oracle: BatchOracle,
        party_sizes: Sequence[int],
        start: Vector,
        parameters: SrmParameters,
        *,
        batches: Sequence[Generator],
        seed: Seed = 0,
        tape: Tape | None = None,
        keep: bool = False,
    ) -> None:
        for size in (parameters.batch, parameters.batch_0):
            if size % len(party_sizes):
                raise check.ArgumentError(
                    "batch",
                    size,
                    f"must be a multiple of the {len(party_sizes)} parties",
                )
            check.whole(1, min(party_sizes), batch=size // len(party_sizes))
        super().__init__(
            oracle, sum(party_sizes), start, parameters, seed=seed, tape=tape, keep=keep
        )
        self._holds, self._draws = tuple(party_sizes), tuple(batches)

    def _batch(self, size: int) -> Indices:
        first = 0
        drawn = []
        for held, draw in zip(self._holds, self._draws, strict=True):
            drawn.append(
                first
                + draw.choice(
                    held, size // len(self._holds), replace=False, shuffle=False
                )
            )
            first += held
        return np.concatenate(drawn)
