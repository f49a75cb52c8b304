"""Formulas of proofs to sympy: abbreviations are expanded, and moments are named scalars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sympy

from dpverify.ledger.formula import (
    BUILTINS,
    Bin,
    Call,
    Compare,
    Formula,
    FormulaError,
    Name,
    Neg,
    Sum,
    free_names,
    parse,
    substitute,
    to_text,
    walk,
    with_pi,
)
from dpverify.ledger.formula.errors import suggest
from dpverify.symbolic.expressions.functions import Moment
from dpverify.symbolic.expressions.to_sympy import FUNCTIONS, to_sympy

MOST_ROUNDS = 12  # abbreviations within abbreviations
PLAIN = {"moment"}  # functions that proofs have besides those of the records

Node = TypeVar("Node", Formula, Compare)


@dataclass(frozen=True)
class Abbreviations:
    """What names, and names with letters such as ``decays(s)``, are short for."""

    values: Mapping[str, tuple[tuple[str, ...], Formula]] = field(default_factory=dict)

    @staticmethod
    def read(*tables: Mapping[str, str]) -> Abbreviations:
        """Read tables of abbreviations; those of later tables come before those of earlier ones."""
        values: dict[str, tuple[tuple[str, ...], Formula]] = {}
        for text, value in (pair for table in tables for pair in table.items()):
            head = parse(text)
            if isinstance(head, Call):
                values[head.name] = tuple(one.id for one in head.args if isinstance(one, Name)), parse(value)
            elif isinstance(head, Name):
                values[head.id] = (), parse(value)
        return Abbreviations(values)

    def with_sides(self, left: Formula | None, right: Formula | None) -> Abbreviations:
        """The same, with ``left`` and ``right`` for the two sides of a claim where nothing else has these names."""
        sides = {name: ((), side) for name, side in (("left", left), ("right", right)) if side is not None}
        return Abbreviations({**sides, **self.values})

    def expanded(self, node: Any) -> Any:
        """A formula or comparison without abbreviations."""
        for _ in range(MOST_ROUNDS):
            if isinstance(node, Compare):
                return Compare(node.ops, tuple(map(self.expanded, node.operands)))
            made = self._once(node)
            if made == node:
                return node
            node = made
        raise FormulaError(to_text(node), "an abbreviation is short for something that uses itself")

    def _once(self, node: Formula) -> Formula:
        names = {Name(name): value for name, (letters, value) in self.values.items() if not letters}
        node = substitute(node, {name: value for name, value in names.items() if name.id in free_names(node)})
        return self._opened(node)

    def _opened(self, node: Formula) -> Formula:
        """The formula with abbreviations that have letters opened, also under the index of a sum."""
        match node:
            case Neg(arg):
                return Neg(self._opened(arg))
            case Bin(op, left, right):
                return Bin(op, self._opened(left), self._opened(right))
            case Call(name, args):
                call = Call(name, tuple(map(self._opened, args)))
                return self._applied(call) if name in self.values and name not in BUILTINS else call
            case Sum(body, index, lo, hi):
                return type(node)(self._opened(body), index, self._opened(lo), self._opened(hi))
            case _:
                return node

    def _applied(self, call: Call) -> Formula:
        letters, value = self.values[call.name]
        if len(letters) != len(call.args):
            raise FormulaError(to_text(call), f"{call.name} has {len(letters)} letters: {', '.join(letters)}")
        taken = frozenset[str]().union(*map(free_names, call.args))
        for part in walk(value):
            if isinstance(part, Sum) and part.index in taken:
                rule = f"the index {part.index} of {call.name} is a letter of what is put into it"
                raise FormulaError(to_text(call), rule)
        return substitute(value, {Name(n): one for n, one in zip(letters, call.args, strict=True)})

    def expr(self, formula: Formula, symbols: Mapping[str, Any]) -> Any:
        """The sympy expression of a formula; a name that is none of the symbols raises a `FormulaError`."""
        full = with_pi(self.expanded(formula), symbols)
        for name in sorted(free_names(full) - symbols.keys()):
            rule = f"unknown letter {name!r}{suggest(name, symbols)}"
            raise FormulaError(to_text(formula), rule)
        called = {part.name for part in walk(full) if isinstance(part, Call)}
        functions = {name for name, symbol in symbols.items() if isinstance(symbol, sympy.core.function.FunctionClass)}
        for name in sorted(called - FUNCTIONS.keys() - functions - PLAIN):
            rule = f"unknown function {name!r}{suggest(name, [*FUNCTIONS, *functions, *PLAIN])}"
            raise FormulaError(to_text(formula), rule)
        built = to_sympy(full, symbols, guards=False)
        return _with_functions(built, {name: symbols[name] for name in functions})


def _with_functions(expr: Any, functions: Mapping[str, Any]) -> Any:
    """Put moments and declared functions in the place of functions of which sympy only has the name."""
    known = {"moment": Moment, **functions}

    def is_plain(node: Any) -> bool:
        return isinstance(node, sympy.core.function.AppliedUndef) and str(node.func) in known

    return expr.replace(is_plain, lambda node: known[str(node.func)](*node.args))
