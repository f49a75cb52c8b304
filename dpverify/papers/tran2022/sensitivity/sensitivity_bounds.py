"""Exact worst-case sensitivity of every node of Algorithms 1 and 2, and the visits of one example that cause it.

Visits: at which steps one example is used, which weight these visits have in a node,
and how many nodes of the tree they reach.

Epoch e = 0, 1, ... has the steps eN + 1 .. (e+1)N and visits every example once: at any
place ("fresh"), or at the same place in all epochs ("once"). A visit at step t enters
the node [y, z] with the weight ``(1-alpha)**(z - t)``, so late visits weigh most. In
both orderings there is a pattern whose every visit is at least as late as in any other
pattern. A node of level b is a dyadic interval [a 2^b + 1, (a + 1) 2^b] inside {1, ..,
T}. NOTES_sensitivity.md has the proofs, in its sections 1 and 4.

Sensitivity holds all earlier releases fixed.

Two neighbours differ in one example. A node adds up one term per visit of that example,
weighted by the decay; a term moves by at most

    2 G                      gradients themselves (f of Algorithm 1, G of Algorithm 2),
    2 L eta N                differences of gradients at two consecutive anchors (Delta), N steps apart,
    2 L eta (p - 1)          differences of gradients at the p-th step of an epoch and at its anchor (r),

and there are visits and losses for which all terms of a node move by that much in one direction. NOTES_sensitivity.md
has the proofs, and the problem that attains each supremum.
"""

from __future__ import annotations

from fractions import Fraction

from dpverify.shared_types import ORDERINGS, Ordering
from dpverify.symbolic.exact.numbers import (
    ONE,
    ZERO,
    Exact,
    Value,
    power,
    to_ball,
    to_exact,
    to_value,
)


def epoch_of(t: int, N: int) -> int:
    """Return the epoch of step t: ``(t - 1) // N``."""
    return (t - 1) // N


def check_node(start: int, end: int, N: int, ordering: str) -> None:
    """Raise ValueError for an invalid node or ordering."""
    if not 1 <= start <= end:
        raise ValueError(
            f"start and end must satisfy 1 <= start <= end, got start={start}, end={end}."
        )
    if N < 1:
        raise ValueError(f"N must be at least 1, got N={N}.")
    if ordering not in ORDERINGS:
        raise ValueError(f"ordering must be fresh or once, got ordering={ordering!r}.")


def most_visits(start: int, end: int, N: int, ordering: Ordering) -> int:
    """Return the largest number of steps of [start, end] that use one example (``tran2022:theorem-4-terms``)."""
    check_node(start, end, N, ordering)
    if ordering == "fresh":
        return epoch_of(end, N) - epoch_of(start, N) + 1
    return (end - start) // N + 1


def latest_visits(start: int, end: int, N: int, ordering: Ordering) -> list[int]:
    """Return the steps of the pattern with the latest visits, from the last one back (``tran2022:theorem-4-decay``)."""
    count = most_visits(start, end, N, ordering)
    if ordering == "once":
        return [end - j * N for j in range(count)]
    return [end, *((epoch_of(end, N) - j) * N for j in range(count - 1))]


def decay_sum(
    start: int,
    end: int,
    alpha: Fraction,
    N: int,
    ordering: Ordering,
    *,
    visits: int | None = None,
) -> Exact:
    """Sum the weights of at most ``visits`` latest visits: a node's sensitivity in units of one term's."""
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    count = most_visits(start, end, N, ordering)
    count = count if visits is None else min(count, visits)
    decay = 1 - alpha
    if ordering == "once" or count == 0:
        return to_exact(geometric(power(decay, N), decay, N, count))
    # steps from the end of the previous epoch to the end of the node
    since = end - epoch_of(end, N) * N
    earlier = geometric(power(decay, N), decay, N, count - 1)
    return to_exact(ONE + power(decay, since) * earlier)


def geometric(ratio: Value, base: Fraction, stride: int, count: int) -> Value:
    """Sum ``ratio**j`` over j = 0 .. count - 1, where ``ratio = base**stride`` is below 1."""
    if count <= 1:
        return ONE if count else ZERO
    return (ONE - power(base, stride * count)) / (ONE - ratio)


def ancestor_count(t: int) -> int:
    """Count a leaf and the nodes above it in the complete binary tree over t leaves (``section-2-ancestors``)."""
    if t < 1:
        raise ValueError(f"t must be at least 1, got t={t}.")
    return (t - 1).bit_length() + 1


def level_visits(T: int, N: int, level: int, *, after: int = 0) -> int:
    """Return how many nodes of a level one example contributes to at most (``tran2022:theorem-4-level-count``).

    It is the smaller of the number of nodes and the number of epochs that they meet. With ``after > 0`` it is attained
    under "fresh", and an upper bound under "once".
    """
    _check(T, N)
    if level < 0 or after < 0:
        raise ValueError(
            f"level and after must be at least 0, got level={level}, after={after}."
        )
    # the nodes have the steps first + 1 .. last
    first = after >> level << level
    last = T >> level << level
    if first >= last:
        return 0
    epochs = (last - 1) // N - first // N + 1
    return min((last - first) >> level, epochs)


def visits(T: int, N: int) -> int:
    """Return the largest number of nodes to which one example contributes; being first in every epoch attains it."""
    _check(T, N)
    return sum(level_visits(T, N, level) for level in range(T.bit_length()))


def visits_first(N: int) -> int:
    """Return ``visits`` inside [1, 2N], for T >= 2N: ``2*floor(log2(N)) + 3`` (``tran2022:theorem-8-count-first``)."""
    return visits(2 * N, N)


def visits_later(T: int, N: int, ordering: Ordering) -> int:
    """Return the largest number of nodes inside [1, T], and not inside [1, 2N], to which one example contributes.

    Under "fresh" it is the sum of the levels: an upper bound, equal to :func:`reached_nodes` for all N < 40, T < 220.
    """
    _check(T, N)
    if ordering not in ORDERINGS:
        raise ValueError(f"ordering must be fresh or once, got ordering={ordering!r}.")
    levels = range(T.bit_length())
    if ordering == "fresh":
        return sum(level_visits(T, N, level, after=2 * N) for level in levels)
    spans = [(2 * N >> b << b, T >> b << b) for b in levels if T >> b > 2 * N >> b]
    long = sum(
        (last - first) >> b for b, (first, last) in enumerate(spans) if 1 << b > N
    )
    # levels of nodes of at most N steps, which have at most one visit each
    short = spans[: N.bit_length()]
    places = {1} | {first % N + 1 for first, _ in short}
    counts = (
        sum((last - p) // N - (first - p) // N for first, last in short) for p in places
    )
    return long + max(counts)


def reached_nodes(T: int, N: int, *, after: int = 0, used_only: bool = False) -> int:
    """Return the largest number of nodes to which one example contributes under "fresh", by dynamic programming.

    A visit adds those nodes around it that do not contain the previous visit: those up to the level of the highest bit
    in which the two steps (counted from 0) differ. So the state after an epoch is only the highest bit in which the
    last visit differs from the end of its epoch. ``used_only`` counts only nodes with even a, which some COMPOSE(1, t)
    uses.
    """
    _check(T, N)
    top = T.bit_length() - 1
    best = {top: 0}
    for begin in range(0, T, N):
        end = begin + N
        following: dict[int, int] = {}
        for x in range(begin, min(end, T)):
            gains = _gains(x, T, after, used_only)
            entered = (x ^ begin).bit_length() - 1
            left = (x ^ end).bit_length() - 1
            reached = max(
                count + gains[min(max(bit, entered), top)]
                for bit, count in best.items()
            )
            following[left] = max(following.get(left, 0), reached)
        best = following
    return max(best.values())


def _gains(x: int, T: int, after: int, used_only: bool) -> list[int]:
    """Return the number of nodes of level at most b that contain the step x + 1, for b = 0, 1, .."""
    gains = []
    total = 0
    for b in range(T.bit_length()):
        a = x >> b
        total += after < (a + 1) << b <= T and not (used_only and a % 2)
        gains.append(total)
    return gains


def _check(T: int, N: int) -> None:
    if T < 1 or N < 1:
        raise ValueError(f"T and N must be at least 1, got T={T}, N={N}.")


def momentum_sensitivity(
    start: int,
    end: int,
    alpha: Fraction,
    N: int,
    lipschitz: Fraction,
    ordering: Ordering,
) -> Exact:
    """Return the worst-case sensitivity of Algorithm 1's node f_[start, end] (``tran2022:theorem-4-sensitivity``)."""
    return to_exact(
        to_value(2 * alpha * lipschitz)
        * to_value(decay_sum(start, end, alpha, N, ordering))
    )


def gradient_sensitivity(
    start: int,
    end: int,
    alpha: Fraction,
    N: int,
    lipschitz: Fraction,
    ordering: Ordering,
) -> Exact:
    """Return the worst-case sensitivity of Algorithm 2's G node [start, end] (``tran2022:theorem-8-sensitivity-g``)."""
    return to_exact(
        to_value(2 * lipschitz) * to_value(decay_sum(start, end, alpha, N, ordering))
    )


def difference_sensitivity(
    start: int,
    end: int,
    alpha: Fraction,
    N: int,
    eta: Fraction,
    smoothness: Fraction,
    ordering: Ordering,
    *,
    lipschitz: Fraction | None = None,
) -> Exact:
    """Return the worst-case sensitivity of Algorithm 2's Delta node [start, end] (``theorem-8-sensitivity-delta``).

    With a Lipschitz constant G the difference of two gradients can change by at most 4 G in all. So only the latest
    ``2*G/(eta*N*L)`` visits count, the earliest of them in part. Both suprema are attained.
    """
    check_node(start, end, N, ordering)
    if start <= N:
        raise ValueError(
            f"start must be above N for a Delta node, got start={start}, N={N}."
        )
    jump = 2 * eta * N * smoothness
    count = most_visits(start, end, N, ordering)
    if lipschitz is None or jump == 0 or 4 * lipschitz >= count * jump:
        return to_exact(
            to_value(jump) * to_value(decay_sum(start, end, alpha, N, ordering))
        )
    visit_count, part = divmod(4 * lipschitz, jump)
    latest = to_value(
        decay_sum(start, end, alpha, N, ordering, visits=int(visit_count))
    )
    one_more = to_value(
        decay_sum(start, end, alpha, N, ordering, visits=int(visit_count) + 1)
    )
    return to_exact(to_value(jump) * latest + to_value(part) * (one_more - latest))


def drift_sensitivity(
    start: int,
    end: int,
    alpha: Fraction,
    N: int,
    eta: Fraction,
    smoothness: Fraction,
    ordering: Ordering,
) -> Exact:
    """Return the worst-case sensitivity of Algorithm 2's r node [start, end] (``tran2022:theorem-8-sensitivity-r``).

    With a Lipschitz constant G it is an upper bound; a straight path attains it where
    ``L*eta*(end - 1 - first) <= 2*G`` and first + 1 is the first step of the node's first epoch.
    """
    return to_exact(
        to_value(2 * eta * smoothness)
        * _largest(_drift_sums(start, end, alpha, N, ordering))
    )


def drift_visits(
    start: int, end: int, alpha: Fraction, N: int, ordering: Ordering
) -> list[int]:
    """Return the steps of an r node's worst pattern, last first: the latest visits, or the last steps of the epochs."""
    sums = _drift_sums(start, end, alpha, N, ordering)
    if len(sums) == 2 and sums[1] > sums[0]:
        return list(range(end // N * N, start - 1, -N))
    return latest_visits(start, end, N, ordering)


def _drift_sums(
    start: int, end: int, alpha: Fraction, N: int, ordering: Ordering
) -> list[Value]:
    """Return weighted sums of (p - 1) over the candidates for the worst pattern, in the order of ``drift_visits``."""
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    count = most_visits(start, end, N, ordering)
    decay = 1 - alpha
    since = end - epoch_of(end, N) * N
    ratio = power(decay, N)
    far = to_value(N - 1)
    if ordering == "fresh":
        return [
            to_value(since - 1)
            + far * power(decay, since) * geometric(ratio, decay, N, count - 1)
        ]
    latest = to_value(since - 1) * geometric(ratio, decay, N, count)
    whole_epochs = end // N - (start - 1) // N
    if since == N or not whole_epochs:
        return [latest]
    return [
        latest,
        far * power(decay, since) * geometric(ratio, decay, N, whole_epochs),
    ]


def _largest(values: list[Value]) -> Value:
    """Return the largest of some numbers; a ball that contains it if balls overlap."""
    first, *later_values = values
    for value in later_values:
        if value > first:
            first = value
        elif not value <= first:
            first = to_ball(first).max(to_ball(value))
    return first
