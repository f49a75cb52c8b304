"""A claim's statement, printed or amended, with every formula parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from dpverify.ledger.formula import Compare, Formula
from dpverify.ledger.records import ORDERS, Function, Kind, Quantity, Record, Relation, Symbol
from dpverify.ledger.vocabulary import Domain, Tag, Vocabulary

if TYPE_CHECKING:
    from dpverify.ledger.claims import ClaimSpec
    from dpverify.ledger.definitions import Glossary, Meaning
    from dpverify.ledger.proofs.book import ProofBook

Variant: TypeAlias = Literal["printed", "amended", "held"]

_RELATIONS: Mapping[Relation, str] = {
    "<=": r"\le",
    ">=": r"\ge",
    "=": "=",
    "<": "<",
    ">": ">",
    "O": "O",
    "O~": r"\tilde O",
}


class Reference(Record, frozen=True, kw_only=True):
    """Which statement: a claim by its full id, a choice for each of its readings, printed or amended."""

    claim: str
    reading: dict[str, str] = {}
    variant: Variant = "printed"

    def __str__(self) -> str:
        return self.said()

    def said(self, *status: str) -> str:
        """The statement in words, which no other statement has, and its status where one is given."""
        chosen = (f"{name}={choice}" for name, choice in self.reading.items())
        return f"{self.claim} ({', '.join([*chosen, self.variant, *status])})"


@dataclass(frozen=True)
class Statement:
    """What a check judges: both sides, the conditions, and where every symbol lives."""

    key: str  # such as "tran2022:lemma-12"
    variant: Variant  # as the paper has it, as the verdict corrects it, or as printed and under more conditions
    kind: Kind
    reading: dict[str, str]  # the choice for each of the claim's readings
    quantity: str | None  # the left side: something that code measures, or a formula; at most one of the two
    lhs: Formula | None
    relation: Relation | None  # it and the right side are None for a statement in words
    rhs: Formula | None
    words: str | None
    requires: tuple[Compare, ...]
    let: tuple[tuple[str, Formula], ...]  # each uses only symbols that are free or defined before it
    assumes: tuple[Tag, ...]
    domains: dict[str, Domain]  # of every symbol that occurs, defined ones too, and of those that these domains mention
    symbols: dict[str, Symbol]  # the paper's record of each of these
    functions: dict[str, Function] = field(default_factory=dict)  # all that the paper declares
    measured: Quantity | None = None  # the paper's record of ``quantity``
    # The paper's claims by id: where references to other statements are looked up. They are not what it says.
    siblings: Mapping[str, ClaimSpec] = field(default_factory=dict, compare=False, repr=False)
    witnesses: tuple[str, ...] = ()  # the mechanisms that its formulas are about, if it is about all mechanisms
    hides: frozenset[str] = frozenset()  # symbols that the constant of O or O~ may depend on
    glossary: Glossary | None = field(default=None, compare=False, repr=False)  # where definitions are looked up
    edges: tuple[Compare, ...] = field(default=(), compare=False, repr=False)  # where nobody runs it
    proofs: ProofBook | None = field(default=None, compare=False, repr=False)  # where its proof as text is looked up

    @property
    def reference(self) -> Reference:
        """Which statement this is."""
        return Reference(claim=self.key, reading=self.reading, variant=self.variant)

    def definition(self, name: str, part: str = "") -> Meaning | None:
        """What a name of the paper means here, a quantity's or a function's; None where no record says it."""
        claim = self.key.partition(":")[2]
        return None if self.glossary is None else self.glossary.definition(name, claim, self.reading, part)

    @property
    def let_names(self) -> tuple[str, ...]:
        """Symbols that `let` defines, in its order."""
        return tuple(name for name, _ in self.let)

    @property
    def free(self) -> tuple[str, ...]:
        """Symbols that a point has to give a value, in alphabetical order."""
        return tuple(sorted(self.domains.keys() - set(self.let_names)))

    def latex(self) -> str:
        """Return the statement as LaTeX for math mode; empty for a statement in words."""
        if self.rhs is None or self.relation is None:
            return ""
        measured = self.measured.latex if self.measured else ""
        left = measured if self.lhs is None else self.formula_latex(self.lhs)
        right = self.formula_latex(self.rhs)
        if self.relation in ORDERS:
            return rf"{left} = {_RELATIONS[self.relation]}\left({right}\right)"
        return f"{left} {_RELATIONS[self.relation]} {right}"

    def formula_latex(self, node: Formula | Compare) -> str:
        """Return a formula or condition of the statement as LaTeX, in the paper's letters."""
        return Vocabulary(self.symbols, self.domains, self.functions).latex(node)
