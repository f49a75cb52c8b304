"""Check Lemma 7, its expected norm, its range of gamma, and section 4's statements on the size of the noise.

The lemma requires only gamma <= 1/2 and does not tie gamma to eta. The rules of section 4's statements are in
``stated_orders``.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Any

from flint import ctx

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    PaperChecks,
    Planted,
    Point,
    SearchCheck,
)
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.momentum.checks.momentum_error import (
    AT_STEP_3N,
    SAME,
    TWO,
)
from dpverify.papers.tran2022.momentum.checks.stated_orders import (
    choice,
    lengths,
    one_release,
    order_of_noise,
    third_epochs,
)
from dpverify.papers.tran2022.momentum.permutation_bounds import mean_distance_of_two
from dpverify.papers.tran2022.noise.checks.sr_noise_points import (
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
from dpverify.shared_types import Values
from dpverify.symbolic.exact.evaluate import definitions
from dpverify.symbolic.exact.numbers import Exact, to_ball, to_value

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
        points=lengths,
        is_satisfied=order_of_noise,
        meets=SAME,
        planted=[
            Planted(
                "noise 100 times larger",
                is_satisfied=lambda point, st: order_of_noise(point, st, 100),
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
        is_satisfied=choice,
        planted=[
            Planted(
                "the choice by t < N",
                is_satisfied=lambda point, st: choice(point, st, 1),
                at_declared_size=True,
            )
        ],
    ),
    RuleCheck(
        "section-4-noise-two-cases",
        "one-release",
        points=third_epochs,
        is_satisfied=one_release,
        meets=AT_STEP_3N,
        interior=lambda point: point["N"] == 65 and point["eta"] == Fraction(1, 260),
        planted=[
            Planted(
                "noise 1000 times smaller",
                is_satisfied=partial(one_release, enough=Fraction(1, 250)),
                at_declared_size=True,
            )
        ],
        variants=("printed", "amended", "held"),
        region="t = 3N, T = 4N, N = 3, 5, 65, alpha = 1/N, gamma from eta N down to 10^-12 eta N; G = L = 1",
        leaves_out="all other steps, and their composition: that is Theorem 8",
    ),
)
