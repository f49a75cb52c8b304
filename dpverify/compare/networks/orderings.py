"""What a paper says of the order of its methods, each a verdict on the data at hand, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dpverify.compare.networks.records import NetworkOrder, NetworkRow, NetworkRun
from dpverify.compare.page import corrected_level
from dpverify.compare.records import interval
from dpverify.compare.tables.orderings import judged


class Said(NamedTuple):
    """A record says that ``method`` has less of a column than ``other``."""

    claim: str
    column: str
    method: str
    other: str


def orderings(statements: Sequence[Said], rows: Sequence[NetworkRow]) -> list[NetworkOrder]:
    """Judge all of it at each epsilon that both methods have, together."""
    row_of = {(row.method, row.epsilon): row for row in rows if row.epsilon is not None}
    comparisons = [
        (statement, e)
        for statement in statements
        for m, e in row_of
        if m == statement.method and (statement.other, e) in row_of
    ]
    level, orders = corrected_level(max(1, len(comparisons))), []
    for statement, epsilon in comparisons:
        runs = zip(row_of[statement.method, epsilon].runs, row_of[statement.other, epsilon].runs, strict=True)
        difference = interval([_less(statement.column, a, b) for a, b in runs], level)
        words = statement._asdict() | {"difference": difference, "seen": judged(difference)}
        orders.append(NetworkOrder(epsilon=epsilon or 0.0, **words))
    return orders


def _less(column: str, mine: NetworkRun, theirs: NetworkRun) -> float:
    """Give mine minus the other's: an error at the end, or iterations or seconds to the worse of both test errors."""
    if column in ("train_error", "test_error"):
        return float(getattr(mine, column) - getattr(theirs, column))
    level = max(mine.test_error, theirs.test_error)
    costs = [run.seconds / run.path[-1][0] if column == "seconds" else 1.0 for run in (mine, theirs)]
    return costs[0] * mine.reached(level) - costs[1] * theirs.reached(level)
