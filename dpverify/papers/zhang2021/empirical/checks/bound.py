"""Check Equation 5 against the exact recursion on quadratics, term by term and as a whole, and its conditions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from flint import arb
from scipy import special

from dpverify.harness import (
    Budget,
    Context,
    ExhaustiveCheck,
    PaperChecks,
    Planted,
    Point,
    SearchCheck,
)
from dpverify.harness.checks import as_point
from dpverify.harness.sides import LeftSide, printed_side
from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.algorithms import StagedDescent, StageSchedule, stagewise
from dpverify.papers.zhang2021.empirical.recursion import Quadratic, added_noise_power
from dpverify.problems.nonconvex_losses import Waves
from dpverify.shared_types import Values
from dpverify.symbolic.exact.numbers import Exact, ball

CHECKS = PaperChecks("zhang2021", __name__)


def eta_of(point: Point) -> arb:
    """Return the first step size, eta^0, that c_4 determines."""
    with_momentum = point["t_0"] / (2 * (1 - point["rho"]))
    return 1 / ball(
        point["c_4"]
        * point["theta"]
        * point["mu"]
        * (point["T_0"] - point["t_0"] + with_momentum)
    )


def _eta_of_point(point: Point) -> arb:
    return ball(point["eta_0"])


def run_of(
    point: Point, statement: Statement, eta: Callable[[Point], arb] = _eta_of_point
) -> Quadratic:
    """Return the run with the parameters of a point."""
    stages, steps, momentum = (int(point[name]) for name in ("K", "T_0", "t_0"))
    output = statement.reading.get("output", "loop")
    return Quadratic(
        point["a"], stages, steps, momentum, point["rho"], eta(point), output
    )


def noise_of(point: Point) -> arb:
    """Return the mean square of the injected noise."""
    total = int(point["T_0"]) * ((2 << int(point["K"])) - 2)
    letters = (
        point["c_2"],
        int(point["d"]),
        point["L"],
        point["delta"],
        point["n"] * point["epsilon"],
    )
    return added_noise_power(total, *letters)


def excess_of(*parts: str, eta: Callable[[Point], arb] = eta_of) -> LeftSide:
    """Return the left side: the exact excess risk from some of its sources (the start, the batches, the noise)."""

    def lhs(point: Point, statement: Statement) -> Exact:
        variance = arb(0)
        if "batches" in parts:
            n = point["n"]
            batch = point["B"]
            without = (n - batch) / (n - 1) if n > 1 else Fraction(0)
            variance += ball(point["sigma"] ** 2 / batch * without)
        if "noise" in parts:
            variance += noise_of(point)
        return run_of(point, statement, eta).excess(
            ball(point["gap"]) if "start" in parts else arb(0), variance
        )

    return lhs


OTHER_VALUES: Values = {
    "c_2": 1,
    "d": 3,
    "L": 1,
    "delta": "1/100",
    "n": 100,
    "B": 10,
    "epsilon": 1,
    "sigma": 1,
    "gap": 1,
}
# T^0 and t_Mon^0
STEPS = ((1, 0), (2, 1), (3, 3), (20, 0), (40, 20), (100, 0), (100, 100))
MOMENTA = ("0", "1/2", "9/10")
CONSTANTS = ("1/20", "1/5", "6/25", "1", "19/10")  # c_4
# theta, beta, a; mu = 1
CLASSES = (("2", 1, 1), ("1", 1, 1), ("2", 10, 10), ("1/2", 10, 10), ("1/2", 10, 1))


def _grid(budget: Budget) -> Iterator[Values]:
    """Yield schedules and classes of losses; at the smoke budget with two stages only."""
    stages = (1, 2, 6) if budget.name != "smoke" else (2,)
    every = itertools.product(STEPS, MOMENTA, CONSTANTS, CLASSES, stages)
    for (steps, momentum_on), rho, c_4, (theta, beta, a), k in every:
        if (rho == "0") == (momentum_on == 0):
            schedule: Values = {
                "K": k,
                "T_0": steps,
                "t_0": momentum_on,
                "rho": rho,
                "c_4": c_4,
            }
            yield {
                **schedule,
                "theta": theta,
                "mu": 1,
                "beta": beta,
                "a": a,
                **OTHER_VALUES,
            }


def short_steps(budget: Budget) -> Iterator[Values]:
    """Yield schedules with the longest allowed steps, or a hundredth of them, and stages of two lengths."""
    shares = ("0", "1/2", "1")  # fractions of a stage's steps with momentum
    every = itertools.product(CLASSES, MOMENTA, shares, (1, 100), (1, 30), (1, 2, 6))
    for (theta, beta, a), rho, share, shorter, longer, K in every:
        if (rho == "0") == (share == "0"):
            eta_0 = Fraction(theta) * (1 - Fraction(rho)) ** 2 / beta / shorter
            T_0 = (
                math.floor(8 * (1 + Fraction(rho)) * longer / (Fraction(theta) * eta_0))
                + 1
            )
            t_0 = math.floor(Fraction(share) * T_0)
            schedule: Values = {
                "K": K,
                "T_0": T_0,
                "t_0": t_0,
                "rho": rho,
                "eta_0": eta_0,
            }
            yield {
                **schedule,
                "theta": theta,
                "mu": 1,
                "beta": beta,
                "a": a,
                **OTHER_VALUES,
            }


SHOWN: Values = {
    "T_0": 100,
    "t_0": 0,
    "rho": 0,
    "theta": 2,
    "mu": 1,
    "beta": 10,
    "a": 10,
    "c_4": "1/20",
    "eta_0": "1/10",
    **OTHER_VALUES,
}
"""A schedule that satisfies the conditions of the printed theorem and of the corrected theorem."""


Columns = dict[str, list[float]]


def _over_stages(context: Context) -> dict[str, Columns]:
    """Return figures of the exact risk on a quadratic and both bounds over K, with runs, and over n; smoke has none.

    K grows with n so that (1/2)^K falls like 1/n^2, as Theorem 3.2 requires.
    """
    if context.budget.name == "smoke":
        return {}
    corrected = context.statement
    points = [as_point({**SHOWN, "K": K}) for K in range(2, 6)]
    ends = np.array([simulated(point, runs=40) for point in points])
    many = [
        as_point({**SHOWN, "d": 100, "n": int(10 ** (k / 2)), "K": round(3.32 * k)})
        for k in range(4, 17)
    ]
    over_n = _risks_and_bounds(many, corrected, "n", ("T_0", "B", "epsilon", "d"))
    return {
        "risk": {
            **_risks_and_bounds(
                points, corrected, "K", ("T_0", "n", "B", "epsilon", "d")
            ),
            "low": ends[:, 0].tolist(),
            "high": ends[:, 1].tolist(),
        },
        "risk-over-n": {**over_n, "anyway": [float(point["gap"]) for point in many]},
    }


def _risks_and_bounds(
    points: Sequence[Point], corrected: Statement, over: str, fixed: tuple[str, ...]
) -> Columns:
    """Return the columns of exact risks and both bounds."""
    printed = corrected.siblings["theorem-3-2"].statement(
        {"output": "loop", "region": "ball"}
    )
    exact = excess_of("start", "batches", "noise", eta=_eta_of_point)
    return {
        f"x:{over}": [float(point[over]) for point in points],
        "exact": [float(ball(exact(point, corrected)).mid()) for point in points],
        "printed": [printed_side(printed, point) for point in points],
        "corrected": [printed_side(corrected, point) for point in points],
        **{f"at:{name}": [float(points[0][name])] for name in fixed},
    }


def simulated(point: Point, runs: int) -> tuple[float, float]:
    """Return a 99% interval, by Student's law, of the mean excess of ``runs`` runs on the quadratic of a point."""
    n = int(point["n"])
    d = int(point["d"])
    a = float(point["a"])
    offsets = np.zeros((n, d))
    offsets[:, 0] = float(point["sigma"]) * (1 - 2 * (np.arange(n) % 2))
    problem = Waves(np.full(d, a), 0.0, offsets)
    stages = stagewise(
        int(point["K"]), int(point["T_0"]), int(point["t_0"]), float(point["eta_0"])
    )
    schedule = StageSchedule(
        stages,
        int(point["B"]),
        float(point["rho"]),
        math.sqrt(float(noise_of(point).mid()) / d),
    )
    start = np.full(d, math.sqrt(2 * float(point["gap"]) / (a * d)))
    losses = list[float]()
    for seed in range(runs):
        run = StagedDescent(problem, n, start, schedule, seed=seed)
        run.advance()
        losses.append(problem.loss(run.output))
    half = (
        float(special.stdtrit(runs - 1, 0.995))
        * float(np.std(losses, ddof=1))
        / math.sqrt(runs)
    )
    mean = float(np.mean(losses))
    return mean - half, mean + half


PARTS: dict[str, tuple[str, ...]] = {
    "theorem-3-2-start": ("start",),
    "theorem-3-2-sampling": ("batches",),
    "theorem-3-2-noise": ("noise",),
    "theorem-3-2": ("start", "batches", "noise"),
}
"""Sources of the excess risk that each claim is about."""

for claim, parts in PARTS.items():
    CHECKS.add(
        ExhaustiveCheck(
            claim,
            "quadratics",
            variants=("amended",),
            points=_grid,
            lhs=excess_of(*parts),
            region="quadratics of one curvature, T^0 up to 100, momentum up to 9/10, c_4 from 1/20 to 1.9",
            leaves_out="other losses than quadratics of one curvature",
        )
    )
CHECKS.add(
    ExhaustiveCheck(
        "note-theorem-3-2",
        "quadratics",
        points=short_steps,
        lhs=excess_of("start", "batches", "noise", eta=_eta_of_point),
        planted=[Planted("a twentieth of it", rhs="printed/20")],
        figures=_over_stages,
        region="quadratics of one curvature, steps up to the longest, no momentum to momentum always on",
        leaves_out="other losses than quadratics of one curvature",
    ),
    SearchCheck("theorem-3-2-half", "search", seconds_each=0.01),
    SearchCheck("theorem-3-2-gives", "search", seconds_each=0.01),
)
