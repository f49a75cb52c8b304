"""Check of a statement whose conditions allow finitely many points: exact arithmetic at each point decides it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import ceil, floor
from typing import ClassVar

from dpverify.harness.checks import Check, Context, missed_controls
from dpverify.harness.exact_results import (
    FACTORS,
    first_and_largest,
    sharper_statement,
    slack_of,
)
from dpverify.harness.neighbours import true_neighbours
from dpverify.harness.search.constraints import FLIPPED, Inequality, links
from dpverify.harness.search.search import Findings
from dpverify.harness.sides import Prober
from dpverify.ledger.check_results import CheckResult, ControlResult, Method
from dpverify.ledger.formula import Name, free_names, to_text
from dpverify.ledger.records import ORDERS
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import (
    definitions,
    domains_hold,
    evaluate,
    requires_hold,
)
from dpverify.symbolic.exact.numbers import EvaluationError, conjunction

MOST_POINTS = 2000
MOST_SEEN = 10 * MOST_POINTS
SECONDS_EACH = 0.001


@dataclass(frozen=True)
class FiniteCheck(Check):
    """Decide a statement of two formulas at every point of its domain, if its own conditions make the domain finite."""

    method: ClassVar[Method] = "exhaustive"

    def can_judge(self, statement: Statement) -> bool:
        """Return whether both sides are formulas and all symbols are integers with stated bounds."""
        if (
            statement.lhs is None
            or statement.rhs is None
            or statement.relation in ORDERS
        ):
            return False
        box = Box(statement)
        try:
            return (
                box.finite
                and len(list(islice(box.points(), MOST_POINTS + 1))) <= MOST_POINTS
            )
        except NoEndError:
            return False

    def cost(self, context: Context) -> float:
        """Return the declared core seconds."""
        return SECONDS_EACH * MOST_POINTS

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Decide all points. The statement is proved only if there is a point and no point is left undecided."""
        del block
        statement = context.statement
        findings, unsure = _go_through(statement)
        controls: list[ControlResult] = []
        if not findings.violations and (
            sharper := sharper_statement(statement, findings, FACTORS[0])
        ):
            fault, faulty = sharper
            controls = [_go_through(faulty)[0].as_control("sharper", fault, True)]
        missed = (
            ""
            if findings.violations or not findings.probes
            else missed_controls(controls)
        )
        points = f"all {len(findings.probes)} points of the stated domain"
        if not statement.free:
            points = "both sides, which are numbers, as balls of any precision"
        message = f"{points}, {len(findings.violations)} violations"
        open_ends = [
            f"{count} {what}"
            for count, what in (
                (unsure, "of which it is not decided whether they meet the conditions"),
                (findings.undecided, "not decided"),
                (findings.undefined, "at which a side is undefined"),
            )
            if count
        ]
        is_complete = findings.probes and not open_ends and not missed
        return self.result(
            status="refuted"
            if findings.violations
            else "proved"
            if is_complete
            else "untested",
            message="; ".join(filter(None, [", ".join([message, *open_ends]), missed])),
            n=len(findings.probes),
            detects="a violation at any point",
            region="; ".join(
                f"{name}: {domain}"
                for name, domain in sorted(statement.domains.items())
            )
            + "".join(f"; {to_text(condition)}" for condition in statement.requires),
            counterexamples=first_and_largest(findings.violations, statement.edges),
            slack=slack_of(findings, statement.relation or "="),
            controls=controls,
            true_neighbours=_neighbours(statement, findings)
            if findings.violations
            else [],
        )


def _go_through(statement: Statement) -> tuple[Findings, int]:
    """Probe every point of the domain. Also return the number of points whose membership is undecided."""
    findings = Findings()
    prober = Prober(statement, None)
    unsure = 0
    for point in Box(statement).points():
        inside = _belongs(point, statement)
        if inside is not True:
            unsure += inside is None
            continue
        if (probe := prober.probe(point)) is not None:
            findings.probes.append(probe)
            if probe.holds is False:
                findings.violations.append(probe)
    findings.undefined = prober.undefined
    return findings, unsure


def _neighbours(statement: Statement, findings: Findings) -> list[ControlResult]:
    return true_neighbours(
        statement, findings, "formulas", decide=Prober(statement, None).probe
    )


def _belongs(point: dict[str, Fraction], statement: Statement) -> bool | None:
    """Return whether a point meets all domains and conditions; None if that is undecided or a term is undefined."""
    try:
        values = definitions(statement, point)
        integers = (
            values[name]
            for name, domain in statement.domains.items()
            if domain.kind == "integer"
        )
        if not all(isinstance(value, Fraction | int) for value in integers):
            return None
        return conjunction(
            (domains_hold(statement.domains, values), requires_hold(statement, point))
        )
    except EvaluationError:
        return None


class NoEndError(ValueError):
    """A letter has no bound that is known exactly, or there are too many points."""


class Box:
    """Integer points between bounds that conditions give exactly, as functions of the letters before each letter."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        constraints = [
            c for domain in statement.domains.values() for c in domain.constraints
        ]
        self.links = [
            link for c in (*constraints, *statement.requires) for link in links(c)
        ]
        # values of letters tried so far, including those that lead to no point
        self.seen = 0

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Letters ordered so that the earlier ones bound each from both sides; incomplete if that is impossible."""
        order: list[str] = []
        remaining = [
            name
            for name in self.statement.free
            if self.statement.domains[name].kind == "integer"
        ]
        while name := next(
            (letter for letter in remaining if all(self._ends(letter, order))), ""
        ):
            order.append(name)
            remaining.remove(name)
        return tuple(order)

    @property
    def finite(self) -> bool:
        """Whether every letter is an integer with two bounds."""
        return len(self.order) == len(self.statement.free)

    def points(
        self, values: dict[str, Fraction] | None = None
    ) -> Iterator[dict[str, Fraction]]:
        """Yield all points of the box. The caller tests whether they meet all conditions."""
        values = values or {}
        if len(values) == len(self.order):
            yield values
            return
        name = self.order[len(values)]
        below, above = self._ends(name, list(values))
        lows = [value for link in below for value in _value(link, values)]
        highs = [value for link in above for value in _value(link, values)]
        if not lows or not highs:
            raise NoEndError(
                f"{self.statement.key}: no end of {name} is known exactly."
            )
        for value in range(ceil(max(lows)), floor(min(highs)) + 1):
            self.seen += 1
            if self.seen > MOST_SEEN:
                raise NoEndError(
                    f"{self.statement.key}: its domain has too many points."
                )
            yield from self.points({**values, name: Fraction(value)})

    def _ends(
        self, name: str, assigned: list[str]
    ) -> tuple[list[Inequality], list[Inequality]]:
        """Return the inequalities that bound a letter from below and from above by assigned letters."""
        turned = [
            link if link.left == Name(name) else _turned(link) for link in self.links
        ]
        about_letter = [
            inequality for inequality in turned if inequality.left == Name(name)
        ]
        usable = [
            inequality
            for inequality in about_letter
            if free_names(inequality.right) <= set(assigned)
        ]
        below = [
            inequality for inequality in usable if inequality.op in {">", ">=", "=="}
        ]
        return below, [
            inequality for inequality in usable if inequality.op in {"<", "<=", "=="}
        ]


def _turned(link: Inequality) -> Inequality:
    return Inequality(FLIPPED[link.op], link.right, link.left)


def _value(link: Inequality, assigned: dict[str, Fraction]) -> Iterator[Fraction]:
    """Yield a bound if it is rational. An interval around an irrational bound might exclude an integer."""
    try:
        value = evaluate(link.right, assigned)
    except EvaluationError:
        return
    if isinstance(value, Fraction | int):
        yield Fraction(value)
