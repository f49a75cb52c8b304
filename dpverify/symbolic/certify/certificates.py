"""The certificate of a derivation of a statement: its letters, conditions, facts and lemmas, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.chains import Chains, NoCertificateError, Origin, gap_of, read
from dpverify.symbolic.certify.checker import k, rules
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.header import lemma_header, local_part, premise_header, record_header
from dpverify.symbolic.certify.instances import replaced, where_value
from dpverify.symbolic.certify.orders import weighed
from dpverify.symbolic.certify.place import FactList, Writing
from dpverify.symbolic.certify.prefix import NotExpressibleError, conditions_of, from_sympy
from dpverify.symbolic.certify.prepared import prepare
from dpverify.symbolic.certify.readback import written
from dpverify.symbolic.certify.rewriting import unproven
from dpverify.symbolic.certify.table import with_table
from dpverify.symbolic.derive.cited import Cited
from dpverify.symbolic.derive.define import Recorded
from dpverify.symbolic.derive.divided import divided
from dpverify.symbolic.derive.induction import Hypothesis, Induction
from dpverify.symbolic.derive.prepare import prepared
from dpverify.symbolic.derive.referenced import Referenced
from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.rules.base import substitute

_POINTS = 24
_NO_LETTERS: dict[str, Any] = {"letters": {}, "conditions": [], "given": []}


@dataclass(frozen=True)
class Certificate:
    """One certificate, or why there is none."""

    data: dict[str, Any] | None
    reason: str = ""


def certify(statement: Statement, derivation: Derivation, digest: str) -> Certificate:
    """Write the certificate of a statement from its derivation."""
    book = Book()
    try:
        clean = prepared(derivation)
        header = record_header(statement, clean.start) | {"digest": digest}
        if statement.relation in k.ORDERS:
            header["order"] = {"last": from_sympy(clean.last), "known": [], "weights": []}
        if clean.division is None:
            proof = book.proof(header, clean)
        else:
            proof = book.divided(header, record_header(divided(statement, clean.division), clean.start), clean)
        made = with_table({"lemmas": book.lemmas, "statement": proof})
        for proof in (*made["lemmas"], made["statement"]):
            for one in (proof, *proof["premises"].values()):
                if one.get("kind") != "named":
                    one["seal"] = k.seal(one, made["table"])
        return Certificate({"schema": 2, **made})
    except (NoCertificateError, NotExpressibleError, k.Refused) as error:
        return Certificate(None, str(error))


class Book:
    """The lemmas of one certificate."""

    def __init__(self) -> None:
        self.checker = k.Checker(rules())
        self.lemmas: list[dict[str, Any]] = []
        self.known: list[tuple[Derivation, str]] = []

    def lemma(self, derivation: Derivation) -> str:
        """Name of the lemma that a cited derivation proves."""
        for other, name in self.known:
            if other == derivation:
                return name
        name = f"{derivation.name} {len(self.lemmas) + 1}"
        clean = prepared(derivation)
        try:
            proof = self.proof(lemma_header(clean, name), clean)
        except NoCertificateError as error:
            raise NoCertificateError(f"{derivation.name}: {error}") from None
        self._keep(name, proof)
        self.known.append((derivation, name))
        return name

    def proof(self, header: Mapping[str, Any], derivation: Derivation) -> dict[str, Any]:
        """Write a derivation below what it says."""
        local = local_part(derivation, header["letters"], _symbols(derivation), strict="digest" in header)
        return _Writer(self, {**header, **local, "premises": {}, "body": []}, derivation).run()

    def divided(self, header: dict[str, Any], lemma: dict[str, Any], derivation: Derivation) -> dict[str, Any]:
        """Write a statement about a whole letter as a lemma about its quotient and rest, and put those for them."""
        division = derivation.division
        assert division is not None
        name = f"{division.letter} = {division.quotient}*{division.by} + {division.rest}"
        self._keep(name, self.proof(lemma | {"name": name}, derivation))
        writer = _Writer(self, {**header, "premises": {}, "body": [], "local": _NO_LETTERS}, derivation)
        place, goals, rule = writer.place, writer.goals, self.checker.lemmas[name]
        letter, by = k.letter(division.letter), k.letter(division.by)
        shifted = letter - k.rational(division.first)
        quotient = k.row("floor", k.row("*", shifted, k.row("^", by, k.rational(-1))))
        values = {one: k.letter(one) for one in rule.letters}
        values |= {division.quotient: quotient, division.rest: letter - k.row("*", by, quotient)}
        goals.expr(place, by, True)
        for expr in (*values.values(), writer.proof.lhs, writer.proof.rhs):
            prepare(goals, place, expr)
        if left := unproven(goals, place, rule, values):
            raise NoCertificateError(f"{name}: not proven: {'; '.join(left)}")
        if not place.fact(rule.relation, k.put(rule.gap, values), "instance", "lemma", name, values):
            raise NoCertificateError(f"{name}: {place.refusal}")
        place.scope.defined(writer.proof.lhs)
        place.scope.defined(writer.proof.rhs)
        if not place.scope.holds(writer.proof.relation, place.form(writer.proof.gap)):
            raise NoCertificateError(f"{name}: that is not what the statement says")
        return writer.data

    def _keep(self, name: str, proof: dict[str, Any]) -> None:
        self.lemmas.append(proof)
        self.checker.lemmas[name] = Writing(self.checker, proof)


class _Writer:
    """Writes one statement or lemma."""

    def __init__(self, book: Book, data: dict[str, Any], derivation: Derivation) -> None:
        self.book, self.data, self.derivation = book, data, derivation
        self.proof, self.goals = Writing(book.checker, data), Goals()
        self.quantified = replaced(derivation.steps)
        symbols = _symbols(derivation)
        self.setting = Setting(derivation.variables, symbols, derivation.assumptions, _POINTS, 0)
        points = [_floats(point) for point in self.setting.points.found]
        self.place = FactList(self.proof, self.proof.scope, data["body"], points)

    def run(self) -> dict[str, Any]:
        """Write the facts of the chain, and what is said last."""
        place, goals, derivation = self.place, self.goals, self.derivation
        self._first_facts()
        lhs, rhs, start, last = self.proof.lhs, self.proof.rhs, read(derivation.start), read(derivation.last)
        for expr in (lhs, start):
            prepare(goals, place, expr)
        if not goals.zero(place, place.form(start - lhs)):
            raise NoCertificateError("the derivation starts from something else than the left side")
        chains = Chains(goals, derivation, self.cited)
        gaps = chains.links(place, derivation.start, derivation.steps, self.setting)
        for expr in (last, rhs):
            prepare(goals, place, expr)
        relation = "=" if goals.zero(place, place.form(rhs - last)) else self.data["relation"]
        if relation != "=" and not goals.known(place, *gap_of(relation, last, rhs)):
            raise NoCertificateError("the printed side is not proven to follow from the last expression")
        chains.add_up(place, (self.proof.relation, self.proof.gap), [("=", lhs, start), *gaps, (relation, last, rhs)])
        for side in (lhs, rhs):
            place.scope.defined(side)
        if "order" in self.data and (why := weighed(goals, place, self.data)):
            raise NoCertificateError(why)
        return self.data

    def _first_facts(self) -> None:
        """Signs of letters, integers tightened, and what the derivation assumes of the statement's letters."""
        place, goals = self.place, self.goals
        for fact in list(place.scope.facts):
            prepare(goals, place, fact[1])
        for name, kind in self.proof.kinds.items():
            if kind in k.NUMBERS and not goals.expr(place, k.letter(name), True):
                goals.expr(place, k.letter(name))
        for relation, expr in [fact for fact in place.scope.facts if fact[0] != "within"]:
            less = place.form(expr) - k.ONE
            if relation == ">" and place.scope.integer(less) and not place.scope.sign(less) & 1:
                place.fact(">=", written(less), "whole")
        for assumption in self.derivation.assumptions:
            for one in conditions_of(assumption):
                relation, gap = k.condition(one, ())[1:]
                if relation in (">=", ">") and not goals.expr(place, gap, relation == ">"):
                    raise NoCertificateError(f"it assumes {assumption}, which the statement does not grant")

    def cited(self, step: Step) -> Origin:
        """What a step cites: a lemma where a derivation is cited, or a premise."""
        (name,) = step.premises
        premise = self.derivation.premises[name]
        if isinstance(premise, Induction | Hypothesis):
            raise NoCertificateError("an induction, which the checker knows and nothing writes yet")
        if isinstance(premise, Cited) and premise.derivation is not None:
            lemma = self.book.lemma(premise.derivation)
            rule = self.book.checker.lemmas[lemma]
            where = {one: premise.where.get(one, sympy.Symbol(one)) for one in rule.letters}
            if premise.lhs == premise.start:
                put = {one: substitute(sympy.sympify(value), step.where) for one, value in where.items()}
                functions = {one: (one,) for one, kind in rule.letters.items() if kind in k.FUNCTIONS}
                return Origin("lemma", lemma, rule, {n: where_value(v) for n, v in put.items()} | functions)
            data = {"kind": "named", "lemma": lemma, "where": {n: from_sympy(v) for n, v in where.items()}}
            data |= {"name": name, "lhs": from_sympy(premise.lhs)}
            where = {}
        elif isinstance(premise, Referenced) and not premise.measured:
            data = {"name": name, "kind": "claim", **record_header(premise.statement)}
            where = {one: premise.where.get(one, sympy.Symbol(one)) for one in data["letters"]}
        else:
            kind = "claim" if isinstance(premise, Referenced) else "given"
            if isinstance(premise, Recorded):
                name, kind = str(premise.meaning), "fact" if premise.is_given else "definition"
            data = premise_header(premise, name, self.quantified.get(step.premises[0], ())) | {"kind": kind}
            where = {one: sympy.Symbol(one) for one in data["letters"]}
        self.data["premises"][name] = data
        rule = self.proof.premises[name] = self.proof.premise(data)
        put = {one: substitute(sympy.sympify(value), step.where) for one, value in where.items()}
        return Origin("premise", name, rule, {one: where_value(value) for one, value in put.items()})


def _symbols(derivation: Derivation) -> list[Any]:
    from dpverify.symbolic.derive.derivation import _all_expressions

    expressions = (derivation.start, *derivation.assumptions, *_all_expressions(derivation.steps))
    found = {s for expr in expressions for s in expr.free_symbols if s.name in derivation.variables}
    return sorted(found, key=str)


def _floats(point: Any) -> dict[str, float]:
    found = {}
    for name, value in point.items():
        try:
            found[name] = float(value)
        except (TypeError, ValueError):
            continue
    return found
