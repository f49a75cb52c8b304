"""Algorithm 2 of the paper, DDP-SRM: Algorithm 1 where each of m parties holds examples of its own.

Each party draws b_j of its own examples; the sum over all batches and the noise are made inside a multi-party
computation, which opens v_p^t and nothing else. The box differs from Algorithm 1 in that batches are stratified, that
``generate index set`` no longer says how (here as there: uniformly, without replacement), that it asks noise of the
computation, and that n is m times the examples of a party in both variances.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Indices, Tape, Vector
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.problems.example_gradients import BatchOracle


class DdpSrm(DpSrm):
    """DDP-SRM as one process sees it: the union of all parties, or one party whose sums are made elsewhere.

    Parameters
    ----------
    oracle, start, parameters, tape, keep
        As of ``DpSrm``, with the sizes b_0 and b of what this process holds.
    holds : sequence of int
        How many examples each party has whose rows this process holds, in their order.
    batches : sequence of Generator
        What draws each such party's batches. Nobody else may know its state, or else sampling hides nothing from him.
    seed : int, sequence of int or SeedSequence
        Noise, where it is made here, and the choice of the output.
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
                raise check.ArgumentError("batch", size, f"must be a multiple of the {len(party_sizes)} parties")
            check.whole(1, min(party_sizes), batch=size // len(party_sizes))
        super().__init__(oracle, sum(party_sizes), start, parameters, seed=seed, tape=tape, keep=keep)
        self._holds, self._draws = tuple(party_sizes), tuple(batches)

    def _batch(self, size: int) -> Indices:
        first = 0
        drawn = []
        for held, draw in zip(self._holds, self._draws, strict=True):
            drawn.append(first + draw.choice(held, size // len(self._holds), replace=False, shuffle=False))
            first += held
        return np.concatenate(drawn)
