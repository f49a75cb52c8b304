"""A line of Theorem 10's proof that integrates first over the answers which the replaced example does not touch.

Three queries: the first and the last touch the example, the one between them does not. Noise has deviation 1, and what
moves, moves by rho. The last query moves if the signs of the first two answers agree; the answer between follows the
sign of the first, 3 deviations from 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial

from flint import arb

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point, Property, TrueNeighbour, of_variant
from dpverify.harness.search.rule_check import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.numbers import ball, to_exact

CHECKS = PaperChecks("tran2022", __name__)


def _orders(_: Budget) -> Iterable[dict[str, Fraction | int]]:
    return ({"z": z, "rho": rho} for z in (2, Fraction(3, 2), 5) for rho in (1, Fraction(1, 4), Fraction(1, 16)))


def _moved(point: Point) -> arb:
    """The integral of one query that moves by its whole sensitivity."""
    return ball((point["z"] - 1) * point["z"] * point["rho"] ** 2 / 2).exp()


def _below(deviations: arb) -> arb:
    """The chance that a standard normal number is below so many deviations."""
    return (-deviations / arb(2).sqrt()).erfc() / 2


def _two_queries(point: Point, statement: Statement, often: Fraction = Fraction(1, 2)) -> Outcome:
    """The last two queries alone: half of the time the last one moves, and always where the first answer is set."""
    moment = _moved(point)
    order = ball(point["z"] - 1)
    exact = (ball(often) * moment + ball(1 - often)).log() / order
    printed = moment.log() / order
    note = "a query that moves if an answer of OUT(s) is positive; right side: that answer set to 1"
    return Outcome(bool(exact.overlaps(printed)), to_exact(exact), to_exact(printed), note)


def _three_queries(point: Point, statement: Statement, *, fixed: bool = False) -> Outcome:
    """The exact divergence against the largest over rules for the answer between, or over fixed values of it."""
    moment = _moved(point)
    order = ball(point["z"] - 1)
    agree = _below(arb(3))
    exact = (moment * (agree * moment + 1 - agree)).log() / order
    # with the answer fixed at a positive number the signs agree where the first, of mean z rho, is positive
    often = _below(ball(point["z"] * point["rho"])) if fixed else arb(1)
    largest = (moment * (often * moment + 1 - often)).log() / order
    return Outcome(bool(exact <= largest), to_exact(exact), to_exact(largest))


def _fixed(point: Point, statement: Statement) -> Outcome:
    return _three_queries(point, statement, fixed=True)


MECHANISM = {
    "adaptive-queries": Property("the last query depends on the sign of an earlier answer"),
    "local-queries": Property("which queries read the example that is replaced is fixed in advance"),
    "bounded-sensitivity": Property("a query moves by rho or not at all, and its sensitivity is rho"),
    "gaussian-mechanism": Property("each answer has fresh Gaussian noise of deviation 1"),
    "neighbour-replace-one": Property("one example is replaced, which the last query and the first of three read"),
}

CHECKS.add(
    RuleCheck(
        "theorem-10-out-first",
        "two-and-three-queries",
        points=_orders,
        holds=of_variant(_two_queries, _three_queries),
        neighbours=[TrueNeighbour("a query that always moves", holds=partial(_two_queries, often=Fraction(1)))],
        planted=[Planted("answers of OUT(s) that are fixed", holds=_fixed, at_declared_size=True)],
        interior=lambda point: point["rho"] < 1,
        meets=MECHANISM,
        region="two and three adaptive queries, their exact divergences",
        leaves_out="all other mechanisms",
    )
)
