"""Noise of the tree: Algorithm 1's whole trajectory, against drawing the same normals."""

from __future__ import annotations

from functools import partial
from typing import Any

from dpverify.bench.case import BenchCase, Forms, Target, aligned, sweep

ALPHA = 0.1
SCALE = 1.0

STORED = ("draw", "noise", "noise, library's draw", "noise, not stored", "our draw")
ADDED_UP = ("draw, add up", "noise", "noise, not stored")
"""The reference only adds up the library's numbers, so that the time to store the output counts against the noise."""

A_STEP = ("draw", "call", "call, into an array", "call, our draw")


def _trajectory(names: tuple[str, ...], *, seed: int, T: int, d: int) -> Forms:
    """Draw the same normals by the library and by our sampler; add them up, store them, or compute noise from them."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import draw_only, stream_in_blocks
    from dpverify.kernels.normal import fill_normal_from, take_words
    from dpverify.kernels.tape import fill_normal, generator
    from dpverify.papers.tran2022.algorithms.tree_noise.stream import (
        BLOCK,
        draw_noise,
        draw_noise_from,
    )

    rng = generator(seed)
    words = take_words(generator(seed))
    out = aligned(T, d)
    slots = aligned(T.bit_length(), d)
    block = aligned(min(T, max(1, BLOCK // d)), d)
    flat = out.reshape(-1)
    library = np.empty((T, d))
    draw_noise(generator(seed), ALPHA, SCALE, library)
    draw_noise_from(take_words(generator(seed)), ALPHA, SCALE, out)
    if not np.array_equal(out, library):
        raise ValueError("the two draws differ")
    del library
    forms = {
        "draw": lambda: fill_normal(rng, flat),
        "draw, add up": lambda: draw_only(rng, T * d),
        "noise": lambda: draw_noise_from(words, ALPHA, SCALE, out),
        "noise, library's draw": lambda: draw_noise(rng, ALPHA, SCALE, out),
        "noise, not stored": lambda: stream_in_blocks(
            words, T, ALPHA, SCALE, slots, block
        ),
        "our draw": lambda: fill_normal_from(words, flat),
    }
    return {name: forms[name] for name in names}


def _literal(*, seed: int, T: int, d: int) -> Forms:
    """Compare the stream with adding up all nodes of COMPOSE(1, t) at every step, on the same stored numbers."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import literal_sums
    from dpverify.kernels.tape import fill_normal, generator
    from dpverify.papers.tran2022.algorithms.tree_noise.stream import stream_noise

    tape, out, literal_out = (aligned(T, d) for _ in range(3))
    fill_normal(generator(seed), tape.reshape(-1))
    stream_noise(tape, ALPHA, SCALE, out)
    literal_sums(tape, ALPHA, literal_out)
    if not np.allclose(out, literal_out, rtol=0, atol=1e-12 * T):
        raise ValueError("the stream and the literal sums differ")
    return {
        "stream": lambda: stream_noise(tape, ALPHA, SCALE, out),
        "literal": lambda: literal_sums(tape, ALPHA, literal_out),
    }


def _steps(*, seed: int, d: int, calls: int) -> Forms:
    """Compute noise with one Python call per step, as an optimizer in Python does."""
    from itertools import repeat

    from dpverify.kernels.tape import fill_normal, generator
    from dpverify.papers.tran2022.algorithms.tree_noise.steps import TreeNoise

    rng = generator(seed)
    numbers = aligned(calls * d)
    out = aligned(d)

    def run(*arguments: Any, fast: bool = False) -> None:
        noise = TreeNoise(calls, d, alpha=ALPHA, scale=SCALE, rng=rng, fast=fast)
        step = noise.step
        for _ in repeat(None, calls):
            step(*arguments)

    return {
        "draw": lambda: fill_normal(rng, numbers),
        "call": run,
        "call, into an array": lambda: run(out),
        "call, our draw": lambda: run(fast=True),
    }


def _one_step(*, seed: int, T: int, d: int) -> Forms:
    return _steps(seed=seed, d=d, calls=T)


def _numbers(*, T: int, d: int) -> float:
    return float(T * d)


CASES: tuple[BenchCase, ...] = (
    *sweep(
        BenchCase(
            "trajectory",
            "Whole trajectory in one kernel, T d = 1,000,000, output stored, against the library's draw",
            partial(_trajectory, STORED),
            forms=STORED,
            item="normal",
            targets=[
                Target("noise", at_most=1.2),
                Target("noise", to="our draw", at_most=1.2),
            ],
        ),
        "d",
        (1000, 10_000, 100_000),
        work=_numbers,
        also=lambda d: {"T": int(1_000_000 // d)},
    ),
    *sweep(
        BenchCase(
            "trajectory-d-10",
            "Whole trajectory in one kernel at d = 10, output stored, against the library's draw",
            partial(_trajectory, STORED),
            forms=STORED,
            parameters={"d": 10},
            item="normal",
            targets=[
                Target("noise", at_most=1.4),
                Target("noise", to="our draw", at_most=1.2),
            ],
        ),
        "T",
        # for smaller T, passing the library's generator costs as much as drawing
        (10_000, 100_000, 1_000_000),
        work=_numbers,
    ),
    *sweep(
        BenchCase(
            "against-a-sum",
            "The same against numbers that the library draws and adds up; only the noise is stored",
            partial(_trajectory, ADDED_UP),
            forms=ADDED_UP,
            item="normal",
        ),
        "d",
        (10, 1000, 100_000),
        work=_numbers,
        also=lambda d: {"T": int(1_000_000 // d)},
    ),
    *sweep(
        BenchCase(
            "literal",
            "One multiply-add per step, against all nodes of COMPOSE(1, t)",
            _literal,
            limit_is_ours=True,
            forms=("stream", "literal"),
            parameters={"d": 100},
            item="step",
        ),
        "T",
        (255, 1023, 4095),
        work=lambda *, T, d: float(T),
    ),
    BenchCase(
        "one-call-a-step",
        "One Python call per step, d = 10",
        _steps,
        forms=A_STEP,
        parameters={"d": 10, "calls": 100_000},
        work=100_000,
        item="step",
        targets=[Target("call", at_most=0.8e-6, kind="seconds")],
    ),
    *sweep(
        BenchCase(
            "memory-of-steps",
            "Memory of the noise, one call per step",
            _one_step,
            forms=A_STEP,
            parameters={"d": 10_000},
            item="step",
            targets=[
                Target(
                    "call",
                    at_most=0.3,
                    kind="memory-exponent",
                    words="vectors kept: log2(T)",
                )
            ],
        ),
        "T",
        # stored vectors: 4, 7, 10; for small d, a block that is drawn ahead hides them
        (15, 127, 1023),
        work=lambda *, T, d: float(T),
    ),
)
