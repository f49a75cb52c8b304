"""From which N on Theorems 6 and 9 say more than the trivial bound G: printed, corrected, with only the noise needed.

G = L = R = 1, alpha = 1/N and T as the theorems print them, fresh permutations. The corrected bounds are those of
``specs/tran2022/claims.toml``, in floats and with the noise apart; the check holds them against the formulas there.

*Noise that is needed.* The standard deviation of every node is scaled by sigma that is needed over the printed sigma.
For Theorem 6 the accountant gives the exact sigma. Theorem 9 takes more steps than the accountant can go through at
the sizes in question: there it is the sigma that the corrected proof supports (true sensitivities and counts, exact
trade-off of the Gaussian mechanism), which is enough but may not be the least.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from dpverify.papers.tran2022.noise_accounting import SR_NODES, Setting, sigma_for, sr_proof_mu, unit_noise
from dpverify.papers.tran2022.sr_nsgd_parameters import SrParameters
from dpverify.papers.tran2022.theorem_parameters import theorem_6, theorem_9
from dpverify.privacy.gaussian_safe import safe_mu

Theorem: TypeAlias = Literal["theorem-6", "theorem-9"]
DELTA = 1e-6
PER_DECADE = 20
"""Sizes that are tried: N = 10^(k/PER_DECADE), rounded."""

GUESS = 0.28
"""Share of the printed noise at which the search with the accountant begins; any guess gives the same onset."""


class Cell(NamedTuple):
    """A row of the table: d and epsilon, and delta = 10^-6."""

    d: int
    epsilon: float


class Parts(NamedTuple):
    """A corrected bound: what has nothing to do with noise, and the noise at the printed sigma."""

    rest: float
    noise: float


def steps_of(theorem: Theorem, n: int, cell: Cell) -> int:
    """Printed T, rounded down; 0 where it leaves no run that the corrected theorem covers."""
    of = theorem_6 if theorem == "theorem-6" else theorem_9
    steps = of(n, cell.d, cell.epsilon, DELTA, 2).steps
    least = 2.0 if theorem == "theorem-6" else 4.0 * n
    return math.floor(steps) if n >= 2 and steps >= least and _is_run(theorem, n, cell) else 0


def printed_bound(theorem: Theorem, n: int, cell: Cell) -> float:
    """Right side of the printed theorem at G = L = R = 1; infinite where there is no run."""
    steps = steps_of(theorem, n, cell)
    if not steps:
        return math.inf
    x, log_t, ell = math.sqrt(n / steps), math.log2(steps), math.log(1 / DELTA)
    if theorem == "theorem-6":
        root = math.sqrt(log_t * math.sqrt(ell))
        first = (1.5 + 6 * math.sqrt(log_t * ell) + 12 * root) * x / root
        return first + 0.75 / math.sqrt(n * steps) + 6 / math.sqrt(n) + 6 * x**2
    k = 16 * log_t * ell
    return (1.5 + 72 * k + 12) * x + 6 / math.sqrt(n) + 45 * k * x * math.sqrt(x)


def corrected_parts(theorem: Theorem, n: int, cell: Cell) -> Parts:
    """Right side of the corrected theorem at G = L = R = 1, in two parts; infinite where there is no run."""
    steps = steps_of(theorem, n, cell)
    if not steps:
        return Parts(math.inf, math.inf)
    x, log_n, ell = math.sqrt(n / steps), math.log2(n), math.log(1 / DELTA)
    rest = (1 + 13 / 3) * x + 2 * x**2
    if theorem == "theorem-6":
        noise = 16 * x * math.sqrt((log_n + 3) * math.log2(steps + 1)) / math.log2(steps)
        return Parts(rest + 2 / math.sqrt(2 * n - 1), noise)
    later = 6 + 2 / x * (4 + (1 - x) ** 2) / (2 - x)
    inside = 3 * log_n + later * math.log2(1 + n / 2) / (1 - math.exp(-1)) ** 2 + math.log2(steps + 1)
    return Parts(rest + 9.2 * math.sqrt(x / n), 32 * x * math.sqrt(x * ell * log_n * inside))


@lru_cache(maxsize=4096)
def needed_share(theorem: Theorem, n: int, cell: Cell) -> float:
    """Noise that is needed over the printed noise, of every node.

    Parameters
    ----------
    theorem : str
        ``theorem-6`` or ``theorem-9``.
    n : int
        N.
    cell : Cell
        d and epsilon.

    Returns
    -------
    float
        sigma over the printed sigma; certified for (epsilon, delta).
    """
    steps, log = steps_of(theorem, n, cell), math.sqrt(math.log(1 / DELTA))
    eta = 1 / math.sqrt(n * steps)
    setting = Setting(n, steps, 1 / n, 1.0 if theorem == "theorem-6" else eta * n, eta, 1.0, 1.0, "fresh")
    if theorem == "theorem-6":
        noise = unit_noise("dp-nsgd", setting)
        return sigma_for(noise, cell.epsilon, DELTA) * cell.epsilon / (noise.printed_factor * log)
    parameters = SrParameters(steps, setting.alpha, setting.gamma, eta, 1.0, 1.0, "fresh")
    deviations = dict(zip(SR_NODES, parameters.deviations(n).tolist(), strict=True))
    return sr_proof_mu(setting, deviations) / safe_mu(cell.epsilon, DELTA) * cell.epsilon / (4 * log)


def needed_bound(theorem: Theorem, n: int, cell: Cell) -> float:
    """Right side of the corrected theorem with the noise that is needed; infinite where there is no run."""
    rest, noise = corrected_parts(theorem, n, cell)
    return rest + noise * needed_share(theorem, n, cell) if math.isfinite(noise) else math.inf


def size(k: int) -> int:
    """N number k of those that are tried."""
    return round(10 ** (k / PER_DECADE))


def first_below(bound: Callable[[int], float], low: int = 1, high: int = 14 * PER_DECADE) -> int:
    """Smallest k with ``bound(size(k)) < 1``, for a bound that falls below 1 once; by bisection.

    Parameters
    ----------
    bound : callable
        From N to the bound.
    low, high : int
        At size(low) the bound is not below 1, at size(high) it is.

    Returns
    -------
    int
        k.
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(size(middle)) < 1 else (middle, high)
    return high


def needed_onset(theorem: Theorem, cell: Cell) -> int:
    """The same k for the needed noise, with few questions to the accountant: one guess, then step by step."""

    def guessed(n: int) -> float:
        rest, noise = corrected_parts(theorem, n, cell)
        return rest + GUESS * noise

    k = first_below(guessed)
    while not needed_bound(theorem, size(k), cell) < 1:
        k += 1
    while needed_bound(theorem, size(k - 1), cell) < 1:
        k -= 1
    return k


class Onsets(NamedTuple):
    """Sizes k from which the three bounds are below G."""

    printed: int
    corrected: int
    needed: int


@lru_cache(maxsize=64)
def onsets(theorem: Theorem, cell: Cell) -> Onsets:
    """From which size on a theorem says more than the trivial bound, three times."""
    return Onsets(
        first_below(lambda n: printed_bound(theorem, n, cell)),
        first_below(lambda n: sum(corrected_parts(theorem, n, cell))),
        needed_onset(theorem, cell),
    )


def _is_run(theorem: Theorem, n: int, cell: Cell) -> bool:
    """Whether Theorem 6 has a T at all: ``epsilon N^2/sqrt(d log(1/delta)) >= 2``."""
    return theorem == "theorem-9" or cell.epsilon * n**2 >= 2 * math.sqrt(cell.d * math.log(1 / DELTA))
