"""A proof of a statement of two formulas that nobody wrote, as a certificate that the stand-alone checker accepts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic.induction import by_induction
from dpverify.symbolic.automatic.prune import pruned
from dpverify.symbolic.automatic.search import OutOfEffortError, Search
from dpverify.symbolic.automatic.ways import WAYS as SIGNS
from dpverify.symbolic.certify.certificates import Book, Certificate, begin, certify, sealed
from dpverify.symbolic.certify.chains import NoCertificateError
from dpverify.symbolic.certify.checker import Expr, k, rules
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

MOST_LETTERS = 200  # of a goal that is shown
MOST_LEMMAS = 2  # parts of a statement for which an induction is tried
MOST_SHOWN = 3  # goals that were not proved


@dataclass(frozen=True)
class AutomaticProof:
    """A certificate that the checker accepts, or what was tried."""

    certificate: dict[str, Any] | None
    way: str = ""
    tried: tuple[str, ...] = ()


def also_proves(certificate: dict[str, Any], statement: Statement, start: Any = None) -> bool:
    """Whether the facts of a certificate prove another statement about the same letters, too."""
    try:
        header = record_header(statement, start)
    except (ValueError, NotExpressibleError):
        return False
    proof = {**certificate["statement"], **header}
    return accepts(sealed({**certificate, "statement": proof}))


def accepts(certificate: dict[str, Any]) -> bool:
    """Whether the stand-alone checker accepts a certificate."""
    try:
        k.run(certificate, rules())
    except k.Refused:
        return False
    return True


def prove(statement: Statement, effort: int = EFFORT) -> AutomaticProof:
    """Search for a proof of a statement whose sides are formulas."""
    tried: list[str] = []
    try:
        plain = from_left_side(statement)
        header = record_header(statement, plain.start)
    except (ValueError, NotExpressibleError) as error:  # conditions that contradict each other, or that have no form
        return AutomaticProof(None, tried=(str(error),))
    open_goals: list[Expr] = []
    for name, way in WAYS:
        search = Search(effort, SIGNS)
        begin()
        book = Book(search)
        reason = ""
        try:
            writer = book.proof(header, plain, strict=True)
            if not writer.setting.points.found:  # the conditions may contradict each other
                return AutomaticProof(None, tried=("no point that meets the conditions was found",))
            if way(search, writer, open_goals):
                writer.ended()
                if accepts(_data(book, writer)):
                    pruned(writer.data["body"], partial(_is_accepted, book, writer))
                    return AutomaticProof(_data(book, writer), name, tuple(tried))
                reason = "the checker refuses the certificate"
        except (k.Refused, NoCertificateError, NotExpressibleError) as error:
            reason = str(error)
        except OutOfEffortError:
            reason = f"more than {effort} goals"
        except Exception as error:  # noqa: BLE001  of an expression that nobody tried before: then there is no proof
            reason = f"{type(error).__name__}: {error}"
        open_goals = open_goals or list(search.open_sums)
        goals = [_shortened(goal) for goal in list(search.tried)[-MOST_SHOWN:]]
        outcome = [*filter(None, [reason]), *(f"not proved: {goal}" for goal in goals)]
        tried.append(f"{name}: {'; '.join(outcome) or 'nothing to try'}")
    return AutomaticProof(None, tried=tuple(tried))


def _shortened(goal: str) -> str:
    return goal if len(goal) <= MOST_LETTERS else f"{goal[:MOST_LETTERS]}... ({len(goal)} letters)"


def _data(book: Book, writer: Writer) -> dict[str, Any]:
    return sealed(with_table({"lemmas": book.lemmas, "statement": writer.data}))


def _is_accepted(book: Book, writer: Writer) -> bool:
    return accepts(_data(book, writer))


def directly(search: Search, writer: Writer, _: Any = None) -> bool:
    """From the conditions and the rules."""
    writer.first_facts()
    return _reached(search, writer)


def _reached(search: Search, writer: Writer) -> bool:
    place = writer.place
    proof = writer.proof
    search.whole = place
    for side in (proof.lhs, proof.rhs):
        prepare(search, place, side)
    if proof.relation == "=":
        return search.vanishes(place, proof.gap)
    return search.shown(place, proof.gap, proof.relation == ">")


def inductively(search: Search, writer: Writer, _: Any = None) -> bool:
    """From the statement for the integer before."""
    writer.first_facts()
    return by_induction(search, writer)


def by_lemma(search: Search, writer: Writer, goals: list[Expr]) -> bool:
    """From a part of the statement about a sum, which an induction proves."""
    book = writer.book
    proof = writer.proof
    header = {key: writer.data[key] for key in ("letters", "conditions")}
    for number, goal in enumerate(goals[:MOST_LEMMAS]):
        name = f"part {number + 1}"
        said = {"name": name, **header, "lhs": ["q", "0"], "relation": "<=", "rhs": prefix(goal)}
        lemma = Writer(book, said, writer.derivation)
        if inductively(search, lemma):
            lemma.ended()
            book.keep(lemma)
            writer.first_facts()
            for side in (proof.lhs, proof.rhs):
                prepare(search, writer.place, side)
            writer.use(writer.place, "lemma", name, {})
            return _reached(search, writer)
    return False


WAYS = (("from conditions and rules", directly), ("by induction", inductively), ("by a lemma", by_lemma))


def prefix(e: Expr) -> Any:
    """An expression in the format of certificates."""
    op, *parts = e
    if op == "letter":
        return f"idx{parts[0][1:]}" if parts[0].startswith("~") else parts[0]
    if op == "q":
        return ["q", str(parts[0])]
    if op in k.CONSTANTS:
        return op
    return [op, *(prefix(a) if isinstance(a, k.Row) else a.replace("~", "idx") for a in parts)]


def certified(statement: Statement, derivation: Derivation, effort: int = EFFORT) -> Certificate:
    """The certificate of a derivation, whose lines without a reason may need a search."""
    first = certify(statement, derivation)
    if first.data is not None:
        return first
    search = Search(effort, SIGNS)
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
