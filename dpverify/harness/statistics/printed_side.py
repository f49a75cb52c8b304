"""A statement's right side as a float, where a simulation is held against it."""

from __future__ import annotations

from dpverify.harness.context import Point
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.decide import to_number
from dpverify.symbolic.exact.statements import evaluate_statement


def printed_side(statement: Statement, point: Point) -> float:
    """Evaluate the right side of a statement. The nearest float; may be infinite."""
    _, rhs = evaluate_statement(statement, point)
    return float(to_number(rhs).float)
