"""Check of a vector identity: the coefficients of every gradient on both sides are equal, exactly.

``IdentityCheck`` compares the coefficients under each ordering, for runs of many sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import ClassVar

from dpverify.harness import Budget, Check, Context, Outcome, Planted, Point
from dpverify.harness.checks import as_point, missed_controls
from dpverify.harness.exact_results import CounterexampleKind, counterexample
from dpverify.harness.neighbours import MOST_POINTS, neighbour_result
from dpverify.harness.search.derived_checks import compare_coefficients
from dpverify.harness.search.exhaustive_check import as_probe
from dpverify.ledger.check_results import (
    CheckResult,
    ControlResult,
    Counterexample,
    Method,
)
from dpverify.ledger.formula import parse, to_text
from dpverify.ledger.records import Status
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.identities.combinations_bounds import Function, in_words
from dpverify.symbolic.exact.combinations import Combination, kronecker_point
from dpverify.symbolic.exact.evaluate import (
    domains_hold,
    evaluate_statement,
    requires_hold,
)
from dpverify.symbolic.exact.numbers import to_value

Size = Mapping[str, int]  # Values of the integer symbols: N, T or t, window

Functions = Callable[[Statement, Size, Fraction], Sequence[Mapping[str, Function]]]
"""Maps a statement, a size and alpha to the paper's functions, once for each convention that the paper leaves open."""

# Readable points (alpha, gamma)
PLAIN = (Fraction(1, 2), Fraction(1, 2)), (Fraction(2, 5), Fraction(1, 3))

# Larger than all integer coefficients of identities
# of up to MOST_EPOCHS epochs: NOTES_identities.md
HEIGHT = 4095

MOST_EPOCHS = 16  # Longer runs are compared at the points PLAIN only

_Seen = tuple[dict[str, Fraction], Outcome]  # A point, and the outcome there


@dataclass(frozen=True)
class IdentityFault:
    """A planted fault in a vector identity."""

    name: str  # short name
    text: str  # description
    # wrong right side, in which ``printed`` means the
    # printed one; empty if the fault is elsewhere
    rhs: str = ""
    # a part of the right side, in the formula language, and its wrong replacement
    change: tuple[str, str] = ("", "")
    functions: Functions | None = None  # functions with a fault
    # whether it is the smallest fault that the check claims to detect
    at_declared_size: bool = False
    # the only ordering under which it is a fault;
    # empty if it is one under all orderings
    ordering: str = ""

    def applies(self, statement: Statement) -> bool:
        """Return whether it is a fault under the statement's reading, and a corrected side has the text to change."""
        absent = (
            statement.variant == "amended"
            and statement.rhs is not None
            and self.change[0] not in to_text(statement.rhs)
        )
        return (
            self.ordering in {"", statement.reading.get("ordering", "")} and not absent
        )

    def statement(self, statement: Statement) -> Statement:
        """Return the statement with the wrong right side."""
        if self.rhs:
            return Planted(self.name, rhs=self.rhs).statement(statement)
        old, new = self.change
        if not old or statement.rhs is None:
            return statement
        text = to_text(statement.rhs)
        if old not in text:
            raise ValueError(
                f"planted fault {self.name!r}: {old!r} does not occur in {text!r}."
            )
        return replace(statement, rhs=parse(text.replace(old, new)))


@dataclass(frozen=True)
class IdentityCheck(Check):
    """Decide a vector identity at every size of a finite set, for all alpha and gamma at once."""

    # sizes for a budget, small ones first; sizes
    # outside the statement's domain are skipped
    sizes: Callable[[Budget], Iterable[Size]] = field(kw_only=True)
    # the paper's functions under each convention that the
    # paper leaves open. The statement holds if it holds under
    # all of them, and fails if it fails under all of them.
    functions: Functions = field(kw_only=True)
    # faults that the check must refute
    faults: Sequence[IdentityFault] = field(kw_only=True)
    region: str = field(default="", kw_only=True)  # the sizes in words

    method: ClassVar[Method] = "exhaustive"

    def can_judge(self, statement: Statement) -> bool:
        """Return whether both sides are formulas."""
        return statement.lhs is not None and statement.rhs is not None

    def cost(self, context: Context) -> float:
        """Return the declared cost in core seconds."""
        return {"smoke": 0.15, "standard": 3.0}.get(context.budget.name, 20.0)

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Compare coefficients at every point, and again for each fault until it is refuted."""
        statement = context.statement
        outcomes = list(self._go_through(context, statement, self.functions))
        if not outcomes:
            raise ValueError(f"sizes of check {self.name!r} must not be empty.")
        violations = [
            (point, outcome) for point, outcome in outcomes if outcome.ok is False
        ]
        undecided = sum(outcome.ok is None for _, outcome in outcomes)
        controls = (
            []
            if violations
            else [
                self._control(context, f) for f in self.faults if f.applies(statement)
            ]
        )
        missed = "" if violations else missed_controls(controls)
        status: Status = "not refuted"
        if violations:
            status = "refuted"
        elif missed or undecided:
            status = "inconclusive"
        message = f"{len(outcomes)} points, {len(violations)} violations" + (
            f", {undecided} open" if undecided else ""
        )
        return self.result(
            status=status,
            message="; ".join(filter(None, [message, missed])),
            n=len(outcomes),
            detects="any difference between two coefficients of a gradient",
            region=self.region,
            counterexamples=_counterexamples(violations),
            controls=controls,
            true_neighbours=[self._neighbour(context)] if violations else [],
        )

    def _neighbour(self, context: Context) -> ControlResult:
        """Compare the left side with itself at the first points, as a true statement that must not be refuted."""
        same = replace(context.statement, rhs=context.statement.lhs)
        compared = list(
            islice(self._go_through(context, same, self.functions), MOST_POINTS)
        )
        refuted = not all(outcome.ok is True for _, outcome in compared)
        statistic = f"{len(compared)} points"
        return neighbour_result(
            "left for right",
            "the left side on both sides",
            refuted=refuted,
            statistic=statistic,
        )

    def _control(self, context: Context, fault: IdentityFault) -> ControlResult:
        statement = fault.statement(context.statement)
        functions = fault.functions or self.functions
        count = 0
        refuted = False
        for _, outcome in self._go_through(context, statement, functions):
            count += 1
            if refuted := outcome.ok is False:
                break
        return ControlResult(
            name=fault.name,
            fault=fault.text,
            at_declared_size=fault.at_declared_size,
            refuted=refuted,
            statistic=f"{count} points",
        )

    def _go_through(
        self, context: Context, statement: Statement, functions: Functions
    ) -> Iterator[_Seen]:
        for size in self.sizes(context.budget):
            for alpha, gamma in _weights(size):
                point = as_point({**size, "alpha": alpha, "gamma": gamma})
                inside = (
                    domains_hold(statement.domains, point),
                    requires_hold(statement, point),
                )
                if all(answer is True for answer in inside):
                    yield (
                        point,
                        _compare(statement, point, functions(statement, size, alpha)),
                    )


def _weights(size: Size) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield the points PLAIN (alpha, gamma), and for short runs a Kronecker point, which decides for all values."""
    yield from PLAIN
    steps = max(size.get("T", 1), size.get("t", 1))
    epochs = -(-steps // size.get("N", steps))
    if epochs <= MOST_EPOCHS and steps <= 4 * MOST_EPOCHS:
        yield kronecker_point(steps + 1, epochs + 1, HEIGHT)


def _compare(
    statement: Statement, point: Point, conventions: Sequence[Mapping[str, Function]]
) -> Outcome:
    """Compare both sides under each convention; the outcome is undecided unless all conventions agree."""
    outcomes = [_compare_once(statement, point, functions) for functions in conventions]
    if all(outcome.ok for outcome in outcomes):
        return outcomes[0]
    if all(outcome.ok is False for outcome in outcomes):
        return outcomes[-1]
    return Outcome(None, note="it depends on a convention")


def _compare_once(
    statement: Statement, point: Point, functions: Mapping[str, Function]
) -> Outcome:
    sides = evaluate_statement(statement, {**point, **functions})
    left, right = (
        side if isinstance(side, Combination) else Combination({}) + to_value(side or 0)
        for side in sides
    )
    return compare_coefficients(left, right, in_words)


def _counterexamples(violations: list[_Seen]) -> list[Counterexample]:
    """Return the first violation, and the first one that is not a boundary case."""
    chosen: list[tuple[CounterexampleKind, _Seen]] = [
        ("smallest", violation) for violation in violations[:1]
    ]
    chosen += [
        ("interior", violation) for violation in violations if _inside(violation[0])
    ][:1]
    return [
        counterexample(kind, as_probe(point, violation))
        for kind, (point, violation) in chosen
    ]


def _inside(point: Point) -> bool:
    """Test for an interior point: at least 3 examples, at least 2 epochs and a part of one, and alpha != gamma."""
    steps = point.get("T", point.get("t", Fraction(0)))
    n = point.get("N")
    cut = steps >= 3 if n is None else n >= 3 and steps >= 2 * n and steps % n != 0
    return cut and point.get("alpha", Fraction(0)) != point.get("gamma", Fraction(1))
