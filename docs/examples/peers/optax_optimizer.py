"""optax: the transformation that clips gradients by example, averages them and adds noise."""

import functools

import jax
import numpy as np
import optax

from dpverify.conform import PrivateOptimizer, Promise

jax.config.update("jax_enable_x64", True)
CLIP, SIGMA, BATCH, EXAMPLES = 0.7, 1.1, 16, 208
DOCUMENTED = "nothing about Poisson samples, empty batches, or what the sum is divided by"
FINDINGS = {"make_poisson": ("numerical", DOCUMENTED)}


@functools.partial(jax.jit, static_argnames="clip")
def compiled(gradients, state, clip):
    """Return the update and the new state, which holds the key; compiled for each size of a batch."""
    return optax.contrib.differentially_private_aggregate(clip, SIGMA, key=0).update(gradients, state)


def step_with(clip):
    """Return a step. The key of each step is seeded from the given generator, not taken from the state."""

    def step(state, gradients, rng):
        private = optax.contrib.differentially_private_aggregate(clip, SIGMA, key=int(rng.integers(2**31)))
        update, _ = compiled(np.array(gradients), private.init(np.zeros(gradients.shape[1])), clip)
        return state, np.asarray(update)

    return step


def optimizer(clip=CLIP):
    """Return the optimizer at a clip norm."""
    return PrivateOptimizer(step_with(clip), at_clip=lambda other: PrivateOptimizer(step_with(other)))


def make():
    """optax, differentially_private_aggregate: fixed batches without replacement, in double precision."""
    promise = Promise(
        sigma=SIGMA,
        clip=CLIP,
        divisor=BATCH,
        sampling="batches",
        examples=EXAMPLES,
        batch=BATCH,
        neighbours="replace-one",
    )
    return optimizer(), promise


def make_poisson():
    """optax, differentially_private_aggregate: Poisson batches, in double precision."""
    return optimizer(), Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, examples=EXAMPLES, batch=BATCH)
