"""Build the chain of a proof or lemma from its text in the records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy

from dpverify.ledger.errors import suggest
from dpverify.ledger.formula import Compare, FormulaError, free_names
from dpverify.ledger.proof_book import Lemma, Proof, ProofBook
from dpverify.ledger.proof_chains import (
    INDUCTION,
    Chain,
    ChainLine,
    Reason,
    formulas_of,
    parse_chain,
)
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain, parse_domain
from dpverify.symbolic.derive.cited import cite, refer
from dpverify.symbolic.derive.define import (
    cite_fact,
    define,
    hidden_letters,
    quantity_formula,
)
from dpverify.symbolic.derive.integers import by_induction, divided
from dpverify.symbolic.derive.steps import Case, Cases, Derivation, Link, Premise, Step
from dpverify.symbolic.elaborate.candidates import QUANTITY
from dpverify.symbolic.elaborate.declarations import (
    all_conditions,
    function_symbols,
    letters_in_definitions,
    local_letters,
    with_functions,
    without_conditions,
)
from dpverify.symbolic.elaborate.formulas import Abbreviations, ProofError, with_guards
from dpverify.symbolic.elaborate.induction import InductionParts, read_division
from dpverify.symbolic.elaborate.letters import (
    Letters,
    is_nonnumeric,
    letters_of,
    read_conditions,
    sample_ranges,
    with_declared,
)
from dpverify.symbolic.elaborate.steps import Elaborator
from dpverify.symbolic.expressions.ranges import SetBits
from dpverify.symbolic.expressions.translation import (
    sympy_conditions,
    sympy_definitions,
    to_relations,
)
from dpverify.symbolic.rules import CATALOGUE


def derivation_of(statement: Statement) -> Derivation:
    """Build the chain of a statement's proof in ``proofs.toml``.

    Its last expression is the bound that the proof derives. A `ProofError` is raised if there is no proof, or if a line
    cannot be read as a step. Then it names the line and what was tried.
    """
    book = statement.proofs
    proof = None if book is None else book.find(statement)
    if book is None or proof is None:
        raise ProofError(
            str(statement.reference), 0, "", "there is no proof as text in proofs.toml"
        )
    return _Builder(statement, book).proof(proof)


def lemma_of(statement: Statement, name: str) -> Derivation:
    """Build the chain of a lemma for a statement of its paper. A `ProofError` names a line that cannot be read."""
    return _Builder(statement, statement.proofs or ProofBook()).lemma(name)


class _Builder:
    """Builds chains for one statement; each lemma is built once."""

    def __init__(self, statement: Statement, book: ProofBook) -> None:
        self.statement = statement
        self.book = book
        self.lemmas: dict[str, Derivation] = {}
        self.in_progress: list[str] = []  # lemmas that are being built

    def proof(self, proof: Proof) -> Derivation:
        """Return the chain of a proof."""
        name = f"proof of {self.statement.reference}"
        try:
            division = read_division(proof.divide)
            statement = divided(
                without_conditions(self.statement, proof.unused), division
            )
            letters, shared = self._letters(statement, proof)
        except (FormulaError, ValueError) as error:
            raise ProofError(name, 0, "", _rule(error)) from None
        local = (*shared, *local_letters(letters, proof.letters))
        derivation = with_guards(
            self._chain(name, parse_chain(proof.chain), letters, local), statement
        )
        return self._with_known(
            replace(derivation, division=division, unused=tuple(proof.unused)),
            proof.known,
        )

    def _letters(
        self, statement: Statement, proof: Proof
    ) -> tuple[Letters, tuple[str, ...]]:
        """Return the letters of a proof, and those that only the definition of the claim's quantity has."""
        meaning = quantity_formula(statement)
        measured = {} if meaning is None else meaning.letters
        hidden, letter_conditions = hidden_letters(statement)
        used_names = statement.domains.keys() | measured.keys()
        if clashes := sorted(proof.letters.keys() & used_names):
            raise ValueError(
                f"{clashes[0]}: a letter of a proof's own is none of the claim's letters"
            )
        sides = (None, None) if "left" in used_names else (statement.lhs, statement.rhs)
        abbreviations = Abbreviations.read(self.book.let, proof.let).with_sides(*sides)
        domains = {name: statement.domains[name] for name in statement.free}
        requires = list(statement.requires)
        if measured:
            assert statement.quantity is not None
            record = statement.definition(statement.quantity)
            assert record is not None
            domains |= {name: record.statement.domains[name] for name in measured}
            requires += record.statement.requires
        vocabulary = self.book.vocabulary
        domains |= {
            name: vocabulary.domains[name]
            for name in hidden
            if name in vocabulary.domains
        }
        symbols = {
            **function_symbols(statement),
            **sympy_definitions(statement),
            **hidden,
            **measured,
        }
        if meaning is not None and not meaning.obstacle and "left" not in symbols:
            symbols["left"] = meaning.formula
        points = read_conditions(proof.points, abbreviations)
        variables = sample_ranges(
            domains, all_conditions(domains, requires), symbols, points=points
        )
        conditions = (
            *sympy_conditions(statement),
            *letter_conditions,
            *(() if meaning is None else meaning.conditions),
        )
        return with_declared(
            Letters(symbols, variables, conditions, abbreviations), proof.letters
        ), tuple(measured)

    def _with_known(self, chain: Derivation, names: list[str]) -> Derivation:
        """Return the chain with lemmas that every line may use as facts."""
        try:
            known: dict[str, Premise] = {name: cite(self.lemma(name)) for name in names}
        except ProofError:
            raise
        except ValueError as error:
            raise ProofError(chain.name, 0, "known", str(error)) from None
        return replace(
            chain, premises={**chain.premises, **known}, cited_facts=tuple(names)
        )

    def lemma(self, name: str) -> Derivation:
        """Return the chain of a lemma."""
        if name in self.in_progress:
            raise ValueError(
                f"lemmas rest on each other in a circle: {' -> '.join([*self.in_progress, name])}"
            )
        if name not in self.lemmas:
            if name not in self.book.lemmas:
                raise ValueError(
                    f"there is no lemma {name!r}{suggest(name, self.book.lemmas)}"
                )
            self.in_progress.append(name)
            try:
                self.lemmas[name] = self._lemma(self.book.lemmas[name])
            finally:
                self.in_progress.pop()
        return self.lemmas[name]

    def _lemma(self, lemma: Lemma) -> Derivation:
        name = f"lemma {lemma.id}"
        try:
            abbreviations = Abbreviations.read(self.book.let, lemma.let)
            chain = parse_chain(lemma.chain)
            requires = read_conditions(lemma.requires, abbreviations)
            laws = {
                name: text
                for name, text in lemma.letters.items()
                if is_nonnumeric(text)
            }
            domains = self._domains(lemma, chain, requires, abbreviations)
            plain = letters_of(
                domains, requires, function_symbols(self.statement), abbreviations
            )
            letters = with_declared(plain, laws)
        except FormulaError as error:
            raise ProofError(name, 0, error.value, error.rule) from None
        if listed := [
            letter for letter in laws if isinstance(letters.variables[letter], SetBits)
        ]:
            raise ProofError(
                name,
                0,
                listed[0],
                "the set bits of a number are listed in a proof, not in a lemma",
            )
        derivation = self._chain(name, chain, letters, ())
        first = {derivation.start.name} if derivation.start.is_Symbol else set[str]()
        shown = {
            s.name
            for end in (derivation.start, derivation.last)
            for s in end.free_symbols
        } - (first - _names(derivation.last))
        functions = {name for name, text in laws.items() if text == "function"}
        return replace(
            derivation,
            local=tuple(
                name for name in lemma.letters if name not in shown | functions
            ),
        )

    def _domains(
        self,
        lemma: Lemma,
        chain: Chain,
        requires: list[Compare],
        abbreviations: Abbreviations,
    ) -> dict[str, Domain]:
        """Return the domains of a lemma's letters: those that it declares, and those of the paper's symbols in it."""
        local_domains = {
            name: parse_domain(text)
            for name, text in lemma.letters.items()
            if not is_nonnumeric(text)
        }
        vocabulary = self.book.vocabulary
        formulas = [
            abbreviations.expanded(formula)
            for formula in (chain.start, *formulas_of(chain.lines))
        ]
        used = [
            *map(free_names, formulas),
            letters_in_definitions(self.statement, formulas)
            & vocabulary.domains.keys(),
        ]
        used += [free_names(condition) for condition in requires]
        used += [domain.names for domain in local_domains.values()]
        names = (
            frozenset[str]().union(*used) - local_domains.keys() - lemma.letters.keys()
        )
        if unknown := sorted(names - vocabulary.domains.keys()):
            raise FormulaError(
                unknown[0],
                f"unknown letter {unknown[0]!r}{suggest(unknown[0], vocabulary.domains)}",
            )
        return local_domains | {
            name: vocabulary.domains[name]
            for name in sorted(vocabulary.with_domains(names) - local_domains.keys())
        }

    def _chain(
        self, name: str, chain: Chain, letters: Letters, local: tuple[str, ...]
    ) -> Derivation:
        if clashes := sorted(self.book.lemmas.keys() & CATALOGUE.keys()):
            raise ProofError(
                name,
                0,
                "",
                f"{clashes[0]} is a rule; the lemma of this name needs another id",
            )
        elaborator = Elaborator(
            name, letters, self.cite, tuple(self.book.lemmas), self.book.given
        )
        first = ChainLine(1, "=", chain.start, "")
        start = elaborator.expr(first, chain.start)
        steps = self._links(elaborator, start, chain.lines)
        return with_functions(
            elaborator.derivation(start, steps, local), self.statement
        )

    def _links(
        self, elaborator: Elaborator, old: Any, lines: tuple[ChainLine, ...]
    ) -> tuple[Link, ...]:
        links: list[Link] = []
        for line in lines:
            if line.cases:
                link: Link = self._split(elaborator, old, line)
            elif line.induction is not None:
                link = self._induction(elaborator, old, line, *line.induction)
            else:
                link = self._step(elaborator, old, line)
            links.append(link)
            old = link.expr
        return tuple(links)

    def _step(self, elaborator: Elaborator, old: Any, line: ChainLine) -> Step:
        try:
            return elaborator.step(old, line)
        except ProofError:
            raise
        except ValueError as error:  # such as a condition that contradicts the domains
            raise elaborator.error(line, str(error)) from None

    def _induction(
        self,
        elaborator: Elaborator,
        old: Any,
        line: ChainLine,
        base_lines: tuple[ChainLine, ...],
        step_lines: tuple[ChainLine, ...],
    ) -> Step:
        """Return the step of a line that an induction proves, at the first number and at the next one."""
        new = elaborator.expr(line, line.formula)
        parts = InductionParts.read(elaborator, old, new, line)
        base = with_functions(
            self._part(parts.base(elaborator), parts.sides(parts.first), base_lines),
            self.statement,
        )
        inside = parts.step(elaborator)
        step = with_functions(
            self._part(inside, parts.sides(parts.letter + 1), step_lines),
            self.statement,
        )
        try:
            premise = by_induction(
                parts.letter, parts.first, base=base, step=step, last=parts.last
            )
        except ValueError as error:
            raise elaborator.error(line, str(error)) from None
        return elaborator.premise_step(INDUCTION, premise, None, old, new, line)

    def _part(
        self,
        elaborator: Elaborator,
        ends: tuple[Any, Any],
        lines: tuple[ChainLine, ...],
    ) -> Derivation:
        """Return the base or the step of an induction. If its lines end elsewhere, algebra leads to the right side."""
        start, end = ends
        steps = self._links(elaborator, start, lines)
        last = steps[-1].expr if steps else start
        return elaborator.derivation(
            start,
            steps if last == end else (*steps, Step(end, "=")),
            (),
            drop_unused=True,
        )

    def _split(self, elaborator: Elaborator, old: Any, line: ChainLine) -> Cases:
        cases = []
        for condition, lines in line.cases:
            full = elaborator.letters.abbreviations.expanded(condition)
            try:
                relations = to_relations(full, elaborator.letters.symbols)
            except (KeyError, ValueError) as error:
                raise elaborator.error(line, str(error)) from None
            inside = elaborator.with_conditions(relations)
            cases.append(Case(sympy.And(*relations), self._links(inside, old, lines)))
        return Cases(
            elaborator.expr(line, line.formula), line.relation, tuple(cases), line.note
        )

    def cite(self, reason: Reason, where: Mapping[str, Any]) -> Premise:
        """Return what a line cites as a premise."""
        given = {name: value for name, value in where.items() if name != QUANTITY}
        letter = where.get(QUANTITY)
        if reason.kind == "claim":
            return refer(
                self.statement,
                reason.name,
                letter,
                reason.variant,
                dict(reason.reading),
                **given,
            )
        if reason.kind == "definition":
            name, _, part = reason.name.partition(".")  # such as momentum.start
            return define(self.statement, name, letter, part, **given)
        if reason.kind == "fact":
            return cite_fact(self.statement, reason.name, **given)
        return cite(self.lemma(reason.name), letter, **given)


def _names(expr: Any) -> set[str]:
    return {symbol.name for symbol in sympy.sympify(expr).free_symbols}


def _rule(error: Exception) -> str:
    return error.rule if isinstance(error, FormulaError) else str(error)
