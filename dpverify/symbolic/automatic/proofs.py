"""A proof of a statement of two formulas that nobody wrote, as a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic.induction import by_induction
from dpverify.symbolic.automatic.search import OutOfTimeError, Search
from dpverify.symbolic.certify.certificates import SCHEMA, Book, _begin, _sealed
from dpverify.symbolic.certify.chains import NoCertificateError
from dpverify.symbolic.certify.checker import k, rules
from dpverify.symbolic.certify.header import record_header
from dpverify.symbolic.certify.prefix import NotExpressibleError
from dpverify.symbolic.certify.prepared import prepare
from dpverify.symbolic.certify.table import with_table
from dpverify.symbolic.certify.writer import Writer
from dpverify.symbolic.derive.by_rules import from_left_side
from dpverify.symbolic.derive.steps import DerivationError

SECONDS = 20.0


@dataclass(frozen=True)
class Outcome:
    """A certificate that the checker accepts, or what was tried."""

    certificate: dict[str, Any] | None
    way: str = ""
    tried: tuple[str, ...] = ()


def prove(statement: Statement, seconds: float = SECONDS) -> Outcome:
    """Search for a proof of a statement whose sides are formulas."""
    tried: list[str] = []
    try:
        plain = from_left_side(statement)
        header = record_header(statement, plain.start)
    except (ValueError, NotExpressibleError, DerivationError) as error:
        return Outcome(None, tried=(str(error),))
    for way in (directly, by_induction):
        search = Search(seconds / 2)
        _begin()
        book = Book()
        try:
            writer = book.proof(header, plain, strict=True)
            if way(search, writer):
                writer.ended()
                data = _sealed(with_table({"lemmas": book.lemmas, "statement": writer.data}))
                assert data["schema"] == SCHEMA
                k.run(data, rules())
                return Outcome(data, way.__name__, tuple(tried))
            tried += [f"{way.__name__}: {goal}" for goal in list(search.tried)[-3:]]
        except (k.Refused, NoCertificateError, NotExpressibleError) as error:
            tried.append(f"{way.__name__}: {error}")
        except OutOfTimeError:
            tried.append(f"{way.__name__}: the time is over; {'; '.join(list(search.tried)[-3:])}")
    return Outcome(None, tried=tuple(tried))


def directly(search: Search, writer: Writer) -> bool:
    """From the conditions and the rules."""
    place, proof = writer.place, writer.proof
    writer.goals = search
    writer._first_facts()
    for side in (proof.lhs, proof.rhs):
        prepare(search, place, side)
    if proof.relation == "=":
        return search.vanishes(place, proof.gap)
    return search.shown(place, proof.gap, proof.relation == ">")
