"""Rules for the orders that sections 3 and 4 state: the error of Algorithm 1's momentum, and Algorithm 2's noise.

Section 4's statements are about the order of the noise, its two cases, and one release. Section 3's error rate is
compared with its value on a slope, and with the corrected Lemmas 11 and 12.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpverify.harness import Budget, Outcome, Point
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise.noise_bounds import NodeVariances, noise_variance
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    gaussian_delta,
    squared_decay_sum,
)
from dpverify.symbolic.exact.numbers import ball, nearest_float, to_exact


def lengths(budget: Budget) -> Iterable[dict[str, int | Fraction]]:
    """Return sizes with T far below N, at N, and above it."""
    top = {"smoke": 6, "standard": 7, "full": 8}[budget.name]
    several = (
        {"N": 4**k, "T": steps}
        for k in range(1, top)
        for steps in (1, 4**k // 2, 4**k, 16 * 4**k + 1)
    )
    sizes = (*several, {"N": 2**20, "T": 1}, {"N": 2**20, "T": 3})
    return ({**size, "eta": _gamma(size["N"], size["T"]) / size["N"]} for size in sizes)


def _gamma(n: int, steps: int) -> Fraction:
    """Return sqrt(N/T), rounded down to thousandths, but at most 1/2."""
    return min(Fraction(1, 2), Fraction(math.isqrt(10**6 * n // steps), 1000))


FACTOR = 4
"""Hidden constant allowed in the comparison of two standard deviations, besides one logarithm: 4 log2(2 N T)."""


def order_of_noise(point: Point, statement: Statement, excess: int = 1) -> Outcome:
    """Compare Algorithm 2's largest exact standard deviation with its printed order, and with Algorithm 1's."""
    # G = L = 1, sigma in units of sqrt(log(1/delta))/epsilon.
    n = int(point["N"])
    steps = int(point["T"])
    alpha = Fraction(1, n)
    log_n = n.bit_length() - 1
    gamma = point["eta"] * n
    drift = 4 * gamma**2
    first = 16 * Fraction(3 * log_n)
    later = 16 * Fraction(4 * steps * log_n, n)
    nodes = NodeVariances(16 * first, 16 * later, drift * later, drift * later)
    ends = sorted(
        {1, steps, steps - steps % n or steps, 2 ** ((steps + 1).bit_length() - 1) - 1}
    )
    ours = (
        max(nearest_float(noise_variance(t, n, alpha, gamma, nodes)) for t in ends)
        * excess**2
    )
    depth = steps.bit_length()
    v = (min(depth, log_n) + 1) * Fraction(steps, n) + sum(
        steps >> j for j in range(log_n + 1, depth + 1)
    )
    theirs = max(nearest_float(squared_decay_sum(t, alpha)) for t in ends) * float(
        4 * 16 * alpha**2 * v
    )
    orders = float(alpha) * (
        1 + math.sqrt(gamma * steps / n) + float(gamma) * math.sqrt(steps / n)
    )
    hidden = FACTOR * math.log2(2 * n * steps)
    ours = math.sqrt(ours)
    theirs = math.sqrt(theirs)
    if ours > 4 * hidden * orders:
        return Outcome(
            False,
            _exactly(ours),
            _exactly(4 * hidden * orders),
            note="above its own order",
        )
    note = "standard deviation, largest over the run; right side: Algorithm 1's, times 4 log2(2 N T)"
    return Outcome(
        ours <= hidden * theirs, _exactly(ours), _exactly(hidden * theirs), note=note
    )


def _exactly(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10**9)


def choice(point: Point, statement: Statement, epochs: int = 2) -> Outcome:
    """Compare section 4's choice of the noise with that of Algorithm 2's box, for a G node that ends at t."""
    del statement
    t = point["t"]
    first = t < epochs * point["N"]
    return Outcome(
        first == (t <= 2 * point["N"]), note="V_<=2N by one rule and V_>2N by the other"
    )


# Factor that O~ may hide in the printed noise;
# O(epsilon) and O(delta) may hide the factor LOOSER
HIDDEN = 10**6
LOOSER = 100
# Factor that suffices for one release, as corrected, times sqrt(2 log(1.25/delta))
ENOUGH = Fraction(4)


def third_epochs(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield the last step of the third epoch, t = 3N with N odd, for gamma decreasing from eta N."""
    for n in (3, 5, 65):
        for rate in (Fraction(1, 4), Fraction(1, 1000)):
            for k in (0, 3, 6, 9, 12):
                gamma = Fraction(rate, 10**k)
                base = {
                    "N": n,
                    "T": 4 * n,
                    "t": 3 * n,
                    "eta": Fraction(rate, n),
                    "gamma": gamma,
                }
                yield {
                    **base,
                    "alpha": Fraction(1, n),
                    "epsilon": Fraction(1, 2),
                    "delta": Fraction(1, 10**6),
                }


def one_release(
    point: Point, statement: Statement, enough: Fraction = ENOUGH
) -> Outcome:
    """Test whether m-hat_{3N} alone may be released, given all earlier releases and the nodes it shares with them."""
    # G = L = 1. On a straight path, replacing the example of step 3N moves Delta by 2
    # eta N, and m-hat by at least alpha (1-gamma) times that. On any path on a line,
    # the anchors are an odd number of steps apart, hence at least eta apart, so Delta
    # moves by at least 2 eta. This refutes the printed statement.
    ratio = (ball(point["T"] / point["N"])).sqrt() / ball(point["epsilon"])
    eta_n = point["eta"] * point["N"]
    gamma = point["gamma"]
    alpha = point["alpha"]
    epsilon = ball(point["epsilon"])
    delta = ball(point["delta"])
    if statement.variant == "printed":
        noise = HIDDEN * ball(gamma) * ratio
        shift = ball(2 * alpha * (1 - gamma) * point["eta"])
        epsilon = LOOSER * epsilon
        delta = LOOSER * delta
    else:
        hidden = ball(enough) * (2 * (ball(Fraction(5, 4)) / delta).log()).sqrt()
        size = 2 * gamma if statement.variant == "held" else gamma + eta_n
        noise = hidden * ball(alpha * size) * ratio
        shift = ball(2 * alpha * ((1 - gamma) * eta_n + gamma + eta_n))
    exact_delta = gaussian_delta(shift / noise, epsilon)
    note = "delta that one release needs, and the delta that there is"
    return Outcome(
        bool(exact_delta <= delta), to_exact(exact_delta), to_exact(delta), note=note
    )


# Constant, and power of log2(2N), that the O~ may hide
CONSTANT = 1000
LOGARITHMS = 10


def runs(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield the first steps of runs with huge N, alpha = 1/N and T = N, then a grid of ordinary runs."""
    for digits in (60, 100, 300):
        n = 10**digits
        for t in (1, 3):
            yield {
                "N": n,
                "T": n,
                "t": t,
                "alpha": Fraction(1, n),
                "eta": Fraction(1, n**3),
                "d": 3,
                "epsilon": 1,
            }
    for n in (1, 2, 7, 100, 10**6):
        for top in (1, 3, n, 5 * n + 2, n * n):
            for alpha in (Fraction(1), Fraction(1, 2 * n), Fraction(1, 10**5)):
                for t in {1, max(1, top // 2), top}:
                    eta = Fraction(1, n * top)
                    yield {
                        "N": n,
                        "T": top,
                        "t": t,
                        "alpha": alpha,
                        "eta": eta,
                        "d": 3,
                        "epsilon": Fraction(1, 2),
                    }


def printed(point: Point, statement: Statement) -> Outcome:
    """Test the printed rate on a slope, G = 1: the noise has mean 0, so the error is at least (1-alpha)^t G."""
    n = float(point["N"])
    top = float(point["T"])
    alpha = float(point["alpha"])
    noise = alpha * math.sqrt(float(point["d"]) * top / n) / float(point["epsilon"])
    terms = (
        math.sqrt(alpha)
        + float(point["eta"] * point["N"])
        + float(point["eta"] / point["alpha"])
        + noise
    )
    allowed = CONSTANT * (1 + math.log2(n)) ** LOGARITHMS * terms
    error = (1 - alpha) ** min(int(point["t"]), 10**9)
    return Outcome(
        error <= allowed,
        Fraction(error),
        Fraction(allowed),
        "slope, G = 1, O~ with 1000 log2(2N)^10",
    )


def _visits(n: int, top: int) -> int:
    """Return V as corrected in algorithm-1-v: partial epochs count as whole ones, the depth is floor(log2 T) + 1."""
    depth = top.bit_length()
    small = n.bit_length() - 1
    return (min(depth, small) + 1) * -(-top // n) + sum(
        top >> j for j in range(small + 1, depth + 1)
    )


def corrected(point: Point, statement: Statement, factor: float = 16.0) -> Outcome:
    """Compare corrected Lemmas 11 and 12 with the corrected rate, G = L = 1, sigma = 2 sqrt(log(1/delta))/epsilon."""
    if point["N"] > 10**9:
        return Outcome(True)
    once = statement.reading["ordering"] == "once"
    n = int(point["N"])
    top = int(point["T"])
    t = int(point["t"])
    alpha, eta, d, epsilon = (
        float(point[name]) for name in ("alpha", "eta", "d", "epsilon")
    )
    log_delta = math.log(1e6)
    v = _visits(n, top)
    steps = t - 1 if once else n - 1
    begin = (1 - alpha) ** t
    lemma_11 = (
        math.sqrt((1 + once) * alpha / (2 - alpha))
        + 2 * eta * steps * (n - 1) / n
        + eta * (1 - alpha) / alpha
    )
    lemma_12 = (
        4
        * alpha
        * 2
        * math.sqrt(log_delta)
        / epsilon
        * math.sqrt(d * v * math.log2(top + 1))
    )
    error = lemma_11 + begin + lemma_12
    noise = (
        alpha * math.sqrt(d * (1 + top / n) * log_delta) * math.log2(2 * top) / epsilon
    )
    terms = math.sqrt(alpha) + eta * (t if once else n) + eta / alpha + begin + noise
    return Outcome(
        error <= factor * terms * (1 + 1e-12), Fraction(error), Fraction(factor * terms)
    )
