"""Section 3's rate of the error of the noisy momentum: refuted at the start, and what holds at every step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point
from dpverify.harness.search.rule_check import RuleCheck, of_variant
from dpverify.ledger.statements import Statement

CHECKS = PaperChecks("tran2022", __name__)

CONSTANT, LOGARITHMS = 1000, 10
"""What is tried for the constant and for the power of log2 N that the O~ hides."""


def _runs(budget: Budget) -> Iterable[dict[str, Any]]:
    """Starts of long runs with alpha = 1/N and T = N, and a grid of ordinary ones."""
    for digits in (60, 100, 300):
        n = 10**digits
        for t in (1, 3):
            yield {"N": n, "T": n, "t": t, "alpha": Fraction(1, n), "eta": Fraction(1, n**3), "d": 3, "epsilon": 1}
    for n in (1, 2, 7, 100, 10**6):
        for top in (1, 3, n, 5 * n + 2, n * n):
            for alpha in (Fraction(1), Fraction(1, 2 * n), Fraction(1, 10**5)):
                for t in {1, max(1, top // 2), top}:
                    eta = Fraction(1, n * top)
                    yield {"N": n, "T": top, "t": t, "alpha": alpha, "eta": eta, "d": 3, "epsilon": Fraction(1, 2)}


def _printed(point: Point, statement: Statement) -> Outcome:
    """At the start of a slope the error is (1-alpha)^t G at least, G = 1: noise has mean 0."""
    n, top, alpha = float(point["N"]), float(point["T"]), float(point["alpha"])
    noise = alpha * math.sqrt(float(point["d"]) * top / n) / float(point["epsilon"])
    terms = math.sqrt(alpha) + float(point["eta"] * point["N"]) + float(point["eta"] / point["alpha"]) + noise
    allowed = CONSTANT * (1 + math.log2(n)) ** LOGARITHMS * terms
    error = (1 - alpha) ** min(int(point["t"]), 10**9)
    return Outcome(error <= allowed, Fraction(error), Fraction(allowed), "slope, G = 1, O~ with 1000 log2(2N)^10")


def _visits(n: int, top: int) -> int:
    """V as corrected in algorithm-1-v, an epoch that is cut short counted whole, at the depth floor(log2 T) + 1."""
    depth, small = top.bit_length(), n.bit_length() - 1
    return (min(depth, small) + 1) * -(-top // n) + sum(top >> j for j in range(small + 1, depth + 1))


def _corrected(point: Point, statement: Statement, factor: float = 16.0, start: bool = True) -> Outcome:
    """Corrected Lemmas 11 and 12 at G = 1, L = 1 against the corrected rate, sigma = 2 sqrt(log(1/delta))/epsilon."""
    if point["N"] > 10**9:
        return Outcome(True)
    once = statement.reading["ordering"] == "once"
    n, top, t = int(point["N"]), int(point["T"]), int(point["t"])
    alpha, eta, d, epsilon = (float(point[name]) for name in ("alpha", "eta", "d", "epsilon"))
    log_delta = math.log(1e6)
    v = _visits(n, top)
    steps = t - 1 if once else n - 1
    begin = (1 - alpha) ** t
    lemma_11 = math.sqrt((1 + once) * alpha / (2 - alpha)) + 2 * eta * steps * (n - 1) / n + eta * (1 - alpha) / alpha
    lemma_12 = 4 * alpha * 2 * math.sqrt(log_delta) / epsilon * math.sqrt(d * v * math.log2(top + 1))
    error = lemma_11 + begin + lemma_12
    noise = alpha * math.sqrt(d * (1 + top / n) * log_delta) * math.log2(2 * top) / epsilon
    terms = math.sqrt(alpha) + eta * (t if once else n) + eta / alpha + (begin if start else 0.0) + noise
    return Outcome(error <= factor * terms * (1 + 1e-12), Fraction(error), Fraction(factor * terms))


CHECKS.add(
    RuleCheck(
        "section-3-error-rate",
        "start",
        points=_runs,
        holds=of_variant(_printed, _corrected),
        planted=[
            Planted("1 for 16", holds=lambda p, s: _corrected(p, s, factor=1.0)),
        ],
        interior=lambda p: p["N"] > 10**9 and p["t"] >= 3,
        region="T up to N^2, alpha down to 1/100000, and the first steps of runs with N up to 10^300",
        leaves_out="exact arithmetic: floats, with a margin",
    )
)
