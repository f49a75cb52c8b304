"""Decide a statement by exact arithmetic at every point of a finite set.

This proves a formula without letters. For other statements it is at most an argument. A statement may also be judged
by a rule in code; see ``derived_checks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar

from dpverify.harness.admissible import unmet_conditions
from dpverify.harness.checks import (
    BUDGETS,
    Budget,
    Check,
    Context,
    Point,
    as_point,
    missed_controls,
)
from dpverify.harness.exact_results import (
    FACTORS,
    first_and_largest,
    refuted_again,
    sharper_statement,
    slack_of,
)
from dpverify.harness.neighbours import JudgedBy, true_neighbours
from dpverify.harness.search.constraints import FLIPPED, Inequality, links
from dpverify.harness.search.search import Findings
from dpverify.harness.sides import (
    ChangedStatement,
    LeftSide,
    Outcome,
    Planted,
    Probe,
    Prober,
    Rule,
    TrueNeighbour,
)
from dpverify.ledger.check_results import CheckResult, ControlResult, Method, Number
from dpverify.ledger.formula import parse_relation, to_text
from dpverify.ledger.records import ORDERS
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import to_number


def unimplied_conditions(where: Sequence[str], statement: Statement) -> list[str]:
    """List the conditions that do not follow from a statement's own conditions and domains."""
    stated = [
        c for domain in statement.domains.values() for c in domain.constraints
    ] + list(statement.requires)
    conditions = {
        _as_less_than(link) for condition in stated for link in links(condition)
    }
    links_of = {
        text: [_as_less_than(link) for link in links(parse_relation(text))]
        for text in where
    }
    return [
        text
        for text, parts in links_of.items()
        if not all(part in conditions for part in parts)
        and not _implied(text, parts, statement)
    ]


def _as_less_than(link: Inequality) -> Inequality:
    return (
        Inequality(FLIPPED[link.op], link.right, link.left)
        if link.op in {">", ">="}
        else link
    )


def _implied(text: str, parts: Sequence[Inequality], statement: Statement) -> bool:
    if any(part.names - statement.domains.keys() for part in parts):
        return False
    # sympy is slow to import
    from dpverify.symbolic.expressions.translation import sympy_conditions
    from dpverify.symbolic.prove.facts import Facts
    from dpverify.symbolic.prove.signs import is_implied

    granted = sympy_conditions(statement)
    try:
        relations = sympy_conditions(
            replace(statement, requires=(parse_relation(text),))
        )
    except ValueError:  # it contradicts a domain
        return False
    facts = Facts().assume(granted)
    return all(
        relation in granted or is_implied(relation, facts) for relation in relations
    )


PointLike = Mapping[str, int | Fraction | str]
NO_NUMBER = Number(float="nan")


@dataclass(frozen=True)
class ExhaustiveCheck(Check):
    """Decide a statement at every point of a finite set that meets the statement's conditions."""

    # The points for a budget; points that do not meet the statement's conditions are
    # skipped and counted.
    points: Callable[[Budget], Iterable[PointLike]] = field(kw_only=True)
    # left side at a point; None: the claim's formula
    lhs: LeftSide | None = field(default=None, kw_only=True)
    # Rule that replaces the two sides of a statement in words. If a point lacks a
    # symbol, the rule must test the conditions on it.
    is_satisfied: Rule | None = field(default=None, kw_only=True)
    # Prose that explains why these points suffice; the statement is then argued. Empty
    # if they do not suffice.
    why_sufficient: str = field(default="", kw_only=True)
    # Conditions that ``why_sufficient`` assumes. The statement must grant each of them.
    where: Sequence[str] = field(default=(), kw_only=True)
    # Faults that must be refuted. With ``is_satisfied`` at least one is required;
    # otherwise one is generated.
    planted: Sequence[Planted] = field(default=(), kw_only=True)
    # Weaker statements that hold at all points. Required if code decides and refutes
    # the statement at every point.
    neighbours: Sequence[TrueNeighbour] = field(default=(), kw_only=True)
    region: str = field(default="", kw_only=True)
    figures: Callable[[Context], dict[str, dict[str, list[float]]]] | None = field(
        default=None, kw_only=True
    )

    method: ClassVar[Method] = "exhaustive"
    # whether the points are built from the statement's own conditions
    reads_conditions: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.is_satisfied is not None and self.lhs is not None:
            raise ValueError(
                f"check {self.name!r} must give lhs or is_satisfied, not both."
            )
        if self.is_satisfied is not None and not self.planted:
            raise ValueError(
                f"check {self.name!r} must plant a fault: a rule that nothing breaks cannot fail."
            )

    def can_judge(self, statement: Statement) -> bool:
        """Return whether there is a rule, or two sides and a relation that is decidable at a point."""
        sides = statement.rhs is not None and (
            self.lhs is not None or statement.lhs is not None
        )
        return self.is_satisfied is not None or (
            sides and statement.relation not in ORDERS
        )

    def cost(self, context: Context) -> float:
        """Return the declared core seconds, which most sets of points do not use up."""
        return {"smoke": 0.12, "standard": 1.5}.get(context.budget.name, 10.0)

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Decide all points, then decide them again for each control until it is refuted."""
        statement = context.statement
        if (
            recorded := refuted_again(
                context, lambda point: self._probe_recorded(context, point)
            )
        ) is not None:
            return recorded
        findings = self._go_through(
            context, statement, self.lhs, self.is_satisfied, stop=False
        )
        controls = self._controls(context, statement, findings)
        missed = (
            missed_controls(controls) if controls or not findings.violations else ""
        )
        open_ends = missed or findings.undecided or findings.undefined
        unimplied = (
            unimplied_conditions(self.where, statement)
            if self.why_sufficient and not findings.violations
            else []
        )
        enough = (
            "argued" if self.is_satisfied or self.lhs or statement.free else "proved"
        )
        holds_status = (
            enough if self.why_sufficient and not unimplied else "not refuted"
        )
        message = (
            f"{len(findings.probes)} points, {len(findings.violations)} violations"
        )
        if findings.undecided or findings.undefined:
            message += f", {findings.undecided} not decided, {findings.undefined} at which a side is undefined"
        if findings.outside:
            message += f", {findings.outside} more skipped because they do not meet the conditions"
        if unimplied:
            message += f", no proof: it needs {', '.join(unimplied)}, which the statement does not grant"
        return self.result(
            status="refuted"
            if findings.violations
            else "inconclusive"
            if open_ends
            else holds_status,
            message="; ".join(
                filter(
                    None, [message, "" if unimplied else self.why_sufficient, missed]
                )
            ),
            n=len(findings.probes),
            detects="a violation at any of the points",
            region=self.region,
            counterexamples=first_and_largest(findings.violations, statement.edges),
            slack=slack_of(findings, statement.relation or "=")
            if self.is_satisfied is None
            else None,
            controls=controls,
            true_neighbours=self._neighbours(context, findings)
            if findings.violations
            else [],
            figures={} if self.figures is None else self.figures(context),
        )

    def meets_conditions(self, point: Point, statement: Statement) -> bool:
        """Return whether a point certainly meets the conditions and domains on its symbols."""
        return not unmet_conditions(statement, point)

    def _probe_recorded(
        self, context: Context, point: dict[str, Fraction]
    ) -> Probe | None:
        """Probe the point of a recorded counterexample if this budget or the standard budget contains it."""
        statement = context.statement
        among = (
            point in map(as_point, self.points(budget))
            for budget in (context.budget, BUDGETS["standard"])
        )
        if not any(among) or not self.meets_conditions(point, statement):
            return None
        return _probe(Prober(statement, self.lhs), self.is_satisfied, point)

    def _go_through(
        self,
        context: Context,
        statement: Statement,
        lhs: LeftSide | None,
        rule: Rule | None,
        *,
        stop: bool,
    ) -> Findings:
        """Probe every point; stop at the first violation if ``stop`` is set."""
        findings = Findings()
        prober = Prober(statement, lhs)
        visited = 0
        for values in self.points(context.budget):
            visited += 1
            point = as_point(values)
            if not self.meets_conditions(point, statement):
                findings.outside += 1
                continue
            if (probe := _probe(prober, rule, point)) is None:
                continue
            findings.probes.append(probe)
            if probe.holds is False:
                findings.violations.append(probe)
                if stop:
                    break
        if visited == 0:
            raise ValueError(f"points of check {self.name!r} must not be empty.")
        if visited == findings.outside:
            conditions = ", ".join(
                to_text(condition) for condition in statement.requires
            )
            raise ValueError(
                f"points of check {self.name!r} must meet {conditions}: none of {visited} does."
            )
        findings.undefined = prober.undefined
        return findings

    def _controls(
        self, context: Context, statement: Statement, findings: Findings
    ) -> list[ControlResult]:
        results = []
        if (
            self.is_satisfied is None
            and not findings.violations
            and (sharper := sharper_statement(statement, findings, FACTORS[0]))
        ):
            fault, faulty = sharper
            faulty_findings = self._go_through(
                context, faulty, self.lhs, None, stop=True
            )
            results.append(faulty_findings.as_control("sharper", fault, True))
        for planted in self.planted:
            faulty_findings = self._changed(context, planted)
            results.append(
                faulty_findings.as_control(
                    planted.name,
                    planted.rhs or "another rule",
                    planted.at_declared_size,
                )
            )
        return results

    def _changed(self, context: Context, changed: ChangedStatement) -> Findings:
        """Decide the points for a changed statement until it is refuted."""
        rule = changed.is_satisfied or (
            self.is_satisfied if changed.lhs is None else None
        )
        statement = changed.statement(context.statement)
        return self._go_through(
            context, statement, changed.lhs or self.lhs, rule, stop=True
        )

    def _neighbours(self, context: Context, findings: Findings) -> list[ControlResult]:
        judged_by: JudgedBy = "formulas" if self.lhs is None else "measurement"
        judged_by = judged_by if self.is_satisfied is None else "rule"
        declared = [
            (neighbour, partial(self._changed, context, neighbour))
            for neighbour in self.neighbours
        ]
        decide = partial(_probe, Prober(context.statement, self.lhs), self.is_satisfied)
        return true_neighbours(
            context.statement,
            findings,
            judged_by,
            declared,
            decide=decide,
            lhs=self.lhs,
        )


def _probe(
    prober: Prober, rule: Rule | None, point: dict[str, Fraction]
) -> Probe | None:
    """Apply the rule to a point, or decide the two sides if there is no rule; None if a side has no value."""
    return (
        prober.probe(point)
        if rule is None
        else probed_by_rule(rule, point, prober.statement)
    )


def probed_by_rule(
    rule: Rule, point: dict[str, Fraction], statement: Statement
) -> Probe:
    """Apply a rule to a point."""
    outcome = rule(point, statement)
    return as_probe(
        point, outcome if isinstance(outcome, Outcome) else Outcome(outcome)
    )


def as_probe(point: dict[str, Fraction], outcome: Outcome) -> Probe:
    """Convert an outcome to a probe. Missing sides become NaN."""
    lhs, rhs = (
        NO_NUMBER if side is None else to_number(side)
        for side in (outcome.lhs, outcome.rhs)
    )
    return Probe(point, outcome.ok, lhs, rhs, 0.0, outcome.note)
