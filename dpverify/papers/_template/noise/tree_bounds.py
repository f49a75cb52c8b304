"""The exact law of Algorithm 1's noise, by arithmetic on the bits of the steps. No kernel is imported."""

from __future__ import annotations


def shared_nodes(s: int, t: int) -> int:
    """Count the tree nodes that the prefixes of the steps s and t have in common.

    The node of bit i is in both exactly if both have this bit and agree in all bits above it.
    """
    return sum(s >> i == t >> i and s >> i & 1 for i in range(max(s, t).bit_length()))
