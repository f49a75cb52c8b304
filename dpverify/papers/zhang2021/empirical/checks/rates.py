"""Definition 1.1, the rates that are compared, and Theorem 3.3's bound where it is put to use."""

from __future__ import annotations

from collections.abc import Iterator
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
from dpverify.symbolic.exact.numbers import ball
from dpverify.symbolic.exact.statements import evaluate_statement

CHECKS = PaperChecks("zhang2021", __name__)

PRINTED = ("printed",)
MILLION = 10**6


def _bounds(budget: Budget) -> Iterator[dict[str, int]]:
    yield from ({"bound": bound} for bound in (1, 10, 100, 1000))


def _grows(point: Point, statement: Statement, *, slack: int = 0) -> Outcome:
    """The bracket at one iteration with momentum, rho = 8^-(bound + 2), against the bound."""
    inverse = Fraction(8 ** int(point["bound"] + 2))
    bracket = (1 + ball(inverse) / 2).log() - (1 + ball(inverse)).log() / 2
    limit = ball(point["bound"] * (1 + slack))
    return Outcome(False if bracket > limit else None, bracket, limit, "rho = 8^-(bound + 2), t = 1")


def _growing(budget: Budget) -> Iterator[dict[str, int | str]]:
    constants: dict[str, int | str] = {"L": 3, "theta": 1, "mu": "1/10", "d": 5, "delta": "1/1000", "epsilon": "1/2"}
    yield from ({"n": 10**k, "T_0": 2, "B": 3, **constants} for k in (3, 9, 15, 30))


def _outgrown(point: Point, statement: Statement, *, slower: int = 0) -> Outcome:
    """The left side of an order against a million times the right one, which may be planted larger by a power of n."""
    left, right = evaluate_statement(statement, point)
    assert left is not None
    limit = MILLION * ball(right) * ball(point["n"]) ** slower
    return Outcome(not ball(left) > limit, left, limit, "right side: a million times what is printed")


CHECKS.add(
    SearchCheck("definition-1-1", "search", variants=PRINTED),
    SearchCheck("section-2-1-bounded", "search", variants=PRINTED),
    *(
        SearchCheck(claim, "search", seconds_each=0.01)
        for claim in (
            "theorem-3-3-momentum",
            "remark-5",
            "remark-6-p-1-rate",
            "remark-6-p-2-rate",
            "remark-6-p-2-ball",
            "section-1-1-e-1",
            "section-1-1-e-3-time",
            "section-1-1-gap-p-1",
            "theorem-3-2-better-e-2",
            "theorem-3-2-total",
            "theorem-3-4-case",
            "theorem-3-4-other-case",
        )
    ),
    ExhaustiveCheck(
        "section-1-2-special-case",
        "small-momentum",
        points=_bounds,
        holds=_grows,
        planted=[Planted("the bound 0 promised", holds=partial(_grows, slack=-1))],
        neighbours=[TrueNeighbour("ten times the bound", holds=partial(_grows, slack=9))],
        region="bounds from 1 to 1000; the argument is the same for all",
    ),
    RuleCheck(
        "theorem-3-4-stability",
        "growing",
        points=_growing,
        holds=_outgrown,
        planted=[Planted("a rate that falls like 1/n besides", holds=partial(_outgrown, slower=-1))],
        region="growing n, everything else held fixed",
    ),
)
