"""Parse the text of a statement, printed or amended, and look up all of its names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from dpverify.ledger.errors import (
    FormulaError,
    Place,
    Problems,
    SpecError,
    shown,
    suggest,
)
from dpverify.ledger.formula import Formula, free_names
from dpverify.ledger.formula.limits import MAX_BITS, bits, log2_of
from dpverify.ledger.records import Amendment, Claim, Let, Quantity, Regime, Relation
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Vocabulary


@dataclass(frozen=True)
class Wording:
    """The texts of a statement's fields. `amended_fields` is empty for a printed statement."""

    quantity: str | None
    lhs: str | None
    relation: Relation | None
    formula: str | None
    words: str | None
    requires: list[str]
    assumes: list[str]
    let: list[Let]
    # the fields that an amendment replaces
    amended_fields: frozenset[str] = frozenset()
    # name of the field with the formula, if the statement is not an amendment
    printed: str = "printed"

    def field(self, name: str) -> str:
        """Return a field's name as its author wrote it: ``printed``, ``amendment.requires[0]``."""
        stem = name.partition("[")[0]
        if not self.amended_fields:
            return {"formula": self.printed, "words": "statement"}.get(name, name)
        return (
            f"amendment.{'statement' if name == 'words' else name}"
            if stem in self.amended_fields
            else name
        )


def printed_wording(claim: Claim) -> Wording:
    """Return the text of a claim as printed."""
    left = (claim.quantity, claim.lhs, claim.relation)
    right = (claim.printed, claim.statement)
    defined = [f"{divisor} > 0" for divisor in claim.divisors]
    return Wording(*left, *right, [*claim.requires, *defined], claim.assumes, claim.let)


def amended_wording(claim: Claim, amendment: Amendment) -> Wording:
    """Return the text of a claim as amended. Fields that the amendment leaves out are those of the claim.

    An amendment may leave out both formula and words if it changes another field.
    """
    changed = frozenset(
        name
        for name in ("relation", "requires", "assumes", "let")
        if getattr(amendment, name) is not None
    )
    formula = amendment.formula
    words = amendment.statement
    sides = {"formula", "words"}
    if formula is None and words is None and changed:
        formula = claim.printed
        words = claim.statement
        sides = set[str]()
    in_words = words is not None
    return Wording(
        quantity=claim.quantity,
        lhs=None if in_words else claim.lhs,
        relation=amendment.relation or (None if in_words else claim.relation),
        formula=formula,
        words=words,
        requires=claim.requires if amendment.requires is None else amendment.requires,
        assumes=claim.assumes if amendment.assumes is None else amendment.assumes,
        let=claim.let if amendment.let is None else amendment.let,
        amended_fields=changed | sides,
    )


def held_wording(claim: Claim, regime: Regime) -> Wording:
    """Return the text of a claim as printed, with the additional conditions of a regime."""
    printed = printed_wording(claim)
    return replace(printed, requires=[*printed.requires, *regime.requires])


def shape_problems(wording: Wording, place: Place) -> Iterator[SpecError]:
    """Yield errors for missing and extra fields. A formula needs a relation and a left side; words have neither."""

    def wrong(field: str, value: str, rule: str) -> SpecError:
        return place.at(wording.field(field)).error(value, rule)

    if (wording.formula is None) == (wording.words is None):
        rule = f"exactly one of {wording.field('formula')} and {wording.field('words')} is given"
        yield wrong("formula", "neither" if wording.formula is None else "both", rule)
    elif wording.formula is not None:
        if wording.relation is None:
            yield wrong("relation", "", "a formula needs a relation: <= >= = < > O O~")
        if (wording.lhs is None) == (wording.quantity is None):
            value = "neither" if wording.lhs is None else "both"
            yield wrong(
                "lhs", value, "the left side is exactly one of lhs and quantity"
            )
    else:
        if wording.relation is not None:
            yield wrong(
                "relation",
                shown(wording.relation),
                "a statement in words has no relation",
            )
        if wording.lhs is not None:
            yield wrong("lhs", shown(wording.lhs), "a statement in words has no lhs")
        if not (wording.words or "").strip():
            yield wrong("words", shown(wording.words), "a statement must not be empty")


T = TypeVar("T")


class StatementReader:
    """Reads one statement."""

    def __init__(
        self, wording: Wording, vocabulary: Vocabulary, place: Place, problems: Problems
    ) -> None:
        self.wording = wording
        self.vocabulary = vocabulary
        self.place = place
        self.problems = problems

    def read(self, claim: Claim | None, key: str, reading: dict[str, str]) -> Statement:
        """Return the statement without the parts that do not parse; their errors are added to `problems`.

        `claim` is None for a statement that does not belong to a claim, such as a definition.
        """
        wording = self.wording
        vocabulary = self.vocabulary
        self.problems.extend(shape_problems(wording, self.place))
        lhs = self.part("lhs", vocabulary.formula, wording.lhs)
        rhs = self.part("formula", vocabulary.formula, wording.formula)
        requires = self.parts("requires", vocabulary.relation, wording.requires)
        assumes = self.parts("assumes", vocabulary.tag, wording.assumes)
        let = self.definitions()
        nodes = (lhs, rhs, *requires, *(value for _, value in let))
        self.check_size(
            let,
            [
                *(side for side in (lhs, rhs) if side is not None),
                *(side for condition in requires for side in condition.operands),
            ],
        )
        names = {
            name for node in nodes if node is not None for name in free_names(node)
        } | {name for name, _ in let}
        hides = self.hidden(claim)
        names = vocabulary.with_domains(names | hides)
        return Statement(
            key=key,
            variant="amended" if wording.amended_fields else "printed",
            kind=claim.kind if claim else "identity",
            reading=reading,
            quantity=wording.quantity,
            lhs=lhs,
            relation=wording.relation,
            rhs=rhs,
            words=wording.words,
            requires=requires,
            let=let,
            assumes=assumes,
            domains={name: vocabulary.domains[name] for name in sorted(names)},
            symbols={name: vocabulary.symbols[name] for name in sorted(names)},
            functions=vocabulary.functions,
            measured=self.measured(),
            hides=hides,
            witnesses=tuple(claim.witnesses) if claim else (),
        )

    def check_size(
        self, let: Iterable[tuple[str, Formula]], sides: Iterable[Formula]
    ) -> None:
        """Add an error if exact values may become too large after the definitions are substituted."""
        sizes: dict[str, tuple[float, float]] = {}
        for name, value in let:
            sizes[name] = bits(value, sizes), log2_of(value, sizes)
        if any(bits(side, sizes) > MAX_BITS for side in sides) or any(
            size > MAX_BITS for size, _ in sizes.values()
        ):
            rule = f"the exact value of a formula has at most {MAX_BITS} bits, its definitions put in"
            self.problems.append(
                self.place.at(self.wording.field("let")).error("", rule)
            )

    def part(self, field: str, parse: Callable[[str], T], text: str | None) -> T | None:
        """Parse one text; on an error, return None and add the error to `problems`."""
        if text is None:
            return None
        try:
            return parse(text)
        except FormulaError as error:
            self.problems.append(
                self.place.at(self.wording.field(field)).formula_error(error)
            )
            return None

    def parts(
        self, field: str, parse: Callable[[str], T], texts: Iterable[str]
    ) -> tuple[T, ...]:
        """Parse a list of texts. Texts that do not parse are left out."""
        parsed = [
            self.part(f"{field}[{i}]", parse, text) for i, text in enumerate(texts)
        ]
        return tuple(part for part in parsed if part is not None)

    def definitions(self) -> tuple[tuple[str, Formula], ...]:
        """Parse the definitions and sort them so that each uses only earlier ones."""
        values: dict[str, Formula] = {}
        for i, let in enumerate(self.wording.let):
            value = self.part(f"let[{i}].value", self.vocabulary.formula, let.value)
            if rule := self.broken_rule(let.symbol, values):
                place = self.place.at(self.wording.field(f"let[{i}].symbol"))
                self.problems.append(place.error(shown(let.symbol), rule))
            elif value is not None:
                values[let.symbol] = value
        graph = {
            name: sorted(free_names(value) & values.keys())
            for name, value in values.items()
        }
        if cycle := find_cycle(graph):
            rule = f"definitions run in a circle: {' -> '.join((*cycle, cycle[0]))}"
            self.problems.append(
                self.place.at(self.wording.field("let")).error(shown(cycle[0]), rule)
            )
            return ()
        return tuple(
            (name, values[name]) for name in TopologicalSorter(graph).static_order()
        )

    def broken_rule(self, symbol: str, solved: Mapping[str, Formula]) -> str:
        """Return the rule that the symbol of a definition breaks, or an empty text."""
        if symbol not in self.vocabulary.symbols:
            return f"unknown symbol{suggest(symbol, self.vocabulary.symbols)}"
        return "a symbol is solved for once, this one twice" if symbol in solved else ""

    def hidden(self, claim: Claim | None) -> frozenset[str]:
        """Look up the letters on which the constant of an O or O~ may depend."""
        hides = claim.hides if claim else []
        for name in hides:
            if name not in self.vocabulary.symbols:
                rule = f"unknown symbol{suggest(name, self.vocabulary.symbols)}"
                self.problems.append(self.place.at("hides").error(shown(name), rule))
        return frozenset(name for name in hides if name in self.vocabulary.symbols)

    def measured(self) -> Quantity | None:
        """Look up the quantity on the left side."""
        name = self.wording.quantity
        quantities = self.vocabulary.quantities
        if name is not None and name not in quantities:
            self.problems.append(
                self.place.at("quantity").error(
                    shown(name), f"unknown quantity{suggest(name, quantities)}"
                )
            )
        return quantities.get(name) if name is not None else None


def find_cycle(graph: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return a cycle in a graph that maps a node to the nodes it uses, smallest name first; empty without a cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # graphlib lists the cycle in reverse, with the first node twice
        cycle = error.args[1][:0:-1]
        start = cycle.index(min(cycle))
        return tuple(cycle[start:] + cycle[:start])
    return ()
