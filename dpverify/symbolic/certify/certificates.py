"""The certificate of a derivation of a statement: its letters, conditions, facts and lemmas, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.checker import (
    Expr,
    forget_expressions,
    k,
    of_atom,
    rules,
    to_expr,
    with_table,
)
from dpverify.symbolic.certify.columns import MONOMIAL_NUMBERS, signed_monomials
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.header import (
    functions_of,
    lemma_header,
    local_part,
    measured_left,
    record_header,
    symbols_of,
    unused_conditions,
)
from dpverify.symbolic.certify.place import NoCertificateError, Path, Trace
from dpverify.symbolic.certify.prefix import (
    NotExpressibleError,
    Prefix,
    conditions_of,
    from_sympy,
    kind_of,
    read,
)
from dpverify.symbolic.certify.rewriting import has_hole
from dpverify.symbolic.certify.writer import Writer
from dpverify.symbolic.derive.cited import local_letter_values
from dpverify.symbolic.derive.integers import Induction, divided
from dpverify.symbolic.derive.preparation import prepared
from dpverify.symbolic.derive.steps import Derivation, Link, Step
from dpverify.symbolic.derive.unnamed import without_local_names
from dpverify.symbolic.expressions.translation import sympy_conditions
from dpverify.symbolic.rules.base import Holds

SCHEMA = 3


@dataclass(frozen=True)
class Certificate:
    """A certificate, or the reason why there is none."""

    data: dict[str, Any] | None
    reason: str = ""
    trace: Trace | None = None  # of the derivation's links, if they were examined

    @property
    def problems(self) -> dict[Path, str]:
        """Return why links were not written."""
        return {} if self.trace is None else self.trace.problems


def clear_caches() -> None:
    """Clear the expressions of other certificates and the caches that depend on them."""
    forget_expressions()
    for function in (has_hole, of_atom, to_expr, signed_monomials):
        function.cache_clear()
    MONOMIAL_NUMBERS.clear()


_LABELS = ("name", "claim", "variant", "reading")
"""Fields of a header that identify the statement. The facts of a certificate do not depend on them."""

_MOST_SHARED = 256

_Content = dict[str, Any]
_Written = tuple[dict[str, Any], Trace | None]

_shared: list[tuple[_Content, Derivation, _Written]] = []
"""Written certificates with their content and derivation, latest first. Readings often have the same proof."""

_refusals: list[tuple[_Content, Derivation, Certificate]] = []
"""Refused certificates with their content and derivation, latest first. If the proof of
a reading with a changed constant is refused, it is refused for the other readings
too."""


def certify(
    statement: Statement, derivation: Derivation, goals: Goals | None = None
) -> Certificate:
    """Write the certificate of a statement from its derivation. It does not depend on earlier certificates.

    ``goals`` proves the conditions of steps, by default without a search.
    """
    clear_caches()
    book = CertificateBook(goals)
    unnamed = replace(derivation, name="")
    try:
        clean = prepared(without_local_names(derivation))
        header = record_header(statement, clean.start)
        left = measured_left(statement)
        content = {
            key: value for key, value in header.items() if key not in _LABELS
        } | {"measured": left}
    except (NoCertificateError, NotExpressibleError, k.Refused) as error:
        return _no_certificate(error)
    record = _written_before(content, unnamed, header["name"])
    if record is not None:
        # Write the header again for this statement,
        # since equal letters may be in another order.
        data, trace = record
        return Certificate(
            sealed({**data, "statement": {**data["statement"], **header}}), trace=trace
        )
    if goals is None:
        for other_content, other_derivation, refusal in _refusals:
            if other_content == content and other_derivation == unnamed:
                return refusal
    try:
        data = _newly_written(book, statement, clean, header, left)
    except (NoCertificateError, NotExpressibleError, k.Refused) as error:
        refusal = _no_certificate(error, book.trace(clean))
        if goals is None and header["name"] not in refusal.reason:
            _refusals.insert(0, (content, unnamed, refusal))
            del _refusals[_MOST_SHARED:]
        return refusal
    trace = book.trace(clean)
    _shared.insert(0, (content, unnamed, (data, trace)))
    del _shared[_MOST_SHARED:]
    return Certificate(data, trace=trace)


def certify_chain(derivation: Derivation) -> Certificate:
    """Write what a derivation proves as a lemma, with all lemmas that it cites."""
    clear_caches()
    book = CertificateBook()
    clean = prepared(without_local_names(derivation))
    try:
        book.add_lemma(book.write(lemma_header(clean, derivation.name), clean))
        return Certificate({"lemmas": book.lemmas}, trace=book.trace(clean))
    except (NoCertificateError, NotExpressibleError, k.Refused) as error:
        return _no_certificate(error, book.trace(clean))


def _no_certificate(error: Exception, trace: Trace | None = None) -> Certificate:
    return Certificate(None, str(error), trace)


def _written_before(
    content: dict[str, Any], derivation: Derivation, name: str
) -> _Written | None:
    """Return the certificate of an equal statement and derivation, unless its lemmas have this statement's name."""
    for other_content, other_derivation, record in _shared:
        if other_content == content and other_derivation == derivation:
            other_name = record[0]["statement"]["name"]
            if other_name == name or not any(
                other_name in lemma["name"] for lemma in record[0]["lemmas"]
            ):
                return record
    return None


def _newly_written(
    book: CertificateBook,
    statement: Statement,
    clean: Derivation,
    header: dict[str, Any],
    left: Prefix | None,
) -> dict[str, Any]:
    if clean.unused:
        book.unused = unused_conditions(statement, clean.unused)
    if statement.relation in k.ORDERS:
        header["order"] = {"last": from_sympy(clean.last), "known": [], "weights": []}
    if clean.division is None:
        writer = book.write(header, clean, conditions=sympy_conditions(statement))
    else:
        writer = book.divided(
            header,
            record_header(divided(statement, clean.division), clean.start),
            clean,
        )
    if left is not None:
        writer.write_signs_of_parts(k.read(left))
    for proof in (*book.lemmas, writer.data):
        if any(
            _is_statement(premise, header) for premise in proof["premises"].values()
        ):
            raise NoCertificateError(
                f"the derivation of {statement.reference} cites this statement itself"
            )
    return sealed(with_table({"lemmas": book.lemmas, "statement": writer.data}))


def _is_statement(premise: dict[str, Any], header: dict[str, Any]) -> bool:
    """Test whether a premise is the statement of a header."""
    return premise["kind"] == "claim" and all(
        premise[key] == header[key] for key in ("claim", "variant", "reading")
    )


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """Return the certificate with the seals of its statement, its lemmas and their premises."""
    for proof in (*data["lemmas"], data["statement"]):
        for part in (proof, *proof["premises"].values()):
            part["seal"] = k.seal(part, data["table"])
    return {"schema": SCHEMA, **data}


class CertificateBook:
    """The lemmas of one certificate."""

    def __init__(self, goals: Goals | None = None) -> None:
        self.goals = goals
        self.checker = k.Checker(rules())
        self.lemmas: list[dict[str, Any]] = []
        # conditions of the statement that its proof does not use
        self.unused: frozenset[Expr] = frozenset()
        self.lemma_names: list[tuple[Derivation | Induction, str]] = []
        # of each chain, by its links
        self.traces: list[tuple[tuple[Link, ...], Trace]] = []

    def trace(self, derivation: Derivation) -> Trace | None:
        """Return the trace of a derivation's links; None if none of them was examined."""
        return next(
            (trace for links, trace in self.traces if links is derivation.steps), None
        )

    def lemma(self, cited: Derivation | Induction) -> str:
        """Return the name of the lemma that a cited derivation or induction proves. It is written once."""
        for candidate, name in self.lemma_names:
            if candidate == cited:
                return name
        title = cited.name if isinstance(cited, Derivation) else cited.step.name
        try:
            if isinstance(cited, Derivation):
                clean = prepared(without_local_names(cited))
                writer = self.write(
                    lemma_header(clean, f"{title} {len(self.lemmas) + 1}"), clean
                )
            else:
                writer = self._induction(cited)
        except NoCertificateError as error:
            raise NoCertificateError(f"{title}: {error}") from None
        self.add_lemma(writer)
        self.lemma_names.append((cited, writer.data["name"]))
        return str(writer.data["name"])

    def proof(
        self, header: dict[str, Any], derivation: Derivation, strict: bool = False
    ) -> Writer:
        """Begin to write what a derivation proves.

        With ``strict``, letters that the statement does not have must be local.
        """
        local = local_part(
            derivation, header["letters"], symbols_of(derivation), strict=strict
        )
        return Writer(self, header | local, derivation)

    def write(
        self,
        header: dict[str, Any],
        derivation: Derivation,
        conditions: Sequence[Any] | None = None,
    ) -> Writer:
        """Write what a derivation proves.

        If it needs values of letters, write it as an instance of a lemma for all
        values.

        ``conditions`` are those of the statement that it is about.
        """
        writer = self.proof(header, derivation, conditions is not None)
        values = local_letter_values(derivation, conditions or ())
        if not values:
            writer.run()
            return writer
        local = writer.data["local"]
        remaining_letters = {
            name: kind for name, kind in local["letters"].items() if name not in values
        }
        about = [
            c
            for c in local["conditions"]
            if k.letters_in(k.condition(c, ())[2]) <= remaining_letters.keys()
        ]
        generalized = {
            **header,
            "name": f"{header['name']}, for all {', '.join(values)}",
        }
        generalized |= {"letters": header["letters"] | local["letters"]}
        generalized |= {"conditions": header["conditions"] + local["conditions"]}
        part = Writer(self, generalized, derivation)
        part.run()
        self.add_lemma(part)
        granted = [
            a
            for a in derivation.assumptions
            if not values.keys() & {s.name for s in a.free_symbols}
        ]
        writer = Writer(
            self,
            {**header, "local": {"letters": remaining_letters, "conditions": about}},
            replace(derivation, assumptions=tuple(granted)),
        )
        writer.run_instance(
            generalized["name"], {name: read(value) for name, value in values.items()}
        )
        return writer

    def _induction(self, cited: Induction) -> Writer:
        """Write an induction as a split: the letter is at its start, or the statement is used one below."""
        base, step = (self.lemma(part) for part in (cited.base, cited.step))
        only = Step(cited.rhs, cited.relation)
        conclusion = prepared(
            replace(
                cited.step, start=cited.lhs, steps=(only,), assumptions=(), premises={}
            )
        )
        header = lemma_header(
            conclusion, f"{conclusion.name}, by induction {len(self.lemmas) + 1}"
        )
        conditions = [c for c in cited.conditions if isinstance(c, Holds)]
        header["conditions"] += [
            part for c in conditions for part in conditions_of(c.relation)
        ]
        header["letters"] |= {
            s.name: kind_of(s) for c in conditions for s in c.relation.free_symbols
        }
        writer = Writer(self, header, replace(conclusion, assumptions=cited.upper))
        writer.run_induction(cited.hypothesis.letter.name, base, step)
        return writer

    def divided(
        self, header: dict[str, Any], lemma: dict[str, Any], derivation: Derivation
    ) -> Writer:
        """Write a statement about an integer letter as an instance of a lemma about its quotient and remainder."""
        division = derivation.division
        assert division is not None
        name = division.equation
        letters = lemma["letters"] | functions_of(derivation)
        lemma = {**lemma, "name": name, "letters": letters, "definitions": []}
        part = self.proof(lemma, derivation, strict=True)
        part.run()
        self.add_lemma(part)
        local = {"letters": functions_of(derivation), "conditions": []}
        writer = Writer(self, {**header, "local": local}, derivation)
        # the points are the derivation's, not the statement's
        writer.place.points.clear()
        letter = k.letter(division.letter)
        divisor = k.letter(division.divisor)
        shifted = letter - k.rational(division.first)
        ratio = k.row("*", shifted, k.row("^", divisor, k.rational(-1)))
        quotient = k.row("floor", ratio)
        writer.goals.prove_expr(writer.place, divisor, True)
        writer.goals.prove_expr(
            writer.place, ratio - k.rational(division.least_quotient)
        )
        values = {
            division.quotient: quotient,
            division.remainder: letter - k.row("*", divisor, quotient),
        }
        writer.use(writer.place, "lemma", name, values)
        writer.finish()
        return writer

    def add_lemma(self, writer: Writer) -> None:
        """Add a lemma that has been written."""
        self.lemmas.append(writer.data)
        self.checker.lemmas[writer.data["name"]] = writer.proof
