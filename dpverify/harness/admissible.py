"""Decide whether a counterexample satisfies its record: conditions by arithmetic, assumptions by declaration.

A check that refutes a statement on some problem, mechanism or run declares in ``meets`` which property of the problem
satisfies each assumption of the statement. A refutation without this declaration is refused, because it may refute a
different statement. Witnesses are small explicit problems which show that a counterexample meets the assumptions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from dpverify.ledger.check_results import CheckResult, Counterexample
from dpverify.ledger.formula import free_names, to_text
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import requires_hold
from dpverify.symbolic.exact.numbers import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpverify.harness.checks import Check, Point


@dataclass(frozen=True)
class Property:
    """A property of a check's problems that satisfies an assumption or a condition.

    Attributes
    ----------
    words : str
        The property in words: "the slope is at most a*r + sigma".
    is_satisfied : callable, optional
        Test of one counterexample. Needed if the property depends on the numbers of the
        counterexample.
    """

    words: str
    is_satisfied: Callable[[Point], bool | None] | None = None

    def is_met(self, point: Point) -> bool:
        """Return whether a counterexample has the property; False if it lacks a number that the test reads."""
        if self.is_satisfied is None:
            return True
        try:
            return self.is_satisfied(point) is True
        except KeyError:
            return False


def reject_inadmissible(
    check: Check, statement: Statement, result: CheckResult
) -> CheckResult:
    """Return the result of a check, or an error if it is a refutation with inadmissible counterexamples."""
    faults = faults_of(check, statement, result) if result.status == "refuted" else []
    if not faults:
        return result
    error = f"refutation of {statement.reference} refused: {'; '.join(faults)}"
    return msgspec.structs.replace(
        result, status="inconclusive", message=error, error=error
    )


def faults_of(check: Check, statement: Statement, result: CheckResult) -> list[str]:
    """List the conditions that counterexamples violate, and the properties that the check does not declare."""
    points = [point_of(example) for example in result.counterexamples]
    faults = undeclared(check, statement, points)
    for point in points:
        unmet = unmet_conditions(statement, point)
        tested = {
            name: check.meets[name]
            for name in _undecided_requirements(statement, point)
            if name in check.meets
        }
        unmet += [
            f"{name} ({p.words})" for name, p in tested.items() if not p.is_met(point)
        ]
        point_text = ", ".join(f"{name}={value}" for name, value in point.items())
        faults += [
            f"the counterexample {point_text} does not meet {text}" for text in unmet
        ]
    return faults


def undeclared(
    check: Check, statement: Statement, points: Sequence[Point]
) -> list[str]:
    """List the assumptions, and the conditions that arithmetic cannot test, for which a check declares no property."""
    names = dict.fromkeys(
        name
        for point in points or [{}]
        for name in _undecided_requirements(statement, point)
    )
    return [
        f"check {check.name} declares no property that meets {name}"
        for name in names
        if name not in check.meets
    ]


def point_of(example: Counterexample) -> dict[str, Fraction]:
    """Return the numbers of a counterexample that are recorded exactly."""
    numbers = {name: number.exact for name, number in example.parameters.items()}
    return {
        name: Fraction(exact) for name, exact in numbers.items() if exact is not None
    }


def unmet_conditions(statement: Statement, point: Point) -> list[str]:
    """List the conditions and domains that a point decides but does not certainly satisfy."""
    parts = _decidable(statement, frozenset(point))
    names = point.keys() & statement.domains.keys()
    fractions = [
        n
        for n in sorted(names)
        if statement.domains[n].kind == "integer" and point[n].denominator != 1
    ]
    unmet = [f"{name} is an integer" for name in fractions]
    return unmet + [
        to_text(part.requires[0]) for part in parts if not _is_met(part, point)
    ]


def _is_met(part: Statement, point: Point) -> bool:
    try:
        return requires_hold(part, point) is True
    except EvaluationError:
        return False


_parts: dict[tuple[int, frozenset[str]], tuple[Statement, list[Statement]]] = {}


def _decidable(statement: Statement, names: frozenset[str]) -> list[Statement]:
    """Return copies of a statement, each with one condition or domain constraint that values of some letters decide."""
    entry = _parts.get((id(statement), names))
    if entry is None or entry[0] is not statement:
        if len(_parts) > 256:
            _parts.clear()
        letters = _letters(statement, names)
        domains = [
            statement.domains[name]
            for name in sorted(letters & statement.domains.keys())
        ]
        conditions = [
            *(c for domain in domains for c in domain.constraints),
            *statement.requires,
        ]
        let = tuple(
            (name, formula)
            for name, formula in statement.let
            if name in letters and name not in names
        )
        parts = [
            replace(statement, requires=(c,), let=let)
            for c in conditions
            if free_names(c) <= letters
        ]
        entry = _parts[id(statement), names] = (statement, parts)
    return entry[1]


def _undecided_requirements(statement: Statement, point: Point) -> list[str]:
    """List the names of the assumptions and the texts of the conditions that a point alone does not decide."""
    letters = _letters(statement, frozenset(point))
    open_conditions = [
        to_text(c) for c in statement.requires if not free_names(c) <= letters
    ]
    return [*(tag.name for tag in statement.assumes), *open_conditions]


def _letters(statement: Statement, names: frozenset[str]) -> set[str]:
    """Return some letters, together with the letters whose definitions use only these."""
    letters = set(names)
    for name, formula in statement.let:
        if free_names(formula) <= letters:
            letters.add(name)
    return letters


@dataclass(frozen=True)
class LineLoss:
    """A loss of one variable, given by its slope: linear between the knots ``(place, slope)``, constant beyond them.

    The same loss of the distance from a point, or of one coordinate, has the same constants.
    """

    # at least one knot, in increasing order of the places
    knots: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        places = [place for place, _ in self.knots]
        if not places or any(right <= left for left, right in pairwise(places)):
            raise ValueError(f"the places of knots must increase, got {self.knots}.")

    @property
    def steepest(self) -> Fraction:
        """The smallest Lipschitz constant of the loss."""
        return max(abs(slope) for _, slope in self.knots)

    @property
    def curvature(self) -> Fraction:
        """The smallest Lipschitz constant of the slope."""
        changes = [abs((d - b) / (c - a)) for (a, b), (c, d) in pairwise(self.knots)]
        return max(changes, default=Fraction(0))

    def slope(self, place: Fraction) -> Fraction:
        """Return the slope at a place."""
        for (a, b), (c, d) in pairwise(self.knots):
            if a <= place <= c:
                return b + (place - a) * (d - b) / (c - a)
        return self.knots[0][1] if place <= self.knots[0][0] else self.knots[-1][1]


def linear(slope: Fraction) -> LineLoss:
    """Make a linear loss."""
    return LineLoss(((Fraction(0), slope),))


DataSet: TypeAlias = Mapping[LineLoss, int]  # number of examples that have each loss


@dataclass(frozen=True)
class Witness:
    """One data set, or two neighbouring data sets. A run starts at 0."""

    data: DataSet
    neighbour: DataSet | None = None

    @property
    def losses(self) -> list[LineLoss]:
        """The distinct losses of all examples."""
        examples = Counter(self.data) + Counter(self.neighbour or {})
        return list(examples)

    @property
    def steepest(self) -> Fraction:
        """The smallest G for which these losses are Lipschitz."""
        return max(loss.steepest for loss in self.losses)

    @property
    def curvature(self) -> Fraction:
        """The smallest L for which these losses are smooth."""
        return max(loss.curvature for loss in self.losses)

    @property
    def gap(self) -> Fraction | None:
        """The smallest R that bounds F(0) - inf F on both data sets; None if F has no lower bound on one of them."""
        gap_of_data = _gap(self.data)
        gap_of_neighbour = (
            gap_of_data if self.neighbour is None else _gap(self.neighbour)
        )
        return (
            None
            if gap_of_data is None or gap_of_neighbour is None
            else max(gap_of_data, gap_of_neighbour)
        )

    def replaces_one(self, examples: Fraction | None) -> bool:
        """Return whether the neighbour replaces exactly one example, and the data set has the required size, if any."""
        data = Counter(self.data)
        neighbour = Counter(self.neighbour or {})
        differs_by_one = (data - neighbour).total() == (neighbour - data).total() == 1
        return differs_by_one and examples in {None, data.total()}


def _gap(data: DataSet) -> Fraction | None:
    """Return F(0) - inf F of the mean loss, or None if it has no lower bound."""
    places = sorted({Fraction(0), *(place for loss in data for place, _ in loss.knots)})
    total = sum(data.values())
    slopes = [
        sum((n * loss.slope(p) for loss, n in data.items()), Fraction(0)) / total
        for p in places
    ]
    if slopes[0] > 0 or slopes[-1] < 0:
        return None
    value = lowest = at_start = Fraction(0)
    for (left, a), (right, b) in pairwise(zip(places, slopes, strict=True)):
        if a < 0 < b:
            lowest = min(lowest, value - a**2 * (right - left) / (2 * (b - a)))
        value += (a + b) * (right - left) / 2
        lowest = min(lowest, value)
        at_start = value if right == 0 else at_start
    return at_start - lowest


def witness_properties(
    make: Callable[[Point], Witness], words: str
) -> dict[str, Property]:
    """Return properties of losses and neighbours that are tested on the witness at a counterexample.

    ``make`` builds the witness. If a counterexample has no G or L, the unit of measurement makes it 1. If it has no R,
    any finite gap is accepted.
    """

    def has_gap(point: Point) -> bool:
        gap = make(point).gap
        return gap is not None and ("R" not in point or gap <= point["R"])

    unit = Fraction(1)
    return {
        "lipschitz": Property(
            f"largest slope of {words}", lambda p: make(p).steepest <= p.get("G", unit)
        ),
        "smooth": Property(
            f"curvature of {words}", lambda p: make(p).curvature <= p.get("L", unit)
        ),
        "bounded-gap": Property(f"gap of {words}", has_gap),
        "neighbour-replace-one": Property(
            f"examples that differ: {words}", lambda p: make(p).replaces_one(p.get("N"))
        ),
    }
