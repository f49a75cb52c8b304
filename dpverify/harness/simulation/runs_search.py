"""Search for a problem and sizes at which a bound is false, and confirm the best candidate with fresh runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

from dpverify.harness.checks import Context, missed_controls
from dpverify.harness.neighbours import neighbour_result
from dpverify.harness.simulation.runs import (
    ALPHA,
    NO_FAULT,
    UPHILL,
    CaseT,
    MeanAgainstBound,
    OptimizerFault,
    RunsBoundCheck,
    SimulatedCase,
)
from dpverify.harness.simulation.runs_check import lower_limit
from dpverify.ledger.check_results import CheckResult, ControlResult
from dpverify.ledger.statements import Statement

# declared size: the search must find a problem that refutes the bound divided by this
SHRUNK = 2.0
CONFIRMED = 70  # fresh runs of the best problem
# number of problems that each generation keeps,
# and number of new problems made from each
ELITE = 6
CHILDREN = 4
SPREAD = 0.25  # standard deviation of a new problem's moves, as a share of each range


class Effort(NamedTuple):
    """Size of the search: number of problems in the first generation, and number of further generations."""

    first: int
    generations: int

    @property
    def runs(self) -> int:
        """Number of runs of the search, without the confirmation."""
        return self.first + ELITE * CHILDREN * self.generations


MadeT_co = TypeVar("MadeT_co", bound=SimulatedCase, covariant=True)


class Family(Protocol[MadeT_co]):
    """The problems that are searched: one for each place in a unit cube."""

    @property
    def parameters(self) -> int:
        """Number of coordinates of a place."""

    def case(self, place: Sequence[float]) -> MadeT_co:
        """Return the problem at a place."""


class MeasuredPlace(NamedTuple):
    """A place, and the ratio of the mean gradient of its problem to the bound in one run."""

    ratio: float
    place: tuple[float, ...]


@dataclass(frozen=True)
class SearchRunsCheck(RunsBoundCheck[CaseT]):
    """Find the problem with the largest ratio of gradient to bound, and test it.

    The test uses fresh seeds, so that the search does not increase alpha.
    """

    family: Family[CaseT] = field(kw_only=True)  # the problems
    effort: Mapping[str, Effort] = field(kw_only=True)  # for each budget
    # declared core seconds of a run of the search, on average; runs of the confirmation
    # may take three times as long
    seconds_each: float = field(kw_only=True)

    def cost(self, context: Context) -> float:
        """Return the declared core seconds, including confirmation and faulty optimizer."""
        effort = self.effort[context.budget.name]
        return self.seconds_each * (effort.runs + 3 * 2 * CONFIRMED)

    def blocks(self, context: Context) -> int:
        """Return 1, or 0 if the check does not fit into the budget."""
        return 0 if self.beyond_share(context) else 1

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Search, confirm the best problem, and test the planted faults."""
        statement = context.statement
        best, widest = self._search(context, context.rng(block, "search"))
        values = self._runs(
            statement, best, NO_FAULT, context.rng(block, "confirmation")
        )
        faulty = self._runs(
            statement, widest, UPHILL, context.rng(block, "wrong optimizer")
        )
        bound = self.bound(statement, best)
        limit = lower_limit(values, ALPHA)
        mean = sum(values) / len(values)
        wide = self.bound(statement, widest)
        wrong = lower_limit(faulty, ALPHA)
        judgement = MeanAgainstBound(CONFIRMED, mean, limit, bound)
        controls = [
            ControlResult(
                name="half the bound",
                fault=f"a bound {SHRUNK:g} times too small",
                at_declared_size=True,
                refuted=replace(judgement, bound=bound / SHRUNK).refutes,
                statistic=f"lower limit {limit:.4g}, half the bound {bound / SHRUNK:.4g}",
            ),
            ControlResult(
                name="uphill",
                fault=f"{UPHILL.text}, on {widest.words}",
                at_declared_size=False,
                refuted=wrong > wide,
                statistic=f"lower limit {wrong:.4g}, bound {wide:.4g}",
            ),
        ]
        missed = missed_controls(controls)
        example = self._counterexample(
            best, limit, bound, "on seeds that the search did not use"
        )
        largest = replace(judgement, bound=max(values))
        suffix = f"; for the problem found, an excess of {bound - limit:.3g} more"
        return self.result(
            status="refuted"
            if judgement.refutes
            else "inconclusive"
            if missed
            else "not refuted",
            message="; ".join(
                filter(
                    None,
                    [
                        f"largest ratio of lower confidence limit to bound: {judgement.ratio:.3g}",
                        missed,
                    ],
                )
            ),
            n=CONFIRMED,
            detects=f"a bound {SHRUNK:g} times too small{'' if judgement.refutes else suffix}",
            statistic=f"{best.all_words}: mean {mean:.4g} over {CONFIRMED} fresh runs, "
            f"lower limit {limit:.4g}, bound {bound:.4g}",
            counterexamples=[example] if judgement.refutes else [],
            controls=controls,
            true_neighbours=[
                neighbour_result(
                    "largest run",
                    "the largest of the runs as the bound on their mean",
                    refuted=largest.refutes,
                )
            ],
        )

    def _search(self, context: Context, rng: Generator) -> tuple[CaseT, CaseT]:
        """Return the problem with the largest ratio, and the problem with the lowest bound relative to ``top``."""
        statement = context.statement
        effort = self.effort[context.budget.name]
        size = self.family.parameters
        tried = [
            self._try(statement, place, rng)
            for place in rng.random((effort.first, size))
        ]
        for _ in range(effort.generations):
            tried = sorted(tried, reverse=True)[:ELITE]
            for parent in list(tried):
                for _ in range(CHILDREN):
                    moves = rng.normal(size=size) * SPREAD * (rng.random(size) < 0.5)
                    tried.append(
                        self._try(
                            statement,
                            np.clip(np.array(parent.place) + moves, 0.0, 1.0),
                            rng,
                        )
                    )
        cases = [
            self.family.case(trial.place)
            for trial in sorted(tried, reverse=True)[:ELITE]
        ]
        places = [tuple(place) for place in rng.random((20 * effort.first, size))]
        drawn = [*cases, *(self.family.case(place) for place in places)]
        widest = min(
            drawn,
            key=lambda case: self.bound(statement, case) / self.top(statement, case),
        )
        return cases[0], widest

    def _try(self, statement: Statement, place: Any, rng: Generator) -> MeasuredPlace:
        case = self.family.case(place.tolist())
        value = self._measured(statement, case, int(rng.integers(1 << 62)), NO_FAULT)
        return MeasuredPlace(value / self.bound(statement, case), tuple(place.tolist()))

    def _runs(
        self, statement: Statement, case: CaseT, fault: OptimizerFault, rng: Generator
    ) -> list[float]:
        seeds = rng.integers(1 << 62, size=CONFIRMED).tolist()
        return [self._measured(statement, case, seed, fault) for seed in seeds]

    def _measured(
        self, statement: Statement, case: CaseT, seed: int, fault: OptimizerFault
    ) -> float:
        """Return the measured value of a run; 0 if it is NaN, which refutes no upper bound."""
        value = self.measure(statement, case, seed, fault)
        return 0.0 if math.isnan(value) else value
