"""Check Theorem 3.2 and its consequences under all printed assumptions, in both readings of where these hold.

In the reading ``ball``, counterexamples to Theorem 3.2 that meet Assumptions 2.1 to 2.5 have the losses of
:mod:`dpverify.problems.nonconvex_losses`, d = 1. The ball around omega^0 = w_0 has the radius r - w_0. It contains the
minimizer 0 if w_0 <= r/2, and lies where F is the quadratic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from flint import arb

from dpverify.harness import (
    Budget,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    RuleCheck,
    TrueNeighbour,
)
from dpverify.harness.sides import LeftSide, Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.empirical.checks.bound import (
    PARTS,
    eta_of,
    excess_of,
    noise_of,
    run_of,
)
from dpverify.problems.nonconvex_losses import Plateau
from dpverify.shared_types import Values
from dpverify.symbolic.exact.numbers import Exact, ball


def plateau_of(point: Point) -> Plateau:
    """Return the losses of a point: curvature a, reach r, and offset sigma."""
    return Plateau(point["a"], point["r"], point["sigma"])


def _has_ball(point: Point) -> bool:
    """Test whether the ball around omega^0 that ends at r contains the minimizer: w_0^2 = 2 gap/a is at most r^2/4."""
    return 8 * point["gap"] <= point["a"] * point["r"] ** 2


PROPERTIES = {
    "bounded-loss": Property(
        "bound of the plateau losses", lambda p: plateau_of(p).bound <= 1
    ),
    "lipschitz": Property(
        "largest slope of the plateau losses",
        lambda p: plateau_of(p).lipschitz <= p["L"],
    ),
    "smooth": Property(
        "curvature of the plateau losses", lambda p: p["a"] <= p["beta"]
    ),
    "bounded-variance": Property(
        "offset of the plateau losses", lambda p: plateau_of(p).offset <= p["sigma"]
    ),
    "polyak-lojasiewicz": Property(
        "curvature where |w| <= r, which has a ball around omega^0 with the minimizer 0",
        lambda p: p["mu"] <= p["a"] and _has_ball(p),
    ),
    "weakly-quasi-convex": Property(
        "theta of the quadratic where |w| <= r, which has a ball around omega^0 with the minimizer 0",
        lambda p: p["theta"] <= plateau_of(p).theta and _has_ball(p),
    ),
    "update-of-algorithm-1": Property("the recursion is that of Algorithms 1 and 2"),
}
"""The property of the plateau losses that satisfies each assumption, with its test at a point."""


def excess_after_escape(point: Point, eta: arb, start: arb, variance: arb) -> arb:
    """Bound the contribution to the expected excess, on the quadratic, of runs after they have left |w| <= r.

    Without momentum and with eta^1 a <= 1 an iterate is y + g, with |y| <= M = max(w_0,
    b/a), and g Gaussian with a variance of at most v, the noise of all steps. Hence E
    w^4 <= 8 (M^4 + 3 v^2), and one of all T iterates is beyond r with a probability of
    at most 2 T exp(-(r - M)^2/(2 v)). The Cauchy-Schwarz inequality gives the bound.

    ``eta`` is eta^0, ``start`` is w_0, ``variance`` is that of the noise of a step.
    """
    a = ball(point["a"])
    r = ball(point["r"])
    if point["t_0"] != 0 or not bool(eta / 2 * a <= 1):
        raise ValueError(
            "a point of the plateau losses must have t_0 = 0 and eta_0*a/2 <= 1."
        )
    farthest = start.max(ball(point["sigma"]) / a)
    # eta_k^2 T_k = 2^-k eta_0^2 T_0 in stage k
    v = variance * eta**2 * ball(point["T_0"])
    if bool(v == 0):
        return arb(0)
    steps = ball(point["T_0"] * ((2 << int(point["K"])) - 2))
    leaving = (2 * steps * (-((r - farthest) ** 2) / (2 * v)).exp()).min(arb(1))
    fourth = 8 * (farthest**4 + 3 * v**2)
    return a / 2 * (fourth * leaving).sqrt()


def escape_excess(point: Point) -> arb:
    """Return a lower bound on the expected excess of runs from the minimizer of plateau losses without offset.

    The output is omega = W - D. D adds up the gradients, each at most a r: |D| <= K T_0 eta_0 a r =: x. Given the
    indices of the stages' results, W is Gaussian. With a probability of at least 1/2 the result of the first stage is
    one of its last T_1/2 iterates, and the variance of W at least (T_1/2 - 1) eta_1^2 pi^2 =: s^2. Then W is in [-y, y]
    with a probability of at most 2 y/(s sqrt(2 pi)). Where |omega| >= 2 r, F = a r^2.
    """
    a = ball(point["a"])
    r = ball(point["r"])
    eta = ball(point["eta_0"])
    steps = ball(point["T_0"] * ((2 << int(point["K"])) - 2))
    scale = ball(point["c_2"] * point["L"] / (point["n"] * point["epsilon"]))
    variance = scale**2 * steps * -ball(point["delta"]).log()
    s = ((ball(point["T_0"]) - 1) * (eta / 2) ** 2 * variance).sqrt()
    x = ball(point["K"] * point["T_0"]) * eta * a * r
    inside = 2 * (2 * r + x) / (s * (2 * arb.pi()).sqrt())
    return a * r**2 * (1 - inside.min(arb(1))) / 2


CHECKS = PaperChecks("zhang2021", __name__)


ONLY_CONSTANTS = (
    "by Assumptions 2.1 and 2.4 the excess is at most L^2/(2 mu) everywhere; by 2.5 it grows along a ray from w* at "
    "least like the power theta of the distance from any point where it is above 0: F_S is constant, the excess 0, "
    "and no printed term is below 0"
)
MILLION = 10**6


def _constants(budget: Budget) -> Iterator[Values]:
    """Yield settings of a run on constant losses, the smallest values and larger ones."""
    least: Values = {
        "K": 1,
        "T_0": 1,
        "t_0": 0,
        "rho": 0,
        "d": 1,
        "n": 1,
        "B": 1,
        "sigma": 0,
        "gap": 0,
    }
    constants: Values = {
        "theta": 1,
        "mu": "1/2",
        "beta": 1,
        "a": 1,
        "c_2": 6,
        "L": 1,
        "delta": "1/100",
        "epsilon": 1,
    }
    for c_4 in ("1/20", "1", "19/10"):
        yield {**least, **constants, "c_4": c_4}
        yield {
            **least,
            **constants,
            "c_4": c_4,
            "K": 6,
            "T_0": 100,
            "t_0": 50,
            "rho": "9/10",
            "d": 100,
            "n": 10**6,
            "B": 100,
        }
        yield {**least, **constants, "c_4": c_4, "T_0": 100, "n": 10**6}


def _excess(
    point: Point, statement: Statement, *, curvature: Fraction = Fraction(0)
) -> Exact:
    """Return the excess risk of noisy runs from |omega^0| = 1 on losses of a curvature: 0 for constant losses."""
    run = run_of({**point, "a": curvature}, statement, eta_of)
    return run.excess(ball(curvature) / 2, noise_of(point))


def _local(budget: Budget) -> Iterator[Values]:
    """Yield schedules in which a stage reduces the excess least, batches add most, or steps are short."""
    constants: Values = {
        "t_0": 0,
        "rho": 0,
        "d": 1,
        "n": 10**6,
        "epsilon": 1,
        "delta": "1/1000000",
        "c_2": 6,
        "a": 1,
        "beta": 1,
    }
    loss: Values = {"theta": 2, "r": "4/5", "L": "81/100", "gap": "2/25"}
    for K in (1, 2) if budget.name == "smoke" else (1, 2, 4):
        yield {
            **constants,
            **loss,
            "K": K,
            "T_0": 100,
            "c_4": "19/10",
            "mu": 1,
            "B": 100,
            "sigma": "1/100",
        }
        yield {
            **constants,
            **loss,
            "K": K,
            "T_0": 100,
            "c_4": "1/20",
            "mu": "1/10",
            "B": 1,
            "sigma": "1/100",
        }
        yield {
            **constants,
            **loss,
            "K": K,
            "T_0": 100,
            "c_4": 1,
            "mu": 1,
            "B": 100,
            "sigma": "1/100",
        }


def _at_least(*parts: str) -> LeftSide:
    """Return a lower bound on the excess on plateau losses: that on the quadratic minus the part of leaving runs."""
    on_quadratic = excess_of(*parts)

    def lhs(point: Point, statement: Statement) -> Exact:
        a = ball(point["a"])
        start = (2 * ball(point["gap"]) / a).sqrt() if "start" in parts else arb(0)
        noise = noise_of(point) if "noise" in parts else arb(0)
        return ball(on_quadratic(point, statement)) - excess_after_escape(
            point, eta_of(point), start, noise
        )

    return lhs


def _rate(point: Point, *, with_data: bool) -> arb:
    """Return the rate of Theorem 3.2, or that of Theorem 3.4, which has a case without privacy."""
    size = point["theta"] ** 2 * point["mu"] * point["n"] ** 2 * point["epsilon"] ** 2
    empirical = ball(point["d"] * point["L"] ** 2 / size) * -ball(point["delta"]).log()
    data = (1 / ball(point["theta"] * point["mu"] * point["n"])).sqrt()
    return empirical.max(data) if with_data else empirical


def _escapes(
    point: Point, statement: Statement, *, with_data: bool, share: int = 1
) -> Outcome:
    """Compare the excess risk of runs that leave the ball with a million times the rate."""
    left = escape_excess(point) / share
    right = MILLION * _rate(point, with_data=with_data)
    return Outcome(
        False if left > right else None,
        left,
        right,
        "right side: a million times the rate",
    )


def _no_excess(
    point: Point, statement: Statement, *, with_data: bool, excess: int = 0
) -> Outcome:
    """Compare the excess risk of constant losses with the rate."""
    left = ball(excess)
    right = _rate(point, with_data=with_data)
    return Outcome(
        bool(left <= right), left, right, "excess risk of constant losses, and the rate"
    )


def _growing(budget: Budget) -> Iterator[Values]:
    """Yield growing n, with K = log2 of the inverse of the rate, rounded up, and balls that shrink like 1/K."""
    constants: Values = {
        "T_0": 100,
        "t_0": 0,
        "rho": 0,
        "c_4": 1,
        "eta_0": "1/200",
        "B": 1,
        "d": 1,
        "c_2": 6,
    }
    loss: Values = {
        "epsilon": 1,
        "delta": "1/1000000",
        "a": 1,
        "beta": 1,
        "mu": 1,
        "theta": 2,
        "L": 1,
        "sigma": 0,
        "gap": 0,
    }
    for digits in (9, 30, 40):
        inverse = 4 * 10 ** (2 * digits) / (6 * math.log(10))
        K = math.ceil(math.log2(inverse))
        yield {**constants, **loss, "n": 10**digits, "K": K, "r": Fraction(1, 10 * K)}


for claim, parts in PARTS.items():
    CHECKS.add(
        RuleCheck(
            claim,
            "constant-losses",
            seconds=0.02,
            readings={"region": "everywhere"},
            variants=("printed",),
            points=_constants,
            lhs=_excess,
            planted=[
                Planted(
                    "a quadratic, which is not constant",
                    lhs=partial(_excess, curvature=Fraction(1)),
                )
            ],
            why_sufficient=ONLY_CONSTANTS,
            region="constant F_S, the only ones with the assumptions",
        ),
        RuleCheck(
            claim,
            "plateaus",
            seconds=0.05,
            readings={"region": "ball"},
            variants=("printed",),
            points=_local,
            lhs=_at_least(*parts),
            meets=PROPERTIES,
            region="losses on a line, quadratic near the minimum and constant far from it, without momentum",
            leaves_out="other losses",
        ),
    )

RATES: dict[str, bool] = {
    "theorem-3-2-rate": False,
    "remark-4": False,
    "theorem-3-4": True,
}
"""Claims about rates, and whether the rate has a case without privacy."""

for claim, with_data in RATES.items():
    escapes: Rule = partial(_escapes, with_data=with_data)
    CHECKS.add(
        RuleCheck(
            claim,
            "constant-losses",
            seconds=0.02,
            readings={"region": "everywhere"},
            points=_constants,
            is_satisfied=partial(_no_excess, with_data=with_data),
            planted=[
                Planted(
                    "an excess of 2",
                    is_satisfied=partial(_no_excess, with_data=with_data, excess=2),
                )
            ],
            why_sufficient=ONLY_CONSTANTS,
            region="constant F_S, the only ones with the assumptions",
        ),
        RuleCheck(
            claim,
            "small-balls",
            seconds=0.02,
            readings={"region": "ball"},
            points=_growing,
            is_satisfied=escapes,
            planted=[
                Planted(
                    "a hundredth of the excess",
                    is_satisfied=partial(_escapes, with_data=with_data, share=100),
                )
            ],
            neighbours=[
                TrueNeighbour(
                    "the excess over 10^200",
                    is_satisfied=partial(_escapes, with_data=with_data, share=10**200),
                )
            ],
            meets=PROPERTIES,
            region="growing n, runs from the minimizer of losses whose ball has the radius 1/(10 K), without momentum",
        ),
    )
