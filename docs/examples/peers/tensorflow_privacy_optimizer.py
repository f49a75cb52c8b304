"""TensorFlow Privacy 0.9.0, with TensorFlow 2.15: its Keras optimizer for DP-SGD, in single precision."""

import contextlib
from unittest import mock

import numpy as np
import tensorflow as tf
from tensorflow_privacy import DPKerasSGDOptimizer

from dpverify.conform import PrivateOptimizer, Promise

CLIP, SIGMA, BATCH, EXAMPLES = 0.7, 1.1, 4, 24
SMALL = {"dimension": 32, "steps": 2, "dtype": "float32"}
PROMISE = {"sigma": SIGMA, "clip": CLIP, "divisor": BATCH, "examples": EXAMPLES, "batch": BATCH, **SMALL}
DOCUMENTED = (
    "its statement of epsilon assumes Poisson samples and says that these are not usually drawn; nothing about empty "
    "batches, or what the sum is divided by"
)
FINDINGS = {"make_poisson": ("numerical", DOCUMENTED)}


class GivenGradients(contextlib.nullcontext):
    """Stands for a gradient tape whose losses have these gradients."""

    def jacobian(self, losses, variables, **options):
        """Return a gradient per loss, for the only variable."""
        return [self.enter_result]


OPTIMIZER = DPKerasSGDOptimizer(CLIP, SIGMA, learning_rate=1.0)  # it remembers nothing but the number of its steps


def step(state, gradients, rng):
    """Take a step with the learning rate 1 from 0: the weights after it are what was released."""

    def seeded(stddev):
        """Draw with a seed of this step. TensorFlow's only seed is global, and to set it takes three steps' time."""
        return lambda shape: tf.random.stateless_normal(shape, rng.integers(2**31, size=2), stddev=stddev)

    weights = tf.Variable(tf.zeros(gradients.shape[1]))
    rows = tf.constant(np.array(gradients), tf.float32)
    with mock.patch.object(tf, "random_normal_initializer", seeded):
        OPTIMIZER.minimize(tf.zeros(len(rows)), [weights], tape=GivenGradients(rows))
    return state, -weights.numpy()


def make():
    """TensorFlow Privacy, DPKerasSGDOptimizer: fixed batches without replacement, in single precision."""
    return PrivateOptimizer(step), Promise(sampling="batches", neighbours="replace-one", **PROMISE)


def make_poisson():
    """TensorFlow Privacy, DPKerasSGDOptimizer: Poisson batches, in single precision."""
    return PrivateOptimizer(step), Promise(**PROMISE)
