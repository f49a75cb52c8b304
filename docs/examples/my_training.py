"""A training with DP-SGD and the assumptions of its accounting; `dpverify conform --training` compares them."""

import numpy as np

from dpverify.conform import Promise

CLIP, SIGMA, BATCH, EXAMPLES, STEPS = 0.7, 1.1, 8, 64, 16
RATE = BATCH / EXAMPLES  # a constant: a rate computed from the number of records would reveal that number
PROMISE = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, steps=STEPS, examples=EXAMPLES, batch=BATCH)


def make(dataset, seed):
    """Yield the released updates of a training on a data set."""
    sampler, noise = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    for _ in range(STEPS):
        batch = np.flatnonzero(sampler.random(len(dataset)) < RATE)
        gradients = dataset.gradients(batch)  # here you would compute the gradients of your model
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients * np.minimum(1, CLIP / np.maximum(norms, 1e-12))).sum(axis=0)
        yield (total + SIGMA * CLIP * noise.standard_normal(total.shape)) / BATCH
