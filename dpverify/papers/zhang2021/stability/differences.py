"""How far two runs on neighbouring data are apart, in the mean and exactly, where every loss is a quadratic.

Examples have the losses a w^2/2 + b w with |b| <= L/2; one example's b is L/2 in one data set and -L/2 in the other.
With the same batches and noise the difference D of two runs follows the algorithm's recursion without noise,

    D_t+1 = (1 - eta a) D_t + rho_t (D_t - D_t-1) + eta L/B [the example is drawn],

with B/n the chance of a draw. A new example with the loss L w shows the mean of D: the runs' losses on it differ by
L E D in the mean, so that uniform stability is at least that. While eta a <= (1 - sqrt(rho))^2 nothing oscillates: the
iterates of a run without noise stay in |w| <= L/(2a), where all gradients are at most L; losses are at most 1 there if
L^2 <= 2a.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_mat

from dpverify.symbolic.exact.numbers import ball


def mean_difference(
    curvature: Fraction, stages: int, steps: int, momentum_steps: int, rho: Fraction, eta: arb, output: str
) -> arb:
    """Give n E D/L of what the last stage hands on, with the schedule of Theorem 3.2.

    ``eta``: eta^0. ``output``: ``loop``, ``arguments`` or ``last``, as in the readings of Theorem 3.2.
    """
    difference = arb(0)
    for k in range(1, stages + 1):
        length = steps << k
        on = momentum_steps << k
        size = eta / 2**k
        if output != "loop":
            on = min(on + 1, length)  # momentum is on at t = 1, ..., t_Mon, and without effect at t = 0
        quiet = _step(curvature, size, Fraction(0), output) ** (length - on)
        end = quiet * _step(curvature, size, rho, output) ** on * arb_mat([[difference], [difference], [0], [1]])
        difference = end[0, 0] if output == "last" else end[2, 0] / length
    return difference


def _step(curvature: Fraction, eta: arb, rho: Fraction, output: str) -> arb_mat:
    """Matrix of a step on (n E D/L, the same one step before, its sum so far, 1)."""
    moved = [1 - eta * ball(curvature) + ball(rho), -ball(rho), arb(0), eta]
    summed = [arb(1), arb(0), arb(1), arb(0)] if output == "loop" else [*moved[:2], arb(1), eta]
    return arb_mat([moved, [1, 0, 0, 0], summed, [0, 0, 0, 1]])
