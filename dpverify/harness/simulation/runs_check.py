"""Check of a bound on a mean over whole runs: one-sided, with exact limits, on several problems at once.

The limits are exact lower confidence limits for a mean from few, costly runs. The
number of runs is planned.

*Limit.* Let X_1, ..., X_n >= 0 be independent with mean at most p, and 0 <= c <= 1.
Then the capital ``prod (1 + c (X_i/p - 1))`` has an expectation of at most 1, and so
has a mean of such products over several c. By Markov's inequality it reaches 1/alpha
with a probability of at most alpha. All p at which it does are refuted, and the largest
of them is a confidence limit (testing by betting; Waudby-Smith and Ramdas 2024). No
distribution is assumed. A few dozen values with little variation give a limit close to
their mean.

*Power.* For X in [0, 1] with mean q and all k > 0, ``P(product < 1/a) <= a^(-k) E[(1 + c (X/p - 1))^(-k)]^n``. The
expression in the brackets is convex in X, so a coin with probability q is the worst distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from dpverify.harness.checks import Context, missed_controls
from dpverify.harness.neighbours import neighbour_result
from dpverify.harness.simulation.runs import (
    ALPHA,
    NO_FAULT,
    CaseT,
    MeanAgainstBound,
    OptimizerFault,
    PlannedRuns,
    RunsBoundCheck,
    with_mean,
)
from dpverify.harness.statistics.effects import Effect, smallest_sample
from dpverify.ledger.check_results import CheckResult, ControlResult

STAKES: Final = np.array([0.9, 0.99, 0.7, 0.4, 0.1])
WEIGHTS: Final = np.array([0.8, 0.05, 0.05, 0.05, 0.05])
"""Values of c, and their shares of the capital. The first value is the best against the declared excess."""

# the declared excess, as a share of the distance from the bound to the largest value
NEAR: Final = float(STAKES[0])
HALVINGS: Final = 60
POWERS: Final = np.geomspace(0.01, 30.0, 200)  # values of k that are tried


def log_capital(values: Sequence[float], mean: float) -> float:
    """Return the logarithm of the final capital, averaged over STAKES with WEIGHTS."""
    x = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(x).all() and (x >= 0.0).all()):
        raise ValueError(
            f"values must be finite and at least 0, got values between {x.min()} and {x.max()}."
        )
    gains = np.log1p(STAKES[:, np.newaxis] * (x / mean - 1.0)).sum(axis=1)
    top = float(gains.max())
    return top + math.log(float((WEIGHTS * np.exp(gains - top)).sum()))


def lower_limit(values: Sequence[float], alpha: float) -> float:
    """Return the largest mean that is refuted at alpha, or 0 if none is.

    The accuracy is 2^-60 of the largest value, rounded down.
    """
    low = 0.0
    high = max(values)
    if high == 0.0:
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if log_capital(values, middle) >= math.log(1.0 / alpha):
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class Excess(Effect):
    """A mean above a bound, for variables in [0, 1]."""

    # the bound of the claim, in (0, 1); the faulty
    # mean is NEAR of the way from there to 1
    bound: float

    def __post_init__(self) -> None:
        if not 0.0 < self.bound < 1.0:
            raise ValueError(f"bound must lie in (0, 1), got bound={self.bound}.")

    @property
    def mean(self) -> float:
        """Faulty mean."""
        return self.bound + NEAR * (1.0 - self.bound)

    @property
    def text(self) -> str:
        """Description of the fault."""
        return f"a mean above the bound by {self.mean - self.bound:.3g}"

    def power(self, n: int, alpha: float) -> float:
        """Return a lower bound of the power for any distribution with this mean, using only the first stake."""
        threshold = math.log(1.0 / (alpha * WEIGHTS[0]))
        win = math.log1p(NEAR * (1.0 / self.bound - 1.0))
        loss = math.log1p(-NEAR)
        moments = self.mean * np.exp(-POWERS * win) + (1.0 - self.mean) * np.exp(
            -POWERS * loss
        )
        missed = float((POWERS * threshold + n * np.log(moments)).min())
        return 1.0 - math.exp(min(0.0, missed))


POWER = 0.99  # power at the declared excess; the problems share the level
PER_BLOCK = 16  # number of runs of one block


@dataclass(frozen=True)
class RunsCheck(RunsBoundCheck[CaseT]):
    """Test a bound on worst-case problems, with power POWER against an excess of NEAR of the distance to ``top``."""

    # problems for each budget
    cases: Mapping[str, Sequence[CaseT]] = field(kw_only=True)
    # each with the problem on which it must fail
    faults: Sequence[tuple[OptimizerFault, str]] = field(default=(), kw_only=True)
    # declared core seconds of one run
    seconds_each: Callable[[CaseT], float] = field(kw_only=True)

    def cost(self, context: Context) -> float:
        """Return the declared core seconds, including those of faulty optimizers."""
        return sum(
            stream.n * self.seconds_each(stream.case)
            for stream in self._streams(context)
        )

    def blocks(self, context: Context) -> int:
        """Return the number of blocks of all problems, or 0 if they do not fit into the budget."""
        return 0 if self.beyond_share(context) else len(self._places(context))

    def run_block(self, context: Context, block: int) -> tuple[str, list[float]]:
        """Execute some runs on one problem. Return their name and their values, divided by ``top`` and cut off at 1."""
        stream, first = self._places(context)[block]
        rng = context.rng(first, stream.name)
        top = self.top(context.statement, stream.case)
        size = min(PER_BLOCK, stream.n - first)
        seeds = rng.integers(1 << 62, size=size).tolist()
        values = [
            self.measure(context.statement, stream.case, seed, stream.fault)
            for seed in seeds
        ]
        return stream.name, [
            value if math.isnan(value) else min(1.0, value / top) for value in values
        ]

    def fold(
        self, sofar: dict[str, list[float]] | None, part: tuple[str, list[float]]
    ) -> dict[str, list[float]]:
        """Add the runs of a block to the runs of its problem."""
        runs = dict(sofar or {})
        name, values = part
        runs[name] = [*runs.get(name, []), *values]
        return runs

    def finish(
        self, context: Context, total: dict[str, list[float]] | None
    ) -> CheckResult:
        """Judge each problem, each faulty optimizer, and each sample moved beyond the bound by the excess."""
        streams = self._streams(context)
        own_streams = [stream for stream in streams if stream.fault is NO_FAULT]
        if not own_streams:
            reason = "vacuous on every problem here: no gradient can be as large as the bound, and nothing was run"
            return self.result(status="inconclusive", message=reason)
        if total is None:
            return super().finish(context, None)
        left = {name: sum(map(math.isnan, values)) for name, values in total.items()}
        total = {
            name: [0.0 if math.isnan(value) else value for value in values]
            for name, values in total.items()
        }
        judgements = {
            stream.name: self._judge(context, stream, total[stream.name])
            for stream in streams
        }
        controls = [
            self._shifted_control(context, stream, total[stream.name])
            for stream in own_streams
        ]
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
        judgement = judgements[sharpest.name]
        largest = f"largest ratio of lower confidence limit to bound: {judgement.ratio:.3g}, on {sharpest.case.words}"
        level = f"at alpha = {ALPHA:g} for all problems together"
        examples = (
            [
                self._counterexample(
                    sharpest.case, judgement.limit, judgement.bound, level
                )
            ]
            if judgement.refutes
            else []
        )
        missed = missed_controls(controls)
        statistic = "; ".join(
            f"{s.case.words}: {judgements[s.name].words}{_counted(left[s.name])}"
            f"{self._detectable_excess(context, s, total[s.name])}"
            for s in own_streams
        )
        return self.result(
            status="refuted"
            if judgement.refutes
            else "inconclusive"
            if missed
            else "not refuted",
            message="; ".join(filter(None, [largest, missed])),
            n=sum(stream.n for stream in own_streams),
            detects="; ".join(
                f"{s.case.name}: an excess of {self._excess(context, s.case):.3g}"
                for s in own_streams
            ),
            statistic=statistic,
            counterexamples=examples,
            controls=controls,
            true_neighbours=[self._at_bound(context, sharpest, total[sharpest.name])]
            if judgement.refutes
            else [],
        )

    def result(self, **fields: Any) -> CheckResult:
        """Return a result of this check, with its power."""
        return super().result(power=POWER, **fields)

    def _streams(self, context: Context) -> list[PlannedRuns[CaseT]]:
        """Return the runs of problems whose bound is below ``top``, then those of faulty optimizers."""
        statement = context.statement
        streams = [
            PlannedRuns(case.name, case, NO_FAULT, self._runs(context, case))
            for case in self.cases[context.budget.name]
            if self.bound(statement, case) < self.top(statement, case)
        ]
        stream_of = {stream.name: stream for stream in streams}
        for fault, name in self.faults:
            if name in stream_of:
                streams.append(
                    PlannedRuns(
                        f"{name}, {fault.name}",
                        stream_of[name].case,
                        fault,
                        stream_of[name].n,
                    )
                )
        return streams

    def _places(self, context: Context) -> list[tuple[PlannedRuns[CaseT], int]]:
        return [
            (stream, first)
            for stream in self._streams(context)
            for first in range(0, stream.n, PER_BLOCK)
        ]

    def _alpha_of_case(self, context: Context) -> float:
        return ALPHA / len(self.cases[context.budget.name])

    def _runs(self, context: Context, case: CaseT) -> int:
        bound = self.bound(context.statement, case) / self.top(context.statement, case)
        return smallest_sample(Excess(bound), self._alpha_of_case(context), POWER)

    def _excess(self, context: Context, case: CaseT) -> float:
        return NEAR * (
            self.top(context.statement, case) - self.bound(context.statement, case)
        )

    def _judge(
        self, context: Context, stream: PlannedRuns[CaseT], values: Sequence[float]
    ) -> MeanAgainstBound:
        top = self.top(context.statement, stream.case)
        mean = sum(values) / len(values)
        limit = lower_limit(values, self._alpha_of_case(context))
        return MeanAgainstBound(
            len(values),
            top * mean,
            top * limit,
            self.bound(context.statement, stream.case),
        )

    def _detectable_excess(
        self, context: Context, stream: PlannedRuns[CaseT], values: Sequence[float]
    ) -> str:
        """Describe the excess from which runs with this spread would have been refuted."""
        verdict = self._judge(context, stream, values)
        if verdict.refutes:
            return ""
        top = self.top(context.statement, stream.case)
        low = verdict.bound
        high = top
        for _ in range(20):
            middle = (low + high) / 2.0
            if self._judge(context, stream, with_mean(values, middle / top)).refutes:
                high = middle
            else:
                low = middle
        return f", an excess of {high - verdict.bound:.3g} would have been seen"

    def _shifted_control(
        self, context: Context, stream: PlannedRuns[CaseT], values: Sequence[float]
    ) -> ControlResult:
        top = self.top(context.statement, stream.case)
        bound = self.bound(context.statement, stream.case)
        excess = self._excess(context, stream.case)
        verdict = self._judge(
            context, stream, with_mean(values, (bound + excess) / top)
        )
        return ControlResult(
            name=f"planted mean, {stream.case.name}",
            fault=f"runs with a mean beyond the bound by {excess:.3g}",
            at_declared_size=True,
            refuted=verdict.refutes,
            statistic=verdict.words,
        )

    def _at_bound(
        self, context: Context, stream: PlannedRuns[CaseT], values: Sequence[float]
    ) -> ControlResult:
        """Judge the same runs, moved to a mean equal to the bound."""
        bound = self.bound(context.statement, stream.case)
        verdict = self._judge(
            context,
            stream,
            with_mean(values, bound / self.top(context.statement, stream.case)),
        )
        words = f"the runs moved to the mean {bound:.4g}, on {stream.case.name}"
        return neighbour_result(
            "moved to the bound",
            words,
            refuted=verdict.refutes,
            statistic=verdict.words,
        )


def _counted(left: int) -> str:
    """Describe how many runs left the region in which their problem has its constants."""
    return f", {left} left the region of its constants and count as 0" if left else ""
