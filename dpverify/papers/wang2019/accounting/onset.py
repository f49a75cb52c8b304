"""Smallest n from which the corrected Theorem 4.4 beats the trivial bound G, in floats.

Its bound is 17/3 zeta, and with c = zeta/G its condition on the noise is d k (2 L D_F/G^2 + 3)/n^2 <= c^3. So of G, L
and D_F only L D_F/G^2 matters. *Printed noise*: k = 14 alpha/(beta epsilon), at the beta in (0, 1) that minimizes it.
*Noise that is needed*: the theorem allows batches as large as all of the data. Then T Gaussian estimates are released.
The ratio of their deviation and their sensitivity is sqrt(T)/mu, where mu is that of the Gaussian mechanism with
(epsilon, delta). So k = 4/mu^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from dpverify.harness.search.candidates import first_below
from dpverify.privacy.gaussian_safe import safe_mu


class OnsetSetting(NamedTuple):
    """A row of the table: d, epsilon, delta and L D_F/G^2."""

    d: int
    epsilon: float
    delta: float = 1e-6
    drop: float = 1.0


def best_beta(cell: OnsetSetting) -> float:
    """Return the beta in (0, 1) that minimizes (r/(1 - beta) + 1)/beta, where r = log(1/delta)/epsilon."""
    r = -math.log(cell.delta) / cell.epsilon
    return 1.0 + r - math.sqrt(r * (1.0 + r))


def printed_cost(cell: OnsetSetting) -> float:
    """Return k for the noise of Theorem 4.1."""
    beta = best_beta(cell)
    return (
        14.0
        * (-math.log(cell.delta) / ((1.0 - beta) * cell.epsilon) + 1.0)
        / (beta * cell.epsilon)
    )


def needed_cost(cell: OnsetSetting) -> float:
    """Return k for the least noise that is certified for full batches."""
    return 4.0 / safe_mu(cell.epsilon, cell.delta) ** 2


def bound(cost: Callable[[OnsetSetting], float], n: float, cell: OnsetSetting) -> float:
    """Return 17/3 c, or infinity if no run attains it: c must be at most 1, and the least batches at most n."""
    c = (cell.d * cost(cell) * (2.0 * cell.drop + 3.0) / n**2) ** (1.0 / 3.0)
    fits = c <= 1.0 and 1.0 / c <= n and 1.0 / (c * cell.drop) <= n
    return 17.0 / 3.0 * c if fits else math.inf


class OnsetPair(NamedTuple):
    """Indices of the sizes from which the bound is below G, with the printed noise and with the needed noise."""

    corrected: int
    needed: int


def onsets(cell: OnsetSetting) -> OnsetPair:
    """Return the onsets with the printed and with the needed noise."""
    return OnsetPair(_onset(printed_cost, cell), _onset(needed_cost, cell))


def _onset(cost: Callable[[OnsetSetting], float], cell: OnsetSetting) -> int:
    return first_below(lambda n: bound(cost, n, cell))
