"""Evaluate a statement at a point that a user names: both sides in ball arithmetic, and whether it holds there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpverify.harness.checks import Check, Point
from dpverify.harness.search.domain import make_sampler
from dpverify.harness.search.exhaustive_check import ExhaustiveCheck, probed_by_rule
from dpverify.harness.search.search_check import SearchCheck
from dpverify.harness.sides import LeftSide, Probe, Prober, Rule
from dpverify.ledger.records import ORDERS
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import parse_domain


class NoValueError(ValueError):
    """A statement cannot be evaluated at a point. The message names the rule that the point or the statement breaks."""


def read_point(text: str) -> dict[str, Fraction]:
    """Read a point such as ``N=1000, alpha=1/2``, or raise NoValueError."""
    parts = [part.partition("=") for part in text.split(",")]
    try:
        return {name.strip(): Fraction(value.strip()) for name, _, value in parts}
    except (ValueError, ZeroDivisionError):
        raise NoValueError(
            "a point is letters with exact numbers, such as N=1000, alpha=1/2"
        ) from None


def at_point(statement: Statement, point: Point, checks: Sequence[Check] = ()) -> Probe:
    """Probe a statement at a point of its domain. A function of the checks computes a measured left side.

    Letters that the statement does not use are ignored. Raises NoValueError if a letter is missing, the point is
    outside the domain, or a side cannot be evaluated.
    """
    # checks of this variant and reading first
    checks = sorted(checks, key=lambda check: not check.applies(statement))
    if (rule := _rule(statement, checks)) is not None:
        return _by_rule(rule, statement, point)
    lhs, also = _left_side(statement, checks)
    sampler = make_sampler(
        statement, {}, {name: parse_domain(domain) for name, domain in also.items()}
    )
    if missing := [name for name in sampler.symbols if name not in point]:
        raise NoValueError(f"{', '.join(missing)} must be given as well")
    values = {name: value for name, value in point.items() if name in sampler.symbols}
    if not sampler.in_domain(values):
        raise NoValueError("outside the domain or the conditions of the statement")
    probe = Prober(statement, lhs).probe(values)
    if probe is None:
        raise NoValueError("a side has no value there")
    return probe


def _left_side(
    statement: Statement, checks: Sequence[Check]
) -> tuple[LeftSide | None, Mapping[str, str]]:
    """Return the function of a left side that code measures, and the domains of letters that only it needs."""
    if statement.rhs is None or statement.relation in ORDERS:
        raise NoValueError(
            "a statement in words, or about an order of growth, has no two sides at a point"
        )
    if statement.lhs is not None:
        return None, {}
    for check in checks:
        if isinstance(check, SearchCheck) and check.lhs is not None:
            return check.lhs, check.also
    for check in checks:
        if isinstance(check, ExhaustiveCheck) and check.lhs is not None:
            return check.lhs, {}
    raise NoValueError(
        "its left side is measured by code that takes more than a point: see its checks"
    )


def _rule(statement: Statement, checks: Sequence[Check]) -> Rule | None:
    """Return the first rule among the checks if the statement has no two sides at a point, otherwise None."""
    if statement.rhs is not None and statement.relation not in ORDERS:
        return None
    applied = (
        check
        for check in checks
        if isinstance(check, ExhaustiveCheck) and check.applies(statement)
    )
    return next(
        (check.is_satisfied for check in applied if check.is_satisfied is not None),
        None,
    )


def _by_rule(rule: Rule, statement: Statement, point: Point) -> Probe:
    try:
        return probed_by_rule(rule, dict(point), statement)
    except KeyError as error:
        raise NoValueError(f"{error.args[0]} must be given as well") from None
