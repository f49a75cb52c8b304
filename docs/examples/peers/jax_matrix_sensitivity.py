"""Compare the sensitivities that jax_privacy computes for matrix mechanisms with certified bounds.

python docs/examples/peers/jax_matrix_sensitivity.py
"""

import jax
import numpy as np
from jax_privacy.matrix_factorization import sensitivity, toeplitz

from dpverify.privacy.matrix import Cyclic, MatrixMechanism, Once, Separated

jax.config.update("jax_enable_x64", True)

ROUNDING = 1e-9
SIZES = (8, 33, 64, 200)


def judge(theirs, bounds):
    """Say where a number lies: below the truth would be too little noise."""
    if theirs < bounds.lower * (1 - ROUNDING):
        return "too small"
    if theirs > bounds.upper * (1 + ROUNDING):
        return f"{theirs / bounds.upper - 1:.1%} above an upper bound"
    return "right" if bounds.exact else "between the bounds"


def comparisons(steps):
    """Yield the name of each function, and where its number lies, for one number of steps."""
    rng = np.random.default_rng(steps)
    root = MatrixMechanism.square_root(steps)
    matrix = MatrixMechanism.matrix(np.tril(rng.standard_normal((steps, steps))))
    for mechanism in (root, matrix):
        C = mechanism.dense()
        theirs = float(sensitivity.single_participation_sensitivity(C))
        yield "single_participation_sensitivity", judge(theirs, mechanism.sensitivity(Once()))
        for epochs in (epochs for epochs in (1, 2, 4) if steps % epochs == 0):
            theirs = sensitivity.fixed_epoch_sensitivity(C, epochs)
            yield "fixed_epoch_sensitivity", judge(theirs, mechanism.sensitivity(Cyclic(steps // epochs)))
    for separation in (1, 2, 5):
        banded = MatrixMechanism.matrix(np.tril(np.triu(rng.random((steps, steps)), 1 - separation)) + np.eye(steps))
        for most in (None, 2, 3):
            pattern = Separated(separation, most)
            theirs = float(toeplitz.minsep_sensitivity_squared(root.strategy.column, separation, most, steps)) ** 0.5
            yield "toeplitz.minsep_sensitivity_squared", judge(theirs, root.sensitivity(pattern))
            theirs = sensitivity.get_sensitivity_banded(banded.dense(), separation, most)
            yield "get_sensitivity_banded", judge(theirs, banded.sensitivity(pattern))
            theirs = sensitivity.get_min_sep_sensitivity_upper_bound(root.dense(), separation, most)
            yield "get_min_sep_sensitivity_upper_bound", judge(theirs, root.sensitivity(pattern))


if __name__ == "__main__":
    for size in SIZES:
        for name, place in comparisons(size):
            print(f"{size:4} steps  {name:36}  {place}")
