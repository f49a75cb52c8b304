"""OpenDP, opendp 0.16.0: its Gaussian measurement of a clipped sum, and its Laplace measurement for an audit."""

import numpy as np
import opendp.prelude as dp

from dpverify.conform import PrivateOptimizer, Promise

dp.enable_features("contrib")
CLIP, SIGMA, BATCH, EXAMPLES = 0.7, 1.1, 16, 208
EPSILON = 1.0
FINDINGS = {"make": ("documented", "noise is from the generator of the operating system")}


def measurement(clip):
    """Return OpenDP's Gaussian measurement of a vector of floats, for sums of vectors of this norm."""
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    return space >> dp.m.then_gaussian(SIGMA * clip)


def step(state, gradients, rng, clip=CLIP):
    """Clip each gradient, add them up, and release the sum with OpenDP's noise."""
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    total = (gradients * np.minimum(1, clip / np.maximum(norms, 1e-12))).sum(axis=0)
    return state, np.array(measurement(clip)(total.tolist())) / BATCH


def optimizer(clip):
    """Return the optimizer at a clip norm."""
    return PrivateOptimizer(lambda state, gradients, rng: step(state, gradients, rng, clip))


def make():
    """OpenDP, make_gaussian of a clipped sum: DP-SGD with Poisson batches of ours, in double precision."""
    small = {"dimension": 2, "steps": 2}  # each number is drawn exactly, which is slow
    promise = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, examples=EXAMPLES, batch=BATCH, **small)
    return PrivateOptimizer(step, at_clip=optimizer), promise


datasets = [0.0] * 10, [0.0] * 9 + [1.0]


def laplace_sum(data, rng, size=1):
    """OpenDP, make_laplace of a sum of numbers between 0 and 1, whose number is public."""
    space = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0), nan=False), size=len(data)), dp.symmetric_distance()
    total = space >> dp.t.then_sum() >> dp.m.then_laplace(1.0 / EPSILON)
    return np.array([[total(data)] for _ in range(size)])
