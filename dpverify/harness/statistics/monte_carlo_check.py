"""Check by simulation: it is planned before sampling, runs in blocks, and applies its plan to every planted fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dpverify.harness.checks import Check, Context, as_point, missed_controls
from dpverify.harness.exact_results import numbers
from dpverify.harness.neighbours import neighbour_result
from dpverify.harness.statistics.effects import Plan
from dpverify.harness.statistics.mean_judges import (
    Judge,
    Judgement,
    MeanMoments,
    Sample,
)
from dpverify.harness.statistics.pieces import Pieces
from dpverify.harness.statistics.trajectory_sums import TrajectoryStatistics
from dpverify.ledger.check_results import (
    CheckResult,
    ControlResult,
    Counterexample,
    Method,
)

Simulate = Callable[[Context, np.random.Generator, int], Sample | Pieces]
Sums = dict[int, Any]

VERDICTS = {
    "agrees": ("not refuted", ""),
    "disagrees": (
        "inconclusive",
        "the kernel does not follow the exact law: one of the two is wrong",
    ),
    "refutes": ("refuted", "the confidence limit lies beyond the bound"),
}
"""Status and reason for each outcome of a judge, if every planted fault was detected."""


@dataclass(frozen=True)
class Control:
    """A kernel with a planted fault, or a kernel for which the claim is true."""

    name: str  # short name: "node missing"
    fault: str  # description of the fault
    simulate: Simulate  # like the check's ``simulate``
    # whether the fault has exactly the size that the plan must detect
    at_declared_size: bool = False


@dataclass(frozen=True)
class MonteCarloCheck(Check):
    """Simulate a kernel and judge the sample. Only a confidence limit beyond a printed bound is a verdict."""

    # parameters, in all callables ``context.point``
    point: Mapping[str, int | Fraction | str] = field(kw_only=True)
    # effect and error rates
    plan: Plan | Callable[[Context], Plan] = field(kw_only=True)
    # Returns ``size`` iid replications along the first axis or, if the judge accepts
    # them, pieces of such a sample.
    simulate: Simulate = field(kw_only=True)
    judge: Judge = field(kw_only=True)  # converts samples to a judgement
    # faulty kernels, besides automatic faults
    controls: Sequence[Control] = field(default=(), kw_only=True)
    # Kernels for which the claim is true. The check must not refute them.
    neighbours: Sequence[Control] = field(default=(), kw_only=True)
    # what the simulation covers; the point is always added
    region: str = field(default="", kw_only=True)

    method: ClassVar[Method] = "monte-carlo"
    parts: ClassVar[tuple[type, ...]] = (MeanMoments, TrajectoryStatistics)

    def alpha(self, context: Context) -> float:
        """Return the probability of a false alarm of this check."""
        return self._plan(self._at_point(context)).alpha

    def cost(self, context: Context) -> float:
        """Return the declared core seconds, including all controls."""
        at_point = self._at_point(context)
        return self._plan(at_point).seconds(len(self._streams(at_point)))

    def blocks(self, context: Context) -> int:
        """Return the number of blocks of all samples, or 0 if the plan does not fit into the budget."""
        at_point = self._at_point(context)
        if self.beyond_share(context):
            return 0
        return self._plan(at_point).blocks * len(self._streams(at_point))

    def run_block(self, context: Context, block: int) -> tuple[int, Any]:
        """Draw one block of one sample. Return the number of the sample, and the judge's sums."""
        at_point = self._at_point(context)
        plan = self._plan(at_point)
        place, number = divmod(block, plan.blocks)
        stream = self._streams(at_point)[place]
        size = plan.size_of(number)
        sample = stream.simulate(at_point, at_point.rng(number, stream.name), size)
        if len(sample) != size:
            raise ValueError(
                f"simulate of {stream.name or self.name!r} must return {size} replications, got {len(sample)}."
            )
        return place, self.judge.collect(at_point, sample)

    def fold(self, sofar: Sums | None, part: tuple[int, Any]) -> Sums:
        """Add a block to the sums of its sample."""
        sums = dict(sofar or {})
        place, statistics = part
        sums[place] = sums[place] + statistics if place in sums else statistics
        return sums

    def finish(self, context: Context, total: Sums | None) -> CheckResult:
        """Judge each sample. The status is "inconclusive" over budget, with a missed control, or off the exact law."""
        at_point = self._at_point(context)
        plan = self._plan(at_point)
        if total is None:
            way_out = "a larger budget, or a plan that sees less, would decide it"
            reason = f"the plan has {plan.n} replications: {self.beyond_share(at_point)}; {way_out}"
            return self._result(at_point, plan, status="inconclusive", message=reason)
        judgement, *faulty = [
            self.judge.decide(at_point, total[place], plan.alpha)
            for place in range(len(self._streams(at_point)))
        ]
        streams = self._streams(at_point)[1:]
        fault_controls = [
            _control(stream, fault_judgement)
            for stream, fault_judgement in zip(streams, faulty, strict=True)
        ]
        count = len(fault_controls) - len(self.neighbours)
        controls = fault_controls[:count]
        spared = fault_controls[count:]
        missed = missed_controls(controls)
        status, words = VERDICTS[judgement.outcome]
        return self._result(
            at_point,
            plan,
            status="inconclusive"
            if missed and judgement.outcome == "agrees"
            else status,
            message="; ".join(filter(None, [words, missed])),
            n=plan.n,
            statistic=judgement.statistic,
            kernel_disagrees=judgement.outcome == "disagrees",
            counterexamples=_counterexamples(at_point, plan, judgement),
            controls=controls,
            true_neighbours=[
                *self._shifted_controls(at_point, total[0], plan.alpha),
                *spared,
            ]
            if status == "refuted"
            else [],
            figures=judgement.figures,
        )

    def _shifted_controls(
        self, context: Context, statistics: Any, alpha: float
    ) -> list[ControlResult]:
        """Judge the check's own sample, moved to the bound."""
        if (neighbour := self.judge.true_neighbour(context, statistics)) is None:
            return []
        words, shifted = neighbour
        judgement = self.judge.decide(context, shifted, alpha)
        return [
            neighbour_result(
                "moved to the bound",
                words,
                refuted=judgement.outcome != "agrees",
                statistic=judgement.statistic,
            )
        ]

    def _result(self, context: Context, plan: Plan, **fields: Any) -> CheckResult:
        where = ", ".join(f"{name}={value}" for name, value in context.point.items())
        return self.result(
            alpha=plan.alpha,
            power=plan.reached_power,
            detects=plan.effect.text,
            region="; ".join(filter(None, [self.region, where])),
            **fields,
        )

    def _at_point(self, context: Context) -> Context:
        return replace(context, point=as_point(self.point))

    def _plan(self, context: Context) -> Plan:
        return self.plan(context) if callable(self.plan) else self.plan

    def _streams(self, context: Context) -> list[Control]:
        """Return the check's own kernel, the automatic faults, the author's faults and the true neighbours."""
        automatic = self.judge.planted(context, self._plan(context).effect)
        planted = [
            Control(
                f"planted {fault.name}",
                fault.fault,
                _changed(self.simulate, fault.change),
                at_declared_size=True,
            )
            for fault in automatic
        ]
        authors = [
            replace(control, name=f"control {control.name}")
            for control in self.controls
        ]
        true = [
            replace(control, name=f"kernel {control.name}")
            for control in self.neighbours
        ]
        return [Control("", "", self.simulate), *planted, *authors, *true]


def _changed(
    simulate: Simulate, change: Callable[[Context, Sample, np.random.Generator], Sample]
) -> Simulate:
    def faulty(
        context: Context, rng: np.random.Generator, size: int
    ) -> Sample | Pieces:
        sample = simulate(context, rng, size)
        if isinstance(sample, Pieces):
            return sample.changed(lambda part: change(context, part, rng))
        return change(context, sample, rng)

    return faulty


def _control(stream: Control, judgement: Judgement) -> ControlResult:
    return ControlResult(
        name=stream.name,
        fault=stream.fault,
        at_declared_size=stream.at_declared_size,
        refuted=judgement.outcome != "agrees",
        statistic=judgement.statistic,
    )


def _counterexamples(
    context: Context, plan: Plan, judgement: Judgement
) -> list[Counterexample]:
    if judgement.outcome != "refutes" or judgement.lhs is None or judgement.rhs is None:
        return []
    note = f"statistical: the left side is a one-sided confidence limit at alpha = {plan.alpha:g}"
    return [
        Counterexample(
            kind="interior",
            parameters=numbers(context.point),
            lhs=judgement.lhs,
            rhs=judgement.rhs,
            note=note,
        )
    ]
