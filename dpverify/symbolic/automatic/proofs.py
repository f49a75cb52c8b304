"""Search for a proof of a statement with two formulas, as a certificate that the stand-alone checker accepts.

A statement is proved directly, by induction over one of its integers, or by a lemma. Facts that the checker does not
need are removed from the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic.argument import accepts, pruned
from dpverify.symbolic.automatic.instances import instance
from dpverify.symbolic.automatic.search import OutOfEffortError, Search, tighten
from dpverify.symbolic.automatic.ways import SIGN_METHODS, at_value
from dpverify.symbolic.certify.certificates import (
    Certificate,
    CertificateBook,
    certify,
    clear_caches,
    sealed,
)
from dpverify.symbolic.certify.checker import (
    Expr,
    Form,
    k,
    of_atom,
    to_expr,
    with_table,
)
from dpverify.symbolic.certify.header import record_header
from dpverify.symbolic.certify.place import FactList, NoCertificateError
from dpverify.symbolic.certify.prefix import NotExpressibleError
from dpverify.symbolic.certify.side_conditions import prepare
from dpverify.symbolic.certify.writer import Writer
from dpverify.symbolic.derive.steps import Derivation
from dpverify.symbolic.elaborate.letters import sample_ranges
from dpverify.symbolic.expressions.translation import (
    sympy_conditions,
    sympy_definitions,
    sympy_sides,
)

UNIT, ZERO = k.rational(1), k.rational(0)


def by_induction(search: Search, writer: Writer) -> bool:
    """Prove a statement by induction over one of its integers. The first facts must be written before."""
    place, proof = writer.place, writer.proof
    for side in (proof.lhs, proof.rhs):
        prepare(search, place, side)
    return any(_over(search, writer, name, start) for name, start in _integers(writer))


def _integers(writer: Writer) -> Iterator[tuple[str, Expr]]:
    """Yield the integers of the statement with the lower bounds that its conditions give."""
    proof = writer.proof
    for name in sorted(k.letters_in(writer.place.form(proof.gap))):
        if proof.letters.get(name) != "integer":
            continue
        forms = [
            writer.place.form(k.letter(name) - gap)
            for _, relation, gap in proof.conditions
            if relation == ">="
        ]
        starts = [form for form in forms if name not in k.letters_in(form)]
        numbers = [form for form in starts if form.constant() is not None]
        if starts:
            yield (
                name,
                to_expr(
                    max(numbers, key=lambda form: form.constant())
                    if numbers
                    else starts[0]
                ),
            )


def _over(search: Search, writer: Writer, name: str, start: Expr) -> bool:
    place, proof = writer.place, writer.proof
    letter = k.letter(name)
    gap = start - letter
    lists: tuple[list[Any], list[Any]] = ([], [])
    first = place.case(">=", gap, lists[0])
    strict = proof.relation == ">"
    if proof.relation == "=":
        at_start = k.put(proof.gap, {name: start})
        if not search.vanishes(first, at_start):
            return False
        context = k.put(proof.gap, {name: k.letter("HOLE")})
        first.fact(
            "=", proof.gap - at_start, "congruent", "HOLE", context, letter, start
        )
        first.fact(
            "=",
            proof.gap,
            "combine",
            [],
            [["1", [proof.gap - at_start]], ["1", [at_start]]],
        )
    elif not at_value(search, first, proof.gap, name, start, strict, 5):
        return False
    later = place.case(">", -gap, lists[1])
    tighten(later, -gap)
    before = letter - UNIT
    search.prove_expr(later, before - start)
    writer.use(later, "induction", name, {name: before})
    hypothesis = k.put(proof.gap, {name: before})
    splits = list(_last_terms(search, later, later.form(proof.gap), name))
    if not _step(search, later, proof, hypothesis, splits):
        return False
    place.split(gap, *lists, proof.relation, proof.gap)
    return True


def _last_terms(
    search: Search, place: FactList, form: Form, name: str
) -> Iterator[tuple[Any, Expr]]:
    """Yield sums up to the integer, with the equation that splits off their last term."""
    for atom in dict.fromkeys(
        a for m in form for a, _ in m if a[0] == "sum" and a[1] != "oo"
    ):
        series = of_atom(atom)
        _, index, lo, hi, body = series
        if name not in k.letters_in(hi):
            continue
        where = {"f": (index, body), "lo": lo, "hi": hi, "m": hi - UNIT}
        for column in instance(search, place, "sum-split", where):
            if column.emit[0]():
                yield atom, column.factors[0]
            break


def _step(
    search: Search,
    place: FactList,
    proof: Any,
    hypothesis: Expr,
    splits: list[tuple[Any, Expr]],
) -> bool:
    """Prove the statement from its hypothesis for the integer before, and from the sign of the difference."""
    relation = proof.relation
    prepare(search, place, hypothesis)
    target = place.form(proof.gap)
    rest = target - place.form(hypothesis)
    terms = [["1", [hypothesis]]]
    for atom, equation in splits:
        split = place.form(equation)
        whole = split.get(((atom, k.ONE),))
        held = {m: c for m, c in rest.items() if any(a is atom for a, _ in m)}
        if whole is None or not held:
            continue
        factor = k.form_of(
            {
                tuple(f for f in m if f[0] is not atom): c / whole
                for m, c in held.items()
            }
        )
        rest -= place.scope.product(factor, split)
        terms.append(["1", [to_expr(factor), equation]])
    expr = to_expr(rest)
    if relation == "=":
        if not search.vanishes(place, expr):
            return False
    elif not search.search_expr(place, expr):
        return search.search_expr(place, proof.gap, relation == ">")
    if rest:
        terms.append(["1", [expr]])
    return place.fact(relation, proof.gap, "combine", [], terms)


EFFORT = 12_000
"""Default limit on the goals of each way of proof."""

MOST_LETTERS = 200  # length of a goal in a report
MOST_LEMMAS = 2  # parts of a statement for which an induction is tried
MOST_SHOWN = 3  # unproved goals in a report


@dataclass(frozen=True)
class AutomaticProof:
    """A certificate that the checker accepts, or what was tried."""

    certificate: dict[str, Any] | None
    way: str = ""
    tried: tuple[str, ...] = ()


def also_proves(
    certificate: dict[str, Any], statement: Statement, start: Any = None
) -> bool:
    """Test whether the facts of a certificate also prove another statement about the same letters."""
    try:
        header = record_header(statement, start)
    except (ValueError, NotExpressibleError):
        return False
    proof = {**certificate["statement"], **header}
    return accepts(sealed({**certificate, "statement": proof}))


def prove(statement: Statement, effort: int = EFFORT) -> AutomaticProof:
    """Search for a proof of a statement whose sides are formulas."""
    tried: list[str] = []
    try:
        plain = from_left_side(statement)
        header = record_header(statement, plain.start)
    except (
        ValueError,
        NotExpressibleError,
    ) as error:  # conditions that contradict each other, or that have no form
        return AutomaticProof(None, tried=(str(error),))
    open_goals: list[Expr] = []
    for name, way in STRATEGIES:
        search = Search(effort, SIGN_METHODS)
        clear_caches()
        book = CertificateBook(search)
        reason = ""
        try:
            writer = book.proof(header, plain, strict=True)
            # the conditions may contradict each other
            if not writer.setting.points.samples:
                return AutomaticProof(
                    None, tried=("no point that meets the conditions was found",)
                )
            if way(search, writer, open_goals):
                writer.finish()
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
    return (
        goal
        if len(goal) <= MOST_LETTERS
        else f"{goal[:MOST_LETTERS]}... ({len(goal)} letters)"
    )


def _data(book: CertificateBook, writer: Writer) -> dict[str, Any]:
    return sealed(with_table({"lemmas": book.lemmas, "statement": writer.data}))


def _is_accepted(book: CertificateBook, writer: Writer) -> bool:
    return accepts(_data(book, writer))


def directly(search: Search, writer: Writer, _: Any = None) -> bool:
    """Prove a statement from its conditions and the rules."""
    writer.write_first_facts()
    return _prove_claim(search, writer)


def _prove_claim(search: Search, writer: Writer) -> bool:
    place = writer.place
    proof = writer.proof
    search.whole = place
    for side in (proof.lhs, proof.rhs):
        prepare(search, place, side)
    if proof.relation == "=":
        return search.vanishes(place, proof.gap)
    return search.search_expr(place, proof.gap, proof.relation == ">")


def inductively(search: Search, writer: Writer, _: Any = None) -> bool:
    """Prove a statement by induction."""
    writer.write_first_facts()
    return by_induction(search, writer)


def by_lemma(search: Search, writer: Writer, goals: list[Expr]) -> bool:
    """Prove a statement from a lemma: a part of the statement about a sum, which an induction proves."""
    book = writer.book
    proof = writer.proof
    header = {key: writer.data[key] for key in ("letters", "conditions")}
    for number, goal in enumerate(goals[:MOST_LEMMAS]):
        name = f"part {number + 1}"
        said = {
            "name": name,
            **header,
            "lhs": ["q", "0"],
            "relation": "<=",
            "rhs": prefix(goal),
        }
        lemma = Writer(book, said, writer.derivation)
        if inductively(search, lemma):
            lemma.finish()
            book.add_lemma(lemma)
            writer.write_first_facts()
            for side in (proof.lhs, proof.rhs):
                prepare(search, writer.place, side)
            writer.use(writer.place, "lemma", name, {})
            return _prove_claim(search, writer)
    return False


STRATEGIES = (
    ("from conditions and rules", directly),
    ("by induction", inductively),
    ("by a lemma", by_lemma),
)


def prefix(e: Expr) -> Any:
    """Return an expression in the format of certificates."""
    op, *parts = e
    if op == "letter":
        return f"idx{parts[0][1:]}" if parts[0].startswith("~") else parts[0]
    if op == "q":
        return ["q", str(parts[0])]
    if op in k.CONSTANTS:
        return op
    return [
        op,
        *(prefix(a) if isinstance(a, k.Row) else a.replace("~", "idx") for a in parts),
    ]


def certified(
    statement: Statement, derivation: Derivation, effort: int = EFFORT
) -> Certificate:
    """Return the certificate of a derivation, with a search for lines without a reason if it is needed."""
    first = certify(statement, derivation)
    if first.data is not None:
        return first
    search = Search(effort, SIGN_METHODS)
    try:
        second = certify(statement, derivation, search)
    except OutOfEffortError:
        return replace(
            first,
            reason=f"{first.reason}; a search of {effort} goals found no proof of a line",
        )
    return first if second.data is None else second


def from_left_side(statement: Statement) -> Derivation:
    """Return a derivation without steps that starts at a statement's left side and assumes all its conditions."""
    domains = {name: statement.domains[name] for name in statement.free}
    constraints = [
        *(c for domain in statement.domains.values() for c in domain.constraints),
        *statement.requires,
    ]
    return Derivation(
        name="found automatically",
        whose="ours",
        variables=sample_ranges(domains, constraints, sympy_definitions(statement)),
        assumptions=sympy_conditions(statement),
        start=sympy_sides(statement)[0],
        steps=(),
    )
