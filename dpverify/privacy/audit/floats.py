"""A score that looks at the last bits of floats, where a Gaussian drawn in floating point gives itself away.

A float x + z is rounded to the grid of the larger of the two, and what cancels is not refined again. With x = 0 an
output near 0 has bits as fine as its own size; with x = 1 it is 1 + z with z near -1, on the grid of 2^-53. So outputs
near 0 with a bit below 2^-53 come from x = 0 alone: an event of probability 0 on one data set and not on the other, for
which no epsilon is enough. Mironov (CCS 2012) broke the Laplace mechanism so; the Gaussian one fares no better.

No audit looks at these bits unless it is asked to: almost every mechanism in floats would be refuted.

    dpverify audit MODULE:FUNCTION --score dpverify.privacy.audit.floats:lowest_bit
"""

from __future__ import annotations

import numpy as np

from dpverify.privacy.audit.records import Floats

ZERO = 1100.0  # score of an output of zeros only, which has no lowest bit


def lowest_bit(outputs: Floats) -> Floats:
    """Smallest k such that some number of the output is an odd multiple of 2^k: the lowest bit that is set."""
    mantissa, exponent = np.frexp(outputs.reshape(len(outputs), -1))
    integers = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.log2(np.maximum(integers & -integers, 1).astype(np.float64)) + exponent - 53.0
    result: Floats = np.where(integers == 0, ZERO, lowest).min(axis=1)
    return result
