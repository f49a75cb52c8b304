"""Check the run times of the two forms of Algorithm 4: operation counts and measured times.

Operation counts are compared with the counters of the kernels, with the loops of the box, and with their bounds. A
clock measures both forms. The verdict depends only on the operation counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from time import thread_time
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpverify.harness import (
    Budget,
    Check,
    Context,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    RuleCheck,
)
from dpverify.harness.checks import missed_controls
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Vector
from dpverify.ledger.results import CheckResult, ControlResult, Method
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import Nodes, node_count
from dpverify.papers.tran2022.algorithms.reconstruction.stream import reconstruct
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgdCallable
from dpverify.papers.tran2022.run_time import operation_counts_bounds as counts
from dpverify.papers.tran2022.run_time.operation_counts_bounds import (
    literal_total,
    stream_total,
)

CHECKS = PaperChecks("tran2022", __name__)

WIDE = (1, 2, 3, 4, 5, 7, 8, 13, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256)
BOUNDS_ENOUGH = "the bounds are proved for all N and all T >= 4N (NOTES_run_time.md)"


def _sizes(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield N and T >= 4N: N a power of two or not, T a multiple of N or not."""
    size_limit = {"smoke": 64, "standard": 128, "full": 256}[budget.name]
    for n in (n for n in WIDE if n <= size_limit):
        for steps in (4 * n, 4 * n + 1, 7 * n + 2, 16 * n - 1, 33 * n):
            yield {"N": n, "T": steps}


def _between(
    point: Point,
    statement: Statement,
    *,
    stream: int = counts.STREAM_ADDS,
    logarithm: bool = True,
    lower: int = 1,
) -> Outcome:
    """Test the additions of T steps against their bounds; ``stream``, ``logarithm`` and ``lower`` change the bounds."""
    n = int(point["N"])
    steps = int(point["T"])
    low, high = counts.literal_bounds(steps, n)
    low = lower * low
    high = high if logarithm else high / (2 * counts.levels(steps))
    literal = counts.literal_total(steps, n).adds
    fast = counts.stream_total(steps, n)
    if not low <= literal <= high:
        return Outcome(
            False,
            Fraction(literal),
            high if literal > high else low,
            f"literal: {literal} additions",
        )
    if fast.adds > stream * steps or fast.reads > counts.STREAM_READS * steps:
        return Outcome(
            False,
            Fraction(fast.adds),
            Fraction(stream * steps),
            f"stream: {fast.adds} additions",
        )
    return Outcome(True)


def _kernel_sizes(budget: Budget) -> Iterable[dict[str, Any]]:
    size_limit = {"smoke": 33, "standard": 100, "full": 256}[budget.name]
    for n in (n for n in WIDE if n <= size_limit):
        for steps in (max(1, n - 1), 2 * n, 5 * n + 2, 16 * n + 1):
            yield {"N": n, "T": steps}


def _counters(
    point: Point, statement: Statement, *, literal_off: int = 0, stream_off: int = 0
) -> Outcome:
    """Compare the counters of both kernels, step by step, with the counts from the bits."""
    n = int(point["N"])
    steps = int(point["T"])
    nodes = Nodes(*np.zeros((3, node_count(steps), 1)))
    for run, count, off in (
        (reconstruct_literal, counts.literal_step, literal_off),
        (reconstruct, counts.stream_step, stream_off),
    ):
        _, adds = run(nodes, examples=n, alpha=0.5, gamma=0.5)
        for t, counted in enumerate(adds.tolist(), 1):
            expected = count(t, n).adds + off * (t == steps)
            if counted != expected:
                return Outcome(
                    False,
                    Fraction(counted),
                    Fraction(expected),
                    f"{run.__name__} at step {t}",
                )
    return Outcome(True)


def _box_sizes(budget: Budget) -> Iterable[dict[str, Any]]:
    size_limit = {"smoke": 40, "standard": 120, "full": 300}[budget.name]
    return (
        {"N": n, "T": steps}
        for n in (1, 2, 3, 5, 8, 13)
        for steps in range(1, size_limit)
    )


def _box_evaluations(steps: int, n: int, *, of_r: int = 2) -> int:
    """Count the gradients in the printed sums of all nodes, by running the loops of the box."""
    count = 0
    for t in range(1, steps + 1):
        for k in range(t.bit_length()):  # "for k = 0, ..., floor(log2 t) do"
            if t % 2**k == 0:  # "if t mod 2^k = 0 then"
                with_delta = t - 2**k + 1 > n  # "if t - 2^k + 1 > N then"
                # F^G one, F^r two and F^Delta two gradients a term
                for _ in range(t - 2**k + 1, t + 1):
                    count += 1 + of_r + 2 * with_delta
    return count


def _by_node(point: Point, statement: Statement, *, of_r: int = 2) -> Outcome:
    """Compare the loops of the box with the closed form, and the closed form with its bounds."""
    n = int(point["N"])
    steps = int(point["T"])
    total, (low, high) = (
        counts.gradients_node_by_node(steps, n),
        counts.node_by_node_bounds(steps),
    )
    counted = _box_evaluations(steps, n, of_r=of_r)
    return Outcome(
        counted == total and low <= total <= high, Fraction(counted), Fraction(total)
    )


def _counts_gradients(point: Point, statement: Statement, *, fewer: int = 0) -> Outcome:
    """Compare the number of gradients that Algorithm 2 evaluates with the count, which is at most 3T."""
    n = int(point["N"])
    steps = int(point["T"])
    evaluated = 0

    def gradient(w: Vector, example: int) -> Vector:
        nonlocal evaluated
        evaluated += 1
        return np.cos(w + example)

    parameters = SrParameters(
        steps=steps, alpha=0.5, gamma=0.5, eta=0.1, sigma=0.0, lipschitz=2.0
    )
    SrNsgdCallable(gradient, n, np.zeros(2), parameters).advance()
    expected = counts.gradients_one_pass(steps, n)
    return Outcome(
        evaluated == expected - fewer and expected <= 3 * steps,
        Fraction(evaluated),
        Fraction(expected),
    )


def _asked_sizes(budget: Budget) -> Iterable[dict[str, Any]]:
    longest = {"smoke": 2, "standard": 4, "full": 8}[budget.name]
    return (
        {"N": n, "T": steps}
        for n in (1, 2, 5, 8)
        for steps in (1, n, n + 1, 3 * n, longest * 10 + 3)
    )


CHECKS.add(
    RuleCheck(
        "section-5-run-time",
        "bounds",
        points=_sizes,
        is_satisfied=_between,
        where=["T >= 4*N"],
        why_sufficient=BOUNDS_ENOUGH,
        variants=("amended",),
        seconds=0.6,
        planted=[
            Planted(
                "9 additions a step for the stream",
                is_satisfied=partial(_between, stream=9),
                at_declared_size=True,
            ),
            Planted(
                "no logarithm above", is_satisfied=partial(_between, logarithm=False)
            ),
            Planted("8 T^2/N below", is_satisfied=partial(_between, lower=16)),
        ],
        region="N up to 64 (smoke), 128, 256; T from 4N to 33N",
    ),
    RuleCheck(
        "section-5-run-time",
        "kernel-counters",
        points=_kernel_sizes,
        is_satisfied=_counters,
        about_kernel=True,
        variants=("amended",),
        seconds=0.4,
        planted=[
            Planted(
                "one addition more, literal",
                is_satisfied=partial(_counters, literal_off=1),
                at_declared_size=True,
            ),
            Planted(
                "one addition more, stream",
                is_satisfied=partial(_counters, stream_off=1),
                at_declared_size=True,
            ),
        ],
        region="additions of every step, N up to 33 (smoke), 100, 256; T up to 16N + 1",
    ),
)
for claim, variant in (
    ("abstract-gradient-evaluations", "amended"),
    ("section-5-gradient-evaluations", "printed"),
):
    CHECKS.add(
        RuleCheck(
            claim,
            "box-loops",
            points=_box_sizes,
            is_satisfied=_by_node,
            readings={"evaluation": "node-by-node"},
            variants=(variant,),
            planted=[
                Planted(
                    "one gradient for r, not two",
                    is_satisfied=partial(_by_node, of_r=1),
                    at_declared_size=True,
                )
            ],
            seconds=0.2,
            region="3 T (log - 2) <= evaluations <= 5 T log, log = floor(log2 T) + 1; N up to 13, T < 40 (smoke), 120, "
            "300",
        ),
        RuleCheck(
            claim,
            "asked",
            points=_asked_sizes,
            is_satisfied=_counts_gradients,
            about_kernel=True,
            readings={"evaluation": "one-pass"},
            planted=[
                Planted(
                    "one fewer",
                    is_satisfied=partial(_counts_gradients, fewer=1),
                    at_declared_size=True,
                )
            ],
            region="whole runs of Algorithm 2 whose gradient counts its calls; at most 3T of them",
        ),
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


CHECKS.add(
    RunTimeCheck(
        "section-5-run-time", "measured", variants=("amended",), least_budget="standard"
    )
)
