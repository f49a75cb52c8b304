"""Sensitivity measured on the kernels, held against the closed form, and both against what is printed.

On the worst-case problem each node must move by exactly what the closed form says; on random problems, orders and noisy
paths, never by more. Where the kernel does not follow the closed form, one of the two is wrong, and nothing is said of
the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, TypeAlias

import msgspec

from dpverify.harness import Check, Context
from dpverify.harness.checks import missed_controls
from dpverify.harness.search.exact_results import counterexample
from dpverify.harness.sides import Probe, Prober
from dpverify.ledger.records import Status
from dpverify.ledger.results import CheckResult, ControlResult, Counterexample, Method
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.sensitivity.checks.nodes import ordering_of
from dpverify.papers.tran2022.sensitivity.checks.replay_runs import (
    FAULTS,
    LIPSCHITZ,
    NO_FAULT,
    RUNS,
    SEEN,
    SHORT_RUNS,
    SMOOTHNESS,
    Family,
    Fault,
    RunCase,
    law,
    measured,
    random_ratios,
)
from dpverify.papers.tran2022.sensitivity.visit_patterns_bounds import Ordering
from dpverify.symbolic.exact.numbers import EvaluationError
from dpverify.symbolic.exact.statements import requires_hold

TOLERANCE = 1e-11
"""Relative rounding allowed between the kernel and the closed form."""
RANDOM_RUNS = {"smoke": 100, "standard": 1_000, "full": 10_000}

Measured: TypeAlias = tuple[RunCase, int, int, float]
"""A run, the ends of a node, and how far it moved."""
Figures: TypeAlias = Callable[[], Mapping[str, dict[str, list[float]]]]


@dataclass(frozen=True)
class ReplayCheck(Check):
    """Measure every node of several runs on two neighbours, with what was released held fixed."""

    family: Family = field(kw_only=True)  # "f" of Algorithm 1, or "g", "delta" or "r" of Algorithm 2
    # the statement's names for the first and last step of a node; those of the report where it has none
    ends: tuple[str, str] = field(default=("start", "end"), kw_only=True)
    # figures for the report, shown once: with the printed statement under "fresh"
    figures: Figures | None = field(default=None, kw_only=True)

    method: ClassVar[Method] = "exact-law"

    def can_judge(self, statement: Statement) -> bool:
        """Whether there is a formula on the right, and a reading of the order."""
        return statement.rhs is not None and "ordering" in statement.reading

    def cost(self, context: Context) -> float:
        """Declared core seconds."""
        return 0.5 + 0.005 * RANDOM_RUNS[context.budget.name]

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Measure, compare, and plant the faults.

        "refuted" where a measured node is beyond the statement, else "not refuted".
        """
        statement, ordering = context.statement, ordering_of(context.statement)
        own = self._measure(ordering, NO_FAULT, RUNS)
        low, high, worst = self._compare(ordering, own)
        random = [random_ratios(self.family, ordering, context.rng(i)) for i in range(RANDOM_RUNS[context.budget.name])]
        beyond = max(random, key=lambda found: found[0])
        disagreement = worst
        if beyond[0] > 1.0 + TOLERANCE:
            disagreement = disagreement or f"a random run ({beyond[1]}) moves a node by {beyond[0]:.12g} of its most"
        controls = list(self._controls(ordering))
        missed = missed_controls(controls)
        violations = [] if disagreement else list(self._beyond(statement, ordering, own))
        shown = (statement.variant, ordering) == ("printed", "fresh")
        status: Status = "refuted" if violations else "inconclusive" if missed or disagreement else "not refuted"
        return CheckResult(
            name=self.name,
            method="exact-law",
            status=status,
            message="; ".join(filter(None, [disagreement, missed])),
            n=len(own) + len(random),
            detects=f"a node that moves by more or less than the closed form, by a share of {SEEN:g}",
            statistic=f"measured/exact from 1{low - 1:+.1e} to 1{high - 1:+.1e} at {len(own)} nodes of the worst-case "
            f"problem; at most {beyond[0]:.6g} over {len(random)} random runs",
            region="; ".join(f"N={c.N}, T={c.T}, alpha={c.alpha}, eta={c.eta}" for c in RUNS),
            leaves_out="G = L = 1; floats, not real arithmetic",
            kernel_disagrees=bool(disagreement),
            counterexamples=_two_of(violations),
            controls=controls,
            figures=dict(self.figures()) if shown and self.figures is not None else {},
        )

    def _measure(self, ordering: Ordering, fault: Fault, runs: Sequence[RunCase]) -> list[Measured]:
        return [
            (case, start, end, distance)
            for case in runs
            for start, end, distance in measured(self.family, case, ordering, fault)
        ]

    def _compare(self, ordering: Ordering, found: Sequence[Measured]) -> tuple[float, float, str]:
        """Smallest and largest measured/exact, and the first node that is off, in words."""
        low, high, off = 1.0, 1.0, ""
        for case, start, end, distance in found:
            exact = float(law(self.family, start, end, case, ordering))
            ratio = distance / exact if exact else 1.0 + distance
            low, high = min(low, ratio), max(high, ratio)
            if abs(ratio - 1.0) > TOLERANCE and not off:
                off = f"node [{start}, {end}] of N={case.N}, T={case.T}: measured {distance!r}, exact {exact!r}"
        return low, high, off

    def _controls(self, ordering: Ordering) -> Iterator[ControlResult]:
        """Plant each fault into the short runs."""
        for fault in FAULTS[self.family]:
            *_, off = self._compare(ordering, self._measure(ordering, fault, SHORT_RUNS))
            yield ControlResult(
                name=fault.name,
                fault=fault.text,
                at_declared_size=fault.name == "scaled",
                refuted=bool(off),
                statistic=off,
            )

    def _beyond(self, statement: Statement, ordering: Ordering, found: Sequence[Measured]) -> Iterator[Counterexample]:
        """Measured nodes at which the statement fails, in the order of the runs."""
        known: dict[tuple[Fraction, ...], tuple[int, int, RunCase]] = {}
        prober = Prober(statement, lambda point, _: law(self.family, *known[_key(point, self.ends)], ordering))
        for case, start, end, distance in found:
            point = self._point(case, start, end)
            known[_key(point, self.ends)] = (start, end, case)
            if requires_hold(statement, point) is not True:
                continue
            probe = _probe(prober, point)
            if probe is not None and probe.holds is False:
                note = f"measured on the kernels: {distance:.12g}"
                yield msgspec.structs.replace(counterexample("smallest", probe), note=note)

    def _point(self, case: RunCase, start: int, end: int) -> dict[str, Fraction]:
        first, last = self.ends
        names = {"G": LIPSCHITZ} if self.family in {"f", "g"} else {"L": SMOOTHNESS, "eta": case.eta}
        return {"N": Fraction(case.N), "alpha": case.alpha, first: Fraction(start), last: Fraction(end), **names}


def _probe(prober: Prober, point: dict[str, Fraction]) -> Probe | None:
    try:
        return prober.probe(point)
    except EvaluationError:
        return None


def _key(point: Mapping[str, Fraction], ends: tuple[str, str]) -> tuple[Fraction, ...]:
    return tuple(point[name] for name in ("N", "alpha", *ends))


def _two_of(violations: list[Counterexample]) -> list[Counterexample]:
    """The first violation, and the one with the largest ratio."""
    if not violations:
        return []
    largest = max(violations, key=_ratio)
    others = [msgspec.structs.replace(largest, kind="largest-ratio")] if largest is not violations[0] else []
    return [violations[0], *others]


def _ratio(found: Counterexample) -> float:
    right = float(found.rhs.float)
    return float(found.lhs.float) / right if right else float("inf")
