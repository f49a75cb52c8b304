"""Exact operation counts of Algorithms 2, 3 and 4, from the bits of t and N (``n_examples``).

A vector operation is a multiply-add of d numbers: a node, or a sum of nodes, is multiplied by a number and added to
another vector. The counters of the kernels use the same unit. NOTES_run_time.md has the proofs of the bounds.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from dpverify.papers.tran2022.trees.tree_aggregation_bounds import compose_count


class Counts(NamedTuple):
    """Cost of some steps."""

    reads: int  # nodes read, d numbers each
    adds: int  # vectors of length d multiplied by a number and added to another


def levels(steps: int) -> int:
    """Count the levels of a tree, floor(log2 T) + 1, which replaces the logarithm in all bounds."""
    return steps.bit_length()


def literal_step(t: int, n_examples: int) -> Counts:
    """Count the cost of a step of Algorithm 4 as the box prints it, repaired by ``reconstruct_literal.REPAIRS``.

    A step reads the nodes of all windows. It makes an addition for each node, two more for each window pair of the
    loop, one for the first window in each of the loop's q turns, and one for r.
    """
    q, r = divmod(t, n_examples)
    reads = _nodes(1, r) + t.bit_count() + (_nodes(r + 1, r + n_examples) if q else 0)
    for i in range(1, q):
        reads += 2 * _nodes(t - i * n_examples + 1, t - (i - 1) * n_examples)
    return Counts(reads, reads + 2 * max(q - 1, 0) + q + 1)


@lru_cache(maxsize=1024)  # planted faults request the same sizes again
def literal_total(steps: int, n_examples: int) -> Counts:
    """Sum :func:`literal_step` in O(T): the window that ends at s >= 2N is summed at s, s + N, s + 2N, ..."""
    reads = extra_adds = 0
    for t in range(1, steps + 1):
        q, r = divmod(t, n_examples)
        reads += r.bit_count() + t.bit_count()
        extra_adds += 2 * max(q - 1, 0) + q + 1
        if q >= 1:
            reads += _nodes(r + 1, r + n_examples)
        if q >= 2:
            reads += 2 * ((steps - t) // n_examples + 1) * _nodes(t - n_examples + 1, t)
    return Counts(reads, reads + extra_adds)


def stream_step(t: int, n_examples: int) -> Counts:
    """Count the cost of a step of the stream (``reconstruct.stream``), which reads the nodes that end at t.

    At the end of a block of B = 2^floor(log2 N) steps, the stream makes the suffix sums of the block with B - 1 - log2
    B additions, in the second epoch for two families.
    """
    block = 1 << (n_examples.bit_length() - 1)
    low = t & -t
    lengths = [1 << k for k in range(min(low, block).bit_length())]
    mixed = sum(t - length >= n_examples for length in lengths)
    adds = mixed + (_absorbed(t, block, n_examples) if t > n_examples else 0)
    if t < 2 * n_examples:
        adds += _absorbed(t, block, 0)
    middle = ((t - n_examples) // block + 1) * block if t >= n_examples else 0
    adds += (t >= n_examples) + (middle + block <= t) + (t % block != 0)
    adds += (t > low) + min(t // n_examples, 2)
    return Counts(1 + len(lengths) + mixed, adds)


@lru_cache(maxsize=1024)  # planted faults request the same sizes again
def stream_total(steps: int, n_examples: int) -> Counts:
    """Count the cost of all T steps of the stream; see :func:`stream_step`."""
    step_counts = [stream_step(t, n_examples) for t in range(1, steps + 1)]
    return Counts(sum(c.reads for c in step_counts), sum(c.adds for c in step_counts))


def gradients_one_pass(steps: int, n_examples: int) -> int:
    """Count Algorithm 2's gradient evaluations if each is made once: two a step in the first epoch, three after it."""
    return 2 * steps + max(steps - n_examples, 0)


def gradients_node_by_node(steps: int, n_examples: int) -> int:
    """Count evaluations in the printed sums: per node 2^k for F^G, 2 2^k for F^r, 2 2^k for F^Delta after step N."""
    total = 0
    for k in range(levels(steps)):
        nodes = steps >> k
        without_delta = -(-n_examples >> k)
        total += (3 * nodes + 2 * max(nodes - without_delta, 0)) << k
    return total


def literal_bounds(steps: int, n_examples: int) -> tuple[Fraction, Fraction]:
    """Return lower and upper bounds on :func:`literal_total`: T^2/(2N) and 10 T^2 (floor(log2 T) + 1)/N additions."""
    if steps < 4 * n_examples:
        raise ValueError(
            f"steps must be at least 4 N, got steps={steps}, N={n_examples}."
        )
    square = Fraction(steps * steps, n_examples)
    return square / 2, 10 * levels(steps) * square


# The stream takes at most 10 T additions, and reads at most 5 T nodes
STREAM_ADDS = 10
STREAM_READS = 5


def node_by_node_bounds(steps: int) -> tuple[int, int]:
    """Return bounds on :func:`gradients_node_by_node`: 3 T (log - 2) and 5 T log with log = floor(log2 T) + 1."""
    return 3 * steps * (levels(steps) - 2), 5 * steps * levels(steps)


def _absorbed(t: int, block: int, first: int) -> int:
    """Count the additions into prefixes and suffixes of a family whose nodes begin after step ``first``."""
    if t % block == 0:
        return block - block.bit_length()
    before = t - (t & -t)
    return int(before >= first and before % block != 0)


def _nodes(a: int, b: int) -> int:
    return compose_count(a, b) if a <= b else 0
