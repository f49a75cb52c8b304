"""Letters of a text proof: their symbols, their conditions, and the ranges of sample points."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy

from dpverify.ledger.formula import (
    Bin,
    Compare,
    Name,
    Num,
    free_names,
    parse,
    parse_relation,
    walk,
)
from dpverify.ledger.proof_book import LAWS
from dpverify.ledger.vocabulary import Domain, parse_domain
from dpverify.symbolic.elaborate.formulas import Abbreviations
from dpverify.symbolic.expressions.evaluation import AnyFunction
from dpverify.symbolic.expressions.ranges import (
    AnyVector,
    BoundedVector,
    FromPremises,
    GaussianNorm,
    Range,
    SetBits,
    Variable,
)
from dpverify.symbolic.expressions.translation import symbol_for, to_relations, to_sympy

# width of a range without an end; sums with more terms would cost too much
RANGE_WIDTH = 60
EXPONENT_WIDTH = 8  # width for an exponent of 2
_FLIPPED = str.maketrans("<>", "><")
_NORM = re.compile(r"gaussian norm\((?P<dimension>.*),(?P<variance>[^,]*)\)", re.DOTALL)


@dataclass(frozen=True)
class Letters:
    """Symbols by name, with defined names as expressions, with their ranges and the conditions on them."""

    symbols: Mapping[str, Any]
    variables: Mapping[str, Variable]
    conditions: tuple[Any, ...]
    abbreviations: Abbreviations = field(default_factory=Abbreviations)

    def expr(self, formula: Any, extra: Mapping[str, Any] | None = None) -> Any:
        """Return the sympy expression of a formula. ``extra`` maps further names to expressions."""
        return self.abbreviations.expr(formula, {**self.symbols, **(extra or {})})


def letters_of(
    domains: Mapping[str, Domain],
    requires: Iterable[Compare],
    definitions: Mapping[str, Any],
    abbreviations: Abbreviations,
) -> Letters:
    """Return letters with domains and conditions. ``definitions`` maps further names to expressions."""
    symbols = {
        name: symbol_for(name, domain.kind, domain.constraints)
        for name, domain in domains.items()
    }
    full = {**definitions, **symbols}
    constraints = [c for domain in domains.values() for c in domain.constraints] + list(
        requires
    )
    relations: dict[Any, None] = {}
    for condition in constraints:
        relations |= dict.fromkeys(to_relations(condition, full))
    return Letters(
        full, sample_ranges(domains, constraints, full), tuple(relations), abbreviations
    )


def with_declared(letters: Letters, declarations: Mapping[str, str]) -> Letters:
    """Return the letters with those that a proof declares: numbers, vectors, laws, functions and positions of bits."""
    symbols = dict(letters.symbols)
    laws: dict[str, Variable] = {}
    domains: dict[str, Domain] = {}
    for name, text in declarations.items():
        law = _declaration(text, Letters(symbols, {}, (), letters.abbreviations))
        if law is None:
            domains[name] = parse_domain(text)
            symbols[name] = symbol_for(
                name, domains[name].kind, domains[name].constraints
            )
            continue
        laws[name] = law
        if isinstance(law, SetBits):
            symbols[name] = sympy.Function(name, integer=True, nonnegative=True)
        elif isinstance(law, AnyFunction):
            symbols[name] = sympy.Function(name, real=True)
        else:
            symbols[name] = (
                sympy.Symbol(name, nonnegative=True)
                if isinstance(law, FromPremises)
                else sympy.Symbol(name)
            )
    constraints = [c for domain in domains.values() for c in domain.constraints]
    relations = [
        relation
        for condition in constraints
        for relation in to_relations(condition, symbols)
    ]
    numbers = sample_ranges(domains, constraints, symbols, letters.variables.keys())
    conditions = tuple(dict.fromkeys((*letters.conditions, *relations)))
    return Letters(
        symbols,
        {**letters.variables, **numbers, **laws},
        conditions,
        letters.abbreviations,
    )


def is_nonnumeric(text: str) -> bool:
    """Test whether the domain of a letter declares something that is not a number."""
    return LAWS.fullmatch(text) is not None


def _declaration(text: str, letters: Letters) -> Variable | None:
    if text == "random":
        return AnyVector()
    if text.startswith("random up to "):
        return BoundedVector(
            bound=letters.expr(parse(text.removeprefix("random up to ")))
        )
    if text == "function":
        return AnyFunction()
    if text == "measured":
        return FromPremises()
    if match := _NORM.fullmatch(text):
        return GaussianNorm(
            letters.expr(parse(match["dimension"])),
            letters.expr(parse(match["variance"])),
        )
    if text.startswith("set bits of "):
        return SetBits(letters.expr(parse(text.removeprefix("set bits of "))))
    return None


def sample_ranges(
    domains: Mapping[str, Domain],
    conditions: Iterable[Compare],
    symbols: Mapping[str, Any],
    drawn: Collection[str] = (),
    points: Sequence[Compare] = (),
) -> dict[str, Variable]:
    """Return the ranges of sample points, between the ends in conditions. Ends use letters that are drawn before.

    Proofs do not use the ranges, and points that violate a condition are dropped. ``drawn`` are letters that are drawn
    before. ``points`` are conditions for sample points only, whose letters are drawn first.
    """
    ranges: dict[str, Variable] = {
        name: AnyVector() for name, domain in domains.items() if domain.kind == "vector"
    }
    conditions = [*points, *conditions]
    first = set[str]().union(*map(free_names, points))
    exponents = _exponents(conditions)
    ends = {
        name: list(_ends(name, conditions, symbols))
        for name in domains.keys() - ranges.keys()
    }
    while waiting := [name for name in domains if name not in ranges]:
        known = ranges.keys() | set(drawn)
        # Take the letter with the fewest unknown ends.
        # This also breaks a cycle of conditions.
        unknown = {
            n: sum(not _names(value) <= known for _, value in ends[n]) for n in waiting
        }
        name = min(waiting, key=lambda n: 0 if n in first else unknown[n])
        usable = [(sign, value) for sign, value in ends[name] if _names(value) <= known]
        width = EXPONENT_WIDTH if name in exponents else RANGE_WIDTH
        ranges[name] = _range(domains[name].kind == "integer", usable, width)
    return ranges


def _exponents(conditions: Iterable[Compare]) -> set[str]:
    """Return the letters in exponents of numbers."""
    parts = (part for condition in conditions for part in walk(condition))
    powers = (
        part
        for part in parts
        if isinstance(part, Bin) and part.op == "**" and isinstance(part.left, Num)
    )
    return set[str]().union(*(free_names(power.right) for power in powers))


def _ends(
    name: str, conditions: Iterable[Compare], symbols: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the ends of a letter: a relation sign, and an expression without the letter."""
    letter = symbols[name]
    for condition in conditions:
        pairs = zip(
            condition.operands, condition.ops, condition.operands[1:], strict=False
        )
        for left, op, right in pairs:
            for one, sign, other in (
                (left, op, right),
                (right, op.translate(_FLIPPED), left),
            ):
                if one == Name(name) and name not in free_names(other):
                    yield sign, to_sympy(other, symbols)
            if op == "==" and name in free_names(left) | free_names(right):
                difference = sympy.expand(
                    to_sympy(left, symbols) - to_sympy(right, symbols)
                )
                slope = difference.coeff(letter)
                value = difference - slope * letter
                if slope in {1, -1} and letter not in value.free_symbols:
                    yield op, -value / slope
                    yield from _ends_without_others(-value / slope)
            elif name in free_names(left) | free_names(right):
                yield from _end_of_product(
                    letter, op, to_sympy(left, symbols) / to_sympy(right, symbols)
                )


def _end_of_product(letter: Any, op: str, ratio: Any) -> Iterator[tuple[str, Any]]:
    """Yield the bound that a condition on a product gives a factor: ``x <= (1/c)**2`` from ``c*sqrt(x) <= 1``."""
    factor, power = ratio.as_independent(letter, as_Add=False)
    base, exponent = power.as_base_exp()
    # an exponential may be too large to draw
    if base != letter or not exponent.is_Rational or factor.has(sympy.exp):
        return
    if factor.is_positive or (exponent < 0 and factor.is_nonnegative):
        yield (
            (op if exponent > 0 else op.translate(_FLIPPED)),
            factor ** (-1 / exponent),
        )


def _ends_without_others(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield ends by the least value of another letter in a value: p = n - v gives ``p <= n``."""
    for other in value.free_symbols:
        slope = value.coeff(other)
        if other.is_nonnegative and slope in {1, -1}:
            least = int(bool(other.is_integer and other.is_positive))
            yield (
                ("<=" if slope == -1 else ">="),
                value.xreplace({other: sympy.Integer(least)}),
            )


def _names(expr: Any) -> set[str]:
    return {symbol.name for symbol in expr.free_symbols}


def _range(is_integer: bool, ends: list[tuple[str, Any]], width: int) -> Range:
    low = [(value, sign == ">") for sign, value in ends if sign in {">", ">=", "=="}]
    high = [(value, sign == "<") for sign, value in ends if sign in {"<", "<=", "=="}]
    lo = sympy.Max(*(value for value, _ in low)) if low else None
    hi = sympy.Min(*(value for value, _ in high)) if high else None
    if lo is None:
        lo = sympy.Integer(-width) if hi is None else hi - width
    if hi is None:
        hi = lo + width
    open_lo = any(is_open for _, is_open in low)
    open_hi = any(is_open for _, is_open in high)
    if is_integer:
        lo += int(open_lo and lo.is_integer is True)
        hi -= int(open_hi and hi.is_integer is True)
        # from an empty range, a number is drawn that violates a condition
        least = sympy.ceiling(lo)
        return Range("integer", _end(least), _end(sympy.Max(hi, least)))
    return Range("real", _end(lo), _end(hi), open_lo, open_hi)


def _end(value: Any) -> Any:
    return int(value) if value.is_Integer else value


def read_conditions(
    texts: Iterable[str], abbreviations: Abbreviations
) -> list[Compare]:
    """Parse conditions, and expand their abbreviations."""
    return [abbreviations.expanded(parse_relation(text)) for text in texts]
