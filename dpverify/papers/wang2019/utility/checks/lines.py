"""Section 4.1 and the lines of B.2 as formulas: a search of each one's domain, and a derivation where one is known."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

from dpverify.harness import Budget, DerivationCheck, ExhaustiveCheck, PaperChecks, Point, SearchCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.derivations import derive_by_algebra
from dpverify.papers.wang2019.utility import derivations as derive
from dpverify.papers.wang2019.utility import order_derivations as order
from dpverify.papers.wang2019.utility.estimate_derivations import derive_replaced, derive_subsets
from dpverify.symbolic.exact.numbers import Exact

CHECKS = PaperChecks("wang2019", __name__)

BOTH = ("printed", "amended")
CORRECTED = ("amended",)


def _samples(budget: Budget) -> Iterator[dict[str, Any]]:
    for n in range(2, {"smoke": 7, "standard": 10, "full": 13}[budget.name]):
        yield from ({"n": n, "b": b, "shape": shape} for b in range(1, n) for shape in range(3))


def _sampled_mean_square(point: Point, statement: Statement) -> Exact:
    """Average over all subsets, exactly, for numbers that add up to 0: equal steps, one against all, or halves."""
    del statement
    n = int(point["n"])
    b = int(point["b"])
    raw = ([*range(n)], [1] + [0] * (n - 1), [i % 2 for i in range(n)])[int(point["shape"])]
    values = [Fraction(value) - Fraction(sum(raw), n) for value in raw]
    sums = [sum((values[i] for i in chosen), Fraction(0)) for chosen in combinations(range(n), b)]
    square = sum((value * value for value in values), Fraction(0)) / n
    return sum((subset_sum * subset_sum for subset_sum in sums), Fraction(0)) / (len(sums) * b * b * square)


for claim, build, variants in (
    ("equation-4-1", derive.derive_triangle, CORRECTED),
    ("section-4-1-gradients", derive.derive_triangle, BOTH),
    ("section-4-1-step", derive.derive_step, BOTH),
    ("theorem-4-4-iterations", derive_by_algebra, BOTH),
    ("theorem-4-4-batches", derive.derive_floor, BOTH),
    ("equation-b-4-step", derive.derive_moved, BOTH),
    ("theorem-4-4-smooth", derive.derive_triangle, CORRECTED),
    ("theorem-4-4-descent", derive_by_algebra, BOTH),
    ("theorem-4-4-half-step", derive.derive_half_step, BOTH),
    ("theorem-4-4-step-square", derive.derive_step_square, BOTH),
    ("theorem-4-4-step-tangent", derive.derive_step_tangent, BOTH),
    ("equation-b-9", derive.derive_by_sign, CORRECTED),
    ("equation-b-10", derive_by_algebra, CORRECTED),
    ("theorem-4-4-combined", derive_by_algebra, CORRECTED),
    ("equation-b-15", derive.derive_steps, BOTH),
    ("equation-b-16", derive.derive_roots, BOTH),
    ("equation-b-19", derive_by_algebra, CORRECTED),
):
    CHECKS.add(
        SearchCheck(claim, "search"),
        DerivationCheck(claim, "derivation", build=build, variants=variants),
    )
for claim, build in (
    ("equation-b-2", derive.derive_triangle),
    ("theorem-4-1-amplified-0", derive_by_algebra),
    ("theorem-4-1-amplified", derive_by_algebra),
    ("theorem-4-1-query", derive_by_algebra),
    ("theorem-4-1-query-bound", derive.derive_query),
    ("theorem-4-1-total", derive_by_algebra),
    ("equation-b-4-moved", derive.derive_step),
    ("theorem-4-4-smooth-mean", derive.derive_mean_of_two),
    ("equation-b-6", derive.derive_below_tangent),
    ("note-descent", derive.derive_descent),
    ("equation-b-7", derive.derive_by_sign),
    ("equation-b-8-second", derive_by_algebra),
    ("theorem-4-4-change-variance", derive.derive_by_sign),
    ("theorem-4-4-change-smooth", derive.derive_by_sign),
    ("equation-b-11", derive.derive_by_sign),
    ("equation-b-12", derive.derive_by_sign),
    ("note-sampling", derive.derive_sampling),
    ("equation-b-14", derive.derive_error_sum),
    ("equation-b-14-divided", derive_by_algebra),
    ("note-error", derive.derive_error_sum),
    ("equation-b-15-first", derive.derive_by_sign),
    ("equation-b-17", derive_by_algebra),
):
    CHECKS.add(DerivationCheck(claim, "derivation", build=build))
CHECKS.add(
    SearchCheck("theorem-4-1-b-0", "search"),
    DerivationCheck("theorem-4-1-b-0", "derivation", build=derive_by_algebra, variants=CORRECTED),
    SearchCheck("equation-b-8", "search"),
    DerivationCheck("equation-b-8", "derivation", build=derive_by_algebra, variants=CORRECTED),
    SearchCheck("equation-b-19-later", "search"),
    DerivationCheck("equation-b-19-later", "derivation", build=derive_by_algebra, variants=CORRECTED),
)
CHECKS.add(
    SearchCheck("equation-b-18", "search"),
    DerivationCheck("equation-b-18", "derivation", build=order.derive_without_noise),
    SearchCheck("theorem-4-4-normalization", "search"),
    DerivationCheck(
        "theorem-4-4-normalization",
        "derivation",
        build=order.derive_without_noise,
        variants=CORRECTED,
    ),
)
CHECKS.add(
    ExhaustiveCheck("lemma-d-1", "subsets", points=_samples, lhs=_sampled_mean_square),
    DerivationCheck("lemma-d-1", "derivation", build=derive_subsets),
    *(
        DerivationCheck(claim, "derivation", build=derive_replaced, variants=variants)
        for claim, variants in (
            ("section-4-1-sensitivity", BOTH),
            ("equation-b-4", BOTH),
            ("remark-4-3-sensitivity", BOTH),
            ("section-6-1-sensitivity", CORRECTED),
        )
    ),
)
