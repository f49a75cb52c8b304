"""A statement's right side as a float, where a simulation is held against it."""

from __future__ import annotations

from dpverify.harness.context import Point
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.decide import to_number
from dpverify.symbolic.exact.statements import evaluate_statement


def printed_side(statement: Statement, point: Point) -> float:
    """Evaluate the right side of a statement.

    Parameters
    ----------
    statement : Statement
        With a formula on the right.
    point : mapping
        A value for every free symbol.

    Returns
    -------
    float
        The nearest float; may be infinite.

    Raises
    ------
    ValueError
        If the statement is in words.
    EvaluationError
        If the right side is not defined at the point.
    """
    _, rhs = evaluate_statement(statement, point)
    return float(to_number(rhs).float)
