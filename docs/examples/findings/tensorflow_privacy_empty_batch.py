"""TensorFlow Privacy: an empty batch makes the update infinite; the noise is divided by the size of the drawn batch."""

import os
from importlib.metadata import version

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
from tensorflow_privacy import DPKerasSGDOptimizer

CLIP, MULTIPLIER, DIMENSION = 0.7, 1.1, 1000
RECORDS, RATE = 64, 1 / 16
tf.random.set_seed(0)


def released(batch):
    """Return the change of the weights for a batch of zero gradients, which is only noise."""
    weights = tf.Variable(tf.zeros(DIMENSION))
    records = tf.zeros((batch, DIMENSION))
    optimizer = DPKerasSGDOptimizer(CLIP, MULTIPLIER, learning_rate=1.0)
    optimizer.minimize(lambda: tf.linalg.matvec(records, weights), [weights])
    return -weights.numpy()


print("tensorflow-privacy", version("tensorflow-privacy"), "tensorflow", tf.__version__)
for batch in (8, 2, 1, 0):
    noise = released(batch)
    deviation = f"deviation {noise.std():.4f}" if np.isfinite(noise).all() else f"for example {abs(noise[0])}"
    print(f"batch of {batch}: {np.isfinite(noise).mean():.0%} of the numbers are finite, {deviation}")
empty = (1 - RATE) ** RECORDS
print(f"Poisson batches of {RECORDS} records at rate {RATE}: a step is empty with probability {empty:.4f}")
print(f"and some step of 1000 is empty with probability {1 - (1 - empty) ** 1000:.6f}")
raise SystemExit(0 if not np.isfinite(released(0)).any() else "not shown by this version")
