"""Check of the measured run times of the two forms of Algorithm 4: exponents in T, and the ratio of the times.

A clock measures both forms. The verdict depends only on the operation counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import thread_time
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpverify.harness import Check, Context
from dpverify.harness.checks import missed_controls
from dpverify.kernels.tape import generator
from dpverify.ledger.check_results import CheckResult, ControlResult, Method
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import Nodes, node_count
from dpverify.papers.tran2022.algorithms.reconstruction.stream import reconstruct
from dpverify.papers.tran2022.run_time.operation_counts_bounds import (
    literal_total,
    stream_total,
)

# Shape (2, rounds, sizes): seconds of the literal form, then of the stream
Times = NDArray[np.float64]

STREAM_BELOW, LITERAL_ABOVE, RATIO = 1.3, 1.7, 15.0
"""Tested limits: exponent in T (upper for the stream, lower for the literal form), and their ratio at T = 64 N."""


class TimingPlan(NamedTuple):
    """Sizes, rounds and level of the measurement."""

    epochs: tuple[int, ...]  # T/N of each size; 64 must be among them
    rounds: int  # number of measurements of every size, in turns
    alpha: float  # level of the three tests together
    seconds: float  # core seconds of the measurement


PLANS: Mapping[str, TimingPlan] = {
    "smoke": TimingPlan((8, 16, 32, 64), 20, 1e-4, 4.0),
    "standard": TimingPlan((8, 16, 32, 64, 128), 28, 1e-6, 45.0),
    "full": TimingPlan((8, 16, 32, 64, 128, 256), 40, 1e-6, 240.0),
}


def exponents(times: Times, sizes: Times) -> Times:
    """Return the slopes of log seconds over log T, by least squares, for each round of times (..., sizes)."""
    x = np.log(sizes) - np.log(sizes).mean()
    slopes: Times = (np.log(times) * x).sum(axis=-1) / (x * x).sum()
    return slopes


def median_below(values: Times, bound: float, alpha: float) -> bool:
    """Test by signs whether the median of values (n,) is below a bound, at level ``alpha``."""
    return bool(
        special.bdtrc(int((values < bound).sum()) - 1, len(values), 0.5) <= alpha
    )


def median_interval(values: Times, alpha: float = 0.01) -> tuple[float, float, float]:
    """Return the median of values (n,) and its confidence interval from order statistics, of level 1 - ``alpha``."""
    ordered = np.sort(values)
    n = len(values)
    cut = max(
        int(np.searchsorted(special.bdtr(np.arange(n + 1), n, 0.5), alpha / 2)) - 1, 0
    )
    return float(np.median(ordered)), float(ordered[cut]), float(ordered[n - 1 - cut])


def measure(
    examples: int,
    dimension: int,
    plan: TimingPlan,
    seed: np.random.SeedSequence | int = 0,
) -> Times:
    """Time both forms at every size in turns, on nodes of unit Gaussians: core seconds of this thread.

    The literal form looks up its powers and coefficients. So the clock measures the counted sums of vectors, not the
    T^3/N^2 numbers of the printed coefficients. The measured ratio therefore favours the literal form.
    """
    draw = generator(seed)
    forms = (partial(reconstruct_literal, looked_up=True), reconstruct)
    nodes = [
        Nodes(*draw.standard_normal((3, node_count(q * examples), dimension)))
        for q in plan.epochs
    ]
    for form in forms:
        form(nodes[0], examples=examples, alpha=1 / examples, gamma=0.05)  # compiles
    out = np.empty((2, plan.rounds, len(nodes)))
    for turn in range(plan.rounds):
        for size, families in enumerate(nodes):
            for place in (0, 1) if turn % 2 else (1, 0):
                begin = thread_time()
                forms[place](
                    families, examples=examples, alpha=1 / examples, gamma=0.05
                )
                out[place, turn, size] = thread_time() - begin
    return out


@dataclass(frozen=True)
class RunTimeCheck(Check):
    """Measure how the times of the literal Algorithm 4 and of the stream grow with T, and their ratio.

    Sign tests over the rounds assume only that rounds are independent and identically distributed. A test that fails,
    for example on a busy machine, is inconclusive: the verdict depends on operation counts.
    """

    examples: int = field(default=256, kw_only=True)  # N, then d
    dimension: int = field(default=8, kw_only=True)
    # returns the times; a test replaces it
    measured: Callable[[int, int, TimingPlan], Times] = field(
        default=measure, kw_only=True
    )

    method: ClassVar[Method] = "measurement"

    def cost(self, context: Context) -> float:
        """Return the declared core seconds."""
        return PLANS[context.budget.name].seconds

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Measure both forms, test the times, and plant faults into them."""
        plan = PLANS[context.budget.name]
        times = self.measured(self.examples, self.dimension, plan)
        sizes = np.array(plan.epochs, dtype=float) * self.examples
        at = plan.epochs.index(64)
        level = plan.alpha / 3
        literal, stream = exponents(times, sizes)
        ratio = times[0, :, at] / times[1, :, at]
        tests = {
            f"stream's exponent below {STREAM_BELOW}": median_below(
                stream, STREAM_BELOW, level
            ),
            f"literal exponent above {LITERAL_ABOVE}": median_below(
                -literal, -LITERAL_ABOVE, level
            ),
            f"ratio above {RATIO:g} at T = 64 N": median_below(-ratio, -RATIO, level),
        }
        controls = [
            _control(
                f"the stream at the exponent {STREAM_BELOW}",
                median_below(
                    stream - np.median(stream) + STREAM_BELOW, STREAM_BELOW, level
                ),
                declared=True,
            ),
            _control(
                f"the literal form at the exponent {LITERAL_ABOVE}",
                median_below(
                    np.median(literal) - literal - LITERAL_ABOVE, -LITERAL_ABOVE, level
                ),
                declared=True,
            ),
            _control(
                f"a ratio of {RATIO:g}",
                median_below(-ratio * RATIO / np.median(ratio), -RATIO, level),
                declared=True,
            ),
            _control(
                "the literal form in the stream's place",
                median_below(literal, STREAM_BELOW, level),
            ),
            _control(
                "the stream in the literal form's place",
                median_below(-stream, -LITERAL_ABOVE, level),
            ),
        ]
        fits = {
            name: median_interval(of)
            for name, of in (("literal", literal), ("stream", stream), ("ratio", ratio))
        }
        summary = ", ".join(
            f"{name} {mid:.3g} ({low:.3g} to {high:.3g})"
            for name, (mid, low, high) in fits.items()
        )
        failed = [name for name, passed in tests.items() if not passed]
        missed = missed_controls(controls)
        return self.result(
            status="inconclusive" if failed or missed else "not refuted",
            message="; ".join(
                filter(None, [*(f"not shown: {name}" for name in failed), missed])
            ),
            n=plan.rounds,
            alpha=0.0,  # it never refutes
            detects="an exponent or a ratio on the wrong side of what is tested",
            statistic=f"exponents in T and ratio at T = 64 N, medians with 99% intervals: {summary}; tests together at "
            f"level {plan.alpha:g}",
            region=f"N = {self.examples}, d = {self.dimension}, T = {plan.epochs[0]} N to {plan.epochs[-1]} N; "
            f"{plan.rounds} rounds in turns, core seconds of one thread",
            leaves_out="other machines, N and d: the verdict rests on operation counts",
            controls=controls,
            figures={"run-time": self._columns(times, sizes, fits)},
        )

    def _columns(
        self, times: Times, sizes: Times, fits: Mapping[str, tuple[float, float, float]]
    ) -> dict[str, list[float]]:
        """Return the columns of the figure: median times with the middle 80%, operation counts, fits."""
        columns: dict[str, list[float]] = {"x:T": sizes.tolist()}
        for place, (name, count) in enumerate(
            (("literal", literal_total), ("stream", stream_total))
        ):
            low, middle, high = np.quantile(times[place], (0.1, 0.5, 0.9), axis=0)
            columns |= {
                name: middle.tolist(),
                f"{name}-low": low.tolist(),
                f"{name}-high": high.tolist(),
            }
            columns[f"{name}-adds"] = [
                float(count(int(steps), self.examples).adds) for steps in sizes
            ]
        for place, part in enumerate(("fit", "fit-low", "fit-high")):
            columns[part] = [fits[name][place] for name in ("literal", "stream")]
        return columns | {
            "at:N": [float(self.examples)],
            "at:d": [float(self.dimension)],
        }


def _control(name: str, passed: bool, *, declared: bool = False) -> ControlResult:
    """Return the control of a test on changed times (moved to the tested value, or swapped), which must not pass."""
    fault = f"{name}: measured, with the median moved there" if declared else name
    return ControlResult(
        name=name, fault=fault, at_declared_size=declared, refuted=not passed
    )
