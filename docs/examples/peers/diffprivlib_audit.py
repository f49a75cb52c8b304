"""diffprivlib 0.6.6, with scikit-learn 1.5: its linear regression and its mean, for `dpverify audit`."""

import warnings

import numpy as np
from diffprivlib.models import LinearRegression
from diffprivlib.tools import mean

warnings.simplefilter("ignore")
EPSILON = 1.0
datasets = (np.zeros((10, 1)), np.append(np.zeros((9, 1)), [[1.0]], axis=0))  # one record is replaced
FINDINGS = {"regression": ("privacy", "noise is added to the coefficients of the objective; nothing on its absence")}


def regression(data, rng):
    """diffprivlib, LinearRegression: the coefficient for bounds (0, 1), without an intercept."""
    seed = int(rng.integers(2**31))
    options = {"bounds_X": (0, 1), "bounds_y": (0, 1), "fit_intercept": False, "random_state": seed}
    coefficient = LinearRegression(epsilon=EPSILON, **options).fit(data, data[:, 0] / 2).coef_[0]
    return np.array([np.sign(coefficient) * np.log1p(abs(coefficient))])  # a function of the release


def mean_of(data, rng):
    """diffprivlib, tools.mean: the mean of numbers for bounds (0, 1)."""
    return np.array([mean(data[:, 0], epsilon=EPSILON, bounds=(0, 1), random_state=int(rng.integers(2**31)))])
