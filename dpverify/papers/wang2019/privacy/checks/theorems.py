"""Check Theorems 4.1 and 5.1: the noise of Algorithms 1 and 2, the conditions, Theorem 4.1's proof, and its lemmas.

The lemmas are 3.9, the conversion from Renyi to (epsilon, delta), and B.1, the composition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    SearchCheck,
)
from dpverify.harness.sides import Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.subsampling_bounds import composed_moment
from dpverify.privacy.conversions import near_worst_laws, two_point_delta
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.shared_types import Values
from dpverify.symbolic.exact.evaluate import definitions
from dpverify.symbolic.exact.numbers import Exact, ball

CHECKS = PaperChecks("wang2019", __name__)


POINT: Values = {
    "G": 1,
    "zeta": 2,
    "gamma": "1/3",
    "n": 26,
    "m": 2,
    "n_party": 13,
    "b": 1,
    "b_0": 2,
    "T": 84,
    "alpha": 2,
    "beta": "1/2",
    "delta": "1/100000",
    "epsilon": 1,
    "iterations": 21,
    "t": 5,
}
CHANGES: tuple[Values, ...] = (
    {},
    {"epsilon": "1/2"},
    {"epsilon": 2},
    {"epsilon": 50, "b_0": 26, "b": 26},
    {"G": 7, "zeta": "1/9", "gamma": 1},
    {"n": 1, "n_party": 1, "m": 1, "b_0": 1, "b": 1, "T": 3, "iterations": 1, "t": 1},
    {"b_0": 100, "n": 10**5, "alpha": "3/2", "T": 10**9, "t": 83, "iterations": 83},
)
FIRST = "G n T beta epsilon b_0"
LATER = "G n T beta epsilon b zeta gamma"
ALGEBRA = "around one point; a derivation decides where the two sides are equal"


def points_at(
    names: str, *changes: Values, base: Values = POINT
) -> Callable[[Budget], list[Values]]:
    """Return the distinct points of a claim's symbols: a base with some of its values changed."""
    symbol_names = names.split()
    points = [
        {name: (base | change)[name] for name in symbol_names} for change in changes
    ]
    return lambda _: [
        point for place, point in enumerate(points) if point not in points[:place]
    ]


BOTH = ("printed", "amended")
# Theorem 4.1's condition holds at the smaller ratio
_first_step = partial(points_at, f"{LATER} b_0 alpha")
_scaled = partial(  # Theorem 5.1's condition holds: G is half the sensitivity, times b
    points_at,
    "zeta gamma b m n_party G sigma alpha",
    base={"zeta": 1, "gamma": 1, "b": 1, "m": 2, "n_party": 50000},
)

for claim, names, corrected in (
    ("algorithm-1-variance-0", f"{FIRST} delta", True),
    ("algorithm-1-variance", f"{LATER} delta", True),
    ("algorithm-2-variance-0", f"{FIRST} delta m n_party", True),
    ("algorithm-2-variance", f"{LATER} delta m n_party", True),
    ("theorem-4-1-ratio-0", f"{FIRST} alpha", True),
    ("theorem-4-1-ratio", f"{LATER} alpha", True),
    ("theorem-4-1-composition", "beta epsilon T t", True),
    ("theorem-4-1-iterations", "beta epsilon T delta iterations", True),
    ("theorem-4-1-variance-0", f"{FIRST} alpha", False),
    ("theorem-4-1-variance", f"{LATER} alpha", False),
    ("theorem-5-1-variance-0", f"{FIRST} alpha m n_party", False),
    ("theorem-5-1-variance", f"{LATER} alpha m n_party", False),
    ("theorem-4-1-unsampled-0", f"{FIRST} alpha", False),
    ("theorem-4-1-unsampled", f"{LATER} alpha", False),
    ("theorem-4-1-order", "beta epsilon T delta iterations", False),
):
    points = points_at(names, *CHANGES)
    variants = BOTH[:1] if corrected else BOTH
    CHECKS.add(
        ExhaustiveCheck(
            claim, "points", points=points, region=ALGEBRA, variants=variants
        )
    )
CHECKS.add(
    ExhaustiveCheck(
        "theorem-4-1-condition",
        "points",
        variants=("printed",),
        points=_first_step(
            {}, {"b_0": 100, "n": 10**5, "alpha": "3/2", "T": 2 * 10**9}
        ),
        region="two points inside the condition",
    ),
    ExhaustiveCheck(
        "theorem-4-1-condition",
        "more-points",
        variants=("amended",),
        points=_first_step(
            {"b_0": 4, "b": 3, "n": 10**3, "T": 30000, "alpha": "3/2"},
            {"b_0": 9, "b": 3, "n": 10**4, "T": 2 * 10**6, "alpha": 2},
            {"b_0": 2, "b": 2, "n": 10**4, "T": 10**7, "alpha": 3},
        ),
        region="three points inside the condition",
    ),
    ExhaustiveCheck(
        "theorem-5-1-condition",
        "points",
        variants=("printed",),
        points=_scaled(
            {"G": 1, "sigma": 2, "alpha": "5/4"},
            {"G": 2, "sigma": 4, "alpha": 4},
            {"G": 10, "sigma": 20, "alpha": 80},
        ),
        region="sigma and G scaled up together",
    ),
    ExhaustiveCheck(
        "theorem-5-1-condition",
        "more-points",
        variants=("amended",),
        points=_scaled(
            {"G": "1/2", "sigma": 1, "alpha": 2},
            {"G": "1/2", "sigma": 3, "alpha": 20},
            {"b": 9, "G": 4, "sigma": 2, "alpha": 5},
        ),
        region="three points with a sensitivity of at most 1",
    ),
)


LAWS = tuple(Fraction(text) for text in ("1/100", "1/5", "1/2", "9/10"))


def _gaussian_delta(point: Point, statement: Statement) -> Exact:
    """Return the exact delta of the Gaussian mechanism whose divergence of order alpha is rho."""
    if point["rho"] == 0:
        return Fraction(0)
    mu = (2 * ball(point["rho"]) / ball(point["alpha"])).sqrt()
    return delta_ball(mu, ball(definitions(statement, point)["epsilon"]))


def _laws(budget: Budget) -> Iterator[dict[str, Fraction]]:
    for order, rho, delta, p, q in near_worst_laws():
        yield {"alpha": order, "rho": rho, "delta": delta, "p": p, "q": q}


def _law_delta(point: Point, statement: Statement) -> Exact:
    epsilon = ball(definitions(statement, point)["epsilon"])
    return two_point_delta(point["p"], point["q"], epsilon)


def _compositions(budget: Budget) -> Iterator[dict[str, Fraction]]:
    orders = (2, 5) if budget.name == "smoke" else (2, 3, 5, 20)
    pairs = [(p, q) for p in LAWS for q in LAWS]
    for order in orders:
        for p, q in pairs:
            for p1, q1 in pairs[::3]:
                for p2, q2 in pairs[::5]:
                    yield {
                        "order": Fraction(order),
                        "p": p,
                        "q": q,
                        "p1": p1,
                        "q1": q1,
                        "p2": p2,
                        "q2": q2,
                    }


def _composed(*, worst: bool) -> Rule:
    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        second = [(point["p1"], point["q1"]), (point["p2"], point["q2"])]
        joint, (first_moment, *conditional_moments) = composed_moment(
            int(point["order"]), (point["p"], point["q"]), second
        )
        bound = first_moment * (
            max(conditional_moments) if worst else min(conditional_moments)
        )
        return Outcome(
            joint <= bound,
            joint,
            bound,
            "moments: exp((alpha - 1) times the divergence)",
        )

    return is_satisfied


CHECKS.add(
    SearchCheck(
        "lemma-3-9",
        "search",
        lhs=_gaussian_delta,
        leaves_out="Gaussian mechanisms only",
    ),
    ExhaustiveCheck(
        "lemma-3-9",
        "two-point-laws",
        points=_laws,
        lhs=_law_delta,
        region="two-point laws near the worst ones",
    ),
    ExhaustiveCheck(
        "lemma-b-1",
        "two-outcomes",
        points=_compositions,
        is_satisfied=_composed(worst=True),
        planted=[
            Planted(
                "the milder of the two second steps",
                is_satisfied=_composed(worst=False),
            )
        ],
        region="two adaptive steps with two outcomes each, exact",
    ),
)
