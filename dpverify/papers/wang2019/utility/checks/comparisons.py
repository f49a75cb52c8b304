"""What a box, a table or a sentence says beside what another place of the paper promises or needs."""

from __future__ import annotations

from dpverify.harness import ExhaustiveCheck, PaperChecks, SearchCheck
from dpverify.papers.wang2019.utility.checks.rates import points_at
from dpverify.shared_types import Values

CHECKS = PaperChecks("wang2019", __name__)


AT: Values = {
    "n": 10**4,
    "d": 123,
    "epsilon": "1/2",
    "delta": "1/100000",
    "G": 2,
    "L": 1,
    "gap": 1,
    "beta": "1/2",
    "alpha": 9,
    "T": 30,
    "gamma": "1/3",
    "zeta": "1/4",
    "Delta": 3,
    "rho": "1/7",
    "eta": "1/20",
    "length": 40,
}
REFUTED: tuple[tuple[str, str, Values], ...] = (
    ("section-3-gaussian-mechanism", "alpha Delta rho", {}),
    ("algorithm-1-variance-most", "T gamma zeta G alpha beta n epsilon", {}),
    ("theorem-4-4-steps-least", "n d epsilon delta G L gap", {"n": 10, "gap": "1/100"}),
    ("theorem-4-4-b-0-least", "n d epsilon delta G L gap", {"gap": 4000}),
)
for claim, letters, change in REFUTED:
    points = points_at({**AT, **change}, letters)
    CHECKS.add(ExhaustiveCheck(claim, "points", points=points, region="one point", variants=("printed",)))
CHECKS.add(
    ExhaustiveCheck(
        "theorem-4-1-whole",
        "points",
        points=points_at(AT, "delta beta epsilon"),
        region="one point",
        variants=("printed",),
    ),
    SearchCheck("theorem-4-1-whole", "search", variants=("amended",)),
    ExhaustiveCheck(
        "theorem-4-4-first-step",
        "points",
        region="one point inside the conditions",
        variants=("printed",),
        points=points_at({**AT, "n": 10**8, "d": 3, "epsilon": 1}, "n d epsilon delta G L gap beta"),
    ),
    SearchCheck("remark-3-8-order", "search", corners=({"sigma": 3, "tau": "1/1000", "alpha": 2},)),
)
