"""Algorithm 2 of the paper, sensitivity-reduced NSGD: momentum from differences of gradients, which need less noise.

Let x_t be the example of step t, a_t the iterate at the first step of t's epoch, and
b_t the iterate at the first step of the epoch before. The algorithm releases the nodes
of three trees with noise,

    F^G_[y,z]     = sum over t in [y, z] of (1 - alpha)^(z - t) grad f(a_t, x_t),
    F^Delta_[y,z] = sum over t in [y, z] of (1 - alpha)^(z - t) (grad f(a_t, x_t) - grad f(b_t, x_t)),     y > N,
    F^r_[y,z]     = sum over t in [y, z] of (1 - alpha)^(z - t) (grad f(w_t, x_t) - grad f(a_t, x_t)),

and ``reconstruction.stream`` computes m^_t, an estimate of m_t = alpha sum_i (1 -
alpha)^(t - i) grad f(w_i, x_i), from them. A node is computed from its two halves at
its last step. A run stores O(N d) numbers, and a step costs O(d) plus two or three
gradients.

``REPAIRS`` lists the changes where the printed algorithm is incomplete or does not run. As in ``dp_nsgd.optimizer``,
the iterate does not move if m^_t = 0, w_{T+1} is kept as well, and permutations come from the seed's stream 0 and noise
from its stream 1. :class:`SrNsgd` draws noise with ``kernels.normal`` and :class:`SrNsgdCallable` with NumPy, bit for
bit the same. No noise is drawn for nodes that no step reads; see ``sr_nsgd.noise``.
"""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.epochs import (
    ExampleOrder,
    draw_schedule,
    example_of,
    prefetch_next_example,
)
from dpverify.kernels.jit import for_types_of, kernel
from dpverify.kernels.normal import NO_WORDS, take_words, wrapping
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.literal import Repair
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    DELTA,
    G,
    R,
    state_floats,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import NodeNoise, tape_rows
from dpverify.papers.tran2022.algorithms.sr_nsgd.step import (
    BAD_GRADIENT,
    SrNumbers,
    SrState,
    new_sr_numbers,
    new_sr_state,
    sr_step,
)
from dpverify.problems.stepped_run import (
    FunctionRun,
    IndexGradient,
    SteppedRun,
    compiled,
    compiling,
    read_only,
)

REPAIRS = (
    Repair(
        "algorithm-2-loop",
        "for r = 0 ... min{N - 1, T - qN}: t <- qN + r_t",
        "t = 1..T; epoch q = 0, 1, ... owns the steps qN + 1 .. (q + 1)N, as in Algorithm 1",
        "as printed the first step is t = 0, which has floor(log2 0) levels and no w_0 to read; r_t is r",
    ),
    Repair(
        "algorithm-2-anchors",
        "the anchor of epoch q is w_{qN}",
        "the anchor of an epoch is the iterate at its first step, w_{qN+1}",
        "w_0 does not exist, and w_{qN} is the iterate at the last step of the epoch before",
    ),
    Repair(
        "algorithm-2-g-nodes",
        "every step i of a node has the anchor w_{qN} and the permutation of the present epoch q",
        "each step has the anchor and the permutation of its own epoch, as section 4 defines F^G",
        "a node that straddles epochs would change its meaning while it is kept, and equation 3 would not hold",
    ),
    Repair(
        "algorithm-2-r-nodes",
        "the same for F^r",
        "each step has the anchor and the permutation of its own epoch",
        "as algorithm-2-g-nodes",
    ),
    Repair(
        "algorithm-2-delta-nodes",
        "the same for F^Delta, with the anchors w_{qN} and w_{(q-1)N}",
        "each step has the anchor of its own epoch, the one before that, and its own permutation",
        "as algorithm-2-g-nodes",
    ),
    Repair(
        "algorithm-2-node-names",
        "zeta_t^G, zeta_t^r, zeta_t^Delta, sampled for every k under one name",
        "one Gaussian for each node",
        "section 4 and appendix E give every node its own noise",
    ),
    Repair(
        "algorithm-2-update",
        "w_t = w_{t-1} - eta m^_t / |m^_t|",
        "w_{t+1} = w_t - eta m^_t / |m^_t|, as in Algorithm 1",
        "the r nodes of step t hold the gradient at w_t, so w_t must be there before m^_t is",
    ),
)
"""All changes to the box of Algorithm 2, in the order of its lines. Algorithm 4 has a separate list."""


class SrRun(SteppedRun):
    """State of a run of Algorithm 2; subclasses compute the gradients.

    ``tape`` (n, d): unit Gaussians to use instead of drawing them, with the rows of ``sr_nsgd.noise.tape_layout(N,
    T)``. Shapes: ``start`` (d,), ``schedule`` (T,).
    """

    def __init__(
        self,
        examples: int,
        start: Vector,
        parameters: SrParameters,
        seed: Seed,
        tape: Tape | None,
        schedule: Indices | None,
        keep: bool,
    ) -> None:
        self.parameters = p = parameters
        examples = check.whole(1, examples=examples)
        vectors = 2 * state_floats(examples, p.steps, 1) + (2 * p.steps if keep else 0)
        super().__init__(
            p.steps,
            examples,
            start,
            p.ordering,
            seed,
            schedule=schedule,
            keep=keep,
            vectors=vectors,
            counters=2,
        )
        d = len(self._w)
        rows = tape_rows(examples, p.steps)
        tape = np.empty((0, d)) if tape is None else check.array(rows, d, tape=tape)
        self._noise = NodeNoise(
            p.deviations(examples), tape, NO_WORDS, self._noise_rng, np.zeros(d)
        )
        self._numbers = new_sr_numbers(p, examples)
        self._state = new_sr_state(
            examples, p.steps, self._w, self._iterates, self._done
        )

    @property
    def momenta(self) -> Matrix:
        """m_1, ..., m_t without noise, shape (t, d); no rows if they were not stored. A read-only view."""
        return read_only(self._state.momenta[0, : self.t])

    @property
    def released(self) -> Matrix:
        """m^_1, ..., m^_t, shape (t, d); no rows if they were not stored. A read-only view."""
        return read_only(self._state.momenta[1, : self.t])

    @property
    def schedule(self) -> Indices:
        """The example of each step 1..T, shape (T,): the given schedule, or the one drawn from the seed."""
        order = self._order
        p = self.parameters
        if len(order.fixed_schedule):
            return order.fixed_schedule.copy()
        return draw_schedule(len(order.permutation), p.steps, p.ordering, self._seed)

    @property
    def deviations(self) -> Vector:
        """Standard deviations of nodes, shape (4,): G up to step 2N, G after it, Delta, r; in units of the gradient."""
        return self._noise.deviations.copy()

    def _fail(self, failed: int) -> None:
        """Raise an error that says what was not finite at step ``self.t`` + 1."""
        gradients = self._state.gradients[: 3 if failed == BAD_GRADIENT else 0]
        self._refuse(gradients, self._state.m_hat, self.t + 1)


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
    """Do the steps ``first <= t <= last`` of Algorithm 2; return 0, or the error code of a failed ``sr_step``."""
    N = order.permutation.shape[0]
    rows = x.reshape(x.size)
    p = np.uint64(x.shape[1])
    gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done = (
        state
    )
    for t in range(first, last + 1):
        n = example_of(t, order)
        prefetch_next_example(t, order, rows, p)
        gradient(anchors[0], x[n], y[n], gradients[G])
        if t > N:
            gradient(anchors[1], x[n], y[n], gradients[DELTA])
        gradient(w, x[n], y[n], gradients[R])
        failed = sr_step(
            t,
            numbers,
            noise,
            gradients,
            anchors,
            left,
            nodes,
            stream,
            w,
            m,
            m_hat,
            iterates,
            momenta,
            done,
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
                self._compiled,
                self._x,
                self._y,
                first,
                last,
                self._order,
                self._numbers,
                self._noise,
                self._state,
            )
        if failed:
            self._fail(failed)


class SrNsgdCallable(FunctionRun, SrRun):
    """Sensitivity-reduced NSGD on a Python function, for example a PyTorch or JAX model, a simulator, or a closure.

    Parameters
    ----------
    gradient : callable
        As in ``DpNsgdCallable``; it is called twice per step in the first epoch and
        three times per step after it.
    examples, start, parameters, seed, tape, schedule, keep
        As in ``SrRun``.

    Raises
    ------
    ArgumentError
        As in ``DpNsgdCallable``.

    Notes
    -----
    Source: Algorithm 2.
    """

    def __init__(
        self,
        gradient: IndexGradient,
        examples: int,
        start: Vector,
        parameters: SrParameters,
        *,
        seed: Seed = 0,
        tape: Tape | None = None,
        schedule: Indices | None = None,
        keep: bool = False,
    ) -> None:
        super().__init__(examples, start, parameters, seed, tape, schedule, keep)
        self._set_gradient(gradient)
        self._sr_step = for_types_of(
            sr_step, 1, self._numbers, self._noise, *self._state
        )

    def _step(self, t: int, n: int) -> None:
        state = self._state
        self._write_gradient(state.anchors[0], n, t, state.gradients[G])
        if t > len(self._order.permutation):
            self._write_gradient(state.anchors[1], n, t, state.gradients[DELTA])
        self._write_gradient(state.w, n, t, state.gradients[R])
        failed = self._sr_step(t, self._numbers, self._noise, *state)
        if failed:
            self._fail(failed)
