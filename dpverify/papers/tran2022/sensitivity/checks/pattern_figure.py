"""The figure of a node's worst patterns: one permutation, a fresh one in every epoch, and what the paper sums up."""

from __future__ import annotations

from fractions import Fraction

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.sensitivity.visit_patterns_bounds import Ordering, epoch_of, latest_visits

START, END, N, ALPHA = 129, 144, 11, Fraction(3, 32)
"""A node that ends one step into an epoch: 4 alpha G fails there."""


def shown_once(statement: Statement) -> dict[str, dict[str, list[float]]]:
    """The figure with the printed statement under "fresh", and no other."""
    return pattern_figure() if (statement.variant, statement.reading["ordering"]) == ("printed", "fresh") else {}


def pattern_figure() -> dict[str, dict[str, list[float]]]:
    """Columns of the figure "pattern": steps of the node with their weights, and the visits of each pattern."""
    printed = [END - j * N for j in range(-(-(END - START) // N))]
    columns = {"x": [float(t) for t in range(START, END + 1)], "weight": _weights(range(START, END + 1))}
    for name, visits in (("printed", printed), ("once", _visits("once")), ("fresh", _visits("fresh"))):
        columns[f"{name}-x"], columns[name] = [float(t) for t in visits], _weights(visits)
    epochs = range(epoch_of(START, N) + 1, epoch_of(END, N) + 1)
    columns["epoch-x"], columns["epoch"] = [float(e * N + 1) for e in epochs], [float(e) for e in epochs]
    return {"pattern": {**columns, "at:N": [float(N)], "at:alpha": [float(ALPHA)]}}


def _visits(ordering: Ordering) -> list[int]:
    return latest_visits(START, END, N, ordering)


def _weights(steps: list[int] | range) -> list[float]:
    return [float((1 - ALPHA) ** (END - t)) for t in steps]
