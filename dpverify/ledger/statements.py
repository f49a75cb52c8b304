"""A claim's statement, printed or amended, with every formula parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from dpverify.ledger.formula import Compare, Formula
from dpverify.ledger.records import (
    ORDERS,
    Function,
    Kind,
    Quantity,
    Record,
    Relation,
    Symbol,
)
from dpverify.ledger.vocabulary import Domain, Tag, Vocabulary

if TYPE_CHECKING:
    from dpverify.ledger.claims import ClaimSpec
    from dpverify.ledger.definitions import Glossary, Meaning
    from dpverify.ledger.proof_book import ProofBook

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
    """A reference to a statement: a claim's full id, a choice for each of its readings, and the variant."""

    claim: str
    reading: dict[str, str] = {}
    variant: Variant = "printed"

    def __str__(self) -> str:
        return self.text()

    def text(self, *status: str) -> str:
        """Return a unique text for the statement, with its status if one is given."""
        chosen = (f"{name}={choice}" for name, choice in self.reading.items())
        return f"{self.claim} ({', '.join([*chosen, self.variant, *status])})"


@dataclass(frozen=True)
class Statement:
    """A statement to be checked: both sides, the conditions, and the domain of every symbol."""

    key: str  # such as "tran2022:lemma-12"
    # as printed, as corrected by our verdict, or as printed with additional conditions
    variant: Variant
    kind: Kind
    reading: dict[str, str]  # the choice for each of the claim's readings
    # the left side is a quantity that code measures, or the formula ``lhs``; not both
    quantity: str | None
    lhs: Formula | None
    relation: Relation | None  # None, like ``rhs``, for a statement in words
    rhs: Formula | None
    words: str | None
    requires: tuple[Compare, ...]
    # a definition uses only symbols that are free or defined before it
    let: tuple[tuple[str, Formula], ...]
    assumes: tuple[Tag, ...]
    # of every symbol that occurs, defined symbols too, and of symbols in these domains
    domains: dict[str, Domain]
    symbols: dict[str, Symbol]  # the paper's records of the symbols in ``domains``
    # all functions that the paper declares
    functions: dict[str, Function] = field(default_factory=dict)
    measured: Quantity | None = None  # the paper's record of ``quantity``
    # The paper's claims by id, to resolve references
    # to other statements. Comparisons ignore them.
    siblings: Mapping[str, ClaimSpec] = field(
        default_factory=dict, compare=False, repr=False
    )
    # the mechanisms that its formulas describe, if it is about all mechanisms
    witnesses: tuple[str, ...] = ()
    # symbols that the constant of O or O~ may depend on
    hides: frozenset[str] = frozenset()
    # the paper's definitions
    glossary: Glossary | None = field(default=None, compare=False, repr=False)
    # see `Edge`
    edges: tuple[Compare, ...] = field(default=(), compare=False, repr=False)
    # the paper's proofs as text
    proofs: ProofBook | None = field(default=None, compare=False, repr=False)

    @property
    def reference(self) -> Reference:
        """A reference to this statement."""
        return Reference(claim=self.key, reading=self.reading, variant=self.variant)

    def definition(self, name: str, part: str = "") -> Meaning | None:
        """Return the definition of a quantity or a function in this statement, or None if none is recorded."""
        claim = self.key.partition(":")[2]
        return (
            None
            if self.glossary is None
            else self.glossary.definition(name, claim, self.reading, part)
        )

    @property
    def let_names(self) -> tuple[str, ...]:
        """Symbols that `let` defines, in the order of `let`."""
        return tuple(name for name, _ in self.let)

    @property
    def free(self) -> tuple[str, ...]:
        """Symbols without a definition, to which a point assigns values, in alphabetical order."""
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
