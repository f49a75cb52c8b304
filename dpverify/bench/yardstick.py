"""What a limit that is our own code is compared with: the library's draw of normal numbers, in the same turns.

A form that becomes slower shows in its ratio to the limit; where the limit is ours and becomes slower, every ratio
looks better. So such a limit has a ratio of its own, kept for the comparison of two runs.
"""

from __future__ import annotations

from dpverify.bench.case import Form

NAME = "the library's draw of 100,000 normals"
COUNT = 100_000


def yardstick() -> Form:
    """A form that draws into one and the same array, by numpy alone."""
    import numpy as np

    rng, out = np.random.Generator(np.random.SFC64(0)), np.empty(COUNT)
    return lambda: rng.standard_normal(out=out)
