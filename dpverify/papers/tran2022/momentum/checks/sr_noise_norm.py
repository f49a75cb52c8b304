"""Check Lemma 7, its expected norm, its range of gamma, and section 4's statements on the size of the noise.

The lemma requires only gamma <= 1/2 and does not tie gamma to eta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Any

from flint import ctx

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    SearchCheck,
)
from dpverify.harness.search.exhaustive_check import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.momentum.checks.momentum_error import (
    AT_STEP_3N,
    SAME,
    TWO,
)
from dpverify.papers.tran2022.momentum.momentum_error_bounds import mean_distance_of_two
from dpverify.papers.tran2022.noise.checks.sr_noise import (
    FIRST_TERM,
    against_exact,
    at_points,
)
from dpverify.papers.tran2022.noise.noise_bounds import (
    NodeVariances,
    expected_norm,
    noise_variance,
)
from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    constant_spread,
    mean_square,
)
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    gaussian_delta,
    squared_decay_sum,
)
from dpverify.shared_types import Values
from dpverify.symbolic.exact.evaluate import definitions
from dpverify.symbolic.exact.numbers import (
    Exact,
    ball,
    nearest_float,
    to_ball,
    to_exact,
    to_value,
)

CHECKS = PaperChecks("tran2022", __name__)


def _any_gamma_noise(point: Point, statement: Statement) -> Exact:
    """Return the expected norm of the noise, computed from its exact variance."""
    return expected_norm(_variance(point, statement, point["gamma"]), int(point["d"]))


def _variance(point: Point, statement: Statement, gamma: Fraction) -> Exact:
    constants = definitions(statement, point, precision=ctx.prec)
    return noise_variance(
        int(point["t"]),
        int(point["N"]),
        point["alpha"],
        gamma,
        NodeVariances.of(constants),
    )


def _slow(n: int, epochs: int) -> Values:
    """Return a run of whole epochs in which the eta terms are negligible, at the step before its last one."""
    fixed: Values = {
        "gamma": "1/2",
        "eta": Fraction(1, 10**12),
        "d": 1,
        "G": 1,
        "L": 1,
        "delta": Fraction(1, 10**6),
        "epsilon": 1,
    }
    return {
        "N": n,
        "T": n * epochs,
        "t": n * epochs - 1,
        "alpha": Fraction(1, n),
        **fixed,
    }


CORNERS: list[Values] = [
    {
        "N": n,
        "T": n * q,
        "t": n * q - 1,
        "alpha": Fraction(1, n),
        "gamma": gamma,
        "eta": eta,
    }
    for n, q in ((62, 20), (6, 40))
    for gamma in ("1/2", "1/100000")
    for eta in ("1/1000000", 1)
]

CHECKS.add(
    at_points(
        "lemma-7-any-gamma",
        _slow(62, 2000),
        _slow(1000, 2000),
        lhs=_any_gamma_noise,
        meets=SAME,
    ),
    against_exact(
        "lemma-7-any-gamma", _any_gamma_noise, CORNERS, variants=("amended",)
    ),
)


ONCE = {"ordering": "once"}
FRESH = {"ordering": "fresh"}


def _lemma_gamma(point: Point) -> Fraction:
    """Return the gamma of Lemma 7, which is eta N."""
    return Fraction(point["eta"] * point["N"])


def _noise_alone(point: Point, statement: Statement) -> Exact:
    """Return the expected distance under one permutation: equation 3 is exact there, so only the noise remains."""
    return expected_norm(
        _variance(point, statement, _lemma_gamma(point)), int(point["d"])
    )


def _two_examples(point: Point, statement: Statement) -> Exact:
    """Return the expected distance for linear losses, d = 1: two examples with gradients G and -G, or one example."""
    gamma = _lemma_gamma(point)
    variance = _variance(point, statement, gamma)
    if point["N"] == 1:
        return expected_norm(variance, 1)
    return mean_distance_of_two(
        int(point["t"]), point["alpha"], gamma, point["G"], variance
    )


def _root_mean_square(point: Point, statement: Statement) -> Exact:
    """Return the root mean square of the distance, which is above its mean, for linear losses of the largest spread."""
    gamma = _lemma_gamma(point)
    return _with_bias(point, gamma, _variance(point, statement, gamma))


def _with_bias(point: Point, gamma: Fraction, noise: Exact) -> Exact:
    n = int(point["N"])
    d = int(point["d"])
    spread = point["G"] ** 2 * (1 - Fraction(n % 2, n**2) if d == 1 else 1)
    bias = mean_square(
        "difference", int(point["t"]), n, point["alpha"], gamma, constant_spread(spread)
    )
    return (to_ball(to_value(bias)) + d * to_ball(to_value(noise))).sqrt()


def _gaussian(point: Point, statement: Statement) -> Exact:
    return expected_norm(point["variance"], int(point["d"]))


def _two_examples_and_noise(point: Point, statement: Statement) -> Exact:
    """Return the expected distance for two examples with gradients G and -G and a given variance of the noise."""
    return mean_distance_of_two(
        int(point["t"]), point["alpha"], point["gamma"], point["G"], point["variance"]
    )


PLAIN: dict[str, Any] = {"d": 1, "G": 1, "L": 1, "delta": "1/3"}
LONG: list[dict[str, Any]] = [
    {
        **PLAIN,
        "N": n,
        "T": steps,
        "t": steps,
        "alpha": Fraction(1, n),
        "gamma": gamma,
        "epsilon": 1,
    }
    for n, steps in ((62, 62 * 15 + 1), (255, 1023), (6, 383))
    for gamma in ("1/2", "1/100")
]

BIASED: tuple[Values, Values] = (
    {
        "t": 4,
        "d": 1,
        "N": 2,
        "alpha": 1,
        "gamma": "1/2",
        "G": 1,
        "variance": 0,
        "eta": "1/4",
        "L": 0,
    },
    {
        "t": 9,
        "d": 1,
        "N": 2,
        "alpha": "2/3",
        "gamma": "1/4",
        "G": "3/2",
        "variance": "1/1000",
        "eta": "1/9",
        "L": "1/3",
    },
)
"""Two examples with gradients G and -G, without noise and with little noise; the problem has d = 1."""

LIMIT: list[dict[str, Any]] = [
    {
        "d": d,
        "G": 1,
        "L": 0,
        "delta": "1/2",
        "N": 2,
        "T": t,
        "t": t,
        "alpha": 1,
        "gamma": gamma,
        "epsilon": 10**9,
    }
    for gamma in ("1/2", "1/10000")
    for d, t in ((1, 4), (3, 4), (1, 9), (1, 40))
]
"""Runs in which the bias nearly attains its bound: two examples, no memory, gamma near 0, negligible noise."""


def _two_example_runs(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield runs of at least two epochs, the simplest first; epsilon from 1 to 10^6, where the noise is negligible."""
    for alpha in (Fraction(1), Fraction(3, 4), Fraction(1, 2)):
        for eta in (Fraction(1, 4), Fraction(1, 100)):
            for t in (4, 5, 6, 9):
                for epsilon in (10**k for k in range(7)):
                    shape = {**PLAIN, "N": 2, "T": 2 * t if t == 5 else t, "t": t}
                    yield {**shape, "alpha": alpha, "eta": eta, "epsilon": epsilon}


def _lengths(budget: Budget) -> Iterable[dict[str, int | Fraction]]:
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


def _orders(point: Point, statement: Statement, excess: int = 1) -> Outcome:
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


def _choice(point: Point, statement: Statement, epochs: int = 2) -> Outcome:
    """Compare section 4's choice of the noise with that of Algorithm 2's box, for a G node that ends at t."""
    del statement
    t = point["t"]
    first = t < epochs * point["N"]
    return Outcome(
        first == (t <= 2 * point["N"]), note="V_<=2N by one rule and V_>2N by the other"
    )


# Factor that O~ may hide in the printed noise; O(epsilon) and O(delta) may hide the
# factor LOOSER
HIDDEN = 10**6
LOOSER = 100
# Factor that suffices for one release, as corrected, times sqrt(2 log(1.25/delta))
ENOUGH = Fraction(4)


def _third_epochs(budget: Budget) -> Iterable[dict[str, Any]]:
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


def _one_release(
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


CHECKS.add(
    SearchCheck(
        "lemma-7-norm",
        "search",
        lhs=_gaussian,
        readings=ONCE,
        corners=[{"d": 1, "variance": 1}, {"d": 10**6}],
    ),
    at_points(
        "lemma-7-norm", *BIASED, lhs=_two_examples_and_noise, meets=TWO, readings=FRESH
    ),
    against_exact(
        "lemma-7-norm",
        lambda point, _: _with_bias(point, point["gamma"], point["variance"]),
        [
            {"N": n, "t": q * n, "variance": 0, "gamma": "1/1000", "L": 0}
            for n, q in ((2, 2), (2, 8), (3, 5), (64, 20))
        ],
        name="mean-square",
        readings=FRESH,
        variants=("amended",),
        leaves_out="gradients that depend on w; the left side is the root mean square, which is larger",
    ),
    at_points("lemma-7", *FIRST_TERM, lhs=_noise_alone, meets=SAME, readings=ONCE),
    against_exact(
        "lemma-7",
        _noise_alone,
        LONG,
        name="noise-alone",
        tied=True,
        readings=ONCE,
        variants=("amended",),
    ),
    ExhaustiveCheck(
        "lemma-7",
        "two-examples",
        points=_two_example_runs,
        lhs=_two_examples,
        meets=TWO,
        readings=FRESH,
        region="two examples with gradients G and -G, d = 1, T >= 2N, so that the noise alone is within the bound",
        leaves_out="all other problems",
    ),
    against_exact(
        "lemma-7",
        _root_mean_square,
        [*LONG, *LIMIT],
        name="mean-square",
        tied=True,
        readings=FRESH,
        variants=("amended",),
        leaves_out="gradients that depend on w; the left side is the root mean square, which is larger",
    ),
    RuleCheck(
        "section-4-noise-total",
        "exact-laws",
        points=_lengths,
        is_satisfied=_orders,
        meets=SAME,
        planted=[
            Planted(
                "noise 100 times larger",
                is_satisfied=lambda point, st: _orders(point, st, 100),
                at_declared_size=True,
            )
        ],
        region="N = 4^k, T from 1 to 16 N + 1; G = L = 1, gamma = eta N = min(1/2, sqrt(N/T)), alpha = 1/N",
        leaves_out="the reconstruction's bias under fresh permutations, which is no noise; other parameters",
    ),
    RuleCheck(
        "section-4-two-noises",
        "against-the-box",
        points=lambda _: (
            {"N": n, "t": t} for n in range(1, 9) for t in range(1, 5 * n)
        ),
        is_satisfied=_choice,
        planted=[
            Planted(
                "the choice by t < N",
                is_satisfied=lambda point, st: _choice(point, st, 1),
                at_declared_size=True,
            )
        ],
    ),
    RuleCheck(
        "section-4-noise-two-cases",
        "one-release",
        points=_third_epochs,
        is_satisfied=_one_release,
        meets=AT_STEP_3N,
        interior=lambda point: point["N"] == 65 and point["eta"] == Fraction(1, 260),
        planted=[
            Planted(
                "noise 1000 times smaller",
                is_satisfied=partial(_one_release, enough=Fraction(1, 250)),
                at_declared_size=True,
            )
        ],
        variants=("printed", "amended", "held"),
        region="t = 3N, T = 4N, N = 3, 5, 65, alpha = 1/N, gamma from eta N down to 10^-12 eta N; G = L = 1",
        leaves_out="all other steps, and their composition: that is Theorem 8",
    ),
)
