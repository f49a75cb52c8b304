"""Points for Lemma 7, and checks of its bounds at these points by exact left sides.

The points are small counterexamples found by a search, corners, and as many random points as the budget allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from flint import ctx

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    Outcome,
    Planted,
    Point,
    Property,
    RuleCheck,
    TrueNeighbour,
)
from dpverify.harness.checks import as_point
from dpverify.ledger.statements import Statement
from dpverify.shared_types import Values
from dpverify.symbolic.exact.evaluate import (
    decide_statement,
    evaluate_statement,
    requires_hold,
)
from dpverify.symbolic.exact.numbers import Exact, ball, to_exact

LeftSide = Callable[[Point, Statement], Exact]

TOO_LARGE = 10**12  # The planted fault: the left side times this number


def at_points(
    claim: str,
    smallest: Values,
    inside: Values | None,
    *,
    lhs: LeftSide | None = None,
    meets: Mapping[str, Property] | None = None,
    readings: Mapping[str, str] | None = None,
    variants: tuple[str, ...] = ("printed", "amended"),
) -> RuleCheck:
    """Return a check of a statement, in ball arithmetic, at a smallest point and at a point off every boundary."""

    def rule(times: Fraction | None) -> Callable[[Point, Statement], Outcome]:
        def is_satisfied(point: Point, statement: Statement) -> Outcome:
            at = {
                name: point[name]
                for name in point
                if name in statement.free or lhs is not None
            }
            if requires_hold(statement, at) is not True:
                return Outcome(None, note="outside the domain")

            def left(_: int = 0) -> Exact:
                if times is None:
                    return evaluate_statement(statement, at, precision=ctx.prec)[1]
                side = lhs(at, statement) if lhs is not None else None
                value = (
                    side
                    if side is not None
                    else evaluate_statement(statement, at, precision=ctx.prec)[0]
                )
                return to_exact(
                    ball(value if value is not None else Fraction(0)) * ball(times)
                )

            ok = decide_statement(statement, at, left)
            return Outcome(ok, left(), evaluate_statement(statement, at)[1])

        return is_satisfied

    points = [smallest] if inside is None else [smallest, inside]
    return RuleCheck(
        claim,
        "counterexamples",
        points=lambda _: points,
        is_satisfied=rule(Fraction(1)),
        interior=lambda point: inside is not None and point == as_point(inside),
        planted=[
            Planted(
                f"left side times {TOO_LARGE:.0e}",
                is_satisfied=rule(Fraction(TOO_LARGE)),
                at_declared_size=True,
            )
        ],
        neighbours=[
            TrueNeighbour("the right side on both sides", is_satisfied=rule(None))
        ],
        meets=meets or {},
        readings=readings or {},
        variants=variants,
        region="two points" if inside is not None else "one point",
    )


UNITS: dict[str, Any] = {"delta_G": 1, "sigma": 1}

# The square of a sum exceeds the sum of squares by more than the slack in the count
SQUARES: tuple[Values, Values] = (
    {**UNITS, "N": 6, "t": 55, "T": 55, "alpha": "1/6", "gamma": "1/2"},
    {
        **UNITS,
        "N": 65535,
        "t": 21 * 65535 + 32768,
        "T": 25 * 65535,
        "alpha": "106/6553500",
        "gamma": "47/100",
    },
)

# Runs shorter than an epoch: counterexamples through the fifth term
TOTAL: tuple[Values, Values] = (
    {
        **UNITS,
        "N": 2,
        "T": 1,
        "t": 1,
        "alpha": "1/2",
        "gamma": "1/2",
        "eta": 1,
        "L": 2,
        "delta_Delta": 1,
    },
    {
        **UNITS,
        "N": 1024,
        "T": 4,
        "t": 3,
        "alpha": "1/900",
        "gamma": "1/4",
        "eta": "1/5000",
        "L": 900,
        "delta_Delta": 3,
    },
)

PLAIN: dict[str, Any] = {"G": 1, "L": 1, "sigma": 1}
SHORT: dict[str, Any] = {
    "N": 64,
    "T": 5,
    "alpha": "1/9",
    "gamma": "1/4",
    "eta": "1/300",
    **PLAIN,
}

# Runs shorter than an epoch; for T >= 2, N must be huge (NOTES_lemma7.md)
FIRST_TERM: tuple[Values, Values] = (
    {
        "d": 1,
        "T": 1,
        "t": 1,
        "N": 2,
        "alpha": "1/2",
        "eta": "1/4",
        "G": 1,
        "L": 1,
        "delta": "1/3",
        "epsilon": 1,
    },
    {
        "d": 3,
        "T": 4,
        "t": 3,
        "N": 2**200,
        "alpha": "1/8",
        "eta": Fraction(1, 2**202),
        "G": 1,
        "L": 1,
        "delta": "1/3",
        "epsilon": 1,
    },
)


LONGEST = 40  # Largest number of epochs; sums over windows are computed term by term


def against_exact(
    claim: str,
    lhs: LeftSide | None,
    corners: Sequence[Values],
    *,
    name: str = "exact-law",
    tied: bool = False,
    least: int = 1,
    **options: Any,
) -> ExhaustiveCheck:
    """Return a check of a statement against the exact law, at corners and half as many random points as in a search."""
    region = f"{len(corners)} corners; N up to 1024, t up to {LONGEST} N, drawn; alpha >= 1/N, gamma <= 1/2"
    return ExhaustiveCheck(
        claim,
        name,
        points=_points(corners, tied, least),
        lhs=lhs,
        region=region,
        **options,
    )


def _points(
    corners: Sequence[Values], tied: bool, least: int
) -> Callable[[Budget], Iterable[dict[str, Any]]]:
    def points(budget: Budget) -> Iterable[dict[str, Any]]:
        rng = Random("Lemma 7")
        overrides: list[Values] = [*corners, *({} for _ in range(budget.examples // 2))]
        for corner in overrides:
            point = {
                **drawn(rng),
                **{name: Fraction(value) for name, value in corner.items()},
            }
            if tied:
                point["eta"] = point["gamma"] / point["N"]
            if point["t"] % point["N"] >= least - 1:
                yield point

    return points


def drawn(rng: Random) -> dict[str, Any]:
    """Draw all symbols of Lemma 7 within its conditions, often with slow decay, small gamma or whole epochs."""
    n = int(2 ** rng.uniform(1, 10))
    t = rng.choice(
        (
            rng.randint(1, LONGEST * n),
            rng.randint(1, 4 * n),
            n * rng.randint(1, LONGEST),
            2 ** rng.randint(1, 10) - 1,
        )
    )
    t = min(t, LONGEST * n)
    slow = Fraction(1, n)
    alpha = rng.choice(
        (
            slow,
            min(Fraction(1), slow * Fraction(11, 10)),
            max(slow, Fraction(rng.randint(1, 99), 100)),
        )
    )
    gamma = rng.choice(
        (
            Fraction(1, 2),
            Fraction(rng.randint(1, 49), 100),
            Fraction(1, 10 ** rng.randint(2, 6)),
        )
    )
    names = (
        "delta_G",
        "delta_Delta",
        "delta_r",
        "sigma",
        "G",
        "L",
        "epsilon",
        "variance",
    )
    sizes = {name: Fraction(rng.randint(1, 9), rng.randint(1, 9)) for name in names}
    eta = gamma / n if rng.random() < 0.5 else Fraction(rng.randint(1, 99), 100 * n)
    steps = t + rng.choice((0, 0, rng.randint(0, 3 * n)))
    shape = {
        "N": Fraction(n),
        "t": Fraction(t),
        "T": Fraction(steps),
        "d": Fraction(rng.randint(1, 50)),
    }
    return {
        **shape,
        **sizes,
        "alpha": alpha,
        "gamma": gamma,
        "eta": eta,
        "delta": Fraction(1, rng.randint(2, 10**6)),
    }
