"""A rule at every point of a finite set, with two counterexamples: the smallest, and one away from every boundary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from dpverify.harness import Context, ExhaustiveCheck, Outcome, Point
from dpverify.harness.context import as_point
from dpverify.harness.search.exact_results import numbers
from dpverify.ledger.results import CheckResult, Counterexample, Number
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.decide import to_number
from dpverify.symbolic.exact.numbers import Exact


def away_from_boundaries(point: Point) -> bool:
    """Integers from 3 on, and no number at 0 or 1."""
    return all(value >= 3 if value.denominator == 1 else 0 < value < 1 for value in point.values())


@dataclass(frozen=True)
class RuleCheck(ExhaustiveCheck):
    """An :class:`ExhaustiveCheck` that looks for a counterexample in the interior as well."""

    # what counts as away from every boundary
    interior: Callable[[Point], bool] = field(default=away_from_boundaries, kw_only=True)
    # whether the rule holds a kernel against the algebra: a violation is then a disagreement of our sources, and no
    # verdict on the paper
    about_kernel: bool = field(default=False, kw_only=True)
    # columns of the figures that go with the result, by name
    figures: Callable[[], dict[str, dict[str, list[float]]]] | None = field(default=None, kw_only=True)
    seconds: float = field(default=0.1, kw_only=True)  # declared core seconds of a smoke run

    def cost(self, context: Context) -> float:
        """Declared core seconds; longer budgets look at more points."""
        return self.seconds * {"smoke": 1.0, "standard": 10.0}.get(context.budget.name, 100.0)

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Do what the base does, and add the first counterexample in the interior."""
        result = super().run_block(context, block)
        if self.figures is not None:
            result = msgspec.structs.replace(result, figures=self.figures())
        if result.status == "refuted" and self.about_kernel:
            return msgspec.structs.replace(result, status="inconclusive", kernel_disagrees=True)
        if result.status != "refuted" or self.holds is None:
            return result
        result = msgspec.structs.replace(result, message=result.message.removesuffix(f"; {self.why_sufficient}"))
        for values in self.points(context.budget):
            point = as_point(values)
            if self.interior(point) and self.meets_conditions(point, context.statement):
                said = self.holds(point, context.statement)
                outcome = said if isinstance(said, Outcome) else Outcome(said)
                if outcome.ok is False:
                    inside = _inside(point, outcome)
                    return msgspec.structs.replace(result, counterexamples=[*result.counterexamples, inside])
        return result


def _inside(point: Point, outcome: Outcome) -> Counterexample:
    return Counterexample(
        kind="interior",
        parameters=numbers(point),
        lhs=_number(outcome.lhs),
        rhs=_number(outcome.rhs),
        note=outcome.note,
    )


def _number(side: Exact | None) -> Number:
    return Number(float="nan") if side is None else to_number(side)


def of_variant(
    printed: Callable[[Point, Statement], bool | Outcome | None],
    amended: Callable[[Point, Statement], bool | Outcome | None],
) -> Callable[[Point, Statement], bool | Outcome | None]:
    """Rule of a statement in words: one for what is printed, one for its correction.

    The one that the statement's variant asks for.
    """
    return lambda point, statement: (amended if statement.variant == "amended" else printed)(point, statement)
