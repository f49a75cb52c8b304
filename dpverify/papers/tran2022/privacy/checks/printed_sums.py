"""Algorithm 2 with the node sums that its box prints: what one example moves in all nodes together.

A node that ends in epoch q then has, for each of its steps i, the example at the position of i in the permutation of q,
and the anchors of q. So what an example moves there depends on its place in that permutation alone, and the worst run
is the worst place in each epoch. Gradients of r are taken up to ``|i - qN - 1|`` steps from their anchor.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point
from dpverify.harness.search.rule_check import RuleCheck
from dpverify.ledger.statements import Statement

CHECKS = PaperChecks("tran2022", __name__)

Places: TypeAlias = NDArray[np.float64]
PROMISED = 3  # Theorem 8: z/(2 sigma^2) times this
ROUNDING = 1e-9


def _sizes(budget: Budget) -> Iterator[dict[str, int | Fraction]]:
    longest = {"smoke": 256, "standard": 2048, "full": 16384}[budget.name]
    for n in (2, 3, 4, 5, 8, 17, 64):
        for steps in sorted({1, n, n + 1, 2 * n + 1, 7 * n, longest - 1, longest}):
            yield {"N": n, "T": steps, "alpha": Fraction(1, n)}


def squares(steps: int, n: int, alpha: float) -> float:
    """The largest sum of squares over all nodes, each over its noise's variance, times sigma^2."""
    first = 3 * np.log2(n)
    later = 4 * steps / n * np.log2(n)
    total = 0.0
    for epoch in range(-(-steps // n)):
        moved: Places = np.zeros(n)
        for t in range(epoch * n + 1, min(steps, (epoch + 1) * n) + 1):
            for level in range((t & -t).bit_length()):
                moved += _node(t, 2**level, n, epoch, alpha, first if t <= 2 * n else later, later)
        total += float(moved.max())
    return total


def _node(t: int, length: int, n: int, epoch: int, alpha: float, of_g: float, later: float) -> Places:
    """Squares of G, Delta and r of the node of so many steps that ends at t, for each place of the example."""
    i = np.arange(t - length + 1, t + 1)
    weights = (1 - alpha) ** (t - i)
    visits = np.bincount((i - 1) % n, weights, n).astype(np.float64)
    drift = np.bincount((i - 1) % n, weights * np.abs(i - epoch * n - 1) / n, n).astype(np.float64)
    delta = visits**2 / later if t - length + 1 > n else 0.0
    return visits**2 / (4 * of_g) + delta + drift**2 / later


def _private(point: Point, statement: Statement, times: int = 1) -> Outcome:
    """All nodes count, read or not, and all three families at once: an upper bound."""
    total = times * squares(int(point["T"]), int(point["N"]), float(point["alpha"]))
    exact = Fraction(total).limit_denominator(10**9)
    return Outcome(total <= PROMISED - ROUNDING, exact, Fraction(PROMISED), "sum of squares over all nodes")


CHECKS.add(
    RuleCheck(
        "algorithm-2-printed-sums",
        "all-nodes",
        points=_sizes,
        holds=_private,
        planted=[Planted("squares 4 times as large", holds=partial(_private, times=4), at_declared_size=True)],
        region="N from 2 to 64, T up to 256 (smoke), 2048, 16384, alpha = 1/N, where every node moves most",
        leaves_out="other sizes; floats, not real arithmetic",
        seconds=1.0,
    )
)
