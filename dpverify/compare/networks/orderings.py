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


def orderings(said: Sequence[Said], rows: Sequence[NetworkRow]) -> list[NetworkOrder]:
    """Judge all of it at each epsilon that both methods have, together."""
    found = {(row.method, row.epsilon): row for row in rows if row.epsilon is not None}
    asked = [(one, e) for one in said for m, e in found if m == one.method and (one.other, e) in found]
    level, made = corrected_level(max(1, len(asked))), []
    for one, epsilon in asked:
        runs = zip(found[one.method, epsilon].runs, found[one.other, epsilon].runs, strict=True)
        difference = interval([_less(one.column, a, b) for a, b in runs], level)
        words = one._asdict() | {"difference": difference, "seen": judged(difference)}
        made.append(NetworkOrder(epsilon=epsilon or 0.0, **words))
    return made


def _less(column: str, mine: NetworkRun, other: NetworkRun) -> float:
    """Give mine minus the other's: an error at the end, or iterations or seconds to the worse of both test errors."""
    if column in ("train_error", "test_error"):
        return float(getattr(mine, column) - getattr(other, column))
    level = max(mine.test_error, other.test_error)
    each = [run.seconds / run.path[-1][0] if column == "seconds" else 1.0 for run in (mine, other)]
    return each[0] * mine.reached(level) - each[1] * other.reached(level)
