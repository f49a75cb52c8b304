"""Exact privacy curves of Laplace noise and of binomial noise on a query, as balls.

The hockey-stick divergence of neighbours is the larger one of both directions: added or removed, the query moves up or
down by the same amount.
"""

from __future__ import annotations

from flint import arb

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.laws import need
from dpverify.symbolic.exact.numbers import ONE, ZERO, Value, to_ball
from dpverify.symbolic.exact.work import spend

_PARTS_OF_A_TERM = 16


def laplace_delta(epsilon: Value, mu: Value) -> Value:
    """Smallest delta at epsilon of Laplace noise; mu: sensitivity divided by the scale of the noise.

    The loss is at most mu; for epsilon < mu the divergence is ``1 - exp((epsilon - mu)/2)``, in both directions.
    """
    _check(epsilon)
    need("mu > 0", mu > 0, mu <= 0, mu)
    if epsilon >= mu:
        return ZERO
    return (1 - (to_ball(epsilon - mu) / 2).exp()).max(arb(0))


def binomial_delta(epsilon: Value, n: Value, p: Value, shift: Value) -> Value:
    """Smallest delta at epsilon of a count that changes by ``shift``, with n coins of probability p added to it.

    The masses follow from each other by ``(n - i)/(i + 1)*p/(1 - p)``; the sums run over all values of both laws.
    """
    _check(epsilon)
    coins = elementary.as_int("binomial_delta", "n", n)
    moved = elementary.as_int("binomial_delta", "shift", shift)
    need("n >= 0", coins >= 0, coins < 0, n)
    need("shift >= 1", moved >= 1, moved < 1, shift)
    need("p > 0", p > 0, p <= 0, p)
    need("p < 1", p < 1, p >= 1, p)
    spend(_PARTS_OF_A_TERM * (coins + moved + 1))
    odds = to_ball(p) / to_ball(ONE - p)
    masses = [to_ball(ONE - p) ** coins]
    for i in range(coins):
        masses.append(masses[-1] * (coins - i) / (i + 1) * odds)
    nothing = [arb(0)] * moved
    here = [*masses, *nothing]
    there = [*nothing, *masses]
    factor = to_ball(epsilon).exp()
    up, down = (
        sum(((a - factor * b).max(arb(0)) for a, b in zip(first, second, strict=True)), start=arb(0))
        for first, second in ((here, there), (there, here))
    )
    return up.max(down)


def _check(epsilon: Value) -> None:
    need("epsilon >= 0", epsilon >= 0, epsilon < 0, epsilon)
