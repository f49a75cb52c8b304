"""When one example comes back: the visits that weigh most in a node, and how much they weigh together.

Epoch e = 0, 1, ... owns the steps eN + 1 .. (e+1)N and visits every example once. With a fresh permutation in every
epoch an example may be anywhere in each of them; with one permutation for all epochs it is at the same place in all.
A visit at step t enters the node [y, z] with the weight ``(1-alpha)**(z - t)``, so late visits weigh most, and in both
orderings one pattern has every visit at least as late as any other pattern has it (NOTES_sensitivity.md, section 1).
Integers, Fractions and balls; no kernel is imported.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, Literal, TypeAlias

from dpverify.symbolic.exact.numbers import ONE, ZERO, Exact, Value, power, to_exact

Ordering: TypeAlias = Literal["fresh", "once"]
ORDERINGS: Final[tuple[Ordering, ...]] = ("fresh", "once")


def epoch_of(t: int, N: int) -> int:
    """Epoch that owns step t: ``(t - 1) // N``."""
    return (t - 1) // N


def check_node(start: int, end: int, N: int, ordering: str) -> None:
    """Refuse what is no node or no ordering."""
    if not 1 <= start <= end:
        raise ValueError(f"start and end must satisfy 1 <= start <= end, got start={start}, end={end}.")
    if N < 1:
        raise ValueError(f"N must be at least 1, got N={N}.")
    if ordering not in ORDERINGS:
        raise ValueError(f"ordering must be fresh or once, got ordering={ordering!r}.")


def most_visits(start: int, end: int, N: int, ordering: Ordering) -> int:
    """Largest number of steps of [start, end] that use one example (``tran2022:theorem-4-terms``)."""
    check_node(start, end, N, ordering)
    if ordering == "fresh":
        return epoch_of(end, N) - epoch_of(start, N) + 1
    return (end - start) // N + 1


def latest_visits(start: int, end: int, N: int, ordering: Ordering) -> list[int]:
    """Steps of the pattern whose visits are latest, from the last one back (``tran2022:theorem-4-decay``)."""
    count = most_visits(start, end, N, ordering)
    if ordering == "once":
        return [end - j * N for j in range(count)]
    return [end, *((epoch_of(end, N) - j) * N for j in range(count - 1))]


def decay_sum(start: int, end: int, alpha: Fraction, N: int, ordering: Ordering, *, visits: int | None = None) -> Exact:
    """Sum the weights of the latest visits (``visits`` at most): a node's sensitivity in units of one term's."""
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    count = most_visits(start, end, N, ordering)
    count = count if visits is None else min(count, visits)
    decay = 1 - alpha
    if ordering == "once" or count == 0:
        return to_exact(geometric(power(decay, N), decay, N, count))
    since = end - epoch_of(end, N) * N  # steps from the end of the epoch before to the end of the node
    earlier = geometric(power(decay, N), decay, N, count - 1)
    return to_exact(ONE + power(decay, since) * earlier)


def geometric(ratio: Value, base: Fraction, stride: int, count: int) -> Value:
    """Sum ``ratio**j`` over j = 0 .. count - 1, where ``ratio = base**stride`` is below 1."""
    if count <= 1:
        return ONE if count else ZERO
    return (ONE - power(base, stride * count)) / (ONE - ratio)
