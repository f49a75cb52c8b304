"""Write what one derivation proves as facts: a chain, an induction, or an order of growth, by weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sympy

from dpverify.symbolic.certify.chains import Chains, gap_of
from dpverify.symbolic.certify.checker import (
    HOLE,
    Expr,
    all_parts,
    floats_of,
    k,
    to_expr,
)
from dpverify.symbolic.certify.conclusion import write_order_weights
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.header import (
    measured_header,
    premise_header,
    record_header,
    symbols_of,
)
from dpverify.symbolic.certify.place import (
    ExpressionProof,
    FactList,
    NoCertificateError,
    Origin,
)
from dpverify.symbolic.certify.prefix import (
    conditions_of,
    from_sympy,
    letter_of,
    read,
    replaced,
    where_value,
)
from dpverify.symbolic.certify.side_conditions import prepare, unproven
from dpverify.symbolic.derive.cited import ClaimPremise, DerivedPremise
from dpverify.symbolic.derive.define import GlossaryPremise
from dpverify.symbolic.derive.integers import Hypothesis, Induction
from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.derive.unnamed import is_named, renamed_letter
from dpverify.symbolic.rules.base import substitute

if TYPE_CHECKING:
    from dpverify.symbolic.certify.certificates import CertificateBook


_POINTS = 24
_NO_LETTERS: dict[str, Any] = {"letters": {}, "conditions": []}


class Writer:
    """Writes one statement or lemma."""

    def __init__(
        self, book: CertificateBook, data: dict[str, Any], derivation: Derivation
    ) -> None:
        self.book = book
        self.derivation = derivation
        self.data: dict[str, Any] = {
            "local": _NO_LETTERS,
            **data,
            "premises": {},
            "body": [],
        }
        self.proof = ExpressionProof(book.checker, self.data)
        self.goals = book.goals or Goals()
        self.quantified = replaced(derivation.steps)
        symbols = symbols_of(derivation)
        self.setting = Setting(
            derivation.variables, symbols, derivation.assumptions, _POINTS, 0
        )
        points = [floats_of(point) for point in self.setting.points.samples]
        unused = book.unused if "claim" in data else frozenset[Expr]()
        self.place = FactList(
            self.proof, self.proof.scope, self.data["body"], points, unused
        )

    def run(self) -> dict[str, Any]:
        """Write the facts of the chain, and the claim at its end."""
        place = self.place
        goals = self.goals
        derivation = self.derivation
        self.write_first_facts()
        for name in derivation.cited_facts:
            self._write_cited_fact(derivation.premises[name])
        lhs = self.proof.lhs
        rhs = self.proof.rhs
        start = read(derivation.start)
        last = read(derivation.last)
        for expr in (lhs, start):
            prepare(goals, place, expr)
        if not goals.prove_zero(place, place.form(start - lhs)):
            raise NoCertificateError(
                "the derivation starts from something else than the left side"
            )
        chains = Chains(goals, derivation, self.origin_of)
        self.book.traces.append((derivation.steps, chains.trace))
        gaps = chains.links(place, derivation.start, derivation.steps, self.setting)
        for expr in (last, rhs):
            prepare(goals, place, expr)
        relation = (
            "="
            if goals.prove_zero(place, place.form(rhs - last))
            else self.data["relation"]
        )
        if relation != "=" and not goals.prove_relation(
            place, *gap_of(relation, last, rhs)
        ):
            raise NoCertificateError(
                "the printed side is not proven to follow from the last expression"
            )
        chains.add_up(
            place,
            (self.proof.relation, self.proof.gap),
            [("=", lhs, start), *gaps, (relation, last, rhs)],
        )
        return self.finish()

    def _write_cited_fact(self, cited: Any) -> None:
        """Write what a cited derivation proves on the whole domain."""
        lemma = self.book.lemma(cited.derivation)
        self.use(
            self.place,
            "lemma",
            lemma,
            {letter: read(value) for letter, value in cited.where.items()},
        )

    def finish(self) -> dict[str, Any]:
        """Return the data if the facts prove the claim, otherwise raise an error."""
        place = self.place
        goals = self.goals
        proof = self.proof
        for side in (proof.lhs, proof.rhs):
            prepare(goals, place, side)
            place.scope.defined(side)
        if not place.scope.holds(proof.relation, place.form(proof.gap)):
            raise NoCertificateError("what is written is not what the statement says")
        if "order" in self.data and (
            why := write_order_weights(goals, place, self.data)
        ):
            raise NoCertificateError(why)
        return self.data

    def write_signs_of_parts(self, expr: Expr) -> None:
        """Write signs of the parts of an expression, by which each part has a value."""
        prepare(self.goals, self.place, expr)

    def run_instance(self, lemma: str, values: Mapping[str, Any]) -> None:
        """Write that a statement is an instance of a lemma."""
        self.write_first_facts()
        for condition in self.book.checker.lemmas[lemma].conditions:
            parts = list(all_parts(k.put(condition[2], values)))
            for base, power in (
                e[1:]
                for e in parts
                if e[0] == "^" and self.place.form(e[2]).constant() is None
            ):
                self._below_exp(base, power, [e[1] for e in parts if e[0] == "exp"])
        self.use(self.place, "lemma", lemma, values)
        self.finish()

    def _below_exp(self, base: Expr, power: Expr, exponents: list[Expr]) -> None:
        """Write that b**e <= exp(e*(b - 1)), and that this is at most the exponentials of ``exponents``."""
        less = base - k.rational(1)
        by_power = {"a": base, "b": k.row("exp", less), "p": power}
        steps = [("one-minus-exp", {"x": -less}), ("power-monotone", by_power)]
        steps += [
            ("exp-monotone", {"a": k.row("*", power, less), "b": exponent})
            for exponent in exponents
        ]
        for name, where in steps:
            rule = k.Rule(self.book.checker.rules[name])
            if not unproven(self.goals, self.place, rule, where):
                self.place.fact(
                    ">=", k.put(rule.gap, where), "instance", "rule", name, where
                )

    def run_induction(self, letter: str, base: str, step: str) -> None:
        """Write an induction over a letter: the base at its start, and the step from each integer to the next."""
        proof = self.proof
        place = self.place
        self.write_first_facts()
        starts = [
            c[2]
            for c in proof.conditions
            if c[1] == ">=" and letter in k.letters_in(c[2])
        ]
        start = to_expr(place.form(k.letter(letter) - starts[0]))
        before = k.letter(letter) - k.rational(1)
        gap = start - k.letter(letter)
        lists: tuple[list[Any], list[Any]] = ([], [])
        first = place.case(">=", gap, lists[0])
        later = place.case(">", -gap, lists[1])
        self.use(first, "lemma", base, {})
        by_letter = k.put(proof.gap, {letter: HOLE})
        at_start = k.put(proof.gap, {letter: start})
        prepare(self.goals, first, at_start)
        self.goals.prove_zero(
            first, first.form(at_start - self.book.checker.lemmas[base].gap)
        )
        first.fact(
            "=",
            proof.gap - at_start,
            "congruent",
            "HOLE",
            by_letter,
            k.letter(letter),
            start,
        )
        first.fact(
            proof.relation,
            proof.gap,
            "combine",
            [],
            [["1", [proof.gap - at_start]], ["1", [at_start]]],
        )
        self.goals.prove_expr(later, before - start)
        self.use(later, "induction", letter, {letter: before})
        self.use(later, "lemma", step, {letter: before})
        for case in (first, later):
            if not self.goals.prove_relation(case, proof.relation, proof.gap):
                raise NoCertificateError(f"by induction over {letter}: {case.refusal}")
        place.split(gap, *lists, proof.relation, proof.gap)
        self.finish()

    def use(
        self, place: FactList, kind: str, name: str, where: Mapping[str, Any]
    ) -> None:
        """Write an instance of a lemma, or of the statement itself. Letters that are not in ``where`` are kept."""
        rule = self.proof if kind == "induction" else self.book.checker.lemmas[name]
        values = {
            letter: letter if kind in k.FUNCTIONS else k.letter(letter)
            for letter, kind in rule.letters.items()
        }
        values |= where
        gap = k.put(rule.gap, values)
        sides = [k.put(side, values) for side in (rule.lhs, rule.rhs)]
        for expr in (
            *(value for value in values.values() if isinstance(value, k.Row)),
            *sides,
        ):
            prepare(self.goals, place, expr)
        if unproved := unproven(self.goals, place, rule, values):
            raise NoCertificateError(
                f"{name}: not proven: {'; '.join(map(str, unproved))}"
            )
        if not place.fact(rule.relation, gap, "instance", kind, name, values):
            raise NoCertificateError(f"{name}: {place.refusal}")

    def write_first_facts(self) -> None:
        """Write signs of letters, tightened signs of integers, and the assumptions on the statement's letters."""
        place = self.place
        goals = self.goals
        for fact in list(place.scope.facts):
            if fact[1] not in place.unused:
                prepare(goals, place, fact[1])
        for name, kind in self.proof.kinds.items():
            if kind in k.NUMBERS and not goals.prove_expr(place, k.letter(name), True):
                goals.prove_expr(place, k.letter(name))
        for relation, expr in [
            fact for fact in place.scope.facts if fact[0] != "within"
        ]:
            less = place.form(expr) - k.ONE
            if (
                relation == ">"
                and place.scope.integer(less)
                and not place.scope.sign(less) & 1
            ):
                place.fact(">=", to_expr(less), "whole")
        for assumption in self.derivation.assumptions:
            for condition in conditions_of(assumption):
                relation, gap = k.condition(condition, ())[1:]
                if relation in (">=", ">") and not goals.prove_expr(
                    place, gap, relation == ">"
                ):
                    raise NoCertificateError(
                        f"it assumes {assumption}, which the statement does not grant"
                    )

    def origin_of(self, step: Step) -> Origin:
        """Return what a step cites: a lemma if a derivation is cited, otherwise a premise."""
        (name,) = step.premises
        premise = self.derivation.premises[name]
        letter = renamed_letter(premise)
        if (
            letter is None
            and is_named(premise)
            and premise.lhs.name not in self.data["letters"]
        ):
            raise NoCertificateError(
                f"{premise.lhs}: a letter that stands for an expression, and that no end shows"
            )
        if isinstance(premise, Hypothesis) or (
            is_named(premise) and premise.lhs.name in self.data["letters"]
        ):
            return Origin("condition", name, premise, {})
        proven = premise.derivation if isinstance(premise, DerivedPremise) else premise
        where: dict[str, Any] = {}
        if isinstance(proven, Induction | Derivation):
            lemma = self.book.lemma(proven)
            substitutions = premise.where if isinstance(premise, DerivedPremise) else {}
            if letter is not None:
                substitutions = {**substitutions, letter: premise.lhs}
            rule = self.book.checker.lemmas[lemma]
            where = {
                key: substitutions.get(key, sympy.Symbol(key)) for key in rule.letters
            }
            self._write_assumptions(proven, substitutions, step)
            if (
                letter is not None
                or not isinstance(premise, DerivedPremise)
                or premise.lhs == premise.start
            ):
                put = {
                    key: where_value(substitute(sympy.sympify(v), step.where))
                    for key, v in where.items()
                }
                same = {
                    key: (key,)
                    for key in where
                    if rule.letters[key] in k.FUNCTIONS and key not in substitutions
                }
                return Origin("lemma", lemma, rule, put | same)
            where = {}
            # what the letter names
            data = premise_header(premise, name, ()) | {"kind": "given"}
        elif isinstance(premise, ClaimPremise) and not premise.measured:
            data = {**record_header(premise.statement), "name": name, "kind": "claim"}
            where = {
                key: premise.where.get(key, sympy.Symbol(key))
                for key in data["letters"]
            }
        elif isinstance(premise, ClaimPremise):
            data = measured_header(premise, name)
        else:
            letters = self.quantified.get(name, set())
            fields: dict[str, Any] = {"kind": "given"}
            if isinstance(premise, GlossaryPremise) and premise.is_unproved:
                name = str(premise.meaning)
                fields = {
                    "kind": "fact",
                    "where": {
                        key: from_sympy(value) for key, value in premise.where.items()
                    },
                }
            elif isinstance(premise, GlossaryPremise):
                name = str(premise.meaning)
                letters = {letter_of(symbol) for symbol in premise.lhs.free_symbols}
                fields = {"kind": "definition"}
            data = premise_header(premise, name, letters) | fields
            where = {key: sympy.Symbol(key) for key in data["letters"]}
        self.data["premises"][name] = data
        rule = self.proof.grant(name, data)
        put = {
            key: substitute(sympy.sympify(value), step.where)
            for key, value in where.items()
        }
        return Origin(
            "premise",
            name,
            rule,
            {key: where_value(value) for key, value in put.items()},
        )

    def _write_assumptions(
        self,
        proven: Derivation | Induction,
        substitutions: Mapping[str, Any],
        step: Step,
    ) -> None:
        """Write the assumptions about names in a cited derivation that the step replaces by what they stand for."""
        for named in proven.premises.values() if isinstance(proven, Derivation) else ():
            if (
                isinstance(named, DerivedPremise)
                and is_named(named)
                and named.lhs.name in substitutions
            ):
                assert named.derivation is not None
                lemma = self.book.lemma(named.derivation)
                letters = self.book.checker.lemmas[lemma].letters
                where = {
                    letter: substitute(
                        named.where.get(letter, sympy.Symbol(letter)), substitutions
                    )
                    for letter in letters
                }
                values = {
                    letter: read(substitute(value, step.where))
                    for letter, value in where.items()
                }
                self.use(self.place, "lemma", lemma, values)
