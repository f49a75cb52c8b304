"""Statements of two formulas, written in one line."""

from __future__ import annotations

from dpverify.harness import BUDGETS, Context
from dpverify.harness.checks import Check
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.records import Relation
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import parse_domain

RELATIONS: tuple[Relation, ...] = ("<=", ">=", "=", "<", ">")


def formula(
    text: str, domains: str, *requires: str, let: tuple[tuple[str, str], ...] = ()
) -> Statement:
    """Read ``left <= right``; ``domains``: as in a record, such as ``N: integer, N >= 1; x: real``."""
    relation: Relation = next(r for r in RELATIONS if f" {r} " in text)
    left, right = text.split(f" {relation} ")
    pairs = (part.split(":") for part in filter(None, domains.split(";")))
    return Statement(
        key="demo:formula",
        variant="printed",
        kind="inequality",
        reading={},
        quantity=None,
        lhs=parse(left),
        relation=relation,
        rhs=parse(right),
        words=None,
        requires=tuple(map(parse_relation, requires)),
        let=tuple((name, parse(value)) for name, value in let),
        assumes=(),
        symbols={},
        domains={name.strip(): parse_domain(domain.strip()) for name, domain in pairs},
    )


def judged(check: Check, statement: Statement) -> CheckResult:
    """What a check of one block says of a statement, in a smoke run."""
    context = Context(statement, BUDGETS["smoke"], 0, check.name)
    return check.finish(context, [check.run_block(context, 0)])
