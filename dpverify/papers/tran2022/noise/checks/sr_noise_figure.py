"""Columns of the figure 'variance-terms': the exact variances of Lemma 7's five terms beside their bounds."""

from __future__ import annotations

import math
from fractions import Fraction

from dpverify.papers.tran2022.noise.sr_noise_variance_bounds import NodeVariances, variance_terms
from dpverify.symbolic.exact.numbers import nearest_float

N, STEPS = 16, 383
ALPHA, GAMMA = Fraction(1, N), Fraction(1, 5)


def variance_figures() -> dict[str, dict[str, list[float]]]:
    """Columns for one run with the box's constants, G = L = sigma = 1 and gamma = eta N: exact variances and bounds."""
    steps, log_n = STEPS, N.bit_length() - 1
    later, drift = Fraction(4 * steps * log_n, N), 4 * GAMMA**2
    nodes = NodeVariances(Fraction(16 * 3 * log_n), 16 * later, drift * later, drift * later)
    exact = [[nearest_float(v) for v in variance_terms(t, N, ALPHA, GAMMA, nodes)] for t in range(1, steps + 1)]
    shrunk, ratio, gamma = (1 - math.exp(-1)) ** 2, float(later), float(GAMMA)
    printed = [
        192.0 * log_n**2,
        192.0 * log_n**2 / shrunk,
        64 * gamma * ratio * log_n / shrunk,
        4 * float(drift) * ratio * log_n / (gamma * shrunk),
        float(drift) * ratio / log_n * 3 * math.log2(steps) ** 2,
    ]
    corrected = [
        48.0 * log_n**2,
        96.0 * log_n**2 / shrunk,
        64 * gamma * ratio * log_n / (3 * shrunk),
        float(drift) * ratio * log_n / (gamma * shrunk),
        float(drift) * ratio * math.log2(steps + 1),
    ]
    unit = float(ALPHA) ** 2
    columns: dict[str, list[float]] = {"x": [float(t) for t in range(1, steps + 1)]}
    for place in range(5):
        columns[f"exact-{place + 1}"] = [terms[place] for terms in exact]
        columns[f"printed-{place + 1}"] = [unit * printed[place]] * steps
        columns[f"corrected-{place + 1}"] = [unit * corrected[place]] * steps
    columns["exact-total"] = [sum(terms) for terms in exact]
    columns["printed-total"] = [unit * sum(printed)] * steps
    columns["corrected-total"] = [unit * sum(corrected)] * steps
    fixed = {"N": N, "T": steps, "alpha": float(ALPHA), "gamma": gamma}
    return {"variance-terms": {**columns, **{f"at:{name}": [float(value)] for name, value in fixed.items()}}}
