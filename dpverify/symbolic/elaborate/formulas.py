"""Convert formulas of proofs to sympy and sympy expressions to the formula language, and define errors for authors.

Abbreviations are expanded, and moments are uninterpreted scalars. In sympy, a sum of a claim that may be empty has a
guard. The text of a proof has no guards, so steps of the chain add and remove them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import sympy

from dpverify.ledger.errors import suggest
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
from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.define import quantity_formula
from dpverify.symbolic.derive.steps import Derivation, Link, Step
from dpverify.symbolic.expressions.functions import HOLE, Moment
from dpverify.symbolic.expressions.translation import FUNCTIONS, sympy_sides, to_sympy


class ProofError(ValueError):
    """A line of a proof cannot be read as a step. The error names the line and what was tried."""

    def __init__(self, where: str, line: int, text: str, problem: str) -> None:
        super().__init__(where, line, text, problem)
        self.where = where  # the proof or lemma
        self.line = line  # from 1; 0 if the error is not about one line
        self.text = text
        self.problem = problem

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        shown = f"{self.text}: " if self.text else ""
        return f"{self.where}: {place}{shown}{self.problem}"


MOST_ROUNDS = 12  # largest depth of abbreviations within abbreviations
PROOF_FUNCTIONS = {"moment"}  # functions that proofs have, but not records

Node = TypeVar("Node", Formula, Compare)


@dataclass(frozen=True)
class Abbreviations:
    """Names, and names with letters such as ``decays(s)``, with the formulas that they abbreviate."""

    values: Mapping[str, tuple[tuple[str, ...], Formula]] = field(default_factory=dict)

    @staticmethod
    def read(*tables: Mapping[str, str]) -> Abbreviations:
        """Read tables of abbreviations. Later tables override earlier ones."""
        values: dict[str, tuple[tuple[str, ...], Formula]] = {}
        for text, value in (pair for table in tables for pair in table.items()):
            head = parse(text)
            if isinstance(head, Call):
                values[head.name] = (
                    tuple(
                        letter.id for letter in head.args if isinstance(letter, Name)
                    ),
                    parse(value),
                )
            elif isinstance(head, Name):
                values[head.id] = (), parse(value)
        return Abbreviations(values)

    def with_sides(self, left: Formula | None, right: Formula | None) -> Abbreviations:
        """Return the abbreviations with ``left`` and ``right`` for a claim's sides, unless these names are in use."""
        sides = {
            name: ((), side)
            for name, side in (("left", left), ("right", right))
            if side is not None
        }
        return Abbreviations({**sides, **self.values})

    def expanded(self, node: Any) -> Any:
        """Return a formula or comparison with its abbreviations expanded."""
        for _ in range(MOST_ROUNDS):
            if isinstance(node, Compare):
                return Compare(node.ops, tuple(map(self.expanded, node.operands)))
            expanded = self._expanded_once(node)
            if expanded == node:
                return node
            node = expanded
        raise FormulaError(
            to_text(node), "an abbreviation is short for something that uses itself"
        )

    def _expanded_once(self, node: Formula) -> Formula:
        names = {
            Name(name): value
            for name, (letters, value) in self.values.items()
            if not letters
        }
        node = substitute(
            node,
            {
                name: value
                for name, value in names.items()
                if name.id in free_names(node)
            },
        )
        return self._expanded_calls(node)

    def _expanded_calls(self, node: Formula) -> Formula:
        """Return the formula with abbreviations that have letters expanded, also under the index of a sum."""
        match node:
            case Neg(arg):
                return Neg(self._expanded_calls(arg))
            case Bin(op, left, right):
                return Bin(op, self._expanded_calls(left), self._expanded_calls(right))
            case Call(name, args):
                call = Call(name, tuple(map(self._expanded_calls, args)))
                return (
                    self._expanded_call(call)
                    if name in self.values and name not in BUILTINS
                    else call
                )
            case Sum(body, index, lo, hi):
                return type(node)(
                    self._expanded_calls(body),
                    index,
                    self._expanded_calls(lo),
                    self._expanded_calls(hi),
                )
            case _:
                return node

    def _expanded_call(self, call: Call) -> Formula:
        letters, value = self.values[call.name]
        if len(letters) != len(call.args):
            raise FormulaError(
                to_text(call),
                f"{call.name} has {len(letters)} letters: {', '.join(letters)}",
            )
        argument_names = frozenset[str]().union(*map(free_names, call.args))
        for part in walk(value):
            if isinstance(part, Sum) and part.index in argument_names:
                rule = f"the index {part.index} of {call.name} is a letter of what is put into it"
                raise FormulaError(to_text(call), rule)
        return substitute(
            value,
            {Name(n): argument for n, argument in zip(letters, call.args, strict=True)},
        )

    def expr(self, formula: Formula, symbols: Mapping[str, Any]) -> Any:
        """Return the sympy expression of a formula. Raise a `FormulaError` for a name that is not among the symbols."""
        full = with_pi(self.expanded(formula), symbols)
        for name in sorted(free_names(full) - symbols.keys()):
            rule = f"unknown letter {name!r}{suggest(name, symbols)}"
            raise FormulaError(to_text(formula), rule)
        called = {part.name for part in walk(full) if isinstance(part, Call)}
        functions = {
            name
            for name, symbol in symbols.items()
            if isinstance(symbol, sympy.core.function.FunctionClass)
        }
        for name in sorted(called - FUNCTIONS.keys() - functions - PROOF_FUNCTIONS):
            rule = f"unknown function {name!r}{suggest(name, [*FUNCTIONS, *functions, *PROOF_FUNCTIONS])}"
            raise FormulaError(to_text(formula), rule)
        built = to_sympy(full, symbols, guards=False)
        return _with_functions(built, {name: symbols[name] for name in functions})


def _with_functions(expr: Any, functions: Mapping[str, Any]) -> Any:
    """Replace undefined sympy functions by moments and declared functions of the same names."""
    functions_by_name = {"moment": Moment, **functions}

    def is_plain(node: Any) -> bool:
        return (
            isinstance(node, sympy.core.function.AppliedUndef)
            and str(node.func) in functions_by_name
        )

    return expr.replace(
        is_plain, lambda node: functions_by_name[str(node.func)](*node.args)
    )


_NAMES = {
    "Log2": "log2",
    "PopCount": "popcount",
    "Bit": "bit",
    "Mod": "mod",
    "ceiling": "ceil",
    "Binomial": "binomial",
    "Moment": "moment",
    "Norm": "norm",
    "Inner": "dot",
    "Max": "max",
    "Min": "min",
    "Abs": "abs",
}

_SIGNS = {sympy.Eq: "=", sympy.Ne: "!="}


def text_of(expr: Any) -> str:
    """Write an expression or a relation in the language of proofs. A Lambda is written as its term."""
    return str(_plain(sympy.sympify(expr)))


def _plain(expr: Any) -> Any:
    """Return the expression with the language's names of functions and sums."""
    if isinstance(expr, sympy.Lambda):
        return _plain(expr.expr)
    if isinstance(expr, sympy.Eq | sympy.Ne):
        return sympy.Symbol(
            f" {_SIGNS[type(expr)]} ".join(str(_plain(side)) for side in expr.args)
        )
    if isinstance(expr, sympy.Dummy):
        return sympy.Symbol(expr.name)
    if isinstance(expr, sympy.Sum):
        body = _plain(expr.function)
        for limit in expr.limits:
            body = sympy.Function("sum")(body, *map(_plain, limit))
        return body
    if not expr.args or isinstance(expr, sympy.Piecewise):
        return expr
    arguments = [_plain(argument) for argument in expr.args]
    if isinstance(expr, sympy.Function | sympy.Max | sympy.Min):
        name = expr.func.__name__
        return sympy.Function(_NAMES.get(name, name))(*arguments)
    return expr.func(*arguments)


GUARD_RULE = "guarded-sum"


def is_guard(link: Link) -> bool:
    """Test whether a step only adds or removes the guard of a sum. Such a step has no line."""
    return isinstance(link, Step) and link.rule == GUARD_RULE


def with_guards(derivation: Derivation, statement: Statement) -> Derivation:
    """Return the chain with steps from and to the guarded sides of a statement, if its ends have no guards."""
    left, right = sympy_sides(statement)
    meaning = quantity_formula(statement)
    left = left if meaning is None else meaning.formula
    steps = derivation.steps
    start = derivation.start
    if left is not None and left != start and _without_guards(left) == start:
        steps = (
            *(
                Step(expr, "=", GUARD_RULE, w, context=c)
                for _, expr, w, c in _guards(left)
            ),
            *steps,
        )
        start = left
    if (
        right is not None
        and right != derivation.last
        and _without_guards(right) == derivation.last
    ):
        removed = list(_guards(right))[::-1]
        steps = (
            *steps,
            *(Step(expr, "=", GUARD_RULE, w, context=c) for expr, _, w, c in removed),
        )
    return replace(derivation, start=start, steps=steps)


def _guards(expr: Any) -> Iterator[tuple[Any, Any, dict[str, Any], Any]]:
    """Yield the expression before and after the removal of each guard, with the instance and the place."""
    while guards := sorted(expr.atoms(sympy.Piecewise), key=str):
        total = guards[0].args[0][0]
        if not isinstance(total, sympy.Sum):
            return
        index, low, high = total.limits[0]
        without = expr.xreplace({guards[0]: total})
        where = {"f": sympy.Lambda(index, total.function), "lo": low, "hi": high}
        yield expr, without, where, expr.xreplace({guards[0]: HOLE})
        expr = without


def _without_guards(expr: Any) -> Any:
    for _, without, _, _ in _guards(expr):
        expr = without
    return expr
