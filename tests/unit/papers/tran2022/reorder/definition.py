"""The sums of fresh permutations from the lines of Algorithm 4 and nothing else, and a bound with their weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    GradientMoments,
    Spreads,
    Sum,
    as_value,
    check_parameters,
    window_weights,
)
from dpverify.symbolic.exact.numbers import ZERO, Value, to_ball, to_value

SUMS: tuple[Sum, ...] = ("difference", "estimate", "momentum")
Table = list[list[Fraction]]


def by_definition(
    t: int, n: int, alpha: Fraction, gamma: Fraction, table: Table, once: bool = False
) -> dict[Sum, list[Fraction]]:
    """All three sums for every choice of the orders, from the lines of Algorithm 4 and nothing else."""
    beta, keep, (q, r) = 1 - alpha, 1 - gamma, divmod(t, n)
    epochs = -(-t // n)
    orders = list(itertools.permutations(range(n)))
    out: dict[Sum, list[Fraction]] = {which: [] for which in SUMS}
    for chosen in itertools.product(orders, repeat=1 if once else epochs):
        drawn = [chosen[0 if once else s // n][s % n] for s in range(t)]

        def now(s: int, drawn: list[int] = drawn) -> Fraction:
            return table[(s - 1) // n][drawn[s - 1]]

        def change(s: int, drawn: list[int] = drawn) -> Fraction:
            return now(s, drawn) - table[(s - 1) // n - 1][drawn[s - 1]]

        def full(s: int) -> Fraction:
            row = table[(s - 1) // n]
            return sum(row, Fraction(0)) / n

        def window(a: int, b: int, term: Callable[[int], Fraction]) -> Fraction:
            return sum(
                (beta ** (b - s) * term(s) for s in range(a, b + 1)), Fraction(0)
            )

        g = beta ** (t - r) * window(1, r, now)
        for i in range(q):
            if i:
                a, b = t - i * n + 1, t - (i - 1) * n
                c = sum(
                    (keep**j * beta ** ((i - 1 - j) * n) for j in range(i)), Fraction(0)
                )
                g += c * (keep * window(a, b, change) + gamma * window(a, b, now))
            g += beta ** (n * i) * keep ** (q - i - 1) * window(r + 1, r + n, now)
        m_hat, m, mean = (
            alpha * g,
            alpha * window(1, t, now),
            alpha * window(1, t, full),
        )
        out["difference"].append(m_hat - m)
        out["estimate"].append(m_hat - mean)
        out["momentum"].append(m - mean)
    return out


def table_spread(table: list[list[Fraction]]) -> Spreads:
    """Moments of gradients in one dimension that stand in a table. Epochs beyond the table have moments 0."""

    def spread(epoch: int) -> GradientMoments:
        if epoch >= len(table):
            return GradientMoments(Fraction(0))
        xi = _centred(table[epoch])
        zeta = [
            now - then
            for now, then in zip(xi, _centred(table[max(epoch - 1, 0)]), strict=True)
        ]
        return GradientMoments(_mean(xi, xi), _mean(xi, zeta), _mean(zeta, zeta))

    return spread


def weight_bound(
    which: Sum,
    t: int,
    n_examples: int,
    alpha: Fraction,
    gamma: Fraction,
    lipschitz: Fraction,
    change: Fraction,
) -> arb:
    """Bound on the root mean square of one of the sums, with the exact weights.

    ``change``: bound on the distance of one example's gradients at the anchors of two
    epochs that follow on one another. ``alpha sqrt(N/(N-1)) (G sqrt(sum of
    (1-alpha)^(2p) a_i^2) + change sqrt(sum of (1-alpha)^(2p) b_i^2))``; 0 for N = 1.

    Source: Minkowski's inequality for the exact mean square, without its negative part.
    """
    check_parameters(t, n_examples, alpha, gamma)
    if n_examples == 1:
        return arb(0)
    q, r = divmod(t, n_examples)
    beta = as_value(1 - alpha, t)
    weights = window_weights(which, q, beta**n_examples, as_value(gamma, t))
    whole, cut = _squares(beta, n_examples), _squares(beta, r)
    own = sum((a * a for a, _ in weights[:q]), ZERO) * whole + weights[q][0] ** 2 * cut
    moved = sum((b * b for _, b in weights[:q]), ZERO) * whole
    scale = (
        to_ball(to_value(alpha))
        * (to_ball(to_value(Fraction(n_examples, n_examples - 1)))).sqrt()
    )
    return scale * (_times_root(lipschitz, own) + _times_root(change, moved))


def _centred(row: list[Fraction]) -> list[Fraction]:
    mean = sum(row, Fraction(0)) / len(row)
    return [value - mean for value in row]


def _mean(left: list[Fraction], right: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0)) / len(
        left
    )


def _squares(beta: Value, count: int) -> Value:
    """Sum of beta^(2p) over p < count."""
    total: Value = ZERO
    power: Value = to_value(Fraction(1))
    for _ in range(count):
        total, power = total + power, power * beta * beta
    return total


def _times_root(factor: Fraction, square: Value) -> arb:
    """Product of a number with a root."""
    return to_ball(to_value(factor)) * to_ball(square).sqrt()
