"""Check both bounds on epsilon at the settings of section 6.1, for the printed and the least certified noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from dpverify.harness import (
    Budget,
    Context,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    RuleCheck,
)
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.accounting.runs import (
    BatchRun,
    account_noise,
    least_noise,
    printed_noise,
)
from dpverify.privacy.participation import Bounds

CHECKS = PaperChecks("wang2019", __name__)

CLOSE = 1.25  # largest ratio of upper and lower bound
# of Tables 2 and 3
PASSES = {(32561, "1/5"): 4, (32561, "1/2"): 5, (49990, "1/5"): 5, (49990, "1/2"): 5}
BATCHES = (50, 100, 200)
ENDS = ("box", "theorem", "needed")


def _settings(budget: Budget) -> Iterator[PointLike]:
    """Yield all twelve settings, or the first and the last of them in a smoke run."""
    points: list[PointLike] = [
        {"n": n, "b": b, "epsilon": epsilon, "delta": "1/100000"}
        for n, epsilon in PASSES
        for b in BATCHES
    ]
    yield from points[:: len(points) - 1 if budget.name == "smoke" else 1]


def _run(n: int, batch: int, epsilon: Fraction) -> BatchRun:
    passes = PASSES[n, str(epsilon)]
    return BatchRun(
        "recursive", n, round(passes * n / (2 * batch)), batch, batch, 0.01, 0.01, 1.0
    )


@lru_cache(maxsize=64)
def _epsilon_bounds(
    n: int, batch: int, epsilon: Fraction, delta: Fraction, factor: float = 1.0
) -> dict[str, Bounds]:
    """Return both bounds on epsilon for each noise; the printed noises are multiplied by ``factor``."""
    run = _run(n, batch, epsilon)
    e = float(epsilon)
    d = float(delta)
    printed = {
        name: factor * printed_noise(run, e, d, 0.5, box=name == "box")
        for name in ENDS[:2]
    }
    epsilon_bounds = {
        name: account_noise(run, noise, d).epsilon for name, noise in printed.items()
    }
    return epsilon_bounds | {"needed": least_noise(run, e, d).epsilon}


def gives_epsilon(factor: float = 1.0, *, tracked: bool = False) -> Rule:
    """Return the rule that each noise gives epsilon, by close bounds; ``tracked`` replaces the upper by the paper's."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        target_epsilon = point["epsilon"]
        for name, ends in _epsilon_bounds(
            int(point["n"]), int(point["b"]), target_epsilon, point["delta"], factor
        ).items():
            upper = Fraction(target_epsilon) if tracked else Fraction(ends.upper)
            if upper > target_epsilon:
                return Outcome(
                    False,
                    upper,
                    target_epsilon,
                    f"the noise {name}: epsilon from above, and asked for",
                )
            if upper > Fraction(CLOSE) * Fraction(ends.lower):
                return Outcome(
                    False,
                    upper,
                    Fraction(ends.lower),
                    f"the noise {name}: epsilon from above and below",
                )
        return Outcome(True)

    return is_satisfied


def _sandwich(context: Context) -> dict[str, dict[str, list[float]]]:
    """Return the figure: both bounds on epsilon at each setting, in the order of the settings."""
    if context.budget.name == "smoke":
        return {}
    points = [(n, Fraction(epsilon), b) for n, epsilon in PASSES for b in BATCHES]
    bounds_by_setting = [
        _epsilon_bounds(n, b, epsilon, Fraction(1, 10**5)) for n, epsilon, b in points
    ]
    columns = {
        "x": [float(place) for place in range(1, len(points) + 1)],
        "n": [float(n) for n, _, _ in points],
        "batch": [float(b) for _, _, b in points],
        "asked": [float(epsilon) for _, epsilon, _ in points],
        "at:delta": [1e-5],
        "at:beta": [0.5],
    }
    for name in ENDS:
        columns[f"{name}-low"] = [row[name].lower for row in bounds_by_setting]
        columns[f"{name}-high"] = [row[name].upper for row in bounds_by_setting]
    return {"bought": columns}


CHECKS.add(
    RuleCheck(
        "note-settings",
        "both-ends",
        points=_settings,
        is_satisfied=gives_epsilon(),
        figures=_sandwich,
        seconds=0.4,
        planted=[
            Planted("a fifth of the printed noise", is_satisfied=gives_epsilon(0.2)),
            Planted(
                "what the paper tracks stands for the upper end",
                is_satisfied=gives_epsilon(tracked=True),
            ),
        ],
        region="the twelve settings of section 6.1 (smoke: two of them); all data from above, one data set from below",
        leaves_out="other beta and orders of the printed noise",
    ),
)
