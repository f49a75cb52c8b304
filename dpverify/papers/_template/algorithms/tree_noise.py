"""Algorithm 1: the noise of each prefix sum is the sum of the noise of the tree nodes that form the prefix."""

from __future__ import annotations

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Matrix, Tape


@kernel
def add_nodes(tape: Tape, forgotten: int, out: Matrix) -> None:
    """Write the noise of the steps 1 .. T into ``out``, shape (T, d).

    Row t - 1 of ``tape``, of the same shape, is the noise of the node that ends at step t, whose length is the lowest
    set bit of t. The step ``forgotten`` lacks its own node, which plants a fault; 0 plants none.
    """
    for t in range(1, out.shape[0] + 1):
        before = t & (t - 1)  # without the lowest set bit
        for j in range(out.shape[1]):
            past = out[before - 1, j] if before > 0 else 0.0
            leaf_noise = tape[t - 1, j] if t != forgotten else 0.0
            out[t - 1, j] = past + leaf_noise
