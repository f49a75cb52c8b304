"""Exact worst-case sensitivity of every node of Algorithms 1 and 2, with what was released before held fixed.

Two neighbours differ in one example. A node adds up one term per visit of that example, weighted by the decay; a term
moves by at most

    2 G                      gradients themselves (f of Algorithm 1, G of Algorithm 2),
    2 L eta N                differences of gradients at two consecutive anchors (Delta), N steps apart,
    2 L eta (p - 1)          differences of gradients at the p-th step of an epoch and at its anchor (r),

and the visits can be so placed, and the losses so chosen, that all terms of a node move that much in one direction.
NOTES_sensitivity.md has the proofs, and the problem on which each supremum is attained.
"""

from __future__ import annotations

from fractions import Fraction

from dpverify.papers.tran2022.sensitivity import visits_bounds as visits_of
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import Exact, Value, power, to_ball, to_exact, to_value


def momentum_sensitivity(
    start: int, end: int, alpha: Fraction, N: int, lipschitz: Fraction, ordering: Ordering
) -> Exact:
    """Worst-case sensitivity of the node f_[start, end] of Algorithm 1 (``tran2022:theorem-4-sensitivity``)."""
    return to_exact(to_value(2 * alpha * lipschitz) * to_value(visits_of.decay_sum(start, end, alpha, N, ordering)))


def gradient_sensitivity(
    start: int, end: int, alpha: Fraction, N: int, lipschitz: Fraction, ordering: Ordering
) -> Exact:
    """Worst-case sensitivity of the G node [start, end] of Algorithm 2 (``tran2022:theorem-8-sensitivity-g``)."""
    return to_exact(to_value(2 * lipschitz) * to_value(visits_of.decay_sum(start, end, alpha, N, ordering)))


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
    """Worst-case sensitivity of the Delta node [start, end] of Algorithm 2 (``theorem-8-sensitivity-delta``).

    With G the difference of two gradients can climb by 4 G in all, so only the latest ``2*G/(eta*N*L)`` visits count,
    the last of them in part. Both suprema are attained.
    """
    visits_of.check_node(start, end, N, ordering)
    if start <= N:
        raise ValueError(f"start must be above N for a Delta node, got start={start}, N={N}.")
    jump = 2 * eta * N * smoothness
    count = visits_of.most_visits(start, end, N, ordering)
    if lipschitz is None or jump == 0 or 4 * lipschitz >= count * jump:
        return to_exact(to_value(jump) * to_value(visits_of.decay_sum(start, end, alpha, N, ordering)))
    visit_count, part = divmod(4 * lipschitz, jump)
    latest = to_value(visits_of.decay_sum(start, end, alpha, N, ordering, visits=int(visit_count)))
    one_more = to_value(visits_of.decay_sum(start, end, alpha, N, ordering, visits=int(visit_count) + 1))
    return to_exact(to_value(jump) * latest + to_value(part) * (one_more - latest))


def drift_sensitivity(
    start: int, end: int, alpha: Fraction, N: int, eta: Fraction, smoothness: Fraction, ordering: Ordering
) -> Exact:
    """Worst-case sensitivity of the r node [start, end] of Algorithm 2 (``tran2022:theorem-8-sensitivity-r``).

    With a Lipschitz constant G it is an upper bound; a straight path attains it where ``L*eta*(end - 1 - first) <=
    2*G``, first + 1 being the first step of the node's first epoch.
    """
    return to_exact(to_value(2 * eta * smoothness) * _largest(_drift_sums(start, end, alpha, N, ordering)))


def drift_visits(start: int, end: int, alpha: Fraction, N: int, ordering: Ordering) -> list[int]:
    """Steps of an r node's worst pattern, from the last back: the latest visits, or perhaps last steps of epochs."""
    sums = _drift_sums(start, end, alpha, N, ordering)
    if len(sums) == 2 and sums[1] > sums[0]:
        return list(range(end // N * N, start - 1, -N))
    return visits_of.latest_visits(start, end, N, ordering)


def _drift_sums(start: int, end: int, alpha: Fraction, N: int, ordering: Ordering) -> list[Value]:
    """Weighted sums of (p - 1) over the patterns among which the worst one is, in the order of ``drift_visits``."""
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    count = visits_of.most_visits(start, end, N, ordering)
    decay = 1 - alpha
    since = end - visits_of.epoch_of(end, N) * N
    ratio = power(decay, N)
    far = to_value(N - 1)
    if ordering == "fresh":
        return [to_value(since - 1) + far * power(decay, since) * visits_of.geometric(ratio, decay, N, count - 1)]
    latest = to_value(since - 1) * visits_of.geometric(ratio, decay, N, count)
    whole_epochs = end // N - (start - 1) // N
    if since == N or not whole_epochs:
        return [latest]
    return [latest, far * power(decay, since) * visits_of.geometric(ratio, decay, N, whole_epochs)]


def _largest(values: list[Value]) -> Value:
    """Largest of some numbers; a ball that holds it where balls overlap."""
    first, *later_values = values
    for value in later_values:
        if value > first:
            first = value
        elif not value <= first:
            first = to_ball(first).max(to_ball(value))
    return first
