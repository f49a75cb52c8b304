"""Algorithm 1's noise as a stream: one Gaussian vector per step, O(log T) vectors of state.

The paper draws a Gaussian for every node of the tree in advance and sums those of
COMPOSE(1, t) at each step, with the decay (1 - alpha)^{t - z} for a node [y, z]. Since
COMPOSE(1, t) is COMPOSE(1, t - lowbit(t)) and the node [t - lowbit(t) + 1, t],

    NOISE_t = (1 - alpha)^lowbit(t) NOISE_{t - lowbit(t)} + zeta_t,        NOISE_0 = 0,

where zeta_t is the Gaussian of the node that ends at t with length lowbit(t). Every step uses exactly one node that no
earlier step has used. So a run needs T Gaussian vectors, and half of the paper's nodes are never used. The literal form
is in ``tree_noise.literal``. Both forms agree for the same tape, whose row t - 1 is zeta_t in units of the node's
deviation.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import kernel, step_kernel
from dpverify.kernels.normal import (
    Words,
    fill_normal_from,
    has_words,
    put_words,
    take_words,
    wrapping,
)
from dpverify.kernels.tape import fill_normal
from dpverify.kernels.typing import Matrix, Tape, Vector
from dpverify.kernels.vector import copy_into

LEVELS = 63  # Length of a table with one decay per level

BLOCK = 16384
"""Count of numbers drawn before they are combined: few enough for a near cache, enough for steady writes."""


@kernel
def decays(alpha: float) -> Vector:
    """Return ``(1 - alpha)^(2^k)`` for each level k, shape (LEVELS,)."""
    out, power = np.empty(LEVELS), 1.0 - alpha
    for k in range(out.shape[0]):
        out[k] = power
        power *= power
    return out


@step_kernel
def next_noise(
    before: int,
    decay: float,
    past: Vector,
    p: np.uint64,
    scale: float,
    out: Vector,
    i: np.uint64,
    d: np.uint64,
) -> None:
    """Turn zeta_t / scale, which starts at index i of ``out``, into NOISE_t.

    ``before`` is t - lowbit(t), and NOISE_before starts at index p of ``past``, which is not read if ``before`` is 0.
    Indices and ``d`` are unsigned, as a check for negative indices would prevent vectorization of the loop.
    """
    if before == 0:
        for j in range(d):
            out[i + j] = scale * out[i + j]
    else:
        for j in range(d):
            out[i + j] = decay * past[p + j] + scale * out[i + j]


@step_kernel
def next_two(
    decay: float, one_step: float, p: np.uint64, scale: float, out: Vector, i: np.uint64, d: np.uint64
) -> None:  # fmt: skip
    """Do what ``next_noise`` does for an even t and for t + 1, whose NOISE_before is NOISE_t, within ``out``.

    At d = 10 the overhead of a call is larger than the time for the numbers of a row.
    """
    for j in range(d):
        noise = decay * out[p + j] + scale * out[i + j]
        out[i + j] = noise
        out[i + d + j] = one_step * noise + scale * out[i + d + j]


@step_kernel
def slot_noise(t: int, decay: Vector, scale: float, slots: Matrix) -> None:
    """Turn zeta_t / scale, in the row of ``slots`` for the level of t, into NOISE_t in place.

    ``slots`` (rows, d): row k is NOISE_s of the last s whose lowest bit is 2^k. They always include NOISE_{t -
    lowbit(t)}, because no later step before t has the same lowest bit. Shapes: ``decay`` (LEVELS,).
    """
    k = level(t)
    before = t - (1 << k)
    d = np.uint64(slots.shape[1])
    flat = slots.reshape(slots.size)
    next_noise(
        before,
        decay[k],
        flat,
        np.uint64(level(before)) * d,
        scale,
        flat,
        np.uint64(k) * d,
        d,
    )


@kernel
def combine_rows(
    first: int,
    last: int,
    decay: Vector,
    scale: float,
    slots: Matrix,
    start: int,
    out: Matrix,
) -> None:
    """Turn unit Gaussians into NOISE_t, in place, for the steps ``first <= t <= last``.

    Row t - 1 - start of ``out`` is for step t; rows before ``first`` already contain NOISE. ``slots`` (n, d): row k is
    NOISE_s of the last s <= start whose lowest bit is 2^k; not read if ``start`` is 0. Shapes: ``decay`` (LEVELS,),
    ``out`` (n, d).
    """
    d = np.uint64(out.shape[1])
    t = first
    flat = out.reshape(out.size)
    flat_slots = slots.reshape(slots.size)
    while t <= last:
        k = level(t)
        i = np.uint64(t - 1 - start) * d
        before = t - (1 << k)
        if before <= start:
            next_noise(
                before,
                decay[k],
                flat_slots,
                np.uint64(level(before)) * d,
                scale,
                flat,
                i,
                d,
            )
        elif k == 0 or t == last:
            next_noise(
                before,
                decay[k],
                flat,
                np.uint64(before - 1 - start) * d,
                scale,
                flat,
                i,
                d,
            )
        else:
            next_two(
                decay[k], decay[0], np.uint64(before - 1 - start) * d, scale, flat, i, d
            )
            t += 1
        t += 1


@kernel
def stream_noise(tape: Tape, alpha: float, scale: float, out: Matrix) -> None:
    """Write NOISE_1..NOISE_T into ``out`` from a tape, both (T, d); tape row t - 1 is for the node that ends at t."""
    T, d = out.shape
    decay = decays(alpha)
    none = np.empty((0, d))
    rows = max(1, BLOCK // d)
    for done in range(0, T, rows):
        last = min(T, done + rows)
        for t in range(done, last):
            copy_into(out[t], tape[t])
        combine_rows(done + 1, last, decay, scale, none, 0, out)


@kernel
def draw_noise(rng: Generator, alpha: float, scale: float, out: Matrix) -> None:
    """Do what ``stream_noise`` does, with Gaussians drawn as they are needed: those of ``normal_tape(rng, T, d)``."""
    T, d = out.shape
    decay = decays(alpha)
    none = np.empty((0, d))
    rows = max(1, BLOCK // d)
    flat = out.reshape(T * d)
    for done in range(0, T, rows):
        last = min(T, done + rows)
        fill_normal(rng, flat[done * d : last * d])
        combine_rows(done + 1, last, decay, scale, none, 0, out)


@kernel
def draw_noise_from(words: Words, alpha: float, scale: float, out: Matrix) -> None:
    """Do what ``draw_noise`` does, faster, from the state of an SFC64 generator: bit for bit the same numbers."""
    T, d = out.shape
    decay = decays(alpha)
    none = np.empty((0, d))
    rows = max(1, BLOCK // d)
    flat = out.reshape(T * d)
    for done in range(0, T, rows):
        last = min(T, done + rows)
        fill_normal_from(words, flat[done * d : last * d])
        combine_rows(done + 1, last, decay, scale, none, 0, out)


@kernel
def draw_noises_from(words: Words, alpha: float, scale: float, out: Matrix) -> None:
    """Fill ``out``, shape (n, T, d), with n independent trajectories, drawn in turn from one SFC64 generator."""
    for i in range(out.shape[0]):
        draw_noise_from(words, alpha, scale, out[i])


@kernel
def whiten_into(noise: Matrix, alpha: float, scale: float, out: Matrix) -> None:
    """Write the unit Gaussians of a trajectory into ``out``, shape (T, d): the inverse of ``stream_noise``."""
    T, d = noise.shape
    decay = decays(alpha)
    for t in range(1, T + 1):
        k = level(t)
        before = t - (1 << k)
        for j in range(d):
            past = decay[k] * noise[before - 1, j] if before > 0 else 0.0
            out[t - 1, j] = (noise[t - 1, j] - past) / scale


def noise_from_tape(
    tape: Tape, *, alpha: float, scale: float, out: Matrix | None = None
) -> Matrix:
    """Return NOISE_1..NOISE_T from a tape.

    Parameters
    ----------
    tape : (T, d) array of float
        Unit Gaussians; row t - 1 belongs to the node that ends at t with length
        lowbit(t).
    alpha : float
        Momentum weight, in (0, 1].
    scale : float
        Standard deviation of a node, at least 0, in units of the gradient.
    out : (T, d) array of float, optional
        Receives the noise, and is returned; contiguous, and not overlapping the tape. A
        new array by default. The system clears the pages of a new array, which in
        repeated calls may take twice as long as computing the noise.

    Returns
    -------
    (T, d) array of float
        Row t - 1 is NOISE_t.

    Raises
    ------
    ArgumentError
        If a number is out of range, the tape has a wrong shape or an entry that is not
        finite, or ``out`` cannot hold the result.

    Notes
    -----
    Source: Algorithm 1, "NOISE <- NOISE + (1 - alpha)^{t - S_i[1]} Z[S_i]".
    """
    tape = check.array(None, None, tape=tape)
    alpha = check.weight(alpha=alpha)
    scale = check.not_negative(scale=scale)
    noise = check.output_array(*tape.shape, inputs=(tape,), out=out)
    stream_noise(tape, alpha, scale, noise)
    return noise


def noise_from_generator(
    rng: Generator,
    steps: int,
    dimension: int,
    *,
    alpha: float,
    scale: float,
    out: Matrix | None = None,
) -> Matrix:
    """Return NOISE_1..NOISE_T, with Gaussians drawn as they are needed.

    Parameters
    ----------
    rng : Generator
        Source of randomness; T*d normal numbers are drawn from it.
    steps, dimension : int
        T and d, at least 1.
    alpha, scale, out
        As in :func:`noise_from_tape`.

    Returns
    -------
    (T, d) array of float
        Row t - 1 is NOISE_t; bit for bit what
        ``noise_from_tape(normal_tape(rng, T, d))`` gives.

    Raises
    ------
    ArgumentError
        If a number is out of range, the trajectory does not fit in memory, or ``out``
        cannot hold it.
    """
    steps = check.whole(1, steps=steps)
    dimension = check.whole(1, dimension=dimension)
    check.memory(steps * dimension * (out is None), steps=steps, dimension=dimension)
    alpha = check.weight(alpha=alpha)
    scale = check.not_negative(scale=scale)
    noise = check.output_array(steps, dimension, out=out)
    if has_words(rng):
        words = take_words(rng)
        with wrapping():
            draw_noise_from(words, alpha, scale, noise)
        put_words(rng, words)
    else:
        draw_noise(rng, alpha, scale, noise)
    return noise


def whiten(noise: Matrix, *, alpha: float, scale: float) -> Tape:
    """Recover the unit Gaussians of a trajectory: ``(NOISE_t - (1-alpha)^lowbit(t) NOISE_{t-lowbit(t)}) / scale``.

    Parameters
    ----------
    noise : (T, d) array of float
        Row t - 1 is NOISE_t.
    alpha, scale
        As in :func:`noise_from_tape`, but the deviation must be above 0.

    Returns
    -------
    (T, d) array of float
        Independent standard Gaussians if and only if ``noise`` has the law that
        Algorithm 1 defines.

    Raises
    ------
    ArgumentError
        If a number is out of range, or ``noise`` has a wrong shape or an entry that is
        not finite.
    """
    noise = check.array(None, None, noise=noise)
    out = np.empty_like(noise)
    whiten_into(noise, check.weight(alpha=alpha), check.positive(scale=scale), out)
    return out
