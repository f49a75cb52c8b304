"""Check Algorithm 5, Theorem 10 and its proof, and the conversion from Renyi to (epsilon, delta).

One line of the proof integrates first over the answers that the replaced example does not touch. The check uses three
queries: the first and the last touch the example, the second does not. Noise has deviation 1, and a query that moves
moves by rho. The last query moves if the signs of the first two answers agree. The second answer follows the sign of
the first and has its mean 3 deviations from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb

from dpverify.harness import (
    Budget,
    Context,
    Control,
    MonteCarloCheck,
    Outcome,
    PaperChecks,
    Plan,
    Planted,
    Point,
    Property,
    SearchCheck,
    TrajectoryEffect,
    TrajectoryLaw,
    TrueNeighbour,
    of_variant,
)
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.aggregation import LinearQueries
from dpverify.papers.tran2022.trees import tree_aggregation_bounds as bounds
from dpverify.symbolic.exact.evaluate import definitions
from dpverify.symbolic.exact.numbers import Exact, ball, to_exact

CHECKS = PaperChecks("tran2022", __name__)

# The example that is replaced is in VISITS of the QUERIES
VISITS = 12
QUERIES = 20
EXAMPLES = 5
COORDINATES = 3


def _renyi(touched: str) -> Callable[[Point, Statement], Fraction]:
    """Return the left side for the worst neighbour: each of the touched queries moves by its whole sensitivity."""
    return lambda point, _: (
        int(point[touched])
        * bounds.aggregation_renyi(point["z"], point["rho"], [Fraction(1)])
    )


def _delta(point: Point, statement: Statement) -> Exact:
    """Return the exact delta of the worst mechanism with V touched queries, a Gaussian with mu = rho sqrt(V)."""
    epsilon = definitions(statement, point)["epsilon"]
    touched = int(point["V"])
    return (
        bounds.aggregation_delta(touched, point["rho"], epsilon)
        if touched
        else Fraction(0)
    )


def _delta_of_sigma(point: Point, statement: Statement) -> Exact:
    """Return the exact delta of a Gaussian with mu = 1/sigma, whose Renyi divergence of order z is z/(2 sigma^2)."""
    epsilon = ball(definitions(statement, point)["epsilon"])
    return bounds.gaussian_delta(1 / ball(point["sigma"]), epsilon)


def _divergence(shift: str) -> Callable[[Point, Statement], Fraction]:
    return lambda point, _: bounds.gaussian_renyi(
        point["z"], point[shift], point["sigma"]
    )


def _log_density(point: Point, statement: Statement) -> Fraction:
    """Return the exponent of the density N(0, scale^2), scale = Delta/rho, at the distance query_gap."""
    return (
        -(point["query_gap"] ** 2)
        * point["rho"] ** 2
        / (2 * point["query_sensitivity"] ** 2)
    )


def _factor(point: Point, statement: Statement) -> Exact:
    """Return the exponential of (z-1) times the divergence of two Gaussians, by the definition of the divergence."""
    scale = point["query_sensitivity"] / point["rho"]
    return ball(
        (point["z"] - 1) * bounds.gaussian_renyi(point["z"], point["query_gap"], scale)
    ).exp()


def _mechanism() -> tuple[LinearQueries, Any, Any]:
    """Return fixed adaptive queries and two neighbours that move each touched query by exactly its sensitivity."""
    rng = np.random.default_rng(20221010)
    members = rng.random((QUERIES, EXAMPLES)) < 0.5
    members[:, 0] = np.arange(QUERIES) % 5 < 3
    sensitivities = rng.uniform(0.5, 2.0, QUERIES)
    feedback, steering = rng.normal(size=(2, QUERIES, QUERIES)) / QUERIES
    data = rng.normal(size=(EXAMPLES, COORDINATES))
    # longer than any clip, so that its opposite is a whole sensitivity away
    data[0] = [10.0, 0.0, 0.0]
    neighbour = data.copy()
    neighbour[0] = -data[0]
    return LinearQueries(members, sensitivities, feedback, steering), data, neighbour


def _losses(
    noise_factor: float = 1.0, redraw: bool = True
) -> Callable[[Context, np.random.Generator, int], Any]:
    """Return a simulation of standardized privacy losses of touched queries: iid standard normal under Theorem 10."""

    def simulate(context: Context, rng: np.random.Generator, size: int) -> Any:
        queries, data, neighbour = _mechanism()
        rho = float(context.point["rho"])
        touched = queries.members[:, 0]
        noise = noise_factor * rng.standard_normal((size, QUERIES, COORDINATES))
        if not redraw:
            noise[:, 1:] = noise[:, :-1]
        released = queries.release_many(data, rho, noise)
        means = queries.replay_many(data, released)
        means_neighbour = queries.replay_many(neighbour, released)
        gaps = np.sum(
            (released - means_neighbour) ** 2 - (released - means) ** 2, axis=2
        )
        losses = gaps * rho**2 / (2.0 * queries.sensitivities**2)
        return (losses[:, touched, np.newaxis] - rho**2 / 2.0) / rho

    return simulate


MECHANISM = {
    "adaptive-queries": Property(
        "the queries do not depend on earlier answers, which adaptive queries need not"
    ),
    "local-queries": Property(
        "V of the queries read the one example that is replaced",
        lambda point: point["V"] >= 1,
    ),
    "bounded-sensitivity": Property(
        "each of these queries moves by exactly its sensitivity"
    ),
    "gaussian-mechanism": Property(
        "each answer has fresh Gaussian noise of deviation sensitivity/rho"
    ),
    "neighbour-replace-one": Property(
        "the one example that these queries read is replaced"
    ),
}

LOSS_LAW = MonteCarloCheck(
    "theorem-10",
    "privacy-loss-law",
    point={"rho": "1/2", "V": VISITS, "z": 2},
    plan=Plan(
        TrajectoryEffect(VISITS, 1, scale=1.02, row_scale=1.1, correlation=0.1),
        seconds_each=5e-5,
    ),
    simulate=_losses(),
    judge=TrajectoryLaw(lambda _: np.eye(VISITS)),
    controls=[
        Control(
            "noise-scaled-1.02",
            "every query's noise is 1.02 times what Algorithm 5 says",
            _losses(1.02),
        ),
        Control(
            "noise-reused",
            "a query gets the noise of the query before it",
            _losses(redraw=False),
        ),
    ],
    leaves_out="one mechanism of 20 adaptive queries; floats, not real arithmetic",
)

CHECKS.add(
    SearchCheck("gaussian-divergence", "search", lhs=_divergence("mu")),
    SearchCheck("gaussian-divergence-multi", "search", lhs=_divergence("mu_norm")),
    SearchCheck("theorem-10-density", "search", lhs=_log_density),
    SearchCheck("theorem-10-factor", "search", lhs=_factor),
    SearchCheck(
        "theorem-10",
        "search",
        lhs=_renyi("V"),
        corners=[{"V": 1, "rho": 1, "z": 2}, {"V": 1000, "rho": "1/9", "z": 50}],
    ),
    LOSS_LAW,
    SearchCheck("theorem-10-integration", "search", lhs=_renyi("touched")),
    SearchCheck("theorem-10-order", "search"),
    SearchCheck(
        "theorem-10-dp-intermediate",
        "search",
        lhs=_delta,
        corners=[{"V": 1, "rho": "1/10", "delta": "1/1000000"}],
        meets=MECHANISM,
    ),
    SearchCheck("theorem-10-dp", "search", lhs=_delta),
    SearchCheck(
        "theorem-10-factor-bound", "search", region={"z": (1, 20), "rho": (0, 5)}
    ),
    SearchCheck("theorem-4-conversion", "search", lhs=_delta_of_sigma),
)


def _orders(_: Budget) -> Iterable[dict[str, Fraction | int]]:
    return (
        {"z": z, "rho": rho}
        for z in (2, Fraction(3, 2), 5)
        for rho in (1, Fraction(1, 4), Fraction(1, 16))
    )


def _moved(point: Point) -> arb:
    """Return the integral for one query that moves by its whole sensitivity."""
    return ball((point["z"] - 1) * point["z"] * point["rho"] ** 2 / 2).exp()


def _below(deviations: arb) -> arb:
    """Return the probability that a standard normal variable is below ``deviations``."""
    return (-deviations / arb(2).sqrt()).erfc() / 2


def _two_queries(
    point: Point, statement: Statement, often: Fraction = Fraction(1, 2)
) -> Outcome:
    """Compare the divergences of two queries if the second one moves with probability ``often``, and if always."""
    moment = _moved(point)
    order = ball(point["z"] - 1)
    exact = (ball(often) * moment + ball(1 - often)).log() / order
    printed = moment.log() / order
    note = "a query that moves if an answer of OUT(s) is positive; right side: that answer set to 1"
    return Outcome(
        bool(exact.overlaps(printed)), to_exact(exact), to_exact(printed), note
    )


def _three_queries(
    point: Point, statement: Statement, *, fixed: bool = False
) -> Outcome:
    """Compare the exact divergence with the largest over rules for the second answer, or over fixed values of it."""
    moment = _moved(point)
    order = ball(point["z"] - 1)
    agree = _below(arb(3))
    exact = (moment * (agree * moment + 1 - agree)).log() / order
    # with the second answer fixed at a positive number, the signs agree if the first,
    # of mean z rho, is positive
    often = _below(ball(point["z"] * point["rho"])) if fixed else arb(1)
    largest = (moment * (often * moment + 1 - often)).log() / order
    return Outcome(bool(exact <= largest), to_exact(exact), to_exact(largest))


def _fixed(point: Point, statement: Statement) -> Outcome:
    return _three_queries(point, statement, fixed=True)


THREE_QUERIES = {
    "adaptive-queries": Property(
        "the last query depends on the sign of an earlier answer"
    ),
    "local-queries": Property(
        "which queries read the example that is replaced is fixed in advance"
    ),
    "bounded-sensitivity": Property(
        "a query moves by rho or not at all, and its sensitivity is rho"
    ),
    "gaussian-mechanism": Property(
        "each answer has fresh Gaussian noise of deviation 1"
    ),
    "neighbour-replace-one": Property(
        "one example is replaced, which the last query and the first of three read"
    ),
}

CHECKS.add(
    RuleCheck(
        "theorem-10-out-first",
        "two-and-three-queries",
        points=_orders,
        is_satisfied=of_variant(_two_queries, _three_queries),
        neighbours=[
            TrueNeighbour(
                "a query that always moves",
                is_satisfied=partial(_two_queries, often=Fraction(1)),
            )
        ],
        planted=[
            Planted(
                "answers of OUT(s) that are fixed",
                is_satisfied=_fixed,
                at_declared_size=True,
            )
        ],
        interior=lambda point: point["rho"] < 1,
        meets=THREE_QUERIES,
        region="two and three adaptive queries, their exact divergences",
        leaves_out="all other mechanisms",
    )
)
