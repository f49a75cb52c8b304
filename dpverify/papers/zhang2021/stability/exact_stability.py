"""Exact stability and generalization error of an algorithm, on quadratics and on any finite table.

**Quadratics.** The mean distance of two runs on neighbouring data is exact if every
loss is a quadratic. Examples have the losses a w^2/2 + b w with |b| <= L/2; one
example's b is L/2 in one data set and -L/2 in the other. With the same batches and
noise the difference D of two runs follows the algorithm's recursion without noise,

    D_t+1 = (1 - eta a) D_t + rho_t (D_t - D_t-1) + eta L/B [the example is drawn],

where B/n is the probability of a draw. A new example with the loss L w shows the mean
of D: the runs' losses on it differ by L E D in the mean, so uniform stability is at
least L E D. While eta a <= (1 - sqrt(rho))^2 nothing oscillates: the iterates of a run
without noise stay in |w| <= L/(2a), where all gradients are at most L. Losses are at
most 1 there if L^2 <= 2a.

**Tables**, for Theorem 2.2. Stability and generalization error depend on the algorithm and the loss only through
g(S, z) = E_A f(A(S), z), which may be any table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from flint import arb, arb_mat

from dpverify.symbolic.exact.numbers import ball


def mean_difference(
    curvature: Fraction,
    stages: int,
    steps: int,
    momentum_steps: int,
    rho: Fraction,
    eta: arb,
    output: str,
) -> arb:
    """Return n E D/L of the result of the last stage, with the schedule of Theorem 3.2.

    ``eta`` is eta^0. ``output`` is ``loop``, ``arguments`` or ``last``, as in the readings of Theorem 3.2.
    """
    difference = arb(0)
    for k in range(1, stages + 1):
        length = steps << k
        momentum_on = momentum_steps << k
        size = eta / 2**k
        if output != "loop":
            momentum_on = min(
                momentum_on + 1, length
            )  # momentum is on at t = 1, ..., t_Mon, and has no effect at t = 0
        quiet = _step(curvature, size, Fraction(0), output) ** (length - momentum_on)
        end = (
            quiet
            * _step(curvature, size, rho, output) ** momentum_on
            * arb_mat([[difference], [difference], [0], [1]])
        )
        difference = end[0, 0] if output == "last" else end[2, 0] / length
    return difference


def _step(curvature: Fraction, eta: arb, rho: Fraction, output: str) -> arb_mat:
    """Return the matrix of a step on (n E D/L, the same one step before, its sum so far, 1)."""
    moved = [1 - eta * ball(curvature) + ball(rho), -ball(rho), arb(0), eta]
    summed = (
        [arb(1), arb(0), arb(1), arb(0)]
        if output == "loop"
        else [*moved[:2], arb(1), eta]
    )
    return arb_mat([moved, [1, 0, 0, 0], summed, [0, 0, 0, 1]])


Data = tuple[int, ...]
Table = dict[tuple[Data, int], int]


def table_of(code: int, n: int, size: int) -> Table:
    """Return the table of zeros and ones with the binary digits ``code``, for n examples of ``size`` kinds."""
    keys = itertools.product(itertools.product(range(size), repeat=n), range(size))
    return {key: code >> place & 1 for place, key in enumerate(keys)}


def stability(table: Table, n: int, size: int) -> Fraction:
    """Return the largest difference g(S, z) - g(S', z) between data sets that differ in one example."""
    largest = 0
    for (data, z), value in table.items():
        for place, replacement in itertools.product(range(n), range(size)):
            largest = max(
                largest,
                value - table[(*data[:place], replacement, *data[place + 1 :]), z],
            )
    return Fraction(largest)


def generalization_error(table: Table, n: int, chances: Sequence[Fraction]) -> Fraction:
    """Return E[F_E(A(S)) - F_S(A(S))] for n independent examples with these probabilities."""
    error = Fraction(0)
    for (data, z), value in table.items():
        error += (
            math.prod(chances[x] for x in data)
            * value
            * (chances[z] - Fraction(data.count(z), n))
        )
    return error


def mean_exchange_difference(
    table: Table, n: int, chances: Sequence[Fraction]
) -> Fraction:
    """Return the mean over i of E[g(S, z') - g(S^i, z')], where S^i has another example z' in the i-th place."""
    mean = Fraction(0)
    for (data, z), value in table.items():
        for place in range(n):
            exchanged_value = table[(*data[:place], z, *data[place + 1 :]), z]
            mean += (
                math.prod(chances[x] for x in data)
                * chances[z]
                * Fraction(value - exchanged_value, n)
            )
    return mean
