"""What one example changes in a released vector: with the same generator noise cancels, and the rest must be small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.conform.guarded import copied
from dpverify.conform.records import ConformanceTest, PrivateOptimizer, Promise
from dpverify.foreign import ForeignError

LENGTHS = (0.5, 1.0, 1.5, 30.0, 1e6)  # of gradients, in clip lengths
SIZES = (0, 1, 2, 5, 20)  # of the rest of the batch; four batches as well
MOST_STEPS = 8  # that are looked at
ROUNDING = 1e-5  # relative; float32 passes, and the noise has a test of its own


def sensitivity_tests(optimizer: PrivateOptimizer, promise: Promise, seed: int) -> Iterator[ConformanceTest]:
    """Search for the largest change, over batches and what one of their examples becomes."""
    largest = 0.0
    finite = 0  # pairs of releases
    where = broken = not_finite = message = ""
    for words, rest, one, other in _cases(promise, np.random.default_rng(seed)):
        for warm in (0, 2) if len(rest) else range(min(promise.steps, MOST_STEPS)):
            try:
                a, b = (_released(optimizer, promise, rest, more, seed, warm) for more in (one, other))
            except ForeignError as error:  # whatever it raises is the finding
                message = message or str(error)
                broken = broken or f"{words}: {error}"
                continue
            if not (np.isfinite(a).all() and np.isfinite(b).all()):
                not_finite = not_finite or words
                continue
            finite += 1
            change = float(np.linalg.norm(a - b))
            if change > largest:
                largest, where = change, words
    allowed = promise.sensitivity
    found = f"one example changes the released vector by {largest:.6g}; at most {allowed:.6g} is allowed ({where})"
    if not finite:
        found = "not tested: nothing that is released is finite"
    elif not_finite:
        found += f"; what is released is not finite for some batches ({not_finite})"
    small = largest <= allowed * (1 + ROUNDING)
    because = "finite numbers" if small and not_finite else "every batch" if small and broken else ""
    passed = finite > 0 and not not_finite and small
    yield ConformanceTest("sensitivity", passed, found, "what is among the batches tried", because=because)
    sees = "an empty batch that raises"
    yield ConformanceTest("every batch", not broken, broken or "no batch raises", sees, error=message)


def _cases(promise: Promise, rng: np.random.Generator) -> Iterator[tuple[str, Any, Any, Any]]:
    d, clip = promise.dimension, promise.clip
    none, axis, slant = np.zeros((0, d)), np.eye(1, d), rng.standard_normal((1, d))
    slant /= np.linalg.norm(slant)
    for size in sorted({*SIZES, 4 * promise.batch}):
        others = {
            "zero": np.zeros((size, d)), "opposite": np.tile(-clip * axis, (size, 1)),
            "alike": np.tile(clip * axis, (size, 1)), "huge and opposite": np.tile(-1e6 * clip * axis, (size, 1)),
            "random": clip * rng.standard_normal((size, d)),
        }  # fmt: skip
        for kind, rest in others.items() if size else [("none", none)]:
            for length in LENGTHS:
                for direction in (axis, slant):
                    alone = f"one gradient of {length:g} clip lengths"
                    words = f"{alone} with {size} others ({kind})" if size else f"{alone} alone"
                    one = length * clip * direction
                    if promise.neighbours == "add-remove":
                        yield words, rest, one, none
                    else:
                        yield words + ", turned round", rest, one, -one
                        yield words + ", set to 0", rest, one, np.zeros((1, d))


def _released(
    optimizer: PrivateOptimizer, promise: Promise, rest: Any, one: Any, seed: int, warm: int
) -> np.ndarray[Any, Any]:
    """The released vector of a step after some steps that are alike."""
    rng, state = np.random.default_rng([seed, 1]), optimizer.start()
    for _ in range(warm):
        state, _ = optimizer.step(state, np.ones((2, promise.dimension)) * promise.clip, rng)
    _, released = optimizer.step(copied(state), np.concatenate([rest, one]), rng)
    return released
