"""Checks of claims of sections 1, 2 and 4 about noise on sums: per vector, on a tree, and on full-batch gradients."""

from __future__ import annotations

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
    SearchCheck,
    of_variant,
)
from dpverify.harness.admissible import witness_properties
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import count_nodes
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.symbolic.exact.numbers import Exact, ball, to_exact

ONE_VECTOR = {
    **witnesses.OPPOSED,
    "gaussian-mechanism": Property(
        "a vector of length G is released with spherical Gaussian noise"
    ),
}
WHOLE_PATH = {
    **witness_properties(
        lambda point: witnesses.turning(point, point["eta"] * point["t"]),
        "losses along a straight path, of which one bends up or down with L",
    ),
    "gaussian-mechanism": Property(
        "the bound is one for every private estimate, one with Gaussian noise included"
    ),
}

CHECKS = PaperChecks("tran2022", __name__)

EACH = 4  # Section 2, corrected: the deviation is EACH G sqrt(log(1/delta))/epsilon
# Constant allowed for O~ in section 4, besides the
# square of log2(2 t) and the root of log(1/delta)
HIDDEN = 100


def _vectors(_: Budget) -> Iterator[dict[str, int | Fraction]]:
    """Yield points with too large an epsilon for several constants, then points of the corrected range."""
    for constant in (EACH, 100, 10**4):
        yield {
            "constant": constant,
            "epsilon": 6 * constant**2,
            "delta": Fraction(1, 10),
        }
    for k in (1, 3, 6, 12):
        for epsilon in (Fraction(1, 10), 1, 4 * k):
            yield {"constant": EACH, "epsilon": epsilon, "delta": Fraction(1, 10**k)}


def _one_vector(
    point: Point, statement: Statement, share: Fraction = Fraction(1)
) -> Outcome:
    """Compare with delta the exact delta of one vector for the deviation constant*G*sqrt(log(1/delta))/epsilon."""
    epsilon = ball(point["epsilon"])
    delta = ball(point["delta"])
    root = (1 / delta).log().sqrt()
    exact = delta_ball(2 * epsilon / (ball(share * point["constant"]) * root), epsilon)
    return Outcome(
        bool(exact <= delta),
        to_exact(exact),
        point["delta"],
        "exact delta, and the delta asked for",
    )


def _partial_sum(point: Point, statement: Statement) -> Exact:
    """Return the deviation of the noise of a partial sum, in which every node has the deviation log2(t) sigma."""
    nodes = count_nodes("b", "a")(point, statement)
    return to_exact(
        ball(nodes).sqrt()
        * ball(point["t"]).log()
        / arb(2).log()
        * ball(point["sigma"])
    )


def _long_runs(_: Budget) -> Iterator[dict[str, int | Fraction]]:
    """Yield straight runs with L eta t at most G = L = 1: long ones, shorter ones, and one with delta near 1."""
    for n, t in ((1000, 2**24), (1, 2**24), (1000, 2**40), (10, 2), (1000, 1000)):
        yield {
            "N": n,
            "t": t,
            "eta": Fraction(1, t),
            "epsilon": 1,
            "delta": Fraction(1, 10**6),
        }
    yield {
        "N": 10,
        "t": 100,
        "eta": Fraction(1, 100),
        "epsilon": Fraction(1, 125),
        "delta": 1 - Fraction(1, 1000),
    }


def _reach(point: Point) -> arb:
    """Return a lower bound on the expected error of any private estimate of g_t - g_1 on one of two neighbours."""
    # On the two data sets the differences are 2 L eta (t-1)/N apart. Suppose that on
    # each an estimate is off by at least half of that distance with probability at most
    # x. Then privacy gives 1 - x <= exp(epsilon) x + delta. So for the smallest such x,
    # the expected error on one of the two is at least x times half of the distance.
    far = ball(point["eta"] * (point["t"] - 1) / point["N"])
    return far * (1 - ball(point["delta"])) / (1 + ball(point["epsilon"]).exp())


def _small_error(point: Point, statement: Statement) -> Outcome:
    """Compare the lower bound on the error with HIDDEN times eta/(N epsilon), times logarithms."""
    logs = (arb(2) * ball(point["t"])).log() / arb(2).log()
    size = ball(point["eta"] / (point["N"] * point["epsilon"])) * HIDDEN * logs**2
    allowed = size * (1 / ball(point["delta"])).log().sqrt()
    left = _reach(point)
    return Outcome(
        bool(left <= allowed),
        to_exact(left),
        to_exact(allowed),
        "least error of any private estimate of g_t - g_1",
    )


def _plain_noise(
    point: Point, statement: Statement, share: Fraction = Fraction(1)
) -> Outcome:
    """Test the corrected error and the exact delta of independent noise on g_1 and on each difference."""
    n, t, epsilon, delta = (point[name] for name in ("N", "t", "epsilon", "delta"))
    unit = ball(share * 8 / (n * epsilon)) * (1 / ball(delta)).log().sqrt()
    first = unit
    later = unit * ball(point["eta"]) * ball(t).sqrt()
    mu2 = (ball(Fraction(2) / n) / first) ** 2 + ball(t - 1) * (
        ball(2 * point["eta"] / n) / later
    ) ** 2
    exact = delta_ball(mu2.sqrt(), ball(epsilon))
    error = (first**2 + ball(t - 1) * later**2).sqrt()
    allowed = unit * ball(1 + point["eta"] * t)
    if not error <= allowed:
        return Outcome(
            False, to_exact(error), to_exact(allowed), "deviation of the noise in g_t"
        )
    return Outcome(
        bool(exact <= ball(delta)),
        to_exact(exact),
        delta,
        "exact delta, and the delta asked for",
    )


CHECKS.add(
    RuleCheck(
        "section-2-each-private",
        "one-vector",
        points=_vectors,
        is_satisfied=_one_vector,
        planted=[
            Planted(
                "a quarter of the noise",
                is_satisfied=partial(_one_vector, share=Fraction(1, 4)),
            )
        ],
        interior=lambda point: point["constant"] > EACH,
        meets=ONE_VECTOR,
        region="constants 4, 100 and 10^4 with epsilon far above log(1/delta); constant 4 for delta down to 10^-12",
    ),
    SearchCheck(
        "section-2-tree-error",
        "search",
        lhs=_partial_sum,
        corners=[{"a": 2, "b": 2**k - 1, "t": 2**k - 1} for k in (2, 3, 9, 20)],
    ),
    SearchCheck(
        "section-4-dp-srm-gain", "search", corners=[{"N": 1000, "delta": "1/1000000"}]
    ),
    RuleCheck(
        "section-4-full-batch-error",
        "long-runs",
        points=_long_runs,
        is_satisfied=of_variant(_small_error, _plain_noise),
        meets=WHOLE_PATH,
        planted=[
            Planted(
                "a quarter of the noise",
                is_satisfied=partial(_plain_noise, share=Fraction(1, 4)),
            )
        ],
        region="G = L = 1, eta = 1/t; epsilon = 1, delta = 10^-6, t up to 2^40; epsilon = 1/125, delta = 0.999",
        leaves_out="other runs",
    ),
)
