"""Checks that extend ExhaustiveCheck and SearchCheck: of a rule in code, of an onset, and of a corrected bound.

A rule for example compares two formal sums or two arrays coefficient by coefficient. An onset is the size from which
such a rule holds. ``held_check`` searches for points at which our corrected bound, which is judged by a different
check, is above a refuted bound although the record states that the refuted bound holds there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from flint import arb, ctx

from dpverify.harness.checks import Context, Point, as_point
from dpverify.harness.exact_results import counterexample, edge_at
from dpverify.harness.search.exhaustive_check import ExhaustiveCheck, probed_by_rule
from dpverify.harness.search.search_check import SearchCheck
from dpverify.harness.sides import Outcome, Rule
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.combinations import Combination, Name, first_difference
from dpverify.symbolic.exact.evaluate import evaluate_statement, requires_hold
from dpverify.symbolic.exact.numbers import Exact, to_value


def away_from_boundaries(point: Point) -> bool:
    """Return whether all integers are at least 3 and all other numbers lie strictly between 0 and 1."""
    return all(
        value >= 3 if value.denominator == 1 else 0 < value < 1
        for value in point.values()
    )


@dataclass(frozen=True)
class RuleCheck(ExhaustiveCheck):
    """An :class:`ExhaustiveCheck` that also looks for a counterexample in the interior."""

    # tests whether a point is away from every boundary
    interior: Callable[[Point], bool] = field(
        default=away_from_boundaries, kw_only=True
    )
    # whether a violation means that our sources disagree
    about_kernel: bool = field(default=False, kw_only=True)
    # declared core seconds of a smoke run
    seconds: float = field(default=0.1, kw_only=True)

    def cost(self, context: Context) -> float:
        """Return the declared core seconds. Larger budgets have more points."""
        return self.seconds * {"smoke": 1.0, "standard": 10.0}.get(
            context.budget.name, 100.0
        )

    def result(self, **fields: Any) -> CheckResult:
        """Make a result of this check. A violation of a rule about a kernel says nothing about the paper."""
        if self.about_kernel and fields["status"] == "refuted":
            fields |= {"status": "inconclusive", "kernel_disagrees": True}
        return super().result(**fields)

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Run the base check, and add the first counterexample in the interior."""
        result = super().run_block(context, block)
        if (
            result.status != "refuted"
            or self.is_satisfied is None
            or result.by_certificate
        ):
            return result
        result = msgspec.structs.replace(
            result, message=result.message.removesuffix(f"; {self.why_sufficient}")
        )
        edges = context.statement.edges
        for values in self.points(context.budget):
            point = as_point(values)
            if (
                self.interior(point)
                and not edge_at(edges, point)
                and self.meets_conditions(point, context.statement)
            ):
                probe = probed_by_rule(self.is_satisfied, point, context.statement)
                if probe.holds is False:
                    examples = [
                        example
                        for example in result.counterexamples
                        if example.kind != "interior"
                    ]
                    counterexamples = [*examples, counterexample("interior", probe)]
                    return msgspec.structs.replace(
                        result, counterexamples=counterexamples
                    )
        return result


def of_variant(printed: Rule, amended: Rule) -> Rule:
    """Combine two rules for a statement in words: one for the printed statement, one for its correction."""
    return lambda point, statement: (
        amended if statement.variant == "amended" else printed
    )(point, statement)


@dataclass(frozen=True)
class OnsetCheck(RuleCheck):
    """A :class:`RuleCheck` with a table in its message and a figure. Smoke runs omit both, and decide few points."""

    table: Callable[[], str] = field(kw_only=True)  # describes all onsets

    def cost(self, context: Context) -> float:
        """Return the declared core seconds."""
        return self.seconds * (0.2 if context.budget.name == "smoke" else 1.0)

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Run the base check, and add the table to the message."""
        if context.budget.name == "smoke":
            return RuleCheck.run_block(replace(self, figures=None), context, block)
        result = super().run_block(context, block)
        return msgspec.structs.replace(
            result, message=f"{result.message}; {self.table()}"
        )


def compare_coefficients(
    left: Combination, right: Combination, in_words: Callable[[Name], str]
) -> Outcome:
    """Return whether all coefficients agree; the first that differ become the sides, named by ``in_words``."""
    if (name := first_difference(left, right)) is None:
        return Outcome(True)
    lhs = left.coefficient(name)
    rhs = right.coefficient(name)
    certain = to_value(lhs) < to_value(rhs) or to_value(lhs) > to_value(rhs)
    return Outcome(
        False if certain else None, lhs, rhs, f"coefficients of {in_words(name)}"
    )


def compare_arrays(
    actual: Any,
    expected: Any,
    in_words: Callable[..., str],
    *,
    rtol: float,
    atol: float = 0.0,
) -> Outcome:
    """Return whether two arrays of floats agree up to rounding. ``in_words`` describes an entry by its indices."""
    bad = np.argwhere(~np.isclose(actual, expected, rtol=rtol, atol=atol))
    if not len(bad):
        return Outcome(True)
    at = tuple(int(i) for i in bad[0])
    return Outcome(False, note=f"{in_words(*at)}: {actual[at]} and {expected[at]}")


# declared per point: two bounds with many roots, evaluated to a few hundred bits
SECONDS = 0.005


def held_check(
    claim: str,
    corners: Sequence[Mapping[str, int | Fraction | str]],
    *,
    name: str = "below-corrected",
    **options: Any,
) -> SearchCheck:
    """Return a check that searches the narrower domain for a point where the printed bound is below the correction."""
    left_out = "what the corrected bound leaves room for; it is judged by itself"
    return SearchCheck(
        claim,
        name,
        lhs=corrected_side,
        corners=corners,
        variants=("held",),
        leaves_out=left_out,
        seconds_each=SECONDS,
        **options,
    )


def corrected_side(point: Point, statement: Statement) -> Exact:
    """Return the right side of our correction in the printed letters.

    If the correction's conditions fail, return an infinity that violates the printed relation.
    """
    amended = _corrected(
        statement.siblings[statement.key.partition(":")[2]],
        tuple(statement.reading.items()),
    )
    if amended.relation != statement.relation:
        raise ValueError(
            f"{statement.key}: the correction must have the printed relation, got {amended.relation}."
        )
    if requires_hold(amended, point) is not True:
        return arb("inf" if statement.relation in {"<=", "<"} else "-inf")
    return evaluate_statement(amended, point, precision=ctx.prec)[1]


@lru_cache(maxsize=100)
def _corrected(claim: ClaimSpec, reading: tuple[tuple[str, str], ...]) -> Statement:
    """Return the correction, with the printed definitions of letters that it does not define."""
    held, amended = (
        claim.statement(dict(reading), variant) for variant in ("held", "amended")
    )
    missing = [
        (name, value) for name, value in held.let if name not in amended.let_names
    ]
    return replace(
        amended,
        let=(*missing, *amended.let),
        domains={**held.domains, **amended.domains},
    )
