"""Section 4.1 and the lines of B.2 as formulas: a search of each one's domain; proofs.toml has proofs of them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

from dpverify.harness import Budget, ExhaustiveCheck, PaperChecks, Point, SearchCheck
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.numbers import Exact

CHECKS = PaperChecks("wang2019", __name__)


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


CHECKS.add(
    *(
        SearchCheck(claim, "search")
        for claim in (
            "equation-4-1",
            "section-4-1-gradients",
            "section-4-1-step",
            "theorem-4-4-iterations",
            "theorem-4-4-batches",
            "equation-b-4-step",
            "theorem-4-4-smooth",
            "theorem-4-4-descent",
            "theorem-4-4-half-step",
            "theorem-4-4-step-square",
            "theorem-4-4-step-tangent",
            "equation-b-9",
            "equation-b-10",
            "theorem-4-4-combined",
            "equation-b-15",
            "equation-b-16",
            "equation-b-19",
            "theorem-4-1-b-0",
            "equation-b-8",
            "equation-b-19-later",
            "equation-b-18",
            "theorem-4-4-normalization",
        )
    ),
    ExhaustiveCheck("lemma-d-1", "subsets", points=_samples, lhs=_sampled_mean_square),
)
