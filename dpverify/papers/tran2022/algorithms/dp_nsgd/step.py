"""One step of Algorithm 1, from the gradient on, and what it takes; see ``dp_nsgd.optimizer``."""

from __future__ import annotations

from typing import NamedTuple

from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import step_kernel
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import copy_into, move
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.tree_noise.stream import decays, slot_noise


class NsgdNumbers(NamedTuple):
    """What every step takes, and none changes."""

    alpha: float  # momentum weight
    eta: float  # length of a step
    scale: float  # standard deviation of a node's noise; 0: none
    decay: Vector  # (LEVELS,) from ``decays``


class NsgdState(NamedTuple):
    """What a step changes."""

    gradient: Vector  # (d,) of the step's example, at w_t
    w: Vector  # (d,) w_t, which becomes w_{t+1}
    m: Vector  # (d,) m_{t-1}, which becomes m_t
    m_hat: Vector  # (d,) receives m^_t
    # (floor(log2 T) + 1, d) Row k is the last NOISE_s whose lowest bit is 2^k; zero at the start. Before step t the row
    # of its level receives the unit Gaussian of the node that ends at t with length lowbit(t), if there is noise.
    slots: Matrix
    iterates: Matrix  # (T + 1, d) row t receives w_{t+1}; or (0, d): nothing is kept
    done: Indices  # (1,) receives t; it changes with w, so that an interrupted run knows where it is


def new_numbers(parameters: Parameters, examples: int) -> NsgdNumbers:
    """Compute what every step of a run takes."""
    p = parameters
    return NsgdNumbers(p.alpha, p.eta, p.node_deviation(examples), decays(p.alpha))


@step_kernel
def noisy_step(
    t: int, numbers: NsgdNumbers, gradient: Vector, w: Vector, m: Vector, m_hat: Vector, slots: Matrix,
    iterates: Matrix, done: Indices,
) -> bool:  # fmt: skip
    """Do step t of Algorithm 1, from the gradient on. Whether m^_t is finite; where it is not, the step is not done.

    The arrays are the fields of ``NsgdState``, one by one: to hand the record on costs as much as a tenth of a step.
    """
    alpha, d, noise = numbers.alpha, w.shape[0], slots[level(t)]
    beta = 1.0 - alpha
    if numbers.scale > 0.0:
        slot_noise(t, numbers.decay, numbers.scale, slots)  # NOISE <- sum over COMPOSE(1, t)
    for j in range(d):
        m[j] = beta * m[j] + alpha * gradient[j]  # m_t <- (1 - alpha) m_{t-1} + alpha grad f(w_t, x_{pi_i^q})
        m_hat[j] = m[j] + noise[j]  # m^_t <- m_t + NOISE
    if not move(numbers.eta, m_hat, w):  # w_{t+1} <- w_t - eta m^_t / |m^_t|
        return False
    if iterates.shape[0] > 0:
        copy_into(iterates[t], w)
    done[0] = t
    return True
