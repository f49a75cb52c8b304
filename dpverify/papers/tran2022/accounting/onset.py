"""The smallest N from which the bounds of Theorems 6 and 9 are below the trivial bound G.

Three bounds are compared: as printed, corrected, and corrected with only the noise that
privacy needs. The settings are alpha = 1/N, the printed T, and fresh permutations. All
bounds are homogeneous in G, L and R, so G = 1, and L and R mean L/G and R/G. This
module computes the corrected bounds in floats, with the noise term separate. A check
compares them with ``specs/tran2022/claims.toml``.

The noise that privacy needs is the printed noise of every node times the ratio of the needed sigma to the printed one.
The accountant bounds this ratio to within 0.05% for Theorem 6 and about 0.5% for Theorem 9, where N and T/N are both
too large for a closer bound (``algorithm_2.long``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from dpverify.harness.search.candidates import first_below, first_below_near
from dpverify.papers.tran2022.accounting.audit import Algorithm, AuditedRun
from dpverify.papers.tran2022.accounting.noise import UP, theorem_6, theorem_9
from dpverify.privacy.gaussian_safe import safe_mu
from dpverify.privacy.participation import Bounds

Theorem: TypeAlias = Literal["theorem-6", "theorem-9"]
GUESS = 0.28
"""Share of the printed noise at which the search with the accountant begins; any guess gives the same onset."""

ACCURACY = {"theorem-6": 1.01, "theorem-9": 1.04}
"""Requested ratio of the accountant's upper to lower bound on mu^2. The actual ratio is mostly smaller."""


class Cell(NamedTuple):
    """A row of the table: d, epsilon, delta, L/G and R/G."""

    d: int
    epsilon: float
    delta: float = 1e-6
    smoothness: float = 1.0
    gap: float = 1.0


class Parts(NamedTuple):
    """The two terms of a corrected bound: without noise, and from the noise at the printed sigma."""

    rest: float
    noise: float


def steps_of(theorem: Theorem, n: int, cell: Cell) -> int:
    """Return the printed T, rounded down; 0 if the corrected theorem does not cover a run of that length."""
    of = theorem_6 if theorem == "theorem-6" else theorem_9
    steps = of(n, cell.d, cell.epsilon, cell.delta, 2).steps
    least = 2.0 if theorem == "theorem-6" else 4.0 * n
    return (
        math.floor(steps)
        if n >= 2 and steps >= least and _is_run(theorem, n, cell)
        else 0
    )


def printed_bound(theorem: Theorem, n: int, cell: Cell) -> float:
    """Return the right side of the printed theorem in units of G; infinite if ``steps_of`` is 0."""
    steps = steps_of(theorem, n, cell)
    if not steps:
        return math.inf
    x = math.sqrt(n / steps)
    log_t = math.log2(steps)
    ell = math.log(1 / cell.delta)
    L = cell.smoothness
    R = cell.gap
    if theorem == "theorem-6":
        root = math.sqrt(log_t * math.sqrt(ell))
        first = (1.5 * R + 6 * L * math.sqrt(log_t * ell) + 12 * root) * x / root
        return first + 0.75 * L / math.sqrt(n * steps) + 6 / math.sqrt(n) + 6 * x**2
    k = 16 * log_t * ell
    first = (1.5 * R + 24 * k * (1 + 2 * L) + 12 * L) * x
    return first + 6 / math.sqrt(n) + (36 + 9 * L) * k * x * math.sqrt(x)


def corrected_parts(theorem: Theorem, n: int, cell: Cell) -> Parts:
    """Return the two terms of the corrected theorem's right side in units of G; infinite if ``steps_of`` is 0."""
    steps = steps_of(theorem, n, cell)
    if not steps:
        return Parts(math.inf, math.inf)
    x = math.sqrt(n / steps)
    log_n = math.log2(n)
    ell = math.log(1 / cell.delta)
    L = cell.smoothness
    R = cell.gap
    noise_free = (R + 13 / 3 * L) * x + 2 * x**2
    if theorem == "theorem-6":
        noise = (
            16 * x * math.sqrt((log_n + 3) * math.log2(steps + 1)) / math.log2(steps)
        )
        return Parts(noise_free + 2 / math.sqrt(2 * n - 1), noise)
    later = 6 + 2 / x * (4 + (1 - x) ** 2 * L**2) / (2 - x)
    inside = (
        3 * log_n
        + later * math.log2(1 + n / 2) / (1 - math.exp(-1)) ** 2
        + L**2 * math.log2(steps + 1)
    )
    return Parts(
        noise_free + (7 + 2.2 * L) * math.sqrt(x / n),
        32 * x * math.sqrt(x * ell * log_n * inside),
    )


def needed_share(theorem: Theorem, n: int, cell: Cell) -> Bounds:
    """Return bounds on the ratio of the needed noise to the printed noise; it is the same for every node."""
    # With the upper bound as ratio, (epsilon, delta)-DP is certified. With a ratio
    # below the lower bound, the accountant's worst pattern violates (epsilon, delta).
    steps = steps_of(theorem, n, cell)
    factor = 2.0 if theorem == "theorem-6" else 4.0
    mu = _unit_mu(theorem, n, steps, cell.smoothness)
    unit = (
        cell.epsilon
        / (factor * math.sqrt(math.log(1 / cell.delta)))
        / safe_mu(cell.epsilon, cell.delta)
    )
    return Bounds(mu.lower * unit / UP, mu.upper * unit * UP, exact=False)


@lru_cache(maxsize=4096)
def _unit_mu(theorem: Theorem, n: int, steps: int, smoothness: float) -> Bounds:
    """Return bounds on mu at sigma = 1 and G = 1."""
    algorithm: Algorithm = "dp-nsgd" if theorem == "theorem-6" else "sr-nsgd"
    run = AuditedRun(
        algorithm,
        n,
        steps,
        1 / n,
        1.0,
        eta=1 / math.sqrt(n * steps),
        smoothness=smoothness,
    )
    return run.mu(ACCURACY[theorem])


def needed_bound(theorem: Theorem, n: int, cell: Cell) -> float:
    """Return the corrected right side with noise that certainly suffices; infinite if ``steps_of`` is 0."""
    noise_free, noise = corrected_parts(theorem, n, cell)
    return (
        noise_free + noise * needed_share(theorem, n, cell).upper
        if math.isfinite(noise)
        else math.inf
    )


def least_bound(theorem: Theorem, n: int, cell: Cell) -> float:
    """Return the corrected right side with noise that is certainly not more than needed."""
    noise_free, noise = corrected_parts(theorem, n, cell)
    return (
        noise_free + noise * needed_share(theorem, n, cell).lower
        if math.isfinite(noise)
        else math.inf
    )


def needed_onset(
    theorem: Theorem,
    cell: Cell,
    bound: Callable[[Theorem, int, Cell], float] = needed_bound,
) -> int:
    """Return the k from which a bound with the needed noise is below G, with few calls of the accountant."""

    def guessed(n: int) -> float:
        noise_free, noise = corrected_parts(theorem, n, cell)
        return noise_free + GUESS * noise

    return first_below_near(lambda n: bound(theorem, n, cell), first_below(guessed))


class Onsets(NamedTuple):
    """The numbers k of the sizes ``size(k)`` from which four bounds are below G."""

    printed: int
    corrected: int
    needed: int  # corrected, with noise that certainly suffices
    least: int  # corrected, with noise that is certainly not more than needed


@lru_cache(maxsize=64)
def onsets(theorem: Theorem, cell: Cell) -> Onsets:
    """Return the sizes from which the bounds of a theorem are below the trivial bound G."""
    return Onsets(
        first_below(lambda n: printed_bound(theorem, n, cell)),
        first_below(lambda n: sum(corrected_parts(theorem, n, cell))),
        needed_onset(theorem, cell),
        needed_onset(theorem, cell, least_bound),
    )


def _is_run(theorem: Theorem, n: int, cell: Cell) -> bool:
    """Return whether the equation of Theorem 6 has a solution T >= 2: ``epsilon N^2/sqrt(d log(1/delta)) >= 2``."""
    return theorem == "theorem-9" or cell.epsilon * n**2 >= 2 * math.sqrt(
        cell.d * math.log(1 / cell.delta)
    )
