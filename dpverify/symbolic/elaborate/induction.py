"""Inductions and divisions of text proofs.

``InductionParts`` builds the base and the step of an induction, with their conditions and ends. A division with
remainder is written as ``T = epochs*N + rest``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import sympy

from dpverify.ledger.proof_chains import HYPOTHESIS, ChainLine
from dpverify.symbolic.derive.integers import Hypothesis
from dpverify.symbolic.derive.steps import Division
from dpverify.symbolic.elaborate.steps import Elaborator

_NAME = "[A-Za-z][A-Za-z0-9_]*"
_DIVISION = re.compile(
    rf"(?P<letter>{_NAME}) = (?P<quotient>{_NAME})\*(?P<by>{_NAME}) \+ (?P<rest>{_NAME})"
    rf"(?:, (?P=quotient) >= (?P<least>\d+))?(?:, (?P=rest) >= (?P<first>\d+))?"
)


def read_division(text: str) -> Division | None:
    """Read a division. Return None for an empty text, and raise a `ValueError` for any other form."""
    if not text:
        return None
    match = _DIVISION.fullmatch(" ".join(text.split()))
    if match is None:
        raise ValueError(
            f"a division is written as T = epochs*N + rest, or T = epochs*N + rest, epochs >= 1: {text}"
        )
    letter, by, quotient, rest = (
        match[name] for name in ("letter", "by", "quotient", "rest")
    )
    return Division(
        letter,
        by,
        quotient,
        rest,
        first=int(match["first"] or 0),
        least_quotient=int(match["least"] or 0),
    )


LAST = "upto"  # the argument with the last number of an induction


@dataclass(frozen=True)
class InductionParts:
    """An induction on an integer letter from a first number on, or up to a last one."""

    letter: Any
    first: Any
    last: Any  # None if the letter has no upper bound
    hypothesis: Hypothesis

    @staticmethod
    def read(
        elaborator: Elaborator, old: Any, new: Any, line: ChainLine
    ) -> InductionParts:
        """Read the reason of a line that an induction proves: ``induction(t = 0)``, or also with ``upto = k``."""
        assert line.reason is not None
        values = {argument.name: argument.value for argument in line.reason.arguments}
        last = values.pop(LAST, None)
        if len(values) != 1 or not values.keys() <= elaborator.letters.symbols.keys():
            raise elaborator.error(
                line,
                "an induction names its letter and the first number: induction(t = 0)",
            )
        ((name, first),) = values.items()
        letter = elaborator.letters.symbols[name]
        end = None if last is None else elaborator.expr(line, last)
        hypothesis = Hypothesis(old, line.relation, new, letter=letter)
        return InductionParts(letter, elaborator.expr(line, first), end, hypothesis)

    def sides(self, value: Any) -> tuple[Any, Any]:
        """Return the first and the last expression of a part."""
        return self.hypothesis.sides(value)

    def base(self, elaborator: Elaborator) -> Elaborator:
        """Return the elaborator of the base, which does not have the letter."""
        inside = self._without_conditions(elaborator, "base")
        symbols = {
            name: s for name, s in inside.letters.symbols.items() if s != self.letter
        }
        return replace(inside, letters=replace(inside.letters, symbols=symbols))

    def step(self, elaborator: Elaborator) -> Elaborator:
        """Return the elaborator of the step, which has the hypothesis."""
        inside = self._without_conditions(elaborator, "step")
        below = (
            ()
            if self.last is None
            else (sympy.Le(self.letter + 1, self.last, evaluate=False),)
        )
        letters = replace(
            inside.letters, conditions=(*inside.letters.conditions, *below)
        )
        return replace(
            inside,
            letters=letters,
            premises={HYPOTHESIS: self.hypothesis},
            hypothesis=self.hypothesis,
        )

    def _without_conditions(self, elaborator: Elaborator, part: str) -> Elaborator:
        """Return the elaborator without premises and without the claim's conditions on the letter."""
        conditions = [
            c
            for c in elaborator.letters.conditions
            if self.letter not in c.free_symbols
        ]
        letters = replace(elaborator.letters, conditions=tuple(conditions))
        return replace(
            elaborator, name=f"{elaborator.name}, {part}", letters=letters, premises={}
        )
