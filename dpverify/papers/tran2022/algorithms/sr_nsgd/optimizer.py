"""Algorithm 2 of the paper, sensitivity-reduced NSGD: momentum from differences of gradients, which need less noise.

With x_t the example of step t, a_t the iterate at the first step of t's epoch, and b_t that of the epoch before, the
nodes of three trees are released with noise,

    F^G_[y,z]     = sum over t in [y, z] of (1 - alpha)^(z - t) grad f(a_t, x_t),
    F^Delta_[y,z] = sum over t in [y, z] of (1 - alpha)^(z - t) (grad f(a_t, x_t) - grad f(b_t, x_t)),     y > N,
    F^r_[y,z]     = sum over t in [y, z] of (1 - alpha)^(z - t) (grad f(w_t, x_t) - grad f(a_t, x_t)),

and m^_t, which stands for m_t = alpha sum_i (1 - alpha)^(t - i) grad f(w_i, x_i), is put together from them by the
stream of ``reconstruction.stream``. A node is made from its two halves when its last step is done.
A whole run keeps O(N d) numbers, and a step costs O(d) beside its two or three gradients.

Conventions where the box is silent or does not run stand in ``sr_nsgd.repairs``. As in
``dp_nsgd.optimizer``, a momentum m^_t of length 0 moves nothing, w_{T+1} is kept as well, and
permutations come from the seed's stream 0 and noise from its stream 1, which compiled code draws by ``kernels.normal``
and ``SrNsgdCallable`` by the library, bit for bit the same. Nodes that no step reads get no noise and are
not drawn; see ``sr_nsgd.noise``.
"""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.epochs import ExampleOrder, ask_ahead, example_of
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import take_words, wrapping
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.reconstruction.stream import DELTA, G, R
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import NodeNoise
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.run import SrRun
from dpverify.papers.tran2022.algorithms.sr_nsgd.step import SrNumbers, SrState, sr_step
from dpverify.problems.gradient_of_examples import compiled, compiling


@kernel
def run_sr_steps(
    gradient: ExampleGradient,
    x: Matrix,
    y: Vector,
    first: int,
    last: int,
    order: ExampleOrder,
    numbers: SrNumbers,
    noise: NodeNoise,
    state: SrState,
) -> int:
    """Do the steps ``first <= t <= last`` of Algorithm 2; return 0, or what ``sr_step`` gave where it stopped."""
    N = order.permutation.shape[0]
    rows = x.reshape(x.size)
    p = np.uint64(x.shape[1])
    gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done = state
    for t in range(first, last + 1):
        n = example_of(t, order)
        ask_ahead(t, order, rows, p)
        gradient(anchors[0], x[n], y[n], gradients[G])
        if t > N:
            gradient(anchors[1], x[n], y[n], gradients[DELTA])
        gradient(w, x[n], y[n], gradients[R])
        failed = sr_step(
            t, numbers, noise, gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done
        )
        if failed:
            return failed
    return 0


class SrNsgd(SrRun):
    """Sensitivity-reduced NSGD on arrays and a jitted gradient of one example.

    Parameters
    ----------
    gradient, x, y
        As in ``DpNsgd``.
    start, parameters, seed, tape, schedule, keep
        As in ``SrRun``.

    Raises
    ------
    ArgumentError
        As in ``DpNsgd``; ``SrNsgdCallable`` takes any function.

    Notes
    -----
    Source: Algorithm 2.
    """

    def __init__(
        self,
        gradient: ExampleGradient,
        x: Matrix,
        y: Vector,
        start: Vector,
        parameters: SrParameters,
        *,
        seed: Seed = 0,
        tape: Tape | None = None,
        schedule: Indices | None = None,
        keep: bool = False,
    ) -> None:
        self._compiled = compiled(gradient, "SrNsgdCallable")
        self._x = check.array(None, None, x=x)
        self._y = check.array(len(self._x), y=y)
        super().__init__(len(self._x), start, parameters, seed, tape, schedule, keep)
        self._noise = self._noise._replace(words=take_words(self._noise_rng))

    def _steps(self, first: int, last: int) -> None:
        with compiling(self._compiled), wrapping():
            failed = run_sr_steps(
                self._compiled, self._x, self._y, first, last, self._order, self._numbers, self._noise, self._state
            )
        if failed:
            self._fail(failed)
