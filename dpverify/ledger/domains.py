"""Where a symbol lives: ``real, 0 < alpha <= 1`` or ``integer, N >= 1``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dpverify.ledger.errors import FormulaError, suggest
from dpverify.ledger.formula import Compare, free_names, parse_relation, to_text


@dataclass(frozen=True, slots=True)
class Domain:
    """The reals or the integers, cut down by comparisons; several comparisons hold together."""

    kind: Literal["real", "integer"]
    constraints: tuple[Compare, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Symbols that the constraints mention, the symbol itself among them."""
        return frozenset[str]().union(*(free_names(constraint) for constraint in self.constraints))

    def __str__(self) -> str:
        return ", ".join((self.kind, *(to_text(constraint) for constraint in self.constraints)))


def parse_domain(text: str) -> Domain:
    """Parse ``real`` or ``integer``, then any number of comparisons, each after a comma, or raise `FormulaError`."""
    kind, *constraints = _split(text)
    kind = kind.strip()
    if kind not in ("real", "integer"):
        rule = f"a domain begins with real or integer{suggest(kind, ('real', 'integer'))}"
        raise FormulaError(text, rule)
    try:
        parsed = tuple(parse_relation(constraint) for constraint in constraints)
    except FormulaError as error:
        raise FormulaError(text, error.rule) from None
    return Domain("real" if kind == "real" else "integer", parsed)


def _split(text: str) -> Iterator[str]:
    """Yield the parts of a text between the commas that stand in no bracket."""
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]
