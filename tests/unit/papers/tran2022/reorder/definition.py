"""The sums of fresh permutations from the lines of Algorithm 4 and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

from dpverify.papers.tran2022.reorder.reorder_bias_bounds import Sum

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
            return sum((beta ** (b - s) * term(s) for s in range(a, b + 1)), Fraction(0))

        g = beta ** (t - r) * window(1, r, now)
        for i in range(q):
            if i:
                a, b = t - i * n + 1, t - (i - 1) * n
                c = sum((keep**j * beta ** ((i - 1 - j) * n) for j in range(i)), Fraction(0))
                g += c * (keep * window(a, b, change) + gamma * window(a, b, now))
            g += beta ** (n * i) * keep ** (q - i - 1) * window(r + 1, r + n, now)
        m_hat, m, mean = alpha * g, alpha * window(1, t, now), alpha * window(1, t, full)
        out["difference"].append(m_hat - m)
        out["estimate"].append(m_hat - mean)
        out["momentum"].append(m - mean)
    return out
