"""diffprivlib's linear regression: its noise is calibrated to the lower bound of the features and can be 0."""

import warnings
from importlib.metadata import version

import numpy as np
from diffprivlib.models import LinearRegression

warnings.simplefilter("ignore")
X = np.linspace(0.1, 0.9, 10).reshape(-1, 1)
Y = X[:, 0] / 2


def sums_of_squares(data, targets, bounds, runs=20, intercept=False):
    """Return the noisy sum of squares of the feature that determines the released coefficients, for several runs."""
    sums = []
    for seed in range(runs):
        model = LinearRegression(
            epsilon=1.0, bounds_X=bounds, bounds_y=(0, 1), fit_intercept=intercept, random_state=seed
        )
        sums.append(model.fit(data, targets)._obj_coefs[2][0, 0])
    return np.array(sums)


print("diffprivlib", version("diffprivlib"))
print(f"exact sums of squares: {np.sum(X**2):.6f}, without the last record {np.sum(X[:-1] ** 2):.6f}")
whole, fewer = sums_of_squares(X, Y, (0, 1)), sums_of_squares(X[:-1], Y[:-1], (0, 1))
print(f"bounds (0, 1), 20 seeds: {whole.min():.6f} to {whole.max():.6f}")
print(f"bounds (0, 1), 20 seeds, without the last record: {fewer.min():.6f} to {fewer.max():.6f}")
some, enough = (sums_of_squares(X, Y, bounds).std() for bounds in ((-0.1, 1), (-1, 1)))
print(f"deviation for bounds (-0.1, 1): {some:.4f}; for bounds (-1, 1), which need the same noise: {enough:.4f}")
zeros, none = np.zeros((1000, 1)), np.zeros(1000)
without = sums_of_squares(zeros, none, (0, 1), intercept=True)
print(f"1000 records with x = 0, bounds (0, 1), intercept: {without.min():.4f} to {without.max():.4f}")
joined = sums_of_squares(np.append(zeros, [[1.0]], axis=0), np.append(none, 0.0), (0, 1), intercept=True)
print(f"and one record more with x = 1: {joined.min():.4f} to {joined.max():.4f}")
large = sums_of_squares(np.append(X, [[50.0]], axis=0), np.append(Y, 0.5), (-1, 1))
print(f"one record more with x = 50, bounds (-1, 1), no intercept: {large.min():.1f} to {large.max():.1f}")
raise SystemExit(0 if np.ptp(whole) == 0 and whole[0] != fewer[0] else "not shown by this version")
