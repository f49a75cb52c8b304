"""Parts of a result that are computed from probes: counterexamples, slack, vacuity, the control, and the window.

The verdicts of a paper can declare parts of the boundary of the domain as edges, where nobody runs what the paper
describes. A counterexample at an edge is marked. Counterexamples of the recorded run are evaluated again instead of
searched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import msgspec

from dpverify.harness.checks import Context, Point, as_point
from dpverify.harness.search.practical import is_practical
from dpverify.harness.search.search import Findings
from dpverify.harness.sides import PRECISIONS, Probe, Prober, moved_side
from dpverify.ledger.check_results import (
    CheckResult,
    ControlResult,
    Counterexample,
    Number,
    Slack,
    Vacuous,
)
from dpverify.ledger.formula import Compare, free_names, to_text
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.compile import compile_relation
from dpverify.symbolic.exact.evaluate import (
    decide,
    evaluate_statement,
    holds_compiled,
    to_number,
    values,
)
from dpverify.symbolic.exact.numbers import EvaluationError, Exact


def edge_at(edges: Sequence[Compare], point: Mapping[str, Fraction]) -> str | None:
    """Return the first edge that holds at a point, "" if none holds, or None if the point has no edge's letters."""
    decidable = [edge for edge in edges if free_names(edge) <= point.keys()]
    held = (
        to_text(edge)
        for edge in decidable
        if holds_compiled(compile_relation(edge), values(point)) is True
    )
    return next(held, "" if decidable else None)


def with_edge(example: Counterexample, edges: Sequence[Compare]) -> Counterexample:
    """Return a copy of a counterexample with the edge at which it lies, if any."""
    numbers = {
        name: number.exact or number.float
        for name, number in example.parameters.items()
    }
    point = {
        name: Fraction(value)
        for name, value in numbers.items()
        if value not in {"inf", "-inf", "nan"}
    }
    return msgspec.structs.replace(example, edge=edge_at(edges, point))


CounterexampleKind = Literal["smallest", "practical", "interior", "largest-ratio"]


def numbers(point: Point) -> dict[str, Number]:
    """Convert a point to the numbers of a report, in the order of the names."""
    return {name: to_number(point[name]) for name in sorted(point)}


def counterexample(kind: CounterexampleKind, probe: Probe) -> Counterexample:
    """Convert a violation to a counterexample of a report."""
    return Counterexample(
        kind=kind,
        parameters=numbers(probe.point),
        lhs=probe.lhs,
        rhs=probe.rhs,
        note=probe.note,
    )


def first_and_largest(
    violations: Sequence[Probe], edges: Sequence[Compare] = ()
) -> list[Counterexample]:
    """Return the first violation, the first at ordinary parameters, and the violation with the largest ratio.

    If the first and the largest both lie at an edge, the first violation that does not is added.
    """
    if not violations:
        return []
    first = violations[0]
    largest = max(violations, key=lambda probe: probe.ratio)
    further = [] if largest is first else [counterexample("largest-ratio", largest)]
    if edges and edge_at(edges, first.point) and edge_at(edges, largest.point):
        inside = next(
            (probe for probe in violations if edge_at(edges, probe.point) == ""), None
        )
        further[:0] = [] if inside is None else [counterexample("interior", inside)]
    run = next((probe for probe in violations if is_practical(probe.point)), None)
    further[:0] = (
        [] if run is None or run is first else [counterexample("practical", run)]
    )
    return [counterexample("smallest", first), *further]


def slack_of(findings: Findings, relation: str) -> Slack | None:
    """Return the slack: printed over exact for an upper bound, exact over printed for a lower bound."""
    sharpest = findings.sharpest
    if sharpest is None or relation == "=":
        return None
    top, bottom = (
        (sharpest.rhs, sharpest.lhs)
        if relation in {"<=", "<"}
        else (sharpest.lhs, sharpest.rhs)
    )
    if (
        top.exact is not None
        and bottom.exact is not None
        and Fraction(bottom.exact) > 0
    ):
        smallest = to_number(Fraction(top.exact) / Fraction(bottom.exact))
    else:
        # Equal sides may differ after rounding to floats. Unless the statement is
        # false, the ratio is at most 1.
        smallest = _inverse(
            sharpest.ratio if sharpest.holds is False else min(sharpest.ratio, 1.0)
        )
    return Slack(min=smallest, typical=_inverse(findings.typical_ratio()))


def _inverse(ratio: float) -> Number:
    return Number(float="inf") if ratio == 0.0 else Number(float=1.0 / ratio)


@dataclass(frozen=True)
class Vacuity:
    """A grid on which a bound is compared with the trivial bound."""

    # the trivial bound; a bound that is not better is vacuous
    trivial: Callable[[Point, Statement], Exact]
    along: str  # symbol along which the onset is given
    points: Sequence[Mapping[str, int | Fraction | str]]  # the grid

    def judge(self, statement: Statement) -> Vacuous:
        """Determine whether the bound never beats the trivial bound, and the first value from which it always does."""
        grid = [as_point(p) for p in self.points]
        if not grid or any(self.along not in p for p in grid):
            raise ValueError(
                f"points of a Vacuity must be non-empty and set {self.along}."
            )
        beats = dict.fromkeys(sorted({p[self.along] for p in grid}), True)
        for point in grid:
            beats[point[self.along]] &= self._beats(point, statement)
        onset = ""
        for value in reversed(beats):
            if not beats[value]:
                break
            onset = f"{self.along} = {value}"
        ends = f"{self.along} from {min(beats)} to {max(beats)}"
        return Vacuous(
            value=not any(beats.values()),
            grid=f"{len(grid)} points, {ends}",
            onset=onset,
        )

    def _beats(self, point: Point, statement: Statement) -> bool:
        strictly = "<" if statement.relation in {"<=", "<", "="} else ">"

        def printed(bits: int) -> Exact:
            return evaluate_statement(statement, point, precision=bits)[1]

        try:
            return (
                decide(printed, strictly, lambda _: self.trivial(point, statement))
                is True
            )
        except EvaluationError:
            return False


FACTORS = tuple(Fraction(text) for text in ("1.05", "1.25", "2", "10", "100"))
"""Factors that move a side beyond the sharpest point. A search may need a larger factor to find a sharp peak again."""


def sharper_statement(
    statement: Statement, findings: Findings, factor: Fraction
) -> tuple[str, Statement] | None:
    """Return a statement that must be refuted: its right side is moved beyond the sharpest point.

    None if no point was evaluated, or if the room between the sides is infinite at every point.
    """
    sharpest = findings.sharpest
    if sharpest is None:
        return None
    lhs = float(sharpest.lhs.float)
    rhs = float(sharpest.rhs.float)
    if statement.relation == "=":
        if rhs != 0.0:
            return f"printed*{factor}", moved_side(statement, "*", factor)
        return f"printed + {factor - 1}", moved_side(statement, "+", factor - 1)
    sign = 1 if statement.relation in {"<=", "<"} else -1
    if lhs > 0.0 and rhs > 0.0 and 0.0 < sharpest.ratio < math.inf:
        used = Fraction(sharpest.ratio)
        share = _short(used / factor if sign > 0 else factor / used)
        return f"printed*{share}", moved_side(statement, "*", share)
    rooms = [sign * (float(p.rhs.float) - float(p.lhs.float)) for p in findings.probes]
    finite = [room for room in rooms if math.isfinite(room)]
    if not finite:
        return None
    term = -sign * _short(Fraction(max(0.0, min(finite))) * factor + factor - 1)
    return f"printed + ({term})", moved_side(statement, "+", term)


def _short(exact: Fraction) -> Fraction:
    """Round to a fraction with few digits, which is enough for the control."""
    return exact.limit_denominator(10**6) if exact > Fraction(1, 10**3) else exact


DIGITS = 4  # significant digits of a value that is not an integer


def window_words(findings: Findings, prober: Prober) -> str:
    """Describe the ranges of the symbols in which the statement was decided, and what is not covered."""
    points = [probe.point for probe in findings.probes]
    reached = ", ".join(_extents(points))
    parts = [f"{len(points)} points, {reached}" if reached else f"{len(points)} points"]
    return "; ".join([*parts, *unevaluated(findings, prober)])


def unevaluated(findings: Findings, prober: Prober) -> Iterator[str]:
    """Yield descriptions of the points at which a side is undefined, undecided or too expensive to compute."""
    undefined = prober.undefined - prober.too_wide
    if prober.open_points:
        yield undefined_words(
            prober.open_points, [probe.point for probe in findings.probes], undefined
        )
    if prober.too_wide:
        yield f"{prober.too_wide} points not decided: their sides need more than {PRECISIONS[-1]} bits"
    if prober.too_long:
        yield f"{prober.too_long} larger points not evaluated: they exceed this check's share of the work"


def undefined_words(
    open_points: Sequence[tuple[Point, str]], defined: Sequence[Point], count: int
) -> str:
    """Say where a side is undefined: by a condition on a symbol that separates these points, or at one of them."""
    point, reason = open_points[0]
    where = next(
        _conditions([undefined_point for undefined_point, _ in open_points], defined),
        "",
    )
    values = ", ".join(
        f"{name} = {value_words(value)}" for name, value in sorted(point.items())
    )
    part = (
        f"for {where}"
        if where
        else f"at {count} points" + (f", such as {values}" if values else "")
    )
    example = f" at {values}" if where and where != values and values else ""
    return f"a side is undefined {part} ({reason.rstrip('.')}{example})"


def _conditions(without: Sequence[Point], defined: Sequence[Point]) -> Iterator[str]:
    """Yield conditions on one symbol that hold at all points where a side is undefined and at no other point."""
    for name in sorted(without[0]):
        low, high = _ends(name, without)
        if not defined:
            continue
        least, largest = _ends(name, defined)
        if low == high and all(point[name] != low for point in defined):
            yield f"{name} = {value_words(low)}"
        elif high < 0 <= least:
            yield f"{name} < 0"
        elif high < least:
            yield f"{name} <= {value_words(high)}"
        elif low > largest:
            yield f"{name} >= {value_words(low)}"


def _ends(name: str, points: Iterable[Point]) -> tuple[Fraction, Fraction]:
    values = [point[name] for point in points]
    return min(values), max(values)


def _extents(points: Sequence[Mapping[str, Fraction]]) -> Iterator[str]:
    for name in sorted(points[0]) if points else ():
        low, high = _ends(name, points)
        yield (
            f"{name} = {value_words(low)}"
            if low == high
            else f"{name} from {value_words(low)} to {value_words(high)}"
        )


def value_words(value: Fraction) -> str:
    """Format a value with few digits."""
    if value.denominator == 1 and abs(value) < 10**9:
        return str(value)
    number = to_number(value).float
    return number if isinstance(number, str) else f"{number:.{DIGITS}g}"


# Python reads at most 4300 digits
RATIONAL = re.compile(r"-?[0-9]{1,4000}(/[0-9]{0,2000}[1-9][0-9]{0,2000})?")


def refuted_again(
    context: Context, probe: Callable[[dict[str, Fraction]], Probe | None]
) -> CheckResult | None:
    """Return the recorded result of a check if each of its counterexamples is still a counterexample.

    ``probe`` evaluates a point as the check does, and returns None if the point is not in the statement's domain. The
    result is None if there is no recorded refutation, or if it is not confirmed. In these cases the whole check must
    run.
    """
    recorded = context.recorded
    if recorded is None or recorded.status != "refuted" or not recorded.counterexamples:
        return None
    confirmed = list[Counterexample]()
    for example in recorded.counterexamples:
        exact = {
            name: number.exact or "" for name, number in example.parameters.items()
        }
        if not all(map(RATIONAL.fullmatch, exact.values())):
            return None
        probed = probe({name: Fraction(text) for name, text in exact.items()})
        if probed is None or probed.holds is not False:
            return None
        confirmed.append(counterexample(example.kind, probed))
    return msgspec.structs.replace(
        recorded, counterexamples=confirmed, by_certificate=True
    )


@dataclass(frozen=True)
class ExtraPoints:
    """The results at points beyond those that are drawn."""

    violations: Sequence[Probe] = ()
    controls: Sequence[ControlResult] = ()
    window: str = ""  # description of these points; empty if there are none


def detected_words(controls: list[ControlResult]) -> str:
    """Describe the faults that the controls show to be detected."""
    details = [
        f"; a bound that the tightest of these points violates by the factor {c.name.removeprefix('sharper by ')}"
        for c in controls
        if c.name.startswith("sharper by")
    ]
    return "a violation at any point that was tried" + "".join(details)


def findings_words(findings: Findings) -> str:
    """Describe how many points were tried, and what was found there."""
    parts = [f"{len(findings.probes)} points, {len(findings.violations)} violations"]
    if findings.undecided:
        parts.append(f"{findings.undecided} not decided at 2048 bits")
    if findings.undefined:
        parts.append(f"{findings.undefined} at which a side is undefined")
    return ", ".join(parts)


def sharpest_words(findings: Findings) -> str:
    """Describe the point at which most of the bound is used, or return ""."""
    sharpest = findings.sharpest
    if sharpest is None:
        return ""
    where = ", ".join(
        f"{name}={value}" for name, value in sorted(sharpest.point.items())
    )
    return f"used up to {sharpest.ratio:.6g} at {where}"
