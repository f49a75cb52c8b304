"""A score of the lowest bits of floats, which reveal the data set if Gaussian noise is drawn in floating point.

The float x + z is rounded to the grid of the larger of the two, and cancellation does
not restore lost bits. With x = 0 an output near 0 has bits as fine as its own size.
With x = 1 the output is 1 + z with z near -1, on the grid of 2^-53. So outputs near 0
with a bit below 2^-53 occur for x = 0 only. This event has probability 0 on one data
set and not on the other, so that no epsilon is large enough. Mironov (CCS 2012) broke
the Laplace mechanism in this way; the Gaussian mechanism has the same weakness.

Audits use this score on request only, because it would refute almost every mechanism in
floats:

    dpverify audit MODULE:FUNCTION --score dpverify.privacy.audit.floats:lowest_bit
"""

from __future__ import annotations

import numpy as np

from dpverify.privacy.audit.records import Floats

ZERO = 1100.0  # score of an output whose numbers are all 0, which has no lowest bit


def lowest_bit(outputs: Floats) -> Floats:
    """Return each output's lowest set bit: the smallest k such that one of its numbers is an odd multiple of 2^k."""
    mantissa, exponent = np.frexp(outputs.reshape(len(outputs), -1))
    integers = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = (
        np.log2(np.maximum(integers & -integers, 1).astype(np.float64))
        + exponent
        - 53.0
    )
    result: Floats = np.where(integers == 0, ZERO, lowest).min(axis=1)
    return result
