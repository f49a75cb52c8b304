"""Points of Lemma 7's domain for exact comparisons: corners first, then drawn ones, as many as the budget allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from dpverify.harness import Budget, ExhaustiveCheck
from dpverify.papers.tran2022.noise.checks.sr_noise_points import LeftSide, Values

LONGEST = 40
"""Sums over windows are gone through one by one: at most this many epochs."""


def against_exact(
    claim: str,
    lhs: LeftSide | None,
    corners: Sequence[Values],
    *,
    name: str = "exact-law",
    tied: bool = False,
    least: int = 1,
    **more: Any,
) -> ExhaustiveCheck:
    """Hold a statement against the exact law at corners and at drawn points.

    Half as many drawn points as a search of this budget tries.
    """
    region = f"{len(corners)} corners; N up to 1024, t up to {LONGEST} N, drawn; alpha >= 1/N, gamma <= 1/2"
    return ExhaustiveCheck(claim, name, points=_points(corners, tied, least), lhs=lhs, region=region, **more)


def _points(corners: Sequence[Values], tied: bool, least: int) -> Callable[[Budget], Iterable[dict[str, Any]]]:
    def points(budget: Budget) -> Iterable[dict[str, Any]]:
        rng = Random("Lemma 7")
        given: list[Values] = [*corners, *({} for _ in range(budget.examples // 2))]
        for corner in given:
            point = {**drawn(rng), **{name: Fraction(value) for name, value in corner.items()}}
            if tied:
                point["eta"] = point["gamma"] / point["N"]
            if point["t"] % point["N"] >= least - 1:
                yield point

    return points


def drawn(rng: Random) -> dict[str, Any]:
    """Draw values for all symbols of Lemma 7 and its proof; the conditions on them hold.

    Slow decay, small gamma, the last step, t = 2^k - 1 and whole epochs are drawn often.
    """
    n = int(2 ** rng.uniform(1, 10))
    t = rng.choice(
        (rng.randint(1, LONGEST * n), rng.randint(1, 4 * n), n * rng.randint(1, LONGEST), 2 ** rng.randint(1, 10) - 1)
    )
    t = min(t, LONGEST * n)
    slow = Fraction(1, n)
    alpha = rng.choice((slow, min(Fraction(1), slow * Fraction(11, 10)), max(slow, Fraction(rng.randint(1, 99), 100))))
    gamma = rng.choice((Fraction(1, 2), Fraction(rng.randint(1, 49), 100), Fraction(1, 10 ** rng.randint(2, 6))))
    names = ("delta_G", "delta_Delta", "delta_r", "sigma", "G", "L", "epsilon", "variance")
    sizes = {name: Fraction(rng.randint(1, 9), rng.randint(1, 9)) for name in names}
    eta = gamma / n if rng.random() < 0.5 else Fraction(rng.randint(1, 99), 100 * n)
    steps = t + rng.choice((0, 0, rng.randint(0, 3 * n)))
    shape = {"N": Fraction(n), "t": Fraction(t), "T": Fraction(steps), "d": Fraction(rng.randint(1, 50))}
    return {**shape, **sizes, "alpha": alpha, "gamma": gamma, "eta": eta, "delta": Fraction(1, rng.randint(2, 10**6))}
