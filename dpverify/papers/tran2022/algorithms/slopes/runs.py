"""Whole runs of Algorithm 1 on a slope, of any length, without storing anything that grows with T.

The steps are those of ``dp_nsgd.optimizer``, with the same streams of a seed, on
``problems.worst_slope``, where only the first coordinate has a gradient. A run returns means over its
steps: the expected gradient norm at w-hat, which is uniform on w_1 .. w_T, is the expectation of such a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import Seed, generator, shuffle
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Ordering, Parameters
from dpverify.papers.tran2022.algorithms.tree_noise.stream import LEVELS, fill_decay
from dpverify.problems.worst_slope import Slope, slope_at

GRADIENT, SAMPLED, NOISE, ERROR, LAST, FARTHEST = range(6)
"""Places in what a run returns."""


def last_shuffle(problem: Slope, ordering: Ordering, steps: int) -> int:
    """Last step at which a run may shuffle its examples, if an epoch begins there; 0: they are all the same."""
    if not problem.offsets.any():
        return 0
    return steps if ordering == "fresh" else 1


@kernel
def write_means(
    steps: int, gradient: float, sampled: float, noise: float, error: float, last: float, farthest: float, out: Vector
) -> None:
    """Write what a run is summed up to into ``out``, shape (6,): means from the four sums over its steps."""
    out[GRADIENT], out[SAMPLED] = gradient / steps, sampled / steps
    out[NOISE], out[ERROR] = noise / steps, error / steps
    out[LAST], out[FARTHEST] = last, farthest


@kernel
def run_slope(
    steps: int, numbers: Vector, offsets: Vector, order: Indices, shuffled: int, order_rng: Generator,
    noise_rng: Generator, alpha: float, eta: float, scale: float, decay: Vector, slots: Matrix, out: Vector,
) -> None:  # fmt: skip
    """Run Algorithm 1 on a slope and write means over the run into ``out``.

    Parameters
    ----------
    steps : int
        T, at least 1.
    numbers : (4,) array of float
        s, D, L and r of the slope.
    offsets : (N,) array of float
        a_n.
    order : (N,) array of int
        The permutation; shuffled at each epoch's first step, if that is not beyond ``shuffled``.
    shuffled : int
        From ``last_shuffle``.
    order_rng, noise_rng : Generator
        For the permutations and for the noise.
    alpha, eta, scale : float
        Momentum weight, length of a step, deviation of a node.
    decay : (LEVELS,) array of float
        From ``fill_decay``.
    slots : (floor(log2 T) + 1, d) array of float
        Row k is the last NOISE_s whose lowest bit is 2^k; zero at the start.
    out : (6,) array of float
        Receives the means over t of the norms of grad F(w_t), m_t - grad F(w_t), m^_t - m_t and m^_t - grad F(w_t);
        then the first coordinate of w_{T+1}, and the largest distance of it from 0 on the way.
    """
    n_examples, d = offsets.shape[0], slots.shape[1]
    zeros = np.zeros(256, dtype=np.int64)  # level(t) from the last byte of t: fewer branches that are mispredicted
    for t in range(1, 256):
        zeros[t] = level(t)
    u, m, beta = 0.0, 0.0, 1.0 - alpha
    gradients, sampled, noises, errors, farthest = 0.0, 0.0, 0.0, 0.0, 0.0
    i = 0
    for t in range(1, steps + 1):
        if i == n_examples:
            i = 0
        if i == 0 and t <= shuffled:
            shuffle(order_rng, order)
        full = slope_at(u, numbers)
        m = beta * m + alpha * (full + offsets[order[i]])
        i += 1
        rest = 0.0  # square of the noise beside the first coordinate
        noise = 0.0
        if scale > 0.0:
            k = zeros[t & 255] if t & 255 else level(t)
            before = t - (1 << k)
            if before == 0:
                for j in range(d):
                    slots[k, j] = scale * noise_rng.standard_normal()
            else:
                past, c = zeros[before & 255] if before & 255 else level(before), decay[k]
                for j in range(d):
                    slots[k, j] = c * slots[past, j] + scale * noise_rng.standard_normal()
            noise = slots[k, 0]
            for j in range(1, d):
                rest += slots[k, j] * slots[k, j]
        m_hat = m + noise
        length = math.sqrt(m_hat * m_hat + rest) if d > 1 else abs(m_hat)
        gradients += abs(full)
        sampled += abs(m - full)
        if d > 1:
            noises += math.sqrt(noise * noise + rest)
            errors += math.sqrt((m_hat - full) * (m_hat - full) + rest)
        else:
            noises += abs(noise)
            errors += abs(m_hat - full)
        if length > 0.0:
            u -= eta * (m_hat / length)
        farthest = max(farthest, abs(u))
    write_means(steps, gradients, sampled, noises, errors, u, farthest, out)


@dataclass(frozen=True)
class RunMeans:
    """What a run is summed up to."""

    gradient: float  # Mean over t = 1 .. T of the norm of grad F(w_t), in units of the gradient.
    sampled: float  # means of the norms of m_t - grad F(w_t), m^_t - m_t and m^_t - grad F(w_t)
    noise: float
    error: float
    last: float  # first coordinate of w_{T+1}
    farthest: float  # largest distance of the first coordinate from its start


def slope_run(problem: Slope, parameters: Parameters, seed: Seed = 0, *, direction: float = 1.0) -> RunMeans:
    """Run Algorithm 1 on a slope.

    Source: Algorithm 1. The iterates are those of ``DpNsgd`` up to the rounding of one division a step.
    """
    p, out, decay = parameters, np.empty(6), np.empty(LEVELS)
    fill_decay(p.alpha, decay)
    slots = np.zeros((p.steps.bit_length(), problem.dimension))
    run_slope(
        p.steps, problem.numbers, problem.offsets, np.arange(problem.examples),
        last_shuffle(problem, p.ordering, p.steps), generator(seed, 0), generator(seed, 1), p.alpha, direction * p.eta,
        p.node_deviation(problem.examples), decay, slots, out,
    )  # fmt: skip
    return RunMeans(*out.tolist())
