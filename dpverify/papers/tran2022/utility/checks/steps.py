"""Check the lines of the proofs of Lemma 5 and of Theorems 6 and 9, and the conditions that they use, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpverify.harness import (
    Budget,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    SearchCheck,
    TrueNeighbour,
)
from dpverify.harness.admissible import LineLoss, Witness, witness_properties
from dpverify.harness.derivation_check import TextProof
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.theorem_bounds import (
    attained_gradient,
    attained_loss,
    worst_alignment,
)
from dpverify.symbolic.exact.evaluate import decide_statement, evaluate_statement
from dpverify.symbolic.exact.numbers import Exact

CHECKS = PaperChecks("tran2022", __name__)

CORNERS: tuple[dict[str, Any], ...] = (
    {"N": 1, "T": 2, "d": 1, "delta": "1/2", "G": 1, "L": 0, "R": 1},
    {"N": 2, "T": 4, "d": 1, "delta": "1/1000", "G": 1, "L": 0, "R": 1},
    {"N": 5, "T": 40, "d": 3, "delta": "1/1000", "G": 1, "L": "1/10", "R": 2},
    {
        "N": 1000,
        "T": 10**6,
        "d": 10,
        "delta": "1/1000000",
        "G": 1,
        "L": 1,
        "R": 1,
        "epsilon": 1,
        "alpha": "1/10",
    },
    {"N": 7, "T": 9, "d": 5, "epsilon": "1/3", "alpha": "1/3", "eta": "1/9", "K": 5},
)
"""Small runs, of which one is away from every boundary, and a run of realistic size."""

SIMPLE: dict[str, Any] = {
    "d": 1,
    "G": 1,
    "L": 0,
    "R": 1,
    "K": 1,
    "alpha": 1,
    "eta": 1,
    "delta": "1/2",
    "epsilon": 1,
}

TIGHT: Mapping[str, tuple[dict[str, Any], ...]] = {
    "theorem-6-parameters": tuple(
        {"T": 2, "N": n, "epsilon": Fraction(3 * k, n**2)}
        for n in (2, 10)
        for k in (1, 4)
    ),
    "theorem-9-gamma": ({"N": 1, "T": 1}, {"N": 4, "T": 15}, {"N": 4, "T": 16}),
    "theorem-9-k": (
        {
            "delta": "9/10",
            "T": 8,
            "N": 3,
            "d": 3,
            "L": 1,
            "G": 1,
            "alpha": "1/3",
            "eta": "1/4",
        },
    ),
}
"""Points at which a condition holds with equality or is barely violated."""

FAILING: tuple[dict[str, Any], ...] = (
    {**SIMPLE, "N": 1, "T": 2},
    {**SIMPLE, "N": 2, "T": 3},
    {**SIMPLE, "N": 2, "T": 4},
    {**SIMPLE, "N": 2, "T": 4, "eta": "1/4"},
    {**SIMPLE, "N": 2, "T": 16, "delta": "1/1000"},
    {
        "N": 3,
        "T": 8,
        "d": 3,
        "G": "1/2",
        "L": "1/3",
        "R": 4,
        "K": 5,
        "alpha": "1/3",
        "eta": "1/4",
        "delta": "1/2",
        "epsilon": "1/3",
    },
    {
        "N": 3,
        "T": 8,
        "d": 3,
        "G": "1/2",
        "L": "1/3",
        "R": 4,
        "K": 5,
        "alpha": "1/3",
        "eta": "1/4",
        "delta": "1/1000",
        "epsilon": "1/3",
    },
    {
        "N": 1000,
        "T": 100_000,
        "d": 100,
        "G": 1,
        "L": 1,
        "R": 1,
        "K": 5,
        "alpha": "1/1000",
        "eta": "1/10000",
        "delta": "1/1000000",
        "epsilon": 1,
    },
)
"""In order of size. The last three are away from every boundary, and the last has a realistic size."""

SYMBOLS: Mapping[str, tuple[str, ...]] = {
    "theorem-6-display-1": (
        "N",
        "T",
        "d",
        "G",
        "L",
        "R",
        "alpha",
        "eta",
        "delta",
        "epsilon",
    ),
    "theorem-6-display-t": ("N", "T", "d", "G", "L", "R", "delta"),
    "theorem-9-k": ("N", "T", "d", "G", "L", "alpha", "eta", "delta", "epsilon"),
    "theorem-9-alpha-proof": ("N", "T", "d", "epsilon"),
    "theorem-9-display-alpha": ("N", "T", "d", "G", "K", "L", "R", "epsilon"),
}

PROVED = (
    "theorem-6-parameters",
    "theorem-6-epsilon",
    "theorem-6-display-2",
    "theorem-6-display-eta",
    "theorem-6-display-alpha",
    "theorem-6-largest-t",
    "theorem-9-parameters",
    "theorem-9-epsilon",
    "theorem-9-display-1",
    "theorem-9-display-eta",
    "theorem-9-largest-t",
    "theorem-9-display-t",
)
"""Lines that hold as printed."""

REFUTED = (
    "theorem-6-display-1",
    "theorem-6-display-t",
    "theorem-9-gamma",
    "theorem-9-k",
    "theorem-9-alpha-proof",
    "theorem-9-display-alpha",
)
"""Lines that do not hold as printed. Their replacements are proved in proofs.toml."""

SEARCHED = ("theorem-9-gamma",)
"""Lines that fail only because a condition is missing. They and their corrections are searched."""

IDENTITIES = ("theorem-6-display-alpha", "theorem-9-display-t")
"""Printed lines that are identities. A proof can decide them, a search cannot."""


def _line(point: Point, statement: Statement) -> Outcome:
    """Decide a line at a point and return both sides."""
    left, right = evaluate_statement(statement, point)
    return Outcome(decide_statement(statement, point), left, right)


def _left_twice(point: Point, statement: Statement) -> Outcome:
    """Decide the line with its left side on both sides."""
    return _line(point, replace(statement, rhs=statement.lhs))


def _points(claim: str) -> Callable[[Budget], list[dict[str, Any]]]:
    """Return the points of a claim: the failing corners, with the symbols of the claim."""
    return lambda _: [{name: at[name] for name in SYMBOLS[claim]} for at in FAILING]


for claim in (*PROVED, *REFUTED):
    if claim in REFUTED and claim not in SEARCHED:
        half = Planted("half of the right side", rhs="printed/2")
        CHECKS.add(
            RuleCheck(
                claim,
                "corners",
                points=_points(claim),
                is_satisfied=_line,
                planted=[half],
                neighbours=[
                    TrueNeighbour(
                        "the left side on both sides", is_satisfied=_left_twice
                    )
                ],
                variants=("printed",),
            )
        )
    elif claim in IDENTITIES:
        CHECKS.add(TextProof(claim, "derivation"))
    else:
        CHECKS.add(
            SearchCheck(claim, "search", corners=(*TIGHT.get(claim, ()), *CORNERS))
        )


TURNED: list[dict[str, Any]] = [
    {"grad_norm": 1, "error_norm": "11/10"},
    {"grad_norm": 1, "error_norm": 2},
    {"grad_norm": "7/2", "error_norm": "15/4"},
    {"grad_norm": 1, "error_norm": 1},
    {"grad_norm": 1, "error_norm": 0},
    {"grad_norm": 1, "error_norm": "1/2"},
]
"""Errors larger than the gradient, which can reverse the momentum, and the ends of the cases."""

RUNS: list[dict[str, Any]] = [
    {"drop": drop, "eta": eta, "T": top, "L": smooth, "error_sum": errors}
    for drop, eta, top, smooth, errors in (
        (1, 1, 1, 0, 0),
        (0, 1, 1, 1, 0),
        (-1, 1, 1, 0, "1001/1000"),
        ("1/2", "1/8", 4, "3/2", "1/4"),
        (-3, "1/3", 5, 0, "901/100"),
    )
]
"""Runs on a line: down a slope, down a bowl, and up a slope because a slightly larger error reverses the momentum."""


def _alignment(point: Point, statement: Statement) -> Exact:
    return worst_alignment(point["grad_norm"], point["error_norm"])


def parabola(point: Point) -> Witness:
    """Return the loss L v^2/2, up to the length eta of a step."""
    eta = point["eta"]
    L = point["L"]
    return Witness({LineLoss(((-eta, -L * eta), (eta, L * eta))): 1})


ONE_STEP = {
    **witness_properties(parabola, "the quadratic loss + <g, v> + L |v|^2/2"),
    "normalized-update": Property("one step of length eta in any direction"),
}


def _loss(point: Point, statement: Statement) -> Exact:
    return attained_loss(point["loss"], point["alignment"], point["eta"], point["L"])


def _mean(point: Point, statement: Statement) -> Exact:
    return attained_gradient(
        *(point[name] for name in ("drop", "eta", "T", "L", "error_sum"))
    )


def _lengths(_: Budget) -> Iterable[dict[str, Any]]:
    """Return |e| at the ends of its range and between, for |g| = 1."""
    return ({"error_norm": Fraction(k, 8)} for k in range(5))


def _length_between(point: Point, half: Fraction) -> Outcome:
    """Test the range of |g + e|, from 1 - |e| to 1 + |e|, for |g| = 1."""
    e = point["error_norm"]
    return Outcome(
        half <= 1 - e and 1 + e <= 2 - half,
        1 - e,
        half,
        "the smallest |g + e|, for |g| = 1",
    )


CHECKS.add(
    SearchCheck(
        "lemma-5-smoothness",
        "quadratic",
        lhs=_loss,
        meets=ONE_STEP,
        corners=[
            {"loss": 0, "alignment": -1, "eta": 1, "L": 0},
            {"loss": 1, "alignment": "-1/2", "eta": "1/4", "L": "1/3"},
        ],
    ),
    RuleCheck(
        "lemma-5-case-1-norm",
        "ends",
        points=_lengths,
        is_satisfied=lambda point, statement: _length_between(point, Fraction(1, 2)),
        planted=[
            Planted(
                "1/2 for 21/40",
                is_satisfied=lambda p, s: _length_between(p, Fraction(21, 40)),
                at_declared_size=True,
            )
        ],
        region="|g| = 1, 0 <= |e| <= 1/2",
    ),
    *(
        SearchCheck(f"lemma-5-{case}", "worst-angle", lhs=_alignment, corners=TURNED)
        for case in ("case-1", "case-2-sign", "case-2", "cases")
    ),
    *(
        SearchCheck(claim, "runs-on-a-line", lhs=_mean, corners=RUNS)
        for claim in ("lemma-5-telescoped", "lemma-5")
    ),
)
