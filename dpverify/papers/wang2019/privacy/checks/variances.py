"""The noise of Algorithms 1 and 2, the conditions of Theorems 4.1 and 5.1, and the proof of Theorem 4.1."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dpverify.harness import Budget, ExhaustiveCheck, PaperChecks
from dpverify.shared_types import Values

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


def points_at(names: str, *changes: Values, base: Values = POINT) -> Callable[[Budget], list[Values]]:
    """Make the points of a claim's symbols: a base, and others with some of its values changed, each of them once."""
    symbol_names = names.split()
    points = [{name: (base | change)[name] for name in symbol_names} for change in changes]
    return lambda _: [point for place, point in enumerate(points) if point not in points[:place]]


BOTH = ("printed", "amended")
_first_step = partial(points_at, f"{LATER} b_0 alpha")  # Theorem 4.1's condition holds at the smaller ratio
_scaled = partial(  # Theorem 5.1's condition holds: G is half the sensitivity, times b
    points_at, "zeta gamma b m n_party G sigma alpha", base={"zeta": 1, "gamma": 1, "b": 1, "m": 2, "n_party": 50000}
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
    CHECKS.add(ExhaustiveCheck(claim, "points", points=points, region=ALGEBRA, variants=variants))
CHECKS.add(
    ExhaustiveCheck(
        "theorem-4-1-condition",
        "points",
        variants=("printed",),
        points=_first_step({}, {"b_0": 100, "n": 10**5, "alpha": "3/2", "T": 2 * 10**9}),
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
            {"G": 1, "sigma": 2, "alpha": "5/4"}, {"G": 2, "sigma": 4, "alpha": 4}, {"G": 10, "sigma": 20, "alpha": 80}
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
