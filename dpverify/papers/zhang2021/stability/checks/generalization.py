"""Check Theorem 2.2 and Definition 2.4 on all small tables of losses: generalization error and stability, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpverify.harness import Budget, Outcome, Point
from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.stability.exact_stability import (
    Table,
    generalization_error,
    mean_exchange_difference,
    stability,
    table_of,
)
from dpverify.shared_types import Values


def tables(budget: Budget) -> Iterator[Values]:
    """Yield all tables of zeros and ones for n = 1 with two and three kinds of examples, and for n = 2 with two."""
    for n, size in ((1, 2), (1, 3), (2, 2)):
        for part in ("1", "1/10"):
            for code in range(1 << size ** (n + 1)):
                yield {"n": n, "size": size, "part": part, "table": code}


def _data(point: Point) -> tuple[Table, int, list[Fraction]]:
    """Return the table, n, and the probabilities; the first kind has ``part`` times the uniform probability."""
    n, size, code = (int(point[name]) for name in ("n", "size", "table"))
    first = point["part"] / size
    return table_of(code, n, size), n, [first, *[(1 - first) / (size - 1)] * (size - 1)]


def exchanges(
    point: Point, statement: Statement, *, share: Fraction = Fraction(1)
) -> Outcome:
    """Compare the generalization error with the mean change over exchanges, exactly."""
    error = generalization_error(*_data(point))
    mean = share * mean_exchange_difference(*_data(point))
    return Outcome(
        error == mean, error, mean, "generalization error, and the mean over exchanges"
    )


def generalizes(
    point: Point, statement: Statement, *, share: Fraction = Fraction(1)
) -> Outcome:
    """Compare the generalization error with alpha."""
    table, n, chances = _data(point)
    error = generalization_error(table, n, chances)
    alpha = share * stability(table, n, len(chances))
    return Outcome(error <= alpha, error, alpha, "generalization error, and alpha")


def two_sided(
    point: Point, statement: Statement, *, share: Fraction = Fraction(1)
) -> Outcome:
    """Compare the largest absolute difference with a share of the largest signed difference, alpha."""
    n = int(point["n"])
    size = int(point["size"])
    table = table_of(int(point["table"]), n, size)
    alpha = stability(table, n, size)
    largest_difference = max(
        alpha, stability({key: -value for key, value in table.items()}, n, size)
    )
    return Outcome(
        largest_difference <= share * alpha,
        largest_difference,
        share * alpha,
        "largest absolute difference, and alpha",
    )


EXCHANGE = (
    "z_i and z' are independent and have one law, so that E f(A(S), z_i) = E f(A(S^i), "
    "z') when both change places"
)
