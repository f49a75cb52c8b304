"""Equation 5 against the exact recursion on quadratics, term by term and as a whole; and its conditions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from flint import arb

from dpverify.harness import Budget, DerivationCheck, ExhaustiveCheck, PaperChecks, Planted, Point, SearchCheck
from dpverify.harness.sides import LeftSide
from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.empirical import derivations as derive
from dpverify.papers.zhang2021.empirical import stage_derivations as stage
from dpverify.papers.zhang2021.empirical.recursion import Quadratic, injected
from dpverify.symbolic.exact.numbers import Exact, ball

CHECKS = PaperChecks("zhang2021", __name__)


def _eta(point: Point) -> arb:
    """The first step size that c_4 asks for."""
    with_momentum = point["t_0"] / (2 * (1 - point["rho"]))
    return 1 / ball(point["c_4"] * point["theta"] * point["mu"] * (point["T_0"] - point["t_0"] + with_momentum))


def _given(point: Point) -> arb:
    return ball(point["eta_0"])


def run_of(point: Point, statement: Statement, eta: Callable[[Point], arb] = _given) -> Quadratic:
    """Give the run whose numbers a point has."""
    stages, steps, momentum = (int(point[name]) for name in ("K", "T_0", "t_0"))
    output = statement.reading.get("output", "loop")
    return Quadratic(point["a"], stages, steps, momentum, point["rho"], eta(point), output)


def noise_of(point: Point) -> arb:
    """Give the mean square of the injected noise."""
    total = int(point["T_0"]) * ((2 << int(point["K"])) - 2)
    letters = point["c_2"], int(point["d"]), point["L"], point["delta"], point["n"] * point["epsilon"]
    return injected(total, *letters)


def _excess(*parts: str, eta: Callable[[Point], arb] = _eta) -> LeftSide:
    """Exact excess risk from some of its sources: the start, the batches, the noise."""

    def lhs(point: Point, statement: Statement) -> Exact:
        variance = arb(0)
        if "batches" in parts:
            n, batch = point["n"], point["B"]
            without = (n - batch) / (n - 1) if n > 1 else Fraction(0)
            variance += ball(point["sigma"] ** 2 / batch * without)
        if "noise" in parts:
            variance += noise_of(point)
        return run_of(point, statement, eta).excess(ball(point["gap"]) if "start" in parts else arb(0), variance)

    return lhs


Values = dict[str, int | str | Fraction]

REST: Values = {"c_2": 1, "d": 3, "L": 1, "delta": "1/100", "n": 100, "B": 10, "epsilon": 1, "sigma": 1, "gap": 1}
STEPS = ((1, 0), (2, 1), (3, 3), (20, 0), (40, 20), (100, 0), (100, 100))  # T^0 and t_Mon^0
MOMENTA = ("0", "1/2", "9/10")
CONSTANTS = ("1/20", "1/5", "6/25", "1", "19/10")  # c_4
CLASSES = (("2", 1, 1), ("1", 1, 1), ("2", 10, 10), ("1/2", 10, 10), ("1/2", 10, 1))  # theta, beta, a; mu = 1


def _grid(budget: Budget) -> Iterator[Values]:
    """Go through schedules and classes of losses; at the smoke budget with two stages only."""
    stages = (1, 2, 6) if budget.name != "smoke" else (2,)
    every = itertools.product(STEPS, MOMENTA, CONSTANTS, CLASSES, stages)
    for (steps, on), rho, c_4, (theta, beta, a), k in every:
        if (rho == "0") == (on == 0):
            schedule: Values = {"K": k, "T_0": steps, "t_0": on, "rho": rho, "c_4": c_4}
            yield {**schedule, "theta": theta, "mu": 1, "beta": beta, "a": a, **REST}


def short_steps(budget: Budget) -> Iterator[Values]:
    """The longest steps that are allowed, and a hundredth of them; stages that leave nearly a half, and less."""
    shares = ("0", "1/2", "1")  # of a stage's steps with momentum
    every = itertools.product(CLASSES, MOMENTA, shares, (1, 100), (1, 30), (1, 2, 6))
    for (theta, beta, a), rho, share, shorter, longer, K in every:
        if (rho == "0") == (share == "0"):
            eta_0 = Fraction(theta) * (1 - Fraction(rho)) ** 2 / beta / shorter
            T_0 = math.floor(8 * (1 + Fraction(rho)) * longer / (Fraction(theta) * eta_0)) + 1
            t_0 = math.floor(Fraction(share) * T_0)
            schedule: Values = {"K": K, "T_0": T_0, "t_0": t_0, "rho": rho, "eta_0": eta_0}
            yield {**schedule, "theta": theta, "mu": 1, "beta": beta, "a": a, **REST}


for claim, parts in (
    ("theorem-3-2-start", ("start",)),
    ("theorem-3-2-sampling", ("batches",)),
    ("theorem-3-2-noise", ("noise",)),
    ("theorem-3-2", ("start", "batches", "noise")),
):
    CHECKS.add(
        ExhaustiveCheck(
            claim,
            "quadratics",
            points=_grid,
            lhs=_excess(*parts),
            region="quadratics of one curvature, T^0 up to 100, momentum up to 9/10, c_4 from 1/20 to 1.9",
            leaves_out="other losses than quadratics of one curvature",
        )
    )
CHECKS.add(
    ExhaustiveCheck(
        "note-theorem-3-2",
        "quadratics",
        points=short_steps,
        lhs=_excess("start", "batches", "noise", eta=_given),
        planted=[Planted("a twentieth of it", rhs="printed/20")],
        region="quadratics of one curvature, steps up to the longest, no momentum to momentum always on",
        leaves_out="other losses than quadratics of one curvature",
    ),
    DerivationCheck("note-stage-on", "derivation", build=stage.with_momentum),
    DerivationCheck("note-stage", "derivation", build=stage.whole_stage),
    DerivationCheck("note-stage-mean", "derivation", build=stage.mean_of_stage),
    DerivationCheck("note-stages", "derivation", build=stage.next_stage),
    DerivationCheck("theorem-3-2-gamma", "derivation", build=derive.by_algebra),
    SearchCheck("theorem-3-2-half", "search", seconds_each=0.01),
    SearchCheck("theorem-3-2-gives", "search", seconds_each=0.01),
    DerivationCheck("theorem-3-2-stages", "derivation", build=derive.by_algebra),
)
