"""The stand-alone checker and statement reader, loaded from their files, and expressions in the checker's format.

Certificates are written with the forms of the checker. This module converts forms back to expressions, evaluates
expressions as floats, and replaces expressions by their places in the table of a certificate. Floats prove nothing.
They avoid searches for proofs of false statements.
"""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from flint import fmpq

from dpverify.ledger import bundled_specs
from dpverify.ledger.formula import to_text
from dpverify.ledger.formula.prefix import comparison_of, formula_of

#: An expression, and a form, of the checker.
Expr: TypeAlias = Any
Form: TypeAlias = Any


def checker_file() -> Path:
    """Return the path of the checker."""
    return bundled_specs() / "proofs" / "check_certificate.py"


def _loaded(name: str) -> Any:
    """Load a program as a module under the name by which the other program imports it."""
    spec = importlib.util.spec_from_file_location(
        name, checker_file().with_name(f"{name}.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


#: The checker as a module.
k = _loaded("check_certificate")

#: Expressions and a form that modules hold. When a certificate is begun, there are no others, whatever was imported.
HOLE: Expr = k.letter("HOLE")
ZERO: Expr = k.rational(0)
UNIT: Expr = k.rational(1)
HALF: Form = k.constant(fmpq(1, 2))
_FIRST = {id(table): dict(table) for table in (k.ROWS, k.FORMS)}


def forget_expressions() -> None:
    """Clear all other expressions and their caches, since the order of terms depends on earlier expressions."""
    for table in (k.ROWS, k.FORMS):
        table.clear()
        table.update(_FIRST[id(table)])
    form = k.Form
    for function in (
        k.alone,
        k.letters_in,
        k.number_sign,
        form.__neg__,
        form.parts,
        form.key,
        form.content,
    ):
        function.cache_clear()


@cache
def reader() -> Any:
    """Return the statement reader as a module, which is loaded at first use."""
    return _loaded("read_statement")


@cache
def records_of(folder: Path) -> Any:
    """Return the records of a specs folder, as the statement reader reads them."""
    return reader().Records(folder)


@cache
def rules() -> list[dict[str, Any]]:
    """Return the catalogue of rules, as the checker reads it."""
    catalogue: list[dict[str, Any]] = json.loads(
        checker_file().with_name("rules.json").read_text()
    )["rules"]
    return catalogue


def prefix_of(expr: Expr) -> Any:
    """Return an expression in the prefix format."""
    operator, *arguments = expr
    if operator == "letter":
        return arguments[0]
    if operator == "q":
        return [operator, str(arguments[0])]
    parts = [prefix_of(part) if isinstance(part, k.Row) else part for part in arguments]
    return [operator, *parts] if parts else operator


def text_of(expr: Expr) -> str:
    """Return an expression as text, in the formula language of the records."""
    return to_text(formula_of(prefix_of(expr)))


def comparison_text(relation: str, gap: Expr) -> str:
    """Return the comparison of an expression with 0 as text: ``t <= T`` for ``T - t >= 0``."""
    return to_text(comparison_of(relation, prefix_of(gap)))


@cache
def to_expr(form: Form) -> Expr:
    """Return an expression with this form."""
    terms = [monomial(m, c) for m, c in form.items()]
    return (
        terms[0] if len(terms) == 1 else k.row("+", *terms) if terms else k.rational(0)
    )


def monomial(factors: Any, coefficient: Any = 1) -> Expr:
    """Return a monomial with its coefficient as an expression."""
    parts = [power(atom, x) for atom, x in factors]
    if coefficient != 1 or not parts:
        parts.insert(0, k.rational(coefficient))
    return parts[0] if len(parts) == 1 else k.row("*", *parts)


def power(atom: Any, exponent: Form) -> Expr:
    """Return an atom to a power as an expression."""
    if atom[0] == "e":
        return k.row("exp", to_expr(exponent))
    base = of_atom(atom)
    return base if exponent is k.ONE else k.row("^", base, to_expr(exponent))


@cache
def of_atom(atom: Any) -> Expr:
    """Return an atom as an expression."""
    kind, *arguments = atom
    if kind == "prime":
        return k.rational(int(arguments[0]))
    if kind == "e":
        return k.row("exp", k.rational(1))
    if kind == "base":
        return to_expr(arguments[0])
    if kind in ("sum", "integral"):
        return _bound(kind, arguments)
    return k.row(kind, *(x if isinstance(x, str) else to_expr(x) for x in arguments))


def _bound(kind: str, arguments: list[Any]) -> Expr:
    body = arguments[-1]
    # indices of the sums around it have higher numbers
    index = f"#{min(_free(body), default=0)}"
    fresh, summed = k.bind("bound", k.put(to_expr(body), {index: k.letter("bound")}))
    ends = (k.row("-oo"), k.row("oo"))
    if kind == "sum":
        ends = (
            k.rational(0),
            k.row("oo") if arguments[0] == "oo" else to_expr(arguments[0]),
        )
    return k.row(kind, fresh, *ends, summed)


def _free(part: Any) -> set[int]:
    """Return the numbers of the indices in a form or atom that no sum in it binds."""
    if not isinstance(part, k.Row):
        index_sets = (
            [_free(x) for m in part for factor in m for x in factor]
            if isinstance(part, k.Form)
            else []
        )
        return set[int]().union(*index_sets)
    kind, *arguments = part
    if kind == "letter":
        return {int(arguments[0][1:])} if arguments[0].startswith("#") else set()
    if kind not in ("sum", "integral"):
        return set[int]().union(*map(_free, arguments))
    inner = _free(arguments[-1])
    return (inner - {min(inner, default=0)}).union(*map(_free, arguments[:-1]))


Point = Mapping[str, float]

_MOST_TERMS = 300


def _power(base: float, exponent: float) -> float:
    value = base**exponent
    if isinstance(value, complex):
        raise ArithmeticError
    return float(value)


def _floor(value: float) -> int:
    return math.floor(value + 1e-9)  # tolerates rounding errors of integers


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": math.exp,
    "log": math.log,
    "floor": _floor,
    "max": max,
    "^": _power,
    "pi": lambda: math.pi,
    "bit": lambda s, i: float(int(s) >> int(i) & 1),
    "popcount": lambda n: float(int(n).bit_count()),
    "binomial": lambda n, k: float(math.comb(int(n), int(k))),
    "+": lambda *xs: math.fsum(xs),
    "*": lambda *xs: math.prod(xs),
}


def value_of(expr: Expr, point: Point) -> float | None:
    """Return the value of an expression at a point as a float, or None if it has none."""
    try:
        return _value(expr, point)
    except (ArithmeticError, ValueError, KeyError, TypeError):
        return None


def _value(expr: Expr, point: Point) -> float:
    op, *args = expr
    if op == "q":
        return int(args[0].p) / int(args[0].q)
    if op == "letter":
        return point[args[0]]
    if op == "sum":
        index, lo, hi, body = args
        if hi[0] == "oo":
            raise ValueError
        first = round(_value(lo, point))
        last = _floor(_value(hi, point))
        if last - first > _MOST_TERMS:
            raise ValueError
        return math.fsum(
            _value(body, {**point, index: float(n)}) for n in range(first, last + 1)
        )
    return _FUNCTIONS[op](*(_value(arg, point) for arg in args))


def with_table(data: dict[str, Any]) -> dict[str, Any]:
    """Write a certificate with the table of all expressions that it uses."""
    table = _Table()
    body = table.renumbered(data)
    return {"table": table.rows, **body}


class _Table:
    """The rows of all used expressions, in an order in which the checker can read them."""

    def __init__(self) -> None:
        self.rows, self.places = list[Any](), dict[Expr, int]()

    def renumbered(self, data: Any) -> Any:
        """Return a copy of data with expressions replaced by their places in the table."""
        if isinstance(data, k.Row):
            return self.place(data)
        if isinstance(data, dict):
            return {key: self.renumbered(value) for key, value in data.items()}
        return (
            [self.renumbered(value) for value in data]
            if isinstance(data, list | tuple)
            else data
        )

    def place(self, expr: Expr) -> Any:
        """Return the place of an expression. Letters and constants are returned themselves."""
        op, *args = expr
        if op == "letter":
            return _name(args[0])
        if op in k.CONSTANTS:
            return op
        if expr not in self.places:
            parts = [
                self.place(a) if isinstance(a, k.Row) else _name(str(a)) for a in args
            ]
            self.places[expr] = len(self.rows)
            self.rows.append([op, *parts])
        return self.places[expr]


def _name(letter: str) -> str:
    return f"idx{letter[1:]}" if letter.startswith("~") else letter


def all_parts(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all its parts."""
    yield expr
    for arg in expr:
        if isinstance(arg, k.Row):
            yield from all_parts(arg)


def floats_of(point: Any) -> dict[str, float]:
    """Return the values of a point that are numbers as floats."""
    floats = {}
    for name, value in point.items():
        try:
            floats[name] = float(value)
        except (TypeError, ValueError):
            continue
    return floats
