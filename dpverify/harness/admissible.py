"""Whether a counterexample meets all that its record asks for: conditions by arithmetic, assumptions by declaration.

A check that refutes a statement on some problem, mechanism or run declares in ``meets`` by which property of it each
assumption of the statement holds. A refutation without that is refused: it may be one of another statement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from dpverify.ledger.formula import free_names, to_text
from dpverify.ledger.results import CheckResult, Counterexample
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.numbers import EvaluationError
from dpverify.symbolic.exact.statements import requires_hold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpverify.harness.checks import Check
    from dpverify.harness.context import Point


@dataclass(frozen=True)
class Property:
    """The property of a check's problems by which they meet an assumption or a condition.

    Attributes
    ----------
    words : str
        The property in words: "the slope is at most a*r + sigma".
    is_satisfied : callable, optional
        Test of one counterexample, where the property depends on its numbers.
    """

    words: str
    is_satisfied: Callable[[Point], bool | None] | None = None

    def is_met(self, point: Point) -> bool:
        """Whether a counterexample has the property. One that lacks a number which the test reads has not."""
        if self.is_satisfied is None:
            return True
        try:
            return self.is_satisfied(point) is True
        except KeyError:
            return False


def admitted(check: Check, statement: Statement, result: CheckResult) -> CheckResult:
    """Return the result of a check; a refutation whose counterexamples are not admissible becomes an error."""
    faults = faults_of(check, statement, result) if result.status == "refuted" else []
    if not faults:
        return result
    error = f"refutation of {statement.reference} refused: {'; '.join(faults)}"
    return msgspec.structs.replace(result, status="inconclusive", message=error, error=error)


def faults_of(check: Check, statement: Statement, result: CheckResult) -> list[str]:
    """List what the counterexamples of a refutation do not meet, and what the check does not declare."""
    points = [point_of(example) for example in result.counterexamples]
    faults = undeclared(check, statement, points)
    for point in points:
        unmet = unmet_conditions(statement, point)
        tested = {name: check.meets[name] for name in _asked(statement, point) if name in check.meets}
        unmet += [f"{name} ({p.words})" for name, p in tested.items() if not p.is_met(point)]
        point_text = ", ".join(f"{name}={value}" for name, value in point.items())
        faults += [f"the counterexample {point_text} does not meet {text}" for text in unmet]
    return faults


def undeclared(check: Check, statement: Statement, points: Sequence[Point]) -> list[str]:
    """List the assumptions, and the conditions that arithmetic cannot test, of which a check declares no property."""
    names = dict.fromkeys(name for point in points or [{}] for name in _asked(statement, point))
    return [f"check {check.name} declares no property that meets {name}" for name in names if name not in check.meets]


def point_of(example: Counterexample) -> dict[str, Fraction]:
    """Return the numbers of a counterexample that are recorded exactly."""
    numbers = {name: number.exact for name, number in example.parameters.items()}
    return {name: Fraction(exact) for name, exact in numbers.items() if exact is not None}


def unmet_conditions(statement: Statement, point: Point) -> list[str]:
    """List the conditions and domains of a statement that a point decides and does not certainly meet."""
    parts = _decidable(statement, frozenset(point))
    names = point.keys() & statement.domains.keys()
    fractions = [n for n in sorted(names) if statement.domains[n].kind == "integer" and point[n].denominator != 1]
    unmet = [f"{name} is an integer" for name in fractions]
    return unmet + [to_text(part.requires[0]) for part in parts if not _is_met(part, point)]


def _is_met(part: Statement, point: Point) -> bool:
    try:
        return requires_hold(part, point) is True
    except EvaluationError:
        return False


_parts: dict[tuple[int, frozenset[str]], tuple[Statement, list[Statement]]] = {}


def _decidable(statement: Statement, names: frozenset[str]) -> list[Statement]:
    """Split a statement into one for each condition or domain that values of some letters decide."""
    entry = _parts.get((id(statement), names))
    if entry is None or entry[0] is not statement:
        if len(_parts) > 256:
            _parts.clear()
        letters = _letters(statement, names)
        domains = [statement.domains[name] for name in sorted(letters & statement.domains.keys())]
        conditions = [*(c for domain in domains for c in domain.constraints), *statement.requires]
        let = tuple((name, formula) for name, formula in statement.let if name in letters and name not in names)
        parts = [replace(statement, requires=(c,), let=let) for c in conditions if free_names(c) <= letters]
        entry = _parts[id(statement), names] = (statement, parts)
    return entry[1]


def _asked(statement: Statement, point: Point) -> list[str]:
    """List the names of the assumptions and the texts of the conditions that a point alone does not decide."""
    letters = _letters(statement, frozenset(point))
    open_conditions = [to_text(c) for c in statement.requires if not free_names(c) <= letters]
    return [*(tag.name for tag in statement.assumes), *open_conditions]


def _letters(statement: Statement, names: frozenset[str]) -> set[str]:
    """Return the letters that have a value where some have one: these, and what the definitions make of them."""
    letters = set(names)
    for name, formula in statement.let:
        if free_names(formula) <= letters:
            letters.add(name)
    return letters
