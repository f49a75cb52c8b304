"""Check what parties of DDP-SRM add up and open: fixed-point values in a field, and the noise of their shares.

MPyC's own sharing is not tested: here a sum in the field is the sum of its elements.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from random import Random
from typing import cast

import numpy as np
from flint import arb

from dpverify.algorithms.algorithm import ProblemSize
from dpverify.algorithms.dp_srm import DDP_SRM, DdpSettings, sum_moves
from dpverify.harness import Budget, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide
from dpverify.kernels.typing import Indices
from dpverify.ledger.statements import Statement
from dpverify.mpc.fixed_point import (
    MODULUS,
    RANGE,
    Inside,
    encode,
    from_residues,
    to_residues,
)
from dpverify.mpc.session import Session
from dpverify.problems.data import dataset_of
from dpverify.train.ddp import scales_of
from dpverify.train.party import set_up
from dpverify.train.run import problem_of

CHECKS = PaperChecks("tools", __name__)

DIMENSION = 40
HOLDS = 6  # number of examples of each party


def _difference(parties_less: int = 0, half: int = MODULUS // 2) -> LeftSide:
    """Return the distance of the opened sum from the sum of the real vectors, in halves of a unit.

    ``parties_less`` parties missing from the sum, and another ``half`` above which field elements are negative, are
    faults.
    """

    def lhs(point: Point, statement: Statement) -> Fraction:
        parties = int(point["m"])
        bits = int(point["n"])
        unit = 2.0**-bits
        rng = np.random.default_rng([int(point["draw"]), parties, bits])
        largest_entry = (RANGE // (2 * parties)) * unit
        scale = largest_entry * 2.0 ** -rng.integers(0, 40, size=(parties, DIMENSION))
        values = np.clip(
            scale * rng.uniform(-1.0, 1.0, (parties, DIMENSION)),
            -largest_entry,
            largest_entry,
        )
        # all parties at the end of the range
        values[:, 0] = largest_entry * (-1.0 if point["draw"] % 2 else 1.0)
        shares = [
            to_residues(encode(row, unit, parties))
            for row in values[: parties - parties_less]
        ]
        added = [sum(column) % MODULUS for column in zip(*shares, strict=True)]
        opened = (
            from_residues(added)
            if half == MODULUS // 2
            else [v - MODULUS if v > half else v for v in added]
        )
        exact = [
            sum(map(Fraction, column), Fraction(0)) for column in values.T.tolist()
        ]
        largest_error: Fraction = max(
            abs(v - e / Fraction(unit)) for v, e in zip(opened, exact, strict=True)
        )
        return 2 * largest_error

    return lhs


class RecordingSession:
    """A session that records the values of its party; all other parties have zeros."""

    def __init__(self, parties: int) -> None:
        self.parties = parties
        self.given: list[Indices] = []

    def open_sum(self, values: Indices, *, inside: Inside | None) -> Indices:
        """Record the values, and return them as the opened sum."""
        assert inside is None
        self.given.append(values.copy())
        return values


@cache
def _run(
    parties: int, epsilon: float, steps: int
) -> tuple[DdpSettings, dict[str, float]]:
    """Return the settings of a run with calibrated noise, and the deviations that it promises."""
    dataset = dataset_of(
        np.zeros((HOLDS * parties, DIMENSION)), np.arange(HOLDS * parties) % 2
    )
    chosen = {
        "parties": parties,
        "steps": steps,
        "batch": 2 * parties,
        "lam": 0.0,
        "scale": "clip",
    }
    settings = DDP_SRM.complete(DDP_SRM.take(chosen), len(dataset.x))
    problem = problem_of(dataset, settings)
    settings, _ = DDP_SRM.account(settings, ProblemSize.of(problem), epsilon, 1e-5)
    return settings, DDP_SRM.constants(problem, settings).node_std


def _noise_off(factor: float = 1.0, silent: int = 0) -> LeftSide:
    """Return the largest relative difference of the opened noise from all parties' Gaussians of the promised size.

    Gradients are 0, so a party contributes only noise; its Gaussians are known from its generator. ``factor`` times the
    noise, and ``silent`` parties that add none, are faults.
    """

    def lhs(point: Point, statement: Statement) -> Fraction:
        parties = int(point["m"])
        s, promised = _run(parties, float(point["epsilon"]), int(point["T"]))
        added = np.zeros((s.steps, DIMENSION))
        expected = np.zeros_like(added)
        for party in range(parties):
            seed = f"{point['draw']} {party}"
            session = RecordingSession(parties)
            set_up(
                cast(Session, session),
                [HOLDS] * parties,
                np.zeros((HOLDS, DIMENSION)),
                np.zeros(HOLDS),
                s,
                party,
                Random(seed),
            ).advance()
            gauss = Random(seed).gauss
            expected += [
                [gauss(0.0, 1.0) for _ in range(DIMENSION)] for _ in range(s.steps)
            ]
            added += np.array(session.given) * (factor if party >= silent else 0.0)
        largest_error = 0.0
        for t, scale in enumerate(
            [scales_of(s, DIMENSION)[min(t, 1)] for t in range(s.steps)]
        ):
            deviation = promised["v^0" if t == 0 else "v^t"]
            opened = added[t] * scale.unit / s.batch
            ideal = expected[t] * deviation / np.sqrt(parties)
            largest_error = max(
                largest_error, float(np.abs(opened - ideal).max()) / deviation
            )
        return Fraction(largest_error)

    return lhs


def _honest(fewer: int = 0) -> LeftSide:
    """Return the honest parties' noise variance over the variance that the rounded sums need.

    Honest parties are those that a largest possible collusion leaves out.
    """

    def lhs(point: Point, statement: Statement) -> arb:
        parties = int(point["m"])
        s, _ = _run(parties, float(point["epsilon"]), int(point["T"]))
        honest = parties - (parties - 1) // 2 - fewer
        ratios = []
        for move, scale in zip(sum_moves(s), scales_of(s, DIMENSION), strict=True):
            needed = arb(s.sigma) * (
                arb(move) / arb(scale.unit) + arb(DIMENSION).sqrt()
            )
            ratios.append(honest * arb(scale.share) ** 2 / needed**2)
        return ratios[0].min(ratios[1])

    return lhs


def _sums(budget: Budget) -> Iterator[PointLike]:
    draws = {"smoke": 4, "standard": 60}.get(budget.name, 400)
    for parties, bits, draw in itertools.product((3, 4, 16), (1, 24, 40), range(draws)):
        yield {"m": parties, "n": bits, "draw": draw}


def _runs(budget: Budget) -> Iterator[PointLike]:
    draws = {"smoke": 2, "standard": 6}.get(budget.name, 40)
    for parties, epsilon, steps, draw in itertools.product(
        (3, 4, 7), ("1/2", "4"), (1, 5), range(draws)
    ):
        yield {"m": parties, "epsilon": epsilon, "T": steps, "draw": draw}


CHECKS.add(
    RuleCheck(
        "party-sum",
        "field",
        points=_sums,
        lhs=_difference(),
        seconds=0.3,
        planted=[
            Planted("a party left out", lhs=_difference(parties_less=1)),
            Planted("a smaller field", lhs=_difference(half=RANGE // 4)),
        ],
        region="3 to 16 parties, 1 to 40 fraction bits, values up to the ends of the range",
    ),
    RuleCheck(
        "party-noise",
        "known",
        points=_runs,
        lhs=_noise_off(),
        seconds=0.5,
        planted=[
            Planted(
                "1e-4 less noise", lhs=_noise_off(1.0 - 1e-4), at_declared_size=True
            ),
            Planted("a silent party", lhs=_noise_off(silent=1)),
        ],
        region="runs of 1 and 5 steps with calibrated noise, in 40 dimensions",
    ),
    RuleCheck(
        "party-honest",
        "balls",
        points=_runs,
        lhs=_honest(),
        seconds=0.2,
        planted=[Planted("one party fewer", lhs=_honest(1), at_declared_size=True)],
        region="runs with calibrated noise, in 40 dimensions",
    ),
)
