"""Logistic regression with a penalty, by Newton's steps: for a table of few columns."""

from __future__ import annotations

import numpy as np
from scipy import special
from scipy.linalg.lapack import dposv

from dpverify.privacy.audit.records import Floats

FITTED = 20_000  # rows that a fit looks at, at most, evenly spread
_STEPS = 20
_FAR = 4.0  # largest change of a weight in a step
_SMALL = 1e-3  # the next step would be about its square


def fitted(table: Floats, zeros: Floats, ones: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Weights of the columns, and the curvature there: its inverse is the weights' covariance, or a little more.

    ``zeros``, ``ones``: how often each row of ``table`` was seen on each data set.
    """
    stride = -(-len(table) // FITTED)
    part = slice((len(table) - 1) % stride // 2, None, stride)
    few = table[part]
    weight_of_part = len(table) / len(few)
    truth = weight_of_part * ones[part]
    totals = truth + weight_of_part * zeros[part]
    ridge = np.diag(penalty)
    # far from there steps are no descent
    weights = np.zeros(table.shape[1])
    curvature = ridge
    for _ in range(_STEPS):
        chance = special.expit(few @ weights)
        ones_hoped = totals * chance
        slope = few.T @ (truth - ones_hoped) - penalty * weights
        curvature = (few * (ones_hoped * (1.0 - chance))[:, None]).T @ few + ridge
        _, step, failed = dposv(curvature, slope)
        if failed:  # a penalty that is lost beside columns that are alike up to rounding
            step = np.linalg.lstsq(curvature, slope)[0]
        largest = float(np.abs(step).max())
        weights += step if largest <= _FAR else step * (_FAR / largest)
        if largest < _SMALL:
            break
    return weights, curvature
