"""Exact population risk of Algorithm 1 on quadratics whose examples have a known distribution.

As in ``empirical.recursion``, with b_1, ..., b_n independent, of mean 0 and mean square
V, and b their mean. Then F_E(w) = a |w|^2/2 and F_S = F_E + <b, w>, with the minimizer
-b/a and E F_S(-b/a) = -V/(2an). Given the data, the result of the last stage has the
mean -b/a + C (omega^0 + b/a) with the product C of all stages' contractions, so that

    E[F_E - F_S](omega^K) = -E<b, E omega^K> = (1 - C) V/(an),

and (1 - C)/a is n/L times the mean difference of runs on neighbours in ``stability.exact_stability``, which begin at
the same point. Given the data, the mean variance of a batch is V (n - B)/(B n).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpverify.papers.zhang2021.empirical.recursion import Quadratic
from dpverify.papers.zhang2021.stability.exact_stability import mean_difference
from dpverify.symbolic.exact.numbers import ball


def generalization_error(run: Quadratic, examples: int, variance: Fraction) -> arb:
    """Return E[F_E(omega^K) - F_S(omega^K)], where omega^0 is independent of the data."""
    schedule = run.stages, run.steps, run.momentum_steps, run.rho, run.eta, run.output
    return ball(variance / examples) * mean_difference(run.curvature, *schedule)


def population_excess(
    run: Quadratic,
    gap: Fraction,
    examples: int,
    batch: int,
    variance: Fraction,
    noise: arb,
) -> arb:
    """Return E[F_E(omega^K)] - min F_E for a mean first excess of ``gap`` and noise of the mean square ``noise``."""
    sampled = ball(variance * (examples - batch) / (batch * examples))
    least = -variance / (2 * run.curvature * examples)  # E min F_S
    return (
        run.excess(ball(gap), sampled + noise)
        + ball(least)
        + generalization_error(run, examples, variance)
    )
