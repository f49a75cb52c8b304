"""Examine proofs line by line with certificates and sample points, print their lines, and suggest next lines.

A text proof is certified and sent to the stand-alone checker. If there is no accepted certificate, the report has the
lines that fail, with reasons. The steps of a chain get the verdict of its certificate and of sample points. Proofs and
rules are printed in the formula language of the records. The suggested next line is the printed side if a search proves
it, or lines from rules.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import sympy

from dpverify.ledger.formula import FormulaError, parse, to_text
from dpverify.ledger.proof_chains import ChainLine, parse_chain
from dpverify.ledger.records import RelationToDerived
from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic.proofs import certified, prove
from dpverify.symbolic.certify.certificates import Certificate
from dpverify.symbolic.certify.checker import k, rules
from dpverify.symbolic.certify.conclusion import relation_to_derived
from dpverify.symbolic.certify.judge import (
    NOT_EXAMINED,
    LinkReport,
    is_granted,
    link_reports,
    setting_of,
    step_certificate,
)
from dpverify.symbolic.derive.define import expand_definition
from dpverify.symbolic.derive.matching import suggestions
from dpverify.symbolic.derive.preparation import prepared
from dpverify.symbolic.derive.setting import Setting, evaluate_step
from dpverify.symbolic.derive.steps import (
    ALGEBRA,
    PREMISE,
    Cases,
    Derivation,
    DerivationError,
    Step,
)
from dpverify.symbolic.elaborate.formulas import is_guard, text_of
from dpverify.symbolic.elaborate.proofs import derivation_of
from dpverify.symbolic.elaborate.steps import sides_text
from dpverify.symbolic.expressions.translation import sympy_conditions, sympy_sides
from dpverify.symbolic.rules import CATALOGUE
from dpverify.symbolic.rules.base import (
    Condition,
    ForAll,
    Holds,
    Instance,
    IsInteger,
    Rule,
)

POINTS = 100  # number of points at which a line outside of the certificate is evaluated
NOT_CLAIMED: dict[str, str] = {
    "stronger": "the claim says more than the last line gives",
    "differs": "the last line is not what the claim says",
}
UNDECIDED = "not proven that the claim follows from the last line"


@dataclass(frozen=True)
class Examination:
    """The result of the examination of a proof."""

    statement: Statement
    derivation: Derivation
    certificate: dict[str, Any] | None  # accepted by the checker
    problems: tuple[str, ...]  # reasons why there is no certificate, one line each
    given: tuple[str, ...] = ()  # premises that are not part of the certificate
    relation: RelationToDerived = "undecided"  # of the printed bound to the derived one


def examine(statement: Statement, points: int = POINTS) -> Examination:
    """Read, elaborate, certify and check the proof of a statement. Raise a `ProofError` if it cannot be read."""
    full = expand_definition(statement)
    derivation = derivation_of(full)
    try:
        certificate = certified(full, derivation)
    except DerivationError as error:
        return Examination(statement, derivation, None, (str(error),))
    refusal = certificate.reason
    if certificate.data is not None:
        try:
            checker = k.run(certificate.data, rules())
            given = tuple(map(str, k.given_in(certificate.data)))
            relation = relation_to_derived(full, derivation, checker)
            false_lines = tuple(_false_lines(full, derivation, certificate, points))
            accepted = None if false_lines else certificate.data
            return Examination(
                statement, derivation, accepted, false_lines, given, relation
            )
        except k.Refused as error:
            refusal = f"the checker refuses the certificate: {error}"
    problems = tuple(problems_of(full, derivation, certificate, points)) or (
        f"no certificate: {refusal}",
    )
    return Examination(statement, derivation, None, problems)


def problems_of(
    statement: Statement, derivation: Derivation, certificate: Certificate, points: int
) -> Iterator[str]:
    """Yield why there is no certificate: the line that fails, later lines that points refute, the last expression."""
    has_problem = False
    try:
        clean = prepared(derivation)
        for line, report in _reports(
            statement, clean, step_certificate(derivation, certificate), points
        ):
            if problem := link_problem(clean, report):
                has_problem = True
                yield f"line {line.number}: {line.text}: {problem}"
    except DerivationError as error:
        yield str(error)
        return
    if not has_problem:
        relation = relation_to_derived(statement, derivation, None)
        yield f"{NOT_CLAIMED.get(relation, UNDECIDED)}: {certificate.reason}"


def _false_lines(
    statement: Statement, derivation: Derivation, certificate: Certificate, points: int
) -> Iterator[str]:
    """Yield the lines of a certified proof that are false at a sample point, as by a false given relation."""
    clean = prepared(derivation)
    for line, report in _reports(statement, clean, certificate, points):
        if report.values.violation and not is_granted(clean, report.link):
            yield f"line {line.number}: {line.text}: {report.values.violation}"


def _reports(
    statement: Statement, clean: Derivation, certificate: Certificate, points: int
) -> Iterator[tuple[ChainLine, LinkReport]]:
    """Yield the lines of a proof with the evidence on their links."""
    lines = iter(_proof_lines(statement))
    for report in link_reports(clean, certificate, setting_of(clean, points, 0)):
        if not (isinstance(report.link, Step) and is_guard(report.link)):
            yield next(lines), report


def _proof_lines(statement: Statement) -> Iterator[ChainLine]:
    """Yield the lines of the proof. The lines of cases come before the line at the end of their split."""
    assert statement.proofs is not None
    proof = statement.proofs.find(statement)
    assert proof is not None

    def walk(lines: tuple[ChainLine, ...]) -> Iterator[ChainLine]:
        for line in lines:
            for _, inside in line.cases:
                yield from walk(inside)
            yield line

    return walk(parse_chain(proof.chain).lines)


def link_problem(clean: Derivation, report: LinkReport) -> str:
    """Return why a link is not proved, and a point of the domain where it is false if one is known; empty if it holds.

    Of the links after the one that fails, only what points say.
    """
    parts = []
    link = report.link
    if report.unproved and report.unproved not in NOT_EXAMINED:
        if isinstance(link, Step) and link.rule not in (ALGEBRA, PREMISE):
            parts.append(
                f"{link.rule} says {sides_text(CATALOGUE[link.rule].instance(link.where))}"
            )
        parts.append(report.unproved)
    if report.values.violation and (report.unproved or not is_granted(clean, link)):
        parts.append(f"false {report.values.violation.removesuffix(' is false')}")
    elif report.values.undefined:
        parts.append(f"without a value {report.values.undefined}")
    return "; ".join(part.removesuffix(".") for part in parts)


LINE_WIDTH = 100


def statement_lines(statement: Statement) -> list[str]:
    """Return the lines that show a statement and the conditions that it grants."""
    left = statement.quantity if statement.lhs is None else to_text(statement.lhs)
    right = "" if statement.rhs is None else to_text(statement.rhs)
    conditions = ", ".join(map(text_of, sympy_conditions(statement)))
    lines = [str(statement.reference), f"claim: {left} {statement.relation} {right}"]
    return [*lines, f"for: {conditions}"] if conditions else lines


def lines_of(statement: Statement, derivation: Derivation) -> list[str]:
    """Return the lines of a proof as written, each with the rule or premise that it uses below it."""
    assert statement.proofs is not None
    proof = statement.proofs.find(statement)
    assert proof is not None
    chain = parse_chain(proof.chain)
    lines = [f"     {to_text(chain.start)}"]
    links = [link for link in derivation.steps if not is_guard(link)]
    lines += _links(chain.lines, links, derivation, "  ")
    return lines


def _links(
    lines: tuple[ChainLine, ...], links: Any, derivation: Derivation, indent: str
) -> Iterator[str]:
    for line, link in zip(lines, links, strict=True):
        yield f"{indent}{line.relation:>2} {' '.join(line.text.removeprefix(line.relation).split())}"
        if isinstance(link, Cases):
            for (_, inside), case in zip(line.cases, link.cases, strict=True):
                yield f"{indent}   case {text_of(case.assumption)}"
                yield from _links(inside, case.steps, derivation, f"{indent}   ")
        else:
            yield from (
                f"{indent}      {text}"
                for text in _justification_lines(link, derivation)
            )


def _justification_lines(step: Step, derivation: Derivation) -> Iterator[str]:
    """Yield the instance of a step's rule or premise, and the conditions of the instance."""
    instance: Instance
    if step.rule == ALGEBRA:
        return
    if step.rule == PREMISE:
        instance = derivation.premises[step.premises[0]]
    else:
        instance = CATALOGUE[step.rule].instance(step.where)
    yield from textwrap.wrap(sides_text(instance), LINE_WIDTH)
    if needs := dict.fromkeys(filter(None, map(condition_text, instance.conditions))):
        yield from textwrap.wrap(f"needs {', '.join(needs)}", LINE_WIDTH)


def condition_text(condition: Condition) -> str:
    """Return a side condition in the formula language, or an empty text if it is trivially true."""
    match condition:
        case Holds(relation):
            return "" if relation is sympy.true else text_of(relation)
        case IsInteger(expr):
            return (
                ""
                if expr.is_integer and expr.is_Atom
                else f"{text_of(expr)} is an integer"
            )
        case ForAll(index, lo, hi, relation):
            return f"{text_of(relation)} for {text_of(lo)} <= {index.name} <= {text_of(hi)}"
        case _:
            return str(condition)


def rule_lines(rule: Rule, basis: Mapping[str, str] | None) -> list[str]:
    """Return a rule as the list of rules shows it. ``basis`` has the file and theorem of its proof in Coq."""
    needs = ", ".join(_condition_text(condition) for condition in rule.conditions)
    lines = [rule.name, f"    {sides_text(rule.sides)}"]
    lines += [f"    needs {needs}"] if needs else []
    lines += textwrap.wrap(
        rule.proof, LINE_WIDTH, initial_indent="    ", subsequent_indent="    "
    )
    if basis is not None:
        lines.append(f"    Coq: {basis['theorem']} in specs/proofs/{basis['coq']}")
    return lines


def _condition_text(condition: Condition) -> str:
    return (
        f"{text_of(condition.expr)} is an integer"
        if isinstance(condition, IsInteger)
        else condition_text(condition)
    )


LINE_EFFORT = 1_500  # goals for one line
MOST_LINES = 5
MOST_TRIED = 40  # lines from rules that are tried
TEST_POINTS = 40
RELATIONS: dict[str | None, Any] = {
    "<=": "<=",
    "<": "<=",
    ">=": ">=",
    ">": ">=",
    "=": "=",
}


def next_lines(statement: Statement, chain: Derivation) -> list[str]:
    """Return next lines of a chain, first those from which the printed side is proved to follow.

    A line is left out if the printed side does not follow from it at a point of the domain.
    """
    _, right = sympy_sides(statement)
    relation = RELATIONS.get(statement.relation)
    if statement.rhs is None or relation is None:
        return []
    if _proves(statement, chain.last):
        return [f"{relation} {to_text(statement.rhs)}"]
    symbols = sorted(
        {
            s
            for side in (chain.last, right)
            for s in side.free_symbols
            if s.name in chain.variables
        },
        key=str,
    )
    setting = Setting(chain.variables, symbols, chain.assumptions, TEST_POINTS, 0)
    closing: list[str] = []
    others: list[str] = []
    for suggestion in islice(suggestions(chain.last, relation), MOST_TRIED):
        if evaluate_step(suggestion.expr, right, relation, setting).violation:
            continue
        line = f"{relation} {text_of(suggestion.expr)}      by {suggestion.match.rule}"
        follows = len(closing) < MOST_LINES and _proves(statement, suggestion.expr)
        (closing if follows else others).append(
            f"{line}      # then the claim follows" if follows else line
        )
    return [*closing, *others][:MOST_LINES]


def _proves(statement: Statement, left: Any) -> bool:
    """Test whether a search proves that the printed side follows from an expression."""
    try:
        lhs = parse(text_of(left))
    except (FormulaError, ValueError):
        return False
    return (
        prove(replace(statement, lhs=lhs, quantity=None), LINE_EFFORT).certificate
        is not None
    )
