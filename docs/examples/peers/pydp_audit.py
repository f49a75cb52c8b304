"""PyDP, python-dp 1.1.5: its sum, its mean and its Gaussian noise, for `dpverify audit --epsilon 1`."""

import numpy as np
from pydp.algorithms.laplacian import BoundedMean, BoundedSum
from pydp.algorithms.numerical_mechanisms import GaussianMechanism

EPSILON, DELTA = 1.0, 1e-5
datasets = ([0.0] * 9, [0.0] * 9 + [1.0])


def bounded_sum(data, rng):
    """PyDP, BoundedSum with bounds 0 and 1: pure differential privacy."""
    return np.array([BoundedSum(EPSILON, lower_bound=0.0, upper_bound=1.0, dtype="float").quick_result(data)])


def bounded_mean(data, rng):
    """PyDP, BoundedMean with bounds 0 and 1: pure differential privacy."""
    return np.array([BoundedMean(EPSILON, lower_bound=0.0, upper_bound=1.0, dtype="float").quick_result(data)])


def gaussian_sum(data, rng, size=1):
    """PyDP, GaussianMechanism on a sum that one record changes by 1: delta = 1e-5."""
    mechanism = GaussianMechanism(EPSILON, DELTA, 1.0)
    total = float(sum(data))
    return np.array([[mechanism.add_noise(total)] for _ in range(size)])
