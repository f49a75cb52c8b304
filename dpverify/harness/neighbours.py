"""True neighbours: statements that a check must not refute, so that a check that refutes everything is detected.

Every false statement has true neighbours: the statement at points where it is not refuted, a weaker statement at all
points, or the statement with the printed side in place of the measured side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from flint import arb, ctx

from dpverify.harness.checks import Point
from dpverify.harness.search.search import Findings
from dpverify.harness.sides import LeftSide, Probe, Prober, TrueNeighbour
from dpverify.ledger.check_results import ControlResult
from dpverify.ledger.formula import Num
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import evaluate_statement
from dpverify.symbolic.exact.numbers import Exact, ball

# two formulas, a left side measured by code, or a rule
JudgedBy = Literal["formulas", "measurement", "rule"]

# relative room with which the substituted side satisfies an inequality
RELATIVE_MARGIN = Fraction(1, 100)
MOST_POINTS = 5  # largest number of points at which a neighbour is decided


def true_neighbours(
    statement: Statement,
    findings: Findings,
    judged_by: JudgedBy,
    searches: Iterable[tuple[TrueNeighbour, Callable[[], Findings]]] = (),
    *,
    decide: Callable[[Point], Probe | None],
    lhs: LeftSide | None = None,
) -> list[ControlResult]:
    """Return the true neighbours of a statement that was refuted at some points, each with whether it was refuted.

    If code of a check decides, the statement must hold at some point, or a neighbour must be given. Otherwise the list
    is empty. ``searches``: neighbours, each with its search. ``decide``: decides the statement at a point again.
    ``lhs``: the left side that code measures.
    """
    neighbours = other_points(findings, decide)
    neighbours += [_as_neighbour(neighbour, search()) for neighbour, search in searches]
    if judged_by != "formulas" and not neighbours:
        return []
    if lhs is not None:
        neighbours += measured_for_printed(statement, lhs, findings.violations)
    if judged_by != "rule":
        neighbours += printed_for_measured(
            statement, [probe.point for probe in findings.violations]
        )
    return neighbours


def printed_for_measured(
    statement: Statement, points: Iterable[Point]
) -> list[ControlResult]:
    """Decide the statement with the printed side as its left side at some points; empty if no point has a value."""
    # evaluating the statement's left side may take long
    prober = Prober(replace(statement, lhs=None), _inside)
    probes = list[Probe]()
    for point in points:
        probe = prober.probe(point)
        probes += [] if probe is None else [probe]
        if len(probes) == MOST_POINTS:
            break
    if not probes:
        return []
    refuted = any(probe.holds is False for probe in probes)
    words = "the printed side in the place of the left side"
    if statement.relation != "=":
        words += f", with {float(RELATIVE_MARGIN):.0%} of room"
    return [
        neighbour_result(
            "printed for measured",
            words,
            refuted=refuted,
            statistic=f"{len(probes)} points",
        )
    ]


def measured_for_printed(
    statement: Statement, lhs: LeftSide, violations: Iterable[Probe]
) -> list[ControlResult]:
    """Decide the measured side against its own value, with some room, in place of the printed side.

    This detects a decision that is false at some points whatever the sides are. The list is empty for an equation.
    """
    if statement.relation not in {"<=", "<", ">=", ">"}:
        return []
    sign = -1 if statement.relation in {">=", ">"} else 1
    decided = list[bool | None]()
    for probe in violations:
        measured = float(probe.lhs.float)
        if len(decided) < MOST_POINTS and math.isfinite(measured):
            value = Fraction(measured)
            room = RELATIVE_MARGIN * (abs(value) or 1)
            granted = replace(statement, rhs=Num(value + sign * room))
            probe_of_granted = Prober(granted, lhs).probe(probe.point)
            decided += [] if probe_of_granted is None else [probe_of_granted.holds]
    if not decided:
        return []
    words = f"the measured side in the place of the printed one, with {float(RELATIVE_MARGIN):.0%} of room"
    statistic = f"{len(decided)} points"
    return [
        neighbour_result(
            "measured for printed", words, refuted=False in decided, statistic=statistic
        )
    ]


def neighbour_result(
    name: str, change: str, *, refuted: bool, statistic: str = ""
) -> ControlResult:
    """Make the result of a true neighbour."""
    return ControlResult(
        name=name,
        fault=change,
        at_declared_size=False,
        refuted=refuted,
        statistic=statistic,
    )


def _inside(point: Point, statement: Statement) -> Exact:
    """Return a value that satisfies the relation to the printed side, with room ``ROOM`` unless it is an equation."""
    printed = evaluate_statement(statement, point, precision=ctx.prec)[1]
    if statement.relation == "=":
        return printed
    sign = -1 if statement.relation in {"<=", "<"} else 1
    if isinstance(printed, arb):
        return printed + sign * ball(RELATIVE_MARGIN) * (abs(printed) + 1)
    return printed + sign * RELATIVE_MARGIN * (abs(printed) + 1)


def other_points(
    findings: Findings, decide: Callable[[Point], Probe | None]
) -> list[ControlResult]:
    """Decide the statement again at the points most similar to a counterexample; empty if it holds at no point."""
    points = [probe.point for probe in findings.probes if probe.holds is True]
    if not points or not findings.violations:
        return []
    violated = findings.violations[0].point
    nearest = sorted(
        points, key=lambda point: len(_differing_symbols(point, violated))
    )[:MOST_POINTS]
    refuted = any(
        probe is not None and probe.holds is False for probe in map(decide, nearest)
    )
    changes = ", ".join(
        f"{name} = {nearest[0].get(name)}"
        for name in _differing_symbols(nearest[0], violated)
    )
    words = f"the statement at {len(points)} of {len(findings.probes)} points: a counterexample but for {changes}"
    return [
        neighbour_result(
            "other points", words, refuted=refuted, statistic=f"{len(nearest)} points"
        )
    ]


def _differing_symbols(point: Point, other_point: Point) -> list[str]:
    """List the symbols in which two points differ."""
    return sorted(
        name
        for name in point.keys() | other_point.keys()
        if point.get(name) != other_point.get(name)
    )


def _as_neighbour(neighbour: TrueNeighbour, findings: Findings) -> ControlResult:
    """Return the result of a neighbour. A neighbour that has no value at any point counts as refuted."""
    words = neighbour.rhs or (
        "another left side" if neighbour.lhs is not None else "another rule"
    )
    refuted = bool(findings.violations) or not findings.probes
    return neighbour_result(
        neighbour.name,
        words,
        refuted=refuted,
        statistic=f"{len(findings.probes)} points",
    )


def searched_again(
    statement: Statement, findings: Findings, lhs: LeftSide | None
) -> Findings:
    """Decide a changed statement at the points of an earlier search."""
    prober = Prober(statement, lhs)
    new_findings = Findings()
    for point in (probe.point for probe in findings.probes):
        if (probe := prober.probe(point)) is not None:
            new_findings.probes.append(probe)
            if probe.holds is False:
                new_findings.violations.append(probe)
    return new_findings
