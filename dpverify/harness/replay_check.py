"""Compare the sensitivity measured on a kernel with a closed form, and both with the printed sensitivity.

As in the definition of an adaptive mechanism, a run's outputs are held fixed while its queries are replayed on two
neighbouring data sets. On worst-case data sets each output must move by exactly the distance of the closed form. On
random data sets no output may move by more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpverify.harness.checks import Check, Context, missed_controls
from dpverify.harness.exact_results import first_and_largest, refuted_again
from dpverify.harness.neighbours import printed_for_measured
from dpverify.harness.sides import LeftSide, Probe, Prober
from dpverify.ledger.check_results import CheckResult, ControlResult, Method
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import requires_hold
from dpverify.symbolic.exact.numbers import Exact

TOLERANCE = 1e-11  # relative rounding allowed between the kernel and the closed form


@dataclass(frozen=True)
class OutputDistance:
    """Distance between the values of one output on two neighbouring data sets."""

    point: dict[str, Fraction]  # symbols of the statement
    measured: float
    law: Callable[[], Exact]  # the closed form, at the working precision
    where: str  # description of the output and its run

    def ratio(self, exact: float) -> float:
        """Return measured/exact. If ``exact`` is 0, return 1 + measured, which is above 1 if the output moves."""
        return self.measured / exact if exact else 1.0 + self.measured


Replays = Callable[[Statement], Iterable[OutputDistance]]


@dataclass(frozen=True)
class ReplayControl:
    """Replays with a planted fault."""

    name: str
    text: str
    replays: Replays
    at_declared_size: bool = False


@dataclass(frozen=True)
class ReplayCheck(Check):
    """Measure how far each output of several runs moves between two neighbours. Released outputs are held fixed."""

    replays: Replays = field(kw_only=True)  # on the worst-case data sets
    controls: Sequence[ReplayControl] = field(kw_only=True)
    # Returns the largest measured/exact over the outputs of one random run, and a
    # description of the run.
    random: Callable[[Statement, np.random.Generator], tuple[float, str]] = field(
        kw_only=True
    )
    random_runs: Mapping[str, int] = field(kw_only=True)
    share: float = field(kw_only=True)  # relative size of the smallest planted fault
    region: str = field(default="", kw_only=True)
    figures: Callable[[Statement], dict[str, dict[str, list[float]]]] | None = field(
        default=None, kw_only=True
    )

    method: ClassVar[Method] = "exact-law"

    def can_judge(self, statement: Statement) -> bool:
        """Return whether the right side is a formula."""
        return statement.rhs is not None

    def cost(self, context: Context) -> float:
        """Return the declared core seconds."""
        return 0.5 + 0.005 * self.random_runs[context.budget.name]

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Measure, compare, and test planted faults. The status is "refuted" if an output violates the statement."""
        statement = context.statement
        runs = self.random_runs[context.budget.name]
        replays = list(self.replays(statement))
        low, high, disagreement = _compare(replays)

        def probe_again(point: dict[str, Fraction]) -> Probe | None:
            return next(
                _beyond(
                    statement, (replay for replay in replays if replay.point == point)
                ),
                None,
            )

        if (
            not disagreement
            and (recorded := refuted_again(context, probe_again)) is not None
        ):
            return recorded
        largest, run = max(
            (self.random(statement, context.rng(i)) for i in range(runs)),
            key=lambda result: result[0],
        )
        if largest > 1.0 + TOLERANCE:
            disagreement = (
                disagreement
                or f"a random run ({run}) moves a node by {largest:.12g} of its most"
            )
        controls = [_control(control, statement) for control in self.controls]
        missed = missed_controls(controls)
        violations = [] if disagreement else list(_beyond(statement, replays))
        return self.result(
            status="refuted"
            if violations
            else "inconclusive"
            if missed or disagreement
            else "not refuted",
            message="; ".join(filter(None, [disagreement, missed])),
            n=len(replays) + runs,
            detects=f"a node whose change differs from the closed form by a share of {self.share:g}",
            statistic=f"measured/exact from 1{low - 1:+.1e} to 1{high - 1:+.1e} at {len(replays)} nodes of the "
            f"worst-case problem; at most {largest:.6g} over {runs} random runs",
            region=self.region,
            kernel_disagrees=bool(disagreement),
            counterexamples=first_and_largest(violations, statement.edges),
            controls=controls,
            true_neighbours=printed_for_measured(
                statement, (probe.point for probe in violations)
            ),
            figures={} if self.figures is None else self.figures(statement),
        )


def _compare(measured: Iterable[OutputDistance]) -> tuple[float, float, str]:
    """Return the extremes of measured/exact, and a description of the first output that deviates.

    The range between the extremes includes 1.
    """
    low = 1.0
    high = 1.0
    disagreement = ""
    for distance in measured:
        exact = float(distance.law())
        ratio = distance.ratio(exact)
        low = min(low, ratio)
        high = max(high, ratio)
        if abs(ratio - 1.0) > TOLERANCE and not disagreement:
            disagreement = (
                f"{distance.where}: measured {distance.measured!r}, exact {exact!r}"
            )
    return low, high, disagreement


def _control(control: ReplayControl, statement: Statement) -> ControlResult:
    *_, disagreement = _compare(control.replays(statement))
    return ControlResult(
        name=control.name,
        fault=control.text,
        at_declared_size=control.at_declared_size,
        refuted=bool(disagreement),
        statistic=disagreement,
    )


def _beyond(
    statement: Statement, measured: Iterable[OutputDistance]
) -> Iterator[Probe]:
    """Yield the measured outputs at which the statement fails, in the order of the runs."""
    for distance in measured:
        if requires_hold(statement, distance.point) is not True:
            continue
        probe = Prober(statement, _side(distance)).probe(distance.point)
        if probe is not None and probe.holds is False:
            yield replace(
                probe, note=f"measured on the kernels: {distance.measured:.12g}"
            )


def _side(distance: OutputDistance) -> LeftSide:
    return lambda point, statement: distance.law()
