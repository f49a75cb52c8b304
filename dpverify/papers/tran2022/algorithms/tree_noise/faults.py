"""Planted faults in ``stream_noise``, which the checks must detect.

A fault is called as ``fault(tape, alpha, scale, out)``, like the correct kernel, and does not change the tape. A node
is identified by its last step z: it is the node that ends at z with length lowbit(z), the only node ending there that
is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy import special

from dpverify.kernels import check
from dpverify.kernels.dyadic import level, lowbit
from dpverify.kernels.jit import kernel, python_of
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Intervals, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.composition import MOST_NODES, compose_into
from dpverify.papers.tran2022.algorithms.tree_noise.stream import stream_noise

# loading the checks computes the names of faults, which must not load compiled code
_length = python_of(lowbit)

NoiseKernel: TypeAlias = Callable[[Tape, float, float, Matrix], None]


@dataclass(frozen=True)
class NoiseFault:
    """A wrong noise kernel."""

    name: str  # short name, usable in an id
    text: str  # short description of the fault
    run: NoiseKernel  # ``run(tape, alpha, scale, out)``, as ``stream_noise``

    def __call__(self, tape: Tape, alpha: float, scale: float, out: Matrix) -> None:
        """Write the wrong NOISE_1..NOISE_T into ``out``; shapes as in ``stream_noise``."""
        self.run(tape, alpha, scale, out)


def scaled(factor: float = 1.02) -> NoiseFault:
    """Return a fault: noise with a wrong deviation."""
    return NoiseFault(
        f"scaled-{factor:g}",
        f"every node's deviation times {factor:g}",
        partial(_scaled, factor=factor),
    )


def node_missing(z: int, t: int | None = None) -> NoiseFault:
    """Return a fault: noise without one node, at step t or, if t is None, at all steps."""
    if t is None:
        return NoiseFault(
            f"missing-{z}",
            f"the noise of {_node(z)} is 0",
            partial(_row_times, z=z, factor=0.0),
        )
    _check_use(z, t)
    return NoiseFault(
        f"missing-{z}-at-{t}",
        f"step {t} leaves out {_node(z)}",
        partial(_term_times, z=z, t=t, steps=None),
    )


def decay_off(
    steps: int = 1, *, of_level: int | None = None, at: int | None = None
) -> NoiseFault:
    """Return a fault: past noise decays by ``(1 - alpha)^(lowbit(t) + steps)``, not by ``(1 - alpha)^lowbit(t)``."""
    check.whole(-1, steps=steps)
    where = (
        "every step" if of_level is None else f"steps with lowest bit {1 << of_level}"
    )
    where, name = (
        (where, "all" if of_level is None else f"level-{of_level}")
        if at is None
        else (f"step {at}", f"at-{at}")
    )
    text = f"the decay of the past is off by {steps:+d} at {where}"
    return NoiseFault(
        f"decay{steps:+d}-{name}",
        text,
        partial(_decay_off, steps=steps, of_level=of_level, at=at),
    )


def term_off(z: int, t: int, steps: int = 1) -> NoiseFault:
    """Return a fault: the term of node z in step t decays by ``(1 - alpha)^(t - z + steps)``."""
    _check_use(z, t)
    check.whole(z - t, steps=steps)
    text = f"the decay of {_node(z)} is off by {steps:+d} at step {t}"
    return NoiseFault(
        f"term{steps:+d}-{z}-at-{t}", text, partial(_term_times, z=z, t=t, steps=steps)
    )


def redrawn(z: int | None = None) -> NoiseFault:
    """Return a fault: nodes are drawn again at each use, so that only the joint law of the NOISE_t is wrong."""
    if z is None:
        return NoiseFault(
            "redrawn-all", "every node is drawn anew at each use", partial(_redraw, z=0)
        )
    if z < 2 or z % 2:
        raise check.ArgumentError(
            "z", z, "must be even and at least 2: the node of an odd step is used once"
        )
    return NoiseFault(
        f"redrawn-{z}", f"{_node(z)} is drawn anew at each use", partial(_redraw, z=z)
    )


def shared_across_coordinates() -> NoiseFault:
    """Return a fault: the noise is the same in every coordinate, which is right only if d = 1."""
    return NoiseFault("shared", "all coordinates get the noise of the first", _shared)


def wrong_law(law: Literal["uniform", "laplace", "sign"] = "laplace") -> NoiseFault:
    """Return a fault: noise that has the right covariance but is not Gaussian."""
    if law not in _QUANTILE:
        raise check.ArgumentError("law", law, f"must be one of {', '.join(_QUANTILE)}")
    return NoiseFault(
        f"law-{law}",
        f"nodes are {law} with the right variance",
        partial(_wrong_law, law=law),
    )


def lagged(steps: int = 1) -> NoiseFault:
    """Return a fault: step t gets NOISE_{t - steps}, and the first steps get 0."""
    return NoiseFault(
        f"lag-{steps}",
        f"step t gets the noise of step t - {steps}",
        partial(_lagged, steps=steps),
    )


def _node(z: int) -> str:
    return f"node [{z - _length(z) + 1}, {z}]"


def _check_use(z: int, t: int) -> None:
    if not z <= t < z + _length(z):
        raise check.ArgumentError(
            "t",
            t,
            f"must lie in [{z}, {z + _length(z) - 1}], the steps that use {_node(z)}",
        )


def _scaled(
    tape: Tape, alpha: float, scale: float, out: Matrix, *, factor: float
) -> None:
    stream_noise(tape, alpha, factor * scale, out)


def _row_times(
    tape: Tape, alpha: float, scale: float, out: Matrix, *, z: int, factor: float
) -> None:
    changed = tape.copy()
    changed[z - 1] *= factor
    stream_noise(changed, alpha, scale, out)


def _term_times(
    tape: Tape,
    alpha: float,
    scale: float,
    out: Matrix,
    *,
    z: int,
    t: int,
    steps: int | None,
) -> None:
    stream_noise(tape, alpha, scale, out)
    wrong = 0.0 if steps is None else (1.0 - alpha) ** (t - z + steps)
    out[t - 1] += (wrong - (1.0 - alpha) ** (t - z)) * scale * tape[z - 1]


def _decay_off(
    tape: Tape,
    alpha: float,
    scale: float,
    out: Matrix,
    *,
    steps: int,
    of_level: int | None,
    at: int | None,
) -> None:
    t = np.arange(1, len(tape) + 1)
    low = t & -t
    wrong = (
        (t == at)
        if at is not None
        else np.full(len(t), True)
        if of_level is None
        else low == 1 << of_level
    )
    stream_with_decays(tape, (1.0 - alpha) ** (low + steps * wrong), scale, out)


@kernel
def stream_with_decays(tape: Tape, decays: Vector, scale: float, out: Matrix) -> None:
    """Do what ``stream_noise`` does, with a decay per step, ``decays`` of shape (T,), instead of one per level."""
    for t in range(1, out.shape[0] + 1):
        before = t - (1 << level(t))
        for j in range(out.shape[1]):
            past = decays[t - 1] * out[before - 1, j] if before > 0 else 0.0
            out[t - 1, j] = past + scale * tape[t - 1, j]


def _redraw(tape: Tape, alpha: float, scale: float, out: Matrix, *, z: int) -> None:
    # The fault must be a function of the tape, so the bits of the tape are the seed of
    # the new Gaussians.
    seed = [int(word) for word in tape[-1:].copy().view(np.uint32)[0, :8]]
    nodes = np.empty((MOST_NODES, 2), dtype=np.int64)
    redraw_nodes(tape, alpha, scale, out, z, generator(seed), nodes)


@kernel
def redraw_nodes(
    tape: Tape,
    alpha: float,
    scale: float,
    out: Matrix,
    z: int,
    rng: Generator,
    nodes: Intervals,
) -> None:
    """Sum COMPOSE(1, t) at each step; draw the node that ends at ``z`` (0: every node) again after its first use."""
    T, d = out.shape
    for t in range(1, T + 1):
        count = compose_into(1, t, nodes)
        for j in range(d):
            out[t - 1, j] = 0.0
        for i in range(count):
            end = nodes[i, 1]
            decay = scale * (1.0 - alpha) ** (t - end)
            fresh = t > end and (z in (0, end))
            for j in range(d):
                out[t - 1, j] += decay * (
                    rng.standard_normal() if fresh else tape[end - 1, j]
                )


def _shared(tape: Tape, alpha: float, scale: float, out: Matrix) -> None:
    stream_noise(np.repeat(tape[:, :1], tape.shape[1], axis=1), alpha, scale, out)


_QUANTILE: dict[str, Callable[[Tape], Tape]] = {
    "uniform": lambda z: np.sqrt(12.0) * (special.ndtr(z) - 0.5),
    "laplace": lambda z: (
        -np.sign(z) * (np.log(2.0) + special.log_ndtr(-np.abs(z))) / np.sqrt(2.0)
    ),
    "sign": np.sign,
}
"""Functions from a standard Gaussian number to the number with the same rank under a law of mean 0 and variance 1."""


def _wrong_law(
    tape: Tape, alpha: float, scale: float, out: Matrix, *, law: str
) -> None:
    stream_noise(_QUANTILE[law](tape), alpha, scale, out)


def _lagged(tape: Tape, alpha: float, scale: float, out: Matrix, *, steps: int) -> None:
    stream_noise(tape, alpha, scale, out)
    out[steps:] = out[:-steps].copy()
    out[:steps] = 0.0
