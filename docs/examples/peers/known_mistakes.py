"""Mistakes that users of DP-SGD libraries reported in public threads, made again in a few lines each."""

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise

CLIP, SIGMA, BATCH, EXAMPLES = 0.7, 1.1, 16, 208
PROMISE = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, examples=EXAMPLES, batch=BATCH)


def clipped(gradients):
    """Each gradient cut to the clip length."""
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    return gradients * np.minimum(1, CLIP / np.maximum(norms, 1e-12))


def noise(gradients, rng):
    """Noise of a sum."""
    return SIGMA * CLIP * rng.standard_normal(gradients.shape[1])


def step(state, gradients, rng):
    """DP-SGD as it should be."""
    return state, (clipped(gradients).sum(axis=0) + noise(gradients, rng)) / BATCH


def poisson(examples, steps, rng):
    """Batches as they should be."""
    return (np.flatnonzero(rng.random(examples) < BATCH / examples) for _ in range(steps))


def make():
    """DP-SGD without a mistake, for comparison."""
    return PrivateOptimizer(step, batches=poisson), PROMISE


def make_shuffled():
    """Shuffled batches of one size, accounted as Poisson's.

    Reported in https://github.com/meta-pytorch/opacus/pull/128
    """

    def batches(examples, steps, rng):
        for _ in range(-(-steps * BATCH // examples)):
            yield from rng.permutation(examples).reshape(-1, BATCH)

    return PrivateOptimizer(step, batches=batches), PROMISE


def make_never_empty():
    """An empty batch is drawn again.

    Reported in https://github.com/meta-pytorch/opacus/issues/161
    """
    small = Promise(sigma=SIGMA, clip=CLIP, divisor=1, examples=EXAMPLES, batch=1)

    def batches(examples, steps, rng):
        while steps > 0:
            if len(drawn := np.flatnonzero(rng.random(examples) < 1 / examples)):
                steps -= 1
                yield drawn

    def alone(state, gradients, rng):
        return state, clipped(gradients).sum(axis=0) + noise(gradients, rng)

    return PrivateOptimizer(alone, batches=batches), small


def make_not_cleared():
    """Gradients of the last batch stay in the sum.

    Reported in https://github.com/meta-pytorch/opacus/issues/54
    """

    def keeps(state, gradients, rng):
        total = clipped(gradients).sum(axis=0)
        return total, (total + (0 if state is None else state) + noise(gradients, rng)) / BATCH

    return PrivateOptimizer(keeps, batches=poisson), PROMISE


def make_closure():
    """A closure computes the gradients again, after the noise.

    Reported in https://github.com/meta-pytorch/opacus/pull/330
    """
    return PrivateOptimizer(lambda state, g, rng: (state, clipped(g).sum(axis=0) / BATCH), batches=poisson), PROMISE


def make_key_used_again():
    """One key for the noise of two layers.

    Reported in https://github.com/jax-ml/jax/pull/3646
    """

    def layers(state, gradients, rng):
        half = gradients.shape[1] // 2
        both = np.tile(rng.standard_normal(half), 2) * SIGMA * CLIP
        return state, (clipped(gradients).sum(axis=0) + both) / BATCH

    return PrivateOptimizer(layers, batches=poisson), PROMISE


def make_noise_for_each_part():
    """Noise in each of four parts of a batch.

    Reported in https://github.com/google-deepmind/optax/issues/527
    """

    def parts(state, gradients, rng):
        each = (clipped(part).sum(axis=0) + noise(gradients, rng) for part in np.array_split(gradients, 4))
        return state, sum(each) / BATCH

    return PrivateOptimizer(parts, batches=poisson), PROMISE


def make_noise_of_the_sum():
    """The sum's noise on the mean.

    Reported in https://github.com/google-deepmind/jax_privacy/issues/383
    """
    return PrivateOptimizer(
        lambda state, g, rng: (state, clipped(g).sum(axis=0) / BATCH + noise(g, rng)), batches=poisson
    ), PROMISE


def make_groups():
    """Means of groups of four are clipped, not examples.

    Reported in https://github.com/tensorflow/privacy/issues/81
    """

    def groups(state, gradients, rng):
        means = [gradients[i : i + 4].mean(axis=0) for i in range(0, len(gradients), 4)]
        return state, (clipped(np.reshape(means, (-1, gradients.shape[1]))).sum(axis=0) + noise(gradients, rng)) / BATCH

    return PrivateOptimizer(groups, batches=poisson), PROMISE
