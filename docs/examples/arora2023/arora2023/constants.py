"""The universal constant c of Theorems B.2 and B.3 of arora2023, and the condition of the lemma behind them.

    python docs/examples/arora2023/arora2023/constants.py

A row is a setting of Theorem B.3 with L_0 = L_1 = F_0 = 1, with T, q and b_2 rounded down. c is the constant that the
accountant needs for (epsilon, delta): for the gradients of line 9 alone, for the changes of line 13 alone, and for
both. Lemma 3 of Abadi et al. 2016 requires a rate below 1/(16 sigma), where sigma is the deviation of the noise on a
sum over the bound on an example. For the changes, sigma is c sqrt(log(1/delta))/epsilon max(1, sqrt(T) b_2/n). The last
column is the c below which the changes satisfy this condition.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from spider_boost import SpiderBoostSettings, releases

from dpverify.privacy.batches import least_factor

SETTINGS: Final = (
    (569, 30, 1.0, 1e-5),
    (1797, 64, 1.0, 1e-5),
    (10**4, 1, 1.0, 1e-5),
    (10**4, 10, 1.0, 1e-6),
    (60_000, 785, 1.0, 1e-5),
    (10**5, 10, 1.0, 1e-6),
    (10**5, 10, 0.1, 1e-6),
    (10**6, 10, 1.0, 1e-7),
    (10**6, 1000, 1.0, 1e-7),
)
"""n, d, epsilon, delta."""


class Constants(NamedTuple):
    """A row of the table."""

    steps: int
    phase: int
    batch: int
    gradients: float
    changes: float
    both: float
    lemma: float


def theorem(n: int, d: int, epsilon: float, delta: float) -> SpiderBoostSettings:
    """Return T, q and b_2 of Theorem B.3 as in its proof, rounded down."""
    a_bar = math.sqrt(d * math.log(1.0 / delta)) / (n * epsilon)
    steps = a_bar ** (-4.0 / 3.0)
    batch = max(a_bar ** (-2.0 / 3.0), n * a_bar ** (2.0 / 3.0))
    phase = max(1, math.floor(1.0 / (steps * a_bar**2)))
    return SpiderBoostSettings(
        steps=math.floor(steps), phase=phase, first_batch=n, batch=min(n, math.floor(batch)), sigma=1.0
    )


def needed_constant(
    settings: SpiderBoostSettings, n: int, epsilon: float, delta: float, kinds: slice = slice(0, 2)
) -> float:
    """Return the c that the accountant needs. ``kinds`` selects the releases: gradients (0) and changes (1)."""
    sigma = least_factor(lambda factor: releases(settings, n, factor)[kinds], epsilon, delta)
    return 2.0 * sigma * epsilon / math.sqrt(math.log(1.0 / delta))


def constants(n: int, d: int, epsilon: float, delta: float) -> Constants:
    """Return the row for a setting."""
    s = theorem(n, d, epsilon, delta)
    needed = [needed_constant(s, n, epsilon, delta, kinds) for kinds in (slice(0, 1), slice(1, 2), slice(0, 2))]
    rate = s.batch / n
    lemma = epsilon / (16.0 * math.sqrt(math.log(1.0 / delta)) * rate * max(1.0, math.sqrt(s.steps) * rate))
    return Constants(s.steps, s.phase, s.batch, *needed, lemma)


def main() -> None:
    """Print all rows."""
    print("       n     d  epsilon   delta        T     q   b_2  gradients  changes   both  lemma")
    for n, d, epsilon, delta in SETTINGS:
        row = constants(n, d, epsilon, delta)
        counts = f"{n:8} {d:5} {epsilon:8} {delta:7} {row.steps:8} {row.phase:5} {row.batch:5}"
        print(f"{counts}  {row.gradients:9.3f} {row.changes:8.3f} {row.both:6.3f} {row.lemma:6.3f}")


if __name__ == "__main__":
    main()
