"""Algorithm 3 of the paper: COMPOSE(a, b), a partition of the interval [a, b] into nodes of the tree.

Nodes are dyadic intervals [q 2^k + 1, (q + 1) 2^k]. COMPOSE is greedy: it takes the
longest node that starts at a and ends at or before b, and continues after it. For a = 1
the nodes correspond to the bits of b, from which ``kernels.dyadic`` computes them. This
module does not assume Proposition 18 (at most ``2 (1 + floor(log2(b - a + 1)))`` nodes,
disjoint, dyadic, covering [a, b]); the checks of the claims test it.

Convention: COMPOSE(a, b) with a > b is empty. The printed algorithm has no valid k in this case, but Algorithm 4 calls
COMPOSE(1, r) with r = 0.
"""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.dyadic import prefix_nodes
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Intervals

# Largest number of nodes of an interval below
# ``MOST_STEPS``: at most two of each length
MOST_NODES = 2 * 62


@kernel
def compose_into(a: int, b: int, out: Intervals) -> int:
    """Write COMPOSE(a, b) into rows of ``out``, (MOST_NODES, 2), as Algorithm 3 prints it; return their number."""
    count = 0
    # "if a' > b then return S", and the recursion
    # as a loop: COMPOSE(a', b) is its last line
    while a <= b:
        # "Let k be the largest k such that a = 1 mod 2^k and a + 2^k - 1 <= b": both
        # fail for good once they fail.
        k = 0
        while (a - 1) % (1 << (k + 1)) == 0 and a + (1 << (k + 1)) - 1 <= b:
            k += 1
        out[count, 0] = a  # "Set S = {[a, a + 2^k - 1]}"
        out[count, 1] = a + (1 << k) - 1
        count += 1
        a += 1 << k  # "Set a' = a + 2^k"
    return count


def compose(a: int, b: int) -> Intervals:
    """Return the nodes of COMPOSE(a, b), computed by Algorithm 3.

    Parameters
    ----------
    a, b : int
        First and last step, ``1 <= a`` and ``0 <= b < 2**62``.

    Returns
    -------
    (n, 2) array of int
        Closed intervals [y, z] from left to right; no rows if ``a > b``.

    Raises
    ------
    ArgumentError
        If a or b is not an integer, or out of range.

    Notes
    -----
    Source: Algorithm 3, appendix A. S_i[0] and S_i[1] of the paper are the two columns.
    """
    a = check.whole(1, MOST_STEPS - 1, a=a)
    b = check.whole(0, MOST_STEPS - 1, b=b)
    out = np.empty((MOST_NODES, 2), dtype=np.int64)
    return out[: compose_into(a, b, out)].copy()


def compose_prefix(t: int) -> Intervals:
    """Return the rows of ``compose(1, t)``, computed from the bits of t, for ``0 <= t < 2**62``.

    There is one row for each bit of t that is 1, from the highest to the lowest. Raises
    ArgumentError if t is not an integer, or out of range.

    Notes
    -----
    Source: Algorithm 3 with a = 1, as Algorithm 1 uses it.
    """
    t = check.whole(0, MOST_STEPS - 1, t=t)
    out = np.empty((MOST_NODES, 2), dtype=np.int64)
    return out[: prefix_nodes(t, out)].copy()
