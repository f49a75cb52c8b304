"""Counterexamples to the printed Theorems 4 and 8: runs outside the corrected conditions, and published signs.

For Theorem 4, one condition of the corrected statement is broken at a time, and the published iterates of a tiny
problem reveal signs. For Theorem 8 and its families, the runs have a single example, a large smoothness constant, or
an epsilon far above log(1/delta); ``NEARBY`` has changes with which the printed statements are true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from dpverify.harness import Budget, Outcome, Point, Property
from dpverify.harness.sides import Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.privacy.checks.sides import value_of
from dpverify.papers.tran2022.privacy.signs_bounds import (
    sign_delta,
    sign_divergence,
    sign_law,
)
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.symbolic.exact.numbers import ball

Corner = Mapping[str, int | Fraction | str]


def depth_value(statement: Statement, steps: int) -> int:
    """Return R in the statement's reading."""
    return steps.bit_length() - (statement.reading["depth"] == "height")


# One condition broken: epsilon far above log(1/delta) (twice), alpha < 1/N, T < N/4
NOT_PRIVATE: list[Corner] = [
    {"T": 1, "N": 1, "alpha": 1, "epsilon": 49, "delta": "1/2", "sigma": "1/29"},
    {
        "T": 64,
        "N": 8,
        "alpha": "1/8",
        "epsilon": 300,
        "delta": "1/10",
        "sigma": "0.0102",
    },
    {
        "T": 64,
        "N": 1,
        "alpha": "1/1000",
        "epsilon": 5,
        "delta": "1/100",
        "sigma": "0.86",
    },
    {"T": 1, "N": 100, "alpha": 1, "epsilon": 5, "delta": "1/100", "sigma": "0.86"},
    {
        "T": 10000,
        "N": 100,
        "alpha": "1/1000000",
        "epsilon": 8,
        "delta": "1/1000",
        "sigma": "0.66",
    },
    {
        "T": 300_000,
        "N": 1000,
        "alpha": "1/1000000",
        "epsilon": 8,
        "delta": "1/1000",
        "sigma": "0.66",
    },
]


def sign_points(budget: Budget) -> Iterator[Corner]:
    """Yield points at which the sign of one coordinate breaks the guarantee."""
    yield {"T": 129, "N": 1, "alpha": "1/1000", "sigma": "1/10", "z": 2}
    yield {"T": 2, "N": 400, "alpha": "1/400", "sigma": "1/10", "z": 2}


def sign_points_dp(budget: Budget) -> Iterator[Corner]:
    """Yield points at the sigma of the theorem, rounded up, with delta >= exp(-epsilon)."""
    yield {
        "T": 257,
        "N": 1,
        "alpha": "1/1000000",
        "sigma": "0.566",
        "epsilon": 12,
        "delta": "1/100000",
    }
    yield {
        "T": 2,
        "N": 10**4,
        "alpha": "1/10000",
        "sigma": "0.566",
        "epsilon": 12,
        "delta": "1/100000",
    }
    yield {
        "T": 2,
        "N": 1,
        "alpha": 1,
        "sigma": "0.00556",
        "epsilon": 300,
        "delta": "1/2",
    }


PROBLEM = (
    "published iterates of d = 1, f(w, x) = x w, x = G for one example and -G for the neighbour and all others: the "
    "sign of w_T - w_{T-1} alone, the order of the examples hidden"
)


def signs(tightened: Fraction) -> Rule:
    """Return the rule that the published sign alone is within the guarantee."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        """Test whether the published sign alone stays within the printed guarantee."""
        T = int(point["T"])
        law = sign_law(
            T,
            int(point["N"]),
            point["alpha"],
            point["sigma"],
            depth_value(statement, T),
        )
        if statement.quantity == "renyi_divergence":
            exact = sign_divergence(law, point["z"])
            allowed = value_of(statement, point, "z") / (
                2 * value_of(statement, point, "sigma") ** 2
            )
        else:
            exact = sign_delta(law, point["epsilon"])
            allowed = ball(point["delta"])
        allowed = allowed / ball(tightened)
        if exact > allowed:
            return Outcome(False, exact, allowed, PROBLEM)
        return Outcome(True if exact <= allowed else None, exact, allowed)

    return is_satisfied


ONE_EXAMPLE: list[Corner] = [  # Both V are 0
    {"T": 1, "N": 1, "alpha": 1, "L": 1},
    {"T": 3, "N": 1, "alpha": 1, "L": 1},
    {"T": 64, "N": 1, "alpha": 1, "L": 0},
]

SMOOTHNESS: list[Corner] = [  # The box leaves L out
    {"T": 2, "N": 2, "alpha": "1/2", "L": 14},
    {"T": 3, "N": 3, "alpha": "1/2", "L": 20},
    {"T": 12, "N": 3, "alpha": "1/2", "L": 40},
    {"T": 40, "N": 5, "alpha": "1/4", "L": 140},
    {"T": 100, "N": 25, "alpha": "1/25", "L": 700},
    {"T": 1000, "N": 1000, "alpha": "1/1000", "L": 20000},
]

# Points that break the printed statements, one cause at a time
BROKEN: Mapping[str, Mapping[str, list[Corner]]] = {
    "theorem-8": {"one-example": ONE_EXAMPLE, "smoothness": SMOOTHNESS},
    "theorem-8-family-first": {"one-example": ONE_EXAMPLE},
    "theorem-8-family-later": {"one-example": ONE_EXAMPLE[1:]},
    "theorem-8-dp": {
        "one-example": ONE_EXAMPLE,
        "smoothness": [
            {**corner, "L": 100 * int(corner["L"])} for corner in SMOOTHNESS
        ],
        "large-epsilon": [{"T": 5, "N": 4, "alpha": "1/4", "L": "1/10"}],
    },
}


def broken(claim: str, what: str) -> Callable[[Budget], Iterator[Corner]]:
    """Return the points of a claim at which one of its conditions is broken."""

    def points(budget: Budget) -> Iterator[Corner]:
        for corner in BROKEN[claim][what]:
            if claim != "theorem-8-dp":
                yield {"z": 2, "sigma": 1, "eta": "1/10", "G": 10**6, **corner}
            elif (
                what == "large-epsilon"
            ):  # delta >= exp(-epsilon), as the proof requires
                yield {
                    "eta": "1/10",
                    "G": 1,
                    "epsilon": 4000,
                    "delta": "1/2",
                    "sigma": "0.00084",
                    **corner,
                }
            else:
                yield {
                    "eta": "1/10",
                    "G": 10**6,
                    "epsilon": 1,
                    "delta": "1/100000",
                    "sigma": 14,
                    **corner,
                }

    return points


MEETS: Mapping[str, Mapping[str, Property]] = {
    "one-example": {**witnesses.OPPOSED, **witnesses.UPDATE_2},
    "smoothness": witnesses.SECOND_STEP,
    "large-epsilon": {**witnesses.OPPOSED, **witnesses.UPDATE_2},
}

# Where the printed statements are true
NEARBY: Mapping[str, tuple[str, dict[str, Fraction]]] = {
    "one-example": (
        "N = 2, L = 0",
        {"N": Fraction(2), "alpha": Fraction(1, 2), "L": Fraction(0)},
    ),
    "smoothness": ("L = 0", {"L": Fraction(0)}),
    "large-epsilon": ("sigma = 1", {"sigma": Fraction(1)}),
}

REGIONS: Mapping[str, str] = {
    "one-example": "N = 1: V_<=2N = V_>2N = 0, so the nodes of G have no noise",
    "smoothness": "L large, with N >= 2: the box's delta_Delta and delta_r leave it out",
    "large-epsilon": "epsilon far above log(1/delta), nothing else amiss",
}
