"""Check the corrected Theorem 3.4: the population risk on quadratics whose distribution is known."""

from __future__ import annotations

from dpverify.harness import ExhaustiveCheck, PaperChecks, Planted, Point
from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.empirical.checks.bound import (
    noise_of,
    run_of,
    short_steps,
)
from dpverify.papers.zhang2021.population.known_law import (
    generalization_error,
    population_excess,
)
from dpverify.symbolic.exact.numbers import Exact

CHECKS = PaperChecks("zhang2021", __name__)


def _generalization(point: Point, statement: Statement) -> Exact:
    return generalization_error(
        run_of(point, statement), int(point["n"]), point["sigma"] ** 2
    )


def _population(point: Point, statement: Statement) -> Exact:
    n = int(point["n"])
    batch = int(point["B"])
    return population_excess(
        run_of(point, statement),
        point["gap"],
        n,
        batch,
        point["sigma"] ** 2,
        noise_of(point),
    )


REGION = (
    "quadratics of one curvature, steps up to the longest, no momentum to momentum "
    "always on, any law of the examples"
)
CHECKS.add(
    ExhaustiveCheck(
        "note-generalization",
        "quadratics",
        points=short_steps,
        lhs=_generalization,
        planted=[Planted("half of it", rhs="printed/2")],
        region=REGION,
        leaves_out="other losses than quadratics of one curvature",
    ),
    ExhaustiveCheck(
        "note-population",
        "quadratics",
        points=short_steps,
        lhs=_population,
        planted=[Planted("a twentieth of it", rhs="printed/20")],
        region=REGION,
        leaves_out="other losses than quadratics of one curvature",
    ),
)
