"""The two parts of an induction in a proof: what holds of their letters, and what they go from and to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sympy

from dpverify.ledger.proofs.chains import HYPOTHESIS, ChainLine
from dpverify.symbolic.derive.induction import Hypothesis
from dpverify.symbolic.elaborate.steps import Elaborator

LAST = "upto"  # the argument that says where an induction ends


@dataclass(frozen=True)
class InductionParts:
    """An induction on a whole letter from a first number on, or up to a last one."""

    letter: Any
    first: Any
    last: Any  # None where the letter runs for ever
    hypothesis: Hypothesis

    @staticmethod
    def read(elaborator: Elaborator, old: Any, new: Any, line: ChainLine) -> InductionParts:
        """Read the reason of a line that an induction proves: ``induction(t = 0)``, or with ``upto = k`` as well."""
        assert line.reason is not None
        values = {argument.name: argument.value for argument in line.reason.arguments}
        last = values.pop(LAST, None)
        if len(values) != 1 or not values.keys() <= elaborator.letters.symbols.keys():
            raise elaborator.error(line, "an induction names its letter and the first number: induction(t = 0)")
        ((name, first),) = values.items()
        letter = elaborator.letters.symbols[name]
        end = None if last is None else elaborator.expr(line, last)
        hypothesis = Hypothesis(old, line.relation, new, letter=letter)
        return InductionParts(letter, elaborator.expr(line, first), end, hypothesis)

    def sides(self, value: Any) -> tuple[Any, Any]:
        """What a part goes from and to."""
        return self.hypothesis.sides(value)

    def base(self, elaborator: Elaborator) -> Elaborator:
        """What builds the base, which does not have the letter."""
        inside = self._without_conditions(elaborator, "base")
        symbols = {name: s for name, s in inside.letters.symbols.items() if s != self.letter}
        return replace(inside, letters=replace(inside.letters, symbols=symbols))

    def step(self, elaborator: Elaborator) -> Elaborator:
        """What builds the step, which has the hypothesis."""
        inside = self._without_conditions(elaborator, "step")
        below = () if self.last is None else (sympy.Le(self.letter + 1, self.last, evaluate=False),)
        letters = replace(inside.letters, conditions=(*inside.letters.conditions, *below))
        return replace(inside, letters=letters, premises={HYPOTHESIS: self.hypothesis}, hypothesis=self.hypothesis)

    def _without_conditions(self, elaborator: Elaborator, part: str) -> Elaborator:
        """The same letters, and nothing that the claim grants of the letter itself."""
        conditions = [c for c in elaborator.letters.conditions if self.letter not in c.free_symbols]
        letters = replace(elaborator.letters, conditions=tuple(conditions))
        return replace(elaborator, name=f"{elaborator.name}, {part}", letters=letters, premises={})
