"""A proof of a statement of two formulas that nobody wrote, as a certificate that the stand-alone checker accepts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic.induction import by_induction
from dpverify.symbolic.automatic.search import OutOfEffortError, Search
from dpverify.symbolic.certify.certificates import Book, Certificate, begin, certify, sealed
from dpverify.symbolic.certify.chains import NoCertificateError
from dpverify.symbolic.certify.checker import k, rules
from dpverify.symbolic.certify.header import record_header
from dpverify.symbolic.certify.prefix import NotExpressibleError
from dpverify.symbolic.certify.prepared import prepare
from dpverify.symbolic.certify.table import with_table
from dpverify.symbolic.certify.writer import Writer
from dpverify.symbolic.derive.steps import Derivation
from dpverify.symbolic.elaborate.letters import sampled
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_definitions, sympy_sides

EFFORT = 12_000
"""Goals that are tried by default; each way of proof gets so many."""

MOST_SHOWN = 3  # goals that were not proved


@dataclass(frozen=True)
class Outcome:
    """A certificate that the checker accepts, or what was tried.

    ``facts``: the lemmas and the statement of the certificate, before expressions are numbered.
    """

    certificate: dict[str, Any] | None
    way: str = ""
    tried: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    def proves(self, statement: Statement) -> bool:
        """Whether the same facts prove another statement about the same letters."""
        try:
            header = record_header(statement)
        except (ValueError, NotExpressibleError):
            return False
        facts = {**self.facts, "statement": {**self.facts["statement"], **header}}
        return accepts(sealed(with_table(facts)))


def accepts(certificate: dict[str, Any]) -> bool:
    """Whether the stand-alone checker accepts a certificate."""
    try:
        k.run(certificate, rules())
    except k.Refused:
        return False
    return True


def prove(statement: Statement, effort: int = EFFORT) -> Outcome:
    """Search for a proof of a statement whose sides are formulas."""
    tried: list[str] = []
    try:
        plain = from_left_side(statement)
        header = record_header(statement, plain.start)
    except (ValueError, NotExpressibleError) as error:  # conditions that contradict each other, or that have no form
        return Outcome(None, tried=(str(error),))
    for name, way in (("from conditions and rules", directly), ("by induction", by_induction)):
        search = Search(effort)
        begin()
        book = Book(search)
        reason = ""
        try:
            writer = book.proof(header, plain, strict=True)
            if way(search, writer):
                writer.ended()
                facts = {"lemmas": book.lemmas, "statement": writer.data}
                data = sealed(with_table(facts))
                if accepts(data):
                    return Outcome(data, name, tuple(tried), facts)
                reason = "the checker refuses the certificate"
        except (k.Refused, NoCertificateError, NotExpressibleError) as error:
            reason = str(error)
        except OutOfEffortError:
            reason = f"more than {effort} goals"
        goals = list(search.tried)[-MOST_SHOWN:]
        tried.append(f"{name}: {'; '.join([*filter(None, [reason]), *(f'not proved: {goal}' for goal in goals)])}")
    return Outcome(None, tried=tuple(tried))


def directly(search: Search, writer: Writer) -> bool:
    """From the conditions and the rules."""
    place = writer.place
    proof = writer.proof
    writer.first_facts()
    for side in (proof.lhs, proof.rhs):
        prepare(search, place, side)
    if proof.relation == "=":
        return search.vanishes(place, proof.gap)
    return search.shown(place, proof.gap, proof.relation == ">")


def certified(statement: Statement, derivation: Derivation, effort: int = EFFORT) -> Certificate:
    """The certificate of a derivation, whose lines without a reason may need a search."""
    first = certify(statement, derivation)
    if first.data is not None:
        return first
    search = Search(effort)
    try:
        second = certify(statement, derivation, search)
    except OutOfEffortError:
        return replace(first, reason=f"{first.reason}; a search of {effort} goals found no proof of a line")
    return first if second.data is None else second


def from_left_side(statement: Statement) -> Derivation:
    """Begin a derivation at the left side of a statement, on all its conditions, with no step."""
    domains = {name: statement.domains[name] for name in statement.free}
    asked = [*(c for domain in statement.domains.values() for c in domain.constraints), *statement.requires]
    return Derivation(
        name="found automatically",
        whose="ours",
        variables=sampled(domains, asked, sympy_definitions(statement)),
        assumptions=sympy_conditions(statement),
        start=sympy_sides(statement)[0],
        steps=(),
    )
