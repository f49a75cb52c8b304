"""A bound on a mean over whole runs as a check: one-sided, with exact limits, on several problems at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpverify.harness.checks import missed_controls
from dpverify.harness.context import Context
from dpverify.harness.neighbours import as_control
from dpverify.harness.simulation.betting import NEAR, Excess, lower_limit
from dpverify.harness.simulation.runs import (
    ALPHA,
    NO_FAULT,
    CaseT,
    MeanAgainstBound,
    OptimizerFault,
    PlannedRuns,
    RunsBoundCheck,
    moved,
)
from dpverify.harness.statistics.effects import smallest_sample
from dpverify.ledger.results import CheckResult, ControlResult

POWER = 0.99  # power at the declared excess; the level is shared out over the problems
PER_BLOCK = 16  # runs of one block


@dataclass(frozen=True)
class RunsCheck(RunsBoundCheck[CaseT]):
    """Refute, with the power POWER, a mean above the bound by NEAR of the room up to ``top`` on worst-case problems."""

    cases: Mapping[str, Sequence[CaseT]] = field(kw_only=True)  # problems, by budget, from the least one on
    faults: Sequence[tuple[OptimizerFault, str]] = field(default=(), kw_only=True)  # each with where it must fail
    seconds_each: Callable[[CaseT], float] = field(kw_only=True)  # declared core seconds of one run on a problem

    def cost(self, context: Context) -> float:
        """Declared core seconds, wrong optimizers included."""
        return sum(stream.n * self.seconds_each(stream.case) for stream in self._streams(context))

    def blocks(self, context: Context) -> int:
        """Blocks of all problems; none where they do not fit into the budget."""
        return 0 if self.beyond_share(context) else len(self._places(context))

    def run_block(self, context: Context, block: int) -> tuple[str, list[float]]:
        """Do some runs on one problem. Name of the runs, and a value in [0, 1] for each: in units of ``top``."""
        stream, first = self._places(context)[block]
        rng = context.rng(first, stream.name)
        top = self.top(context.statement, stream.case)
        size = min(PER_BLOCK, stream.n - first)
        seeds = rng.integers(1 << 62, size=size).tolist()
        values = [self.measure(context.statement, stream.case, seed, stream.fault) for seed in seeds]
        return stream.name, [value if math.isnan(value) else min(1.0, value / top) for value in values]

    def fold(self, sofar: dict[str, list[float]] | None, part: tuple[str, list[float]]) -> dict[str, list[float]]:
        """Add the runs of a block to those of its problem."""
        runs = dict(sofar or {})
        name, values = part
        runs[name] = [*runs.get(name, []), *values]
        return runs

    def finish(self, context: Context, total: dict[str, list[float]] | None) -> CheckResult:
        """Judge each problem, each wrong optimizer, and a sample moved beyond the bound by the excess."""
        streams = self._streams(context)
        own_streams = [stream for stream in streams if stream.fault is NO_FAULT]
        if not own_streams:
            reason = "vacuous on every problem here: no gradient can be as large as the bound, and nothing was run"
            return self.result(status="inconclusive", message=reason)
        if total is None:
            return super().finish(context, None)
        left = {name: sum(map(math.isnan, values)) for name, values in total.items()}
        total = {name: [0.0 if math.isnan(value) else value for value in values] for name, values in total.items()}
        judgements = {stream.name: self._judge(context, stream, total[stream.name]) for stream in streams}
        controls = [self._moved(context, stream, total[stream.name]) for stream in own_streams]
        controls += [
            ControlResult(
                name=s.fault.name,
                fault=f"{s.fault.text}, on {s.case.name}",
                at_declared_size=False,
                refuted=judgements[s.name].refutes,
                statistic=judgements[s.name].words,
            )
            for s in streams
            if s.fault is not NO_FAULT
        ]
        sharpest = max(own_streams, key=lambda stream: judgements[stream.name].ratio)
        at = judgements[sharpest.name]
        largest = f"largest ratio of lower confidence limit to bound: {at.ratio:.3g}, on {sharpest.case.words}"
        level = f"at alpha = {ALPHA:g} for all problems together"
        examples = [self._counterexample(sharpest.case, at.limit, at.bound, level)] if at.refutes else []
        missed = missed_controls(controls)
        statistic = "; ".join(
            f"{s.case.words}: {judgements[s.name].words}{_counted(left[s.name])}{self._seen(context, s, total[s.name])}"
            for s in own_streams
        )
        return self.result(
            status="refuted" if at.refutes else "inconclusive" if missed else "not refuted",
            message="; ".join(filter(None, [largest, missed])),
            n=sum(stream.n for stream in own_streams),
            detects="; ".join(f"{s.case.name}: an excess of {self._excess(context, s.case):.3g}" for s in own_streams),
            statistic=statistic,
            counterexamples=examples,
            controls=controls,
            true_neighbours=[self._at_bound(context, sharpest, total[sharpest.name])] if at.refutes else [],
        )

    def result(self, **fields: Any) -> CheckResult:
        """Make a result of this check, with its power."""
        return super().result(power=POWER, **fields)

    def _streams(self, context: Context) -> list[PlannedRuns[CaseT]]:
        """Problems on which the bound can be beaten at all, then the wrong optimizers."""
        statement = context.statement
        streams = [
            PlannedRuns(case.name, case, NO_FAULT, self._runs(context, case))
            for case in self.cases[context.budget.name]
            if self.bound(statement, case) < self.top(statement, case)
        ]
        stream_of = {stream.name: stream for stream in streams}
        for fault, name in self.faults:
            if name in stream_of:
                streams.append(PlannedRuns(f"{name}, {fault.name}", stream_of[name].case, fault, stream_of[name].n))
        return streams

    def _places(self, context: Context) -> list[tuple[PlannedRuns[CaseT], int]]:
        return [(stream, first) for stream in self._streams(context) for first in range(0, stream.n, PER_BLOCK)]

    def _each(self, context: Context) -> float:
        return ALPHA / len(self.cases[context.budget.name])

    def _runs(self, context: Context, case: CaseT) -> int:
        bound = self.bound(context.statement, case) / self.top(context.statement, case)
        return smallest_sample(Excess(bound), self._each(context), POWER)

    def _excess(self, context: Context, case: CaseT) -> float:
        return NEAR * (self.top(context.statement, case) - self.bound(context.statement, case))

    def _judge(self, context: Context, stream: PlannedRuns[CaseT], values: Sequence[float]) -> MeanAgainstBound:
        top = self.top(context.statement, stream.case)
        mean = sum(values) / len(values)
        limit = lower_limit(values, self._each(context))
        return MeanAgainstBound(len(values), top * mean, top * limit, self.bound(context.statement, stream.case))

    def _seen(self, context: Context, stream: PlannedRuns[CaseT], values: Sequence[float]) -> str:
        """Say from which mean on runs that spread like these would have been refuted."""
        verdict = self._judge(context, stream, values)
        if verdict.refutes:
            return ""
        top = self.top(context.statement, stream.case)
        low = verdict.bound
        high = top
        for _ in range(20):
            middle = (low + high) / 2.0
            if self._judge(context, stream, moved(values, middle / top)).refutes:
                high = middle
            else:
                low = middle
        return f", an excess of {high - verdict.bound:.3g} would have been seen"

    def _moved(self, context: Context, stream: PlannedRuns[CaseT], values: Sequence[float]) -> ControlResult:
        top = self.top(context.statement, stream.case)
        bound = self.bound(context.statement, stream.case)
        excess = self._excess(context, stream.case)
        verdict = self._judge(context, stream, moved(values, (bound + excess) / top))
        return ControlResult(
            name=f"planted mean, {stream.case.name}",
            fault=f"runs with a mean beyond the bound by {excess:.3g}",
            at_declared_size=True,
            refuted=verdict.refutes,
            statistic=verdict.words,
        )

    def _at_bound(self, context: Context, stream: PlannedRuns[CaseT], values: Sequence[float]) -> ControlResult:
        """Judge the same runs, moved to a mean that is equal to the bound."""
        bound = self.bound(context.statement, stream.case)
        verdict = self._judge(context, stream, moved(values, bound / self.top(context.statement, stream.case)))
        words = f"the runs moved to the mean {bound:.4g}, on {stream.case.name}"
        return as_control("moved to the bound", words, refuted=verdict.refutes, statistic=verdict.words)


def _counted(left: int) -> str:
    """Say how many runs left the region of their problem's constants."""
    return f", {left} left the region of its constants and count as 0" if left else ""
