"""Population risk of Algorithm 1 on quadratics whose examples have a known law, exactly.

As in ``empirical.recursion``, with b_1, ..., b_n independent, of mean 0 and mean square V, and b their mean. Then
F_E(w) = a |w|^2/2 and F_S = F_E + <b, w>, with the minimizer -b/a and E F_S(-b/a) = -V/(2an). What the last stage hands
on is in the mean, given the data, -b/a + C (omega^0 + b/a) with the product C of all stages' contractions, so that

    E[F_E - F_S](omega^K) = -E<b, E omega^K> = (1 - C) V/(an),

and (1 - C)/a is n/L times the mean difference of runs on neighbours in ``stability.exact_stability``, which begin
together. Given the data a batch varies by V (n - B)/(B n) in the mean.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpverify.papers.zhang2021.empirical.recursion import Quadratic
from dpverify.papers.zhang2021.stability.exact_stability import mean_difference
from dpverify.symbolic.exact.numbers import ball


def generalization_error(run: Quadratic, examples: int, variance: Fraction) -> arb:
    """E[F_E(omega^K) - F_S(omega^K)], omega^0 being independent of the data."""
    schedule = run.stages, run.steps, run.momentum_steps, run.rho, run.eta, run.output
    return ball(variance / examples) * mean_difference(run.curvature, *schedule)


def population_excess(run: Quadratic, gap: Fraction, examples: int, batch: int, variance: Fraction, noise: arb) -> arb:
    """E[F_E(omega^K)] - min F_E, where the first excess is ``gap`` in the mean and the noise has this mean square."""
    sampled = ball(variance * (examples - batch) / (batch * examples))
    least = -variance / (2 * run.curvature * examples)  # E min F_S
    return run.excess(ball(gap), sampled + noise) + ball(least) + generalization_error(run, examples, variance)
