"""Check the run times of the two forms of Algorithm 4: operation counts and measured times.

Operation counts are compared with the counters of the kernels, with the loops of the box, and with their bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point, RuleCheck
from dpverify.kernels.typing import Vector
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import Nodes, node_count
from dpverify.papers.tran2022.algorithms.reconstruction.stream import reconstruct
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgdCallable
from dpverify.papers.tran2022.run_time import operation_counts_bounds as counts
from dpverify.papers.tran2022.run_time.checks.run_time_check import RunTimeCheck

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

CHECKS.add(
    RunTimeCheck(
        "section-5-run-time", "measured", variants=("amended",), least_budget="standard"
    )
)
