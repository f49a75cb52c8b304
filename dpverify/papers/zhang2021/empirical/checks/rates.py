"""Check Definition 1.1, rates and their comparisons as orders, and Theorem 3.3's bound where it is used.

A comparison is checked with an explicit constant if there is one, and at growing points otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from flint import arb

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    RuleCheck,
    SearchCheck,
    TrueNeighbour,
)
from dpverify.ledger.statements import Statement
from dpverify.shared_types import Values
from dpverify.symbolic.exact.evaluate import evaluate_statement
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("zhang2021", __name__)

PRINTED = ("printed",)
MILLION = 10**6


def _bounds(budget: Budget) -> Iterator[dict[str, int]]:
    yield from ({"bound": bound} for bound in (1, 10, 100, 1000))


def _grows(point: Point, statement: Statement, *, slack: int = 0) -> Outcome:
    """Compare the bracket at one iteration with momentum, rho = 8^-(bound + 2), with the bound."""
    inverse = Fraction(8 ** int(point["bound"] + 2))
    bracket = (1 + ball(inverse) / 2).log() - (1 + ball(inverse)).log() / 2
    limit = ball(point["bound"] * (1 + slack))
    return Outcome(
        False if bracket > limit else None,
        bracket,
        limit,
        "rho = 8^-(bound + 2), t = 1",
    )


def _growing(budget: Budget) -> Iterator[dict[str, int | str]]:
    constants: dict[str, int | str] = {
        "L": 3,
        "theta": 1,
        "mu": "1/10",
        "d": 5,
        "delta": "1/1000",
        "epsilon": "1/2",
    }
    yield from ({"n": 10**k, "T_0": 2, "B": 3, **constants} for k in (3, 9, 15, 30))


def _outgrown(point: Point, statement: Statement, *, slower: int = 0) -> Outcome:
    """Compare the left side of an order with a million times the right side; ``slower`` plants a power of n in it."""
    left, right = evaluate_statement(statement, point)
    assert left is not None
    limit = MILLION * ball(right) * ball(point["n"]) ** slower
    return Outcome(
        not ball(left) > limit,
        left,
        limit,
        "right side: a million times what is printed",
    )


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
        is_satisfied=_grows,
        planted=[
            Planted("the bound 0 promised", is_satisfied=partial(_grows, slack=-1))
        ],
        neighbours=[
            TrueNeighbour("ten times the bound", is_satisfied=partial(_grows, slack=9))
        ],
        region="bounds from 1 to 1000; the argument is the same for all",
    ),
    RuleCheck(
        "theorem-3-4-stability",
        "growing",
        points=_growing,
        is_satisfied=_outgrown,
        planted=[
            Planted(
                "a rate that falls like 1/n besides",
                is_satisfied=partial(_outgrown, slower=-1),
            )
        ],
        region="growing n, everything else held fixed",
    ),
)


Constant = Callable[[Point], arb]


def _log(point: Point) -> arb:
    return -ball(point["delta"]).log()


def _root(point: Point) -> arb:
    return ball(point["epsilon"]).sqrt()


CONSTANTS: dict[str, tuple[Constant, str]] = {
    "section-1-1-gap-p-2": (
        _root,
        "the right side over the left one is n^(1/4)/sqrt(epsilon)",
    ),
    "section-1-1-gap-p-2-ball": (
        _root,
        "the right side over the left one is sqrt(2 log(n)/epsilon), and 2 log(2) > 1",
    ),
    "section-1-2-p-2": (
        lambda p: (_log(p) / _root(p) ** 3).max(_root(p)),
        "log(1/delta)/(n epsilon^2) and 1/sqrt(n) are n^(-3/4) and n^(-1/4) times so much of the right side",
    ),
    "theorem-3-2-better-e-1": (
        lambda p: _log(p) / _root(p) ** 4,
        "the left side is d/log(n) times log(n)/n^2 times log(1/delta)/epsilon^2, and log(n) <= n^2",
    ),
    "theorem-3-2-better-e-3": (
        lambda p: _log(p) / _root(p) ** 2,
        "the left side is d/(n epsilon) times log(1/delta)/(n epsilon)",
    ),
    "remark-6-p-1": (
        lambda p: (_log(p) / _root(p) ** 4).max(arb(1)),
        "the first rate is d/log(n) times log(n)/n^2 times log(1/delta)/epsilon^2, and log(n) <= sqrt(n) <= n^2",
    ),
}
"""The constant with which each order holds, as a function of epsilon and delta, and the reason."""


def _settings(budget: Budget) -> Iterator[Values]:
    """Yield small and large n and d, with epsilon and delta on both sides of 1 and 1/e."""
    for n, d in itertools.product((1, 2, 3, 10, 10**6, 10**12), (1, 2, 10**3, 10**9)):
        for epsilon, delta in (
            ("1/10", "1/1000000"),
            ("1", "1/2"),
            ("100", "99/100"),
            ("100", "1/1000000"),
        ):
            yield {"n": n, "d": d, "epsilon": epsilon, "delta": delta}


def _bounded(
    point: Point, statement: Statement, *, constant: Constant, falls: int = 0
) -> Outcome:
    """Test whether an order's left side is at most ``constant`` times its right side; ``falls`` plants a power of n."""
    free = {name: point[name] for name in statement.free}
    left, right = evaluate_statement(statement, free)
    assert left is not None
    limit = constant(point) * ball(right) / ball(point["n"]) ** falls
    return Outcome(
        not ball(left) > limit * (1 + arb(2) ** -100),
        left,
        limit,
        "right side: with the constant of the argument",
    )


GROWING: dict[str, Callable[[int], Values]] = {
    "section-1-1-e-3": lambda bound: {
        "n": 1000,
        "d": 100 * bound**2,
        "epsilon": 1,
        "delta": "1/1000000",
    },
    "section-1-1-p-2-ball": lambda bound: {
        "n": 3 ** (bound**2 + 1),
        "d": 1,
        "epsilon": 1,
    },
    "remark-6-p-2": lambda bound: {
        "n": 10,
        "d": 10**4 * bound**2,
        "epsilon": 1,
        "delta": "1/1000000",
    },
}
"""Points at which the left side of an order is more than ``bound`` times the right side."""


def _beyond(claim: str, budget: Budget) -> Iterator[Values]:
    yield from ({"bound": bound, **GROWING[claim](bound)} for bound in (1, 3, 10, 30))


def _outgrows(
    point: Point, statement: Statement, *, share: Fraction = Fraction(1)
) -> Outcome:
    """Compare the left side at the point of a bound with that bound times the right side."""
    left, right = evaluate_statement(
        statement, {name: point[name] for name in statement.free}
    )
    assert left is not None
    limit = ball(point["bound"] * share) * ball(right)
    return Outcome(
        False if ball(left) > limit else None,
        left,
        limit,
        "right side: the bound times it",
    )


def _dominated(
    point: Point, statement: Statement, *, share: Fraction = Fraction(1)
) -> Outcome:
    """Test E-2 at one example, where log(n) = 0 makes its rate 0 for every constant."""
    left, right = evaluate_statement(statement, point)
    assert left is not None
    return Outcome(
        not ball(left) * ball(share) > ball(right) * 10**6,
        left,
        right,
        "no constant helps: log(1) = 0",
    )


for claim, (constant, why) in CONSTANTS.items():
    CHECKS.add(
        RuleCheck(
            claim,
            "constant",
            points=_settings,
            is_satisfied=partial(_bounded, constant=constant),
            planted=[
                Planted(
                    "a right side that falls by n^2 besides",
                    is_satisfied=partial(_bounded, constant=constant, falls=2),
                )
            ],
            why_sufficient=why,
            seconds=0.05,
            region="n up to 10^12, d up to 10^9, epsilon from 1/10 to 100",
        )
    )
for claim in GROWING:
    CHECKS.add(
        RuleCheck(
            claim,
            "growing",
            variants=("printed",),
            points=partial(_beyond, claim),
            is_satisfied=_outgrows,
            planted=[
                Planted(
                    "half the right side",
                    is_satisfied=partial(_outgrows, share=Fraction(1, 2)),
                )
            ],
            neighbours=[
                TrueNeighbour(
                    "10^6 times the right side",
                    is_satisfied=partial(_outgrows, share=Fraction(10**6)),
                )
            ],
            meets={"n >= 2": Property("n is 10 or a power of 3")},
            seconds=0.02,
            region="constants from 1 to 30; the argument is the same for all",
        )
    )
CHECKS.add(
    RuleCheck(
        "section-1-1-e-2",
        "one-example",
        variants=("printed",),
        points=lambda budget: [{"n": 1, "d": 1, "epsilon": 1, "delta": "1/2"}],
        is_satisfied=_dominated,
        seconds=0.02,
        planted=[
            Planted(
                "twice the left side",
                is_satisfied=partial(_dominated, share=Fraction(2)),
            )
        ],
        neighbours=[
            TrueNeighbour(
                "a left side of 0", is_satisfied=partial(_dominated, share=Fraction(0))
            )
        ],
        region="one example",
    ),
    *(
        SearchCheck(claim, "search", seconds_each=0.01, variants=("amended",))
        for claim in (*GROWING, "section-1-1-e-2")
    ),
)
