"""DP-SGD, and what its accounting assumes; `dpverify conform` compares the two."""

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise

CLIP, SIGMA, BATCH = 1.0, 1.1, 16


def step(state, gradients, rng):
    """Clip each gradient, sum them, add noise, and divide by the expected batch size."""
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    total = (gradients * np.minimum(1, CLIP / np.maximum(norms, 1e-12))).sum(axis=0)
    return state, (total + SIGMA * CLIP * rng.standard_normal(total.shape)) / BATCH


def batches(examples, steps, rng):
    """Draw Poisson samples: each example independently with the same probability."""
    return (np.flatnonzero(rng.random(examples) < BATCH / examples) for _ in range(steps))


def make():
    """Return the optimizer and its promise, for `dpverify conform docs/examples/my_optimizer.py:make`."""
    promise = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, sampling="poisson", examples=200, batch=BATCH)
    return PrivateOptimizer(step, batches=batches), promise
