"""DP-SGD and the assumptions of its accounting; `dpverify conform` compares them."""

from functools import partial

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise

CLIP, SIGMA, BATCH = 0.7, 1.1, 16


def step(state, gradients, rng, clip=CLIP):
    """Clip each gradient, sum them, add noise, and divide by the expected batch size."""
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    total = (gradients * np.minimum(1, clip / np.maximum(norms, 1e-12))).sum(axis=0)
    return state, (total + SIGMA * clip * rng.standard_normal(total.shape)) / BATCH


def batches(examples, steps, rng):
    """Draw Poisson samples: each batch has each example independently with the same probability."""
    return (np.flatnonzero(rng.random(examples) < BATCH / examples) for _ in range(steps))


def at_clip(clip):
    """Return the optimizer for a clip length. dpverify uses this function to test a second clip length."""
    return PrivateOptimizer(partial(step, clip=clip), batches=batches, at_clip=at_clip)


def make():
    """Return the optimizer and its promise, for `dpverify conform docs/examples/my_optimizer.py:make`."""
    promise = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, sampling="poisson", examples=200, batch=BATCH)
    return at_clip(CLIP), promise
