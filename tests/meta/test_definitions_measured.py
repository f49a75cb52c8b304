"""The value of a definition is at least the value that checks measure, so a proof from it applies to the algorithm."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

from dpverify.harness.run.suite import Suite
from dpverify.harness.search.search import beginnings, search
from dpverify.harness.search.search_check import SearchCheck
from dpverify.harness.sides import Probe, Prober
from dpverify.ledger.definitions import Meaning
from dpverify.ledger.formula.tree import BUILTINS, Call, Inf, walk
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import (
    definitions,
    domains_hold,
    evaluate_statement,
    requires_hold,
    to_number,
)
from tests.for_each import for_each

Point = dict[str, Fraction]
MOST, POINTS, TRIES = 5, 8, 60
WHOLE = [Fraction(k) for k in range(2 * MOST + 2)]


@cache
def measured() -> dict[str, tuple[SearchCheck, Statement, Meaning]]:
    """Return the searches that measure a quantity defined in a record, one for each claim and reading."""
    specs = load_specs()
    suite = Suite(specs, "smoke", 0)
    found: dict[str, tuple[SearchCheck, Statement, Meaning]] = {}
    for claim in (claim for key in specs.papers for claim in specs.claims(key)):
        for job in (
            job for case in suite.cases(claim) for job in (*case.printed, *case.amended)
        ):
            statement, check = job.context.statement, job.find()
            meaning = (
                None
                if statement.quantity is None
                else statement.definition(statement.quantity)
            )
            if (
                meaning is None
                or not isinstance(check, SearchCheck)
                or check.lhs is None
            ):
                continue
            if is_finite(meaning, statement):
                found.setdefault(
                    f"{statement.key} {statement.reading}", (check, statement, meaning)
                )
    return found


def is_finite(meaning: Meaning, statement: Statement) -> bool:
    """Test whether all symbols that a definition introduces are integers, and its formula can be evaluated."""
    defined = meaning.statement
    own = [name for name in defined.free if name not in statement.domains]
    parts = [
        part for part in walk(defined.rhs or Inf()) if isinstance(part, Call | Inf)
    ]
    whole = all(defined.domains[name].kind == "integer" for name in own)
    return whole and all(
        isinstance(part, Call) and part.name in BUILTINS for part in parts
    )


def probes(check: SearchCheck, statement: Statement) -> list[Probe]:
    """Return what the search measures at points of the statement's domain with small integers."""
    statement = check._narrowed(statement)
    names = [
        name for name, domain in statement.domains.items() if domain.kind == "integer"
    ]
    names += [name for name, text in check.also.items() if text.startswith("integer")]
    small = replace(
        check,
        region={
            **check.region,
            **{name: (None, MOST) for name in names if name not in check.region},
        },
    )
    sampler = small._sampler(statement)
    found = search(
        sampler, Prober(statement, check.lhs), beginnings(sampler, (), TRIES), TRIES, 1
    )
    return [
        probe
        for probe in found.probes
        if all(probe.point.get(name, 0) <= MOST for name in names)
    ]


def largest(meaning: Meaning, statement: Statement, point: Point) -> float | None:
    """Return the largest value of a definition's formula over the symbols that it introduces, or None."""
    defined = meaning.statement
    known = {
        name: value
        for name, value in definitions(statement, point).items()
        if name in defined.free
    }
    own = [name for name in defined.free if name not in known]
    found = []
    for values in itertools.product(WHOLE, repeat=len(own)):
        full: Any = known | dict(zip(own, values, strict=True))
        if (
            domains_hold(defined.domains, full) is True
            and requires_hold(defined, full) is True
        ):
            found.append(float(to_number(evaluate_statement(defined, full)[1]).float))
    return max(found, default=None)


def compared(name: str) -> Iterator[tuple[float, float]]:
    """Yield the measured value and the value of the definition at the first points at which both are finite."""
    check, statement, meaning = measured()[name]

    def pairs() -> Iterator[tuple[float, float]]:
        for probe in probes(check, statement):
            formula = largest(meaning, check._narrowed(statement), probe.point)
            if formula is not None and math.isfinite(float(probe.lhs.float)):
                yield float(probe.lhs.float), formula

    return itertools.islice(pairs(), POINTS)


@for_each("name", measured)
def test_a_definition_is_no_less_than_what_is_measured(name: str) -> None:
    pairs = list(compared(name))
    assert pairs, f"no point of {name} could be compared"
    assert all(found <= formula * (1 + 1e-9) + 1e-12 for found, formula in pairs), (
        pairs,
        str(measured()[name][2]),
    )


@for_each("claim", ["algorithm-1-v", "theorem-4-sensitivity", "theorem-8-count-first"])
def test_a_definition_that_says_less_would_be_seen(claim: str) -> None:
    name = next(name for name in measured() if name.startswith(f"tran2022:{claim} "))
    assert any(
        found > 0.99 * formula for found, formula in compared(name) if formula > 0
    )
