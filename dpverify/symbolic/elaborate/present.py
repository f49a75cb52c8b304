"""Proofs and rules as lines of text, in the formula language of the records."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import sympy

from dpverify.ledger.formula import to_text
from dpverify.ledger.proofs.chains import ChainLine, parse_chain
from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.steps import ALGEBRA, PREMISE, Cases, Derivation, Step
from dpverify.symbolic.elaborate.guards import is_guard
from dpverify.symbolic.elaborate.steps import says
from dpverify.symbolic.elaborate.text import text_of
from dpverify.symbolic.expressions.to_sympy import sympy_conditions
from dpverify.symbolic.rules import CATALOGUE
from dpverify.symbolic.rules.base import Condition, ForAll, Holds, Instance, IsInteger, Rule

WIDTH = 100


def statement_lines(statement: Statement) -> list[str]:
    """What is proved: the statement, and the conditions that it grants."""
    left = statement.quantity if statement.lhs is None else to_text(statement.lhs)
    right = "" if statement.rhs is None else to_text(statement.rhs)
    conditions = ", ".join(map(text_of, sympy_conditions(statement)))
    lines = [str(statement.reference), f"claim: {left} {statement.relation} {right}"]
    return [*lines, f"for: {conditions}"] if conditions else lines


def lines_of(statement: Statement, derivation: Derivation) -> list[str]:
    """The lines of a proof as they are written, and below each what it rests on."""
    assert statement.proofs is not None
    proof = statement.proofs.find(statement)
    assert proof is not None
    chain = parse_chain(proof.chain)
    lines = [f"     {to_text(chain.start)}"]
    links = [link for link in derivation.steps if not is_guard(link)]
    lines += _links(chain.lines, links, derivation, "  ")
    return lines


def _links(lines: tuple[ChainLine, ...], links: Any, derivation: Derivation, indent: str) -> Iterator[str]:
    for line, link in zip(lines, links, strict=True):
        yield f"{indent}{line.relation:>2} {' '.join(line.text.removeprefix(line.relation).split())}"
        if isinstance(link, Cases):
            for (_, inside), case in zip(line.cases, link.cases, strict=True):
                yield f"{indent}   case {text_of(case.assumption)}"
                yield from _links(inside, case.steps, derivation, f"{indent}   ")
        else:
            yield from (f"{indent}      {text}" for text in _below(link, derivation))


def _below(step: Step, derivation: Derivation) -> Iterator[str]:
    """What a step rests on: the instance of its rule or premise, and the conditions of that."""
    instance: Instance
    if step.rule == ALGEBRA:
        return
    if step.rule == PREMISE:
        instance = derivation.premises[step.premises[0]]
    else:
        instance = CATALOGUE[step.rule].instance(step.where)
    yield from textwrap.wrap(says(instance), WIDTH)
    if needs := dict.fromkeys(filter(None, map(condition_text, instance.conditions))):
        yield from textwrap.wrap(f"needs {', '.join(needs)}", WIDTH)


def condition_text(condition: Condition) -> str:
    """A side condition in the formula language; empty if it is plainly true."""
    match condition:
        case Holds(relation):
            return "" if relation is sympy.true else text_of(relation)
        case IsInteger(expr):
            return "" if expr.is_integer and expr.is_Atom else f"{text_of(expr)} is an integer"
        case ForAll(index, lo, hi, relation):
            return f"{text_of(relation)} for {text_of(lo)} <= {index.name} <= {text_of(hi)}"
        case _:
            return str(condition)


def rule_lines(rule: Rule, basis: Mapping[str, str] | None) -> list[str]:
    """A rule as the list of rules shows it; ``basis``: file and theorem of its proof in Coq."""
    needs = ", ".join(_need(condition) for condition in rule.conditions)
    lines = [rule.name, f"    {says(rule.says)}"]
    lines += [f"    needs {needs}"] if needs else []
    lines += textwrap.wrap(rule.proof, WIDTH, initial_indent="    ", subsequent_indent="    ")
    if basis is not None:
        lines.append(f"    Coq: {basis['theorem']} in specs/proofs/{basis['coq']}")
    return lines


def _need(condition: Condition) -> str:
    return f"{text_of(condition.expr)} is an integer" if isinstance(condition, IsInteger) else condition_text(condition)
