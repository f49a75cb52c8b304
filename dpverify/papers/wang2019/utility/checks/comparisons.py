"""Check orders, comparisons and printed numbers: abstract, sections 1, 2 and 5.1, Tables 1 to 6, Appendix A.

The checks also cover Theorem 4.4's choices, Remark 4.2 and the grids of section 6. They compare a statement of a box, a
table or a sentence with a promise or a requirement elsewhere in the paper.
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
    RuleCheck,
    SearchCheck,
    TrueNeighbour,
)
from dpverify.ledger.statements import Statement
from dpverify.shared_types import Values
from dpverify.symbolic.exact.evaluate import evaluate_statement
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("wang2019", __name__)

PRINTED = ("printed",)
CORRECTED = ("amended",)
MILLION = 10**6


def points_at(point: Values, letters: str) -> Callable[[Budget], list[Values]]:
    """Return the points of a check: one point with the symbols of a claim."""
    return lambda _: [{name: point[name] for name in letters.split()}]


def _outgrown(
    point: Point,
    statement: Statement,
    *,
    slower: Fraction = Fraction(0),
    power: Fraction = Fraction(1),
) -> Outcome:
    """Test whether the left side of an order exceeds a million times a power of the right side and a power of n."""
    left, right = evaluate_statement(statement, point)
    if left is None:
        raise ValueError(f"{statement.key} must have a formula on its left.")
    limit = (
        MILLION
        * ball(right) ** ball(power)
        * ball(point["n_party" if "n_party" in point else "n"]) ** ball(slower)
    )
    return Outcome(
        not ball(left) > limit,
        left,
        limit,
        "right side: a million times what is printed",
    )


def _one_example(budget: Budget) -> Iterator[dict[str, int | str | Fraction]]:
    base: dict[str, int | str | Fraction] = {"n": 1, "d": 5, "epsilon": "1/2"}
    yield from ({"delta": 1 - Fraction(1, 10**k), **base} for k in (9, 15, 30))


def _shrinking(budget: Budget) -> Iterator[dict[str, int | str | Fraction]]:
    base: dict[str, int | str | Fraction] = {
        "G": 3,
        "L": 3,
        "d": 5,
        "epsilon": "1/2",
        "delta": "1/1000",
        "zeta": "1/3",
    }
    yield from ({"n": 10**k, "gap": Fraction(1, 10**k), **base} for k in (3, 9, 15, 30))


def _larger_budget(budget: Budget) -> Iterator[dict[str, int | str]]:
    fixed: dict[str, int | str] = {
        "n": 1000,
        "d": 5,
        "G": 3,
        "L": 3,
        "gap": 3,
        "delta": "1/1000",
    }
    yield from ({"epsilon": 10**k, **fixed} for k in (3, 9, 15, 30))


def _more_dimensions(budget: Budget) -> Iterator[dict[str, int | str]]:
    yield from ({"n": 1000, "d": 10**k, "epsilon": "1/2"} for k in (3, 9, 15, 30))


def _growing(budget: Budget) -> Iterator[dict[str, int | str]]:
    base: dict[str, int | str] = {
        "T": 3,
        "G": 3,
        "alpha": 4,
        "beta": "1/3",
        "epsilon": "1/2",
    }
    yield from ({"n_party": 10**k, **base} for k in (3, 9, 15, 30))


AT: Values = {
    "n": 10**4,
    "d": 123,
    "epsilon": "1/2",
    "delta": "1/100000",
    "G": 2,
    "L": 1,
    "gap": 1,
    "beta": "1/2",
}
REFUTED: tuple[tuple[str, str, Values], ...] = (
    ("section-1-rrpsgd-utility", "n d epsilon delta", {"n": 2, "delta": "3/4"}),
    ("theorem-4-4-gamma", "n d epsilon delta G L gap", {"n": 10, "L": 9}),
    ("theorem-4-4-b-most", "n d epsilon delta G L gap", {"n": 100, "G": 50}),
    ("theorem-4-4-b-0-most", "n d epsilon delta G L gap", {"gap": "1/100"}),
    ("algorithm-1-estimates", "T", {"T": 7}),
    ("section-6-1-objective", "margin", {"margin": "1/3"}),
    (
        "algorithm-2-batches",
        "b_1 b_2 full_1 full_2",
        {"b_1": 3, "b_2": 5, "full_1": "1/2", "full_2": 4},
    ),
)
for claim, letters, change in REFUTED:
    points = points_at({**AT, **change}, letters)
    CHECKS.add(
        ExhaustiveCheck(
            claim, "points", points=points, region="one point", variants=PRINTED
        )
    )
CHECKS.add(
    SearchCheck("remark-4-5-factor", "search", variants=CORRECTED),
    RuleCheck(
        "remark-4-5-factor",
        "one-example",
        points=_one_example,
        is_satisfied=_outgrown,
        planted=[
            Planted(
                "the square of the right side",
                is_satisfied=partial(_outgrown, power=Fraction(2)),
            )
        ],
        neighbours=[
            TrueNeighbour(
                "its fourth root", is_satisfied=partial(_outgrown, power=Fraction(1, 4))
            )
        ],
        region="one example, delta close to 1",
        variants=PRINTED,
    ),
    *(
        ExhaustiveCheck(
            "theorem-4-4-ratio",
            name,
            points=points_at({**AT, "d": d}, "n d epsilon delta G L gap beta"),
            region=f"one point, d = {d}",
            variants=variants,
        )
        for name, d, variants in (
            ("points", 1000, PRINTED),
            ("few-dimensions", 320, CORRECTED),
        )
    ),
    *(
        RuleCheck(
            claim,
            "shrinking",
            points=_shrinking,
            is_satisfied=_outgrown,
            planted=[
                Planted(
                    "a rate that falls like 1/n besides",
                    is_satisfied=partial(_outgrown, slower=Fraction(-1)),
                )
            ],
            region="D_F = 1/n, everything else held fixed",
            variants=PRINTED,
        )
        for claim in (
            "equation-b-20-later",
            "equation-b-20-start",
            "equation-b-20-start-root",
        )
    ),
    *(
        RuleCheck(
            claim,
            "growing",
            points=points,
            is_satisfied=_outgrown,
            planted=[
                Planted(
                    "a rate that falls like 1/n besides",
                    is_satisfied=partial(_outgrown, slower=Fraction(-1)),
                )
            ],
            region=region,
            variants=PRINTED,
        )
        for claim, points, region in (
            (
                "table-1-dp-gd-utility",
                _larger_budget,
                "growing epsilon, everything else held fixed",
            ),
            (
                "section-1-rrpsgd-time",
                _more_dimensions,
                "growing d, everything else held fixed",
            ),
        )
    ),
    RuleCheck(
        "section-5-1-local",
        "growing",
        points=_growing,
        is_satisfied=_outgrown,
        planted=[
            Planted(
                "a variance that falls like 1/n",
                is_satisfied=partial(_outgrown, slower=Fraction(-1)),
            )
        ],
        region="growing n, everything else held fixed",
        variants=PRINTED,
    ),
)


COMPARED_AT: Values = {
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
REFUTED_COMPARISONS: tuple[tuple[str, str, Values], ...] = (
    ("section-3-gaussian-mechanism", "alpha Delta rho", {}),
    ("algorithm-1-variance-most", "T gamma zeta G alpha beta n epsilon", {}),
    ("theorem-4-4-steps-least", "n d epsilon delta G L gap", {"n": 10, "gap": "1/100"}),
    ("theorem-4-4-b-0-least", "n d epsilon delta G L gap", {"gap": 4000}),
)
for claim, letters, change in REFUTED_COMPARISONS:
    points = points_at({**COMPARED_AT, **change}, letters)
    CHECKS.add(
        ExhaustiveCheck(
            claim, "points", points=points, region="one point", variants=("printed",)
        )
    )
CHECKS.add(
    ExhaustiveCheck(
        "theorem-4-1-whole",
        "points",
        points=points_at(COMPARED_AT, "delta beta epsilon"),
        region="one point",
        variants=("printed",),
    ),
    SearchCheck("theorem-4-1-whole", "search", variants=("amended",)),
    ExhaustiveCheck(
        "theorem-4-4-first-step",
        "points",
        region="one point inside the conditions",
        variants=("printed",),
        points=points_at(
            {**COMPARED_AT, "n": 10**8, "d": 3, "epsilon": 1},
            "n d epsilon delta G L gap beta",
        ),
    ),
    SearchCheck(
        "remark-3-8-order",
        "search",
        corners=({"sigma": 3, "tau": "1/1000", "alpha": 2},),
    ),
)


PRINTED_NUMBERS = (
    "table-4-a9a",
    "appendix-a-second",
    "table-4-linear",
    "table-5-layers",
    "table-5-total",
    "table-6-layers",
    "table-6-total",
    "remark-4-2-variance",
    "note-size",
    "note-size-corrected",
    "note-margin",
    "note-noise-settings",
    "note-grid",
    "note-cnn6-gradients",
    "note-dual",
    "note-aggregation",
    "section-6-parties",
    "table-2-test-error",
    "table-2-distributed",
    "table-2-distributed-time",
    "table-3-test-error",
    "table-3-dp-agd",
    "table-4-time",
)
for claim in PRINTED_NUMBERS:
    CHECKS.add(
        ExhaustiveCheck(
            claim,
            "numbers",
            points=lambda _: ({},),
            region="the numbers that are printed",
            why_sufficient="the statement has no letters",
        )
    )
CHECKS.add(
    ExhaustiveCheck(
        "appendix-a-range",
        "points",
        points=lambda _: ({"u_1": "1/2", "u_2": "9/10"}, {"u_1": "1/3", "u_2": "1/4"}),
        region="two accepted pairs",
        variants=("printed",),
    ),
    SearchCheck("appendix-a-box", "search", region={"drawn": (0, 9)}),
)
