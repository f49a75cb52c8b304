"""A quick bound on epsilon that is nearly right: for comparing thresholds, never for what is said of a mechanism."""

from __future__ import annotations

import numpy as np
from scipy import special

from dpverify.privacy.audit.counting import allowance
from dpverify.privacy.audit.records import Floats


def nearly_lower_epsilon(right: Floats, wrong: Floats, trials: int, delta: float, alpha: float) -> Floats:
    """Come near ``counting.lower_epsilon``: the quantile of F in Paulson's approximation, with cube roots as normal."""
    c, level = allowance(trials, delta, alpha)
    guesses = np.maximum(right - c, 1.0)
    lost = wrong + 1.0
    z = -float(special.ndtri(min(level, 0.5)))
    variance_of_lost = 1.0 / (9.0 * lost)
    less = 1.0 / (9.0 * guesses)
    above = 1.0 - variance_of_lost
    below = 1.0 - less
    steep = below**2 - z * z * less
    root = np.sqrt(np.maximum(steep * variance_of_lost + less * above**2, 0.0))
    cube_root = (above * below + z * root) / np.maximum(steep, 1e-9)
    odds = np.log(guesses / (lost * cube_root * cube_root * cube_root))
    return np.where(right > c, np.maximum(odds, 0.0), 0.0)
