"""Checks of a statement by a rule that code decides, and of the size from which on such a rule holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from dpverify.harness.context import Context, Point, as_point
from dpverify.harness.edges import edge_at
from dpverify.harness.planted import Rule
from dpverify.harness.search.exact_results import counterexample
from dpverify.harness.search.exhaustive_check import ExhaustiveCheck, probed_by_rule
from dpverify.ledger.results import CheckResult


def away_from_boundaries(point: Point) -> bool:
    """Integers from 3 on, and no number at 0 or 1."""
    return all(value >= 3 if value.denominator == 1 else 0 < value < 1 for value in point.values())


@dataclass(frozen=True)
class RuleCheck(ExhaustiveCheck):
    """An :class:`ExhaustiveCheck` that looks for a counterexample in the interior as well."""

    interior: Callable[[Point], bool] = field(default=away_from_boundaries, kw_only=True)  # away from every boundary
    about_kernel: bool = field(default=False, kw_only=True)  # whether a violation is a disagreement of our sources
    seconds: float = field(default=0.1, kw_only=True)  # declared core seconds of a smoke run

    def cost(self, context: Context) -> float:
        """Declared core seconds; longer budgets look at more points."""
        return self.seconds * {"smoke": 1.0, "standard": 10.0}.get(context.budget.name, 100.0)

    def result(self, **fields: Any) -> CheckResult:
        """Make a result of this check; a violation of a rule about a kernel says nothing of the paper."""
        if self.about_kernel and fields["status"] == "refuted":
            fields |= {"status": "inconclusive", "kernel_disagrees": True}
        return super().result(**fields)

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Do what the base does, and add the first counterexample in the interior."""
        result = super().run_block(context, block)
        if result.status != "refuted" or self.holds is None or result.by_certificate:
            return result
        result = msgspec.structs.replace(result, message=result.message.removesuffix(f"; {self.why_sufficient}"))
        edges = context.statement.edges
        for values in self.points(context.budget):
            point = as_point(values)
            if self.interior(point) and not edge_at(edges, point) and self.meets_conditions(point, context.statement):
                probe = probed_by_rule(self.holds, point, context.statement)
                if probe.holds is False:
                    examples = [example for example in result.counterexamples if example.kind != "interior"]
                    counterexamples = [*examples, counterexample("interior", probe)]
                    return msgspec.structs.replace(result, counterexamples=counterexamples)
        return result


def of_variant(printed: Rule, amended: Rule) -> Rule:
    """Make the rule of a statement in words from two: one for what is printed, one for its correction."""
    return lambda point, statement: (amended if statement.variant == "amended" else printed)(point, statement)


@dataclass(frozen=True)
class OnsetCheck(RuleCheck):
    """A :class:`RuleCheck` with a table in its message and a figure; smoke runs make neither, and look at few cells."""

    table: Callable[[], str] = field(kw_only=True)  # all onsets in words

    def cost(self, context: Context) -> float:
        """Declared core seconds."""
        return self.seconds * (0.2 if context.budget.name == "smoke" else 1.0)

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Do what the base does, and add the table to the message."""
        if context.budget.name == "smoke":
            return RuleCheck.run_block(replace(self, figures=None), context, block)
        result = super().run_block(context, block)
        return msgspec.structs.replace(result, message=f"{result.message}; {self.table()}")
