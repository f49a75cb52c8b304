"""Assumptions of a proof: nonnegative expressions and positive expressions, also inside of sums.

Facts about the index of a sum hold inside the sum and must not be used outside. A sum may be empty. So ``lo <= i`` and
``i <= hi``, and ``lo <= hi``, which follows from them, hold only inside the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

import sympy

from dpverify.symbolic.exact.numbers import EvaluationError, Value, compare, to_value
from dpverify.symbolic.expressions.evaluation import compile_expr, index_name

_BITS = 64
_ZERO = to_value(0)
_MAX_WITNESSES = 12
_TRIES = 400
_ENOUGH_WITNESSES = 6
_REALS = tuple(
    map(Fraction, ("1/1000", "1/10", "1/3", "1/2", "9/10", "1", "3/2", "2", "9"))
)
_INTEGERS = tuple(map(Fraction, (1, 2, 3, 4, 7, 30)))


class FalseAssumptionError(ValueError):
    """An assumption is literally false, so that everything would follow from it."""


@dataclass(frozen=True)
class Facts:
    """A set of assumptions, in addition to the signs that sympy knows of its symbols."""

    # expressions that are at least 0 on the domain
    nonnegative: frozenset[Any] = frozenset()
    positive: frozenset[Any] = frozenset()  # expressions that are above 0 on the domain
    # Some points of the domain. They prove nothing, but they avoid searches for proofs
    # of statements that are false there.
    witnesses: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)

    def assume(self, relations: Iterable[Any]) -> Facts:
        """Return these facts with additional relations. Strict relations between integers are tightened by one."""
        nonnegative = set(self.nonnegative)
        positive = set(self.positive)
        for relation in relations:
            for difference, strict in differences(relation):
                if strict and difference.is_integer:
                    nonnegative.add(difference - 1)
                (positive if strict else nonnegative).add(difference)
        facts = Facts(frozenset(nonnegative), frozenset(positive))
        new = [
            *(facts.nonnegative - self.nonnegative),
            *(facts.positive - self.positive),
        ]
        witnesses = tuple(
            w for w in self.witnesses if not any(is_negative_at(f, w) for f in new)
        )
        return Facts(facts.nonnegative, facts.positive, witnesses)

    def with_witness_values(self, symbol: Any, values: Iterable[Any]) -> Facts:
        """Return the facts with values of a symbol added to the witnesses."""
        witnesses = list(
            _extended_witnesses(
                self.witnesses, index_name(symbol), [sympy.sympify(v) for v in values]
            )
        )
        return Facts(self.nonnegative, self.positive, tuple(witnesses[:_MAX_WITNESSES]))

    def is_refuted(self, expr: Any, strict: bool) -> bool:
        """Test whether ``expr >= 0`` (``expr > 0`` if ``strict``) is certainly false at a witness."""
        return any(is_negative_at(expr, w, strict) for w in self.witnesses)

    def is_nonzero_at_witness(self, expr: Any) -> bool:
        """Test whether an expression is certainly not 0 at a witness."""
        return any(
            is_negative_at(expr, w) or is_negative_at(-expr, w) for w in self.witnesses
        )

    def relevant_to(self, symbols: frozenset[Any]) -> Facts:
        """Return the facts that can matter to an expression with these symbols, directly or through shared symbols."""
        nonnegative, positive = _relevant_facts(
            self.nonnegative, self.positive, symbols
        )
        if len(nonnegative) + len(positive) == len(self.nonnegative) + len(
            self.positive
        ):
            return self
        return Facts(nonnegative, positive, self.witnesses)

    def substituted(self, replacement: dict[Any, Any]) -> Facts:
        """Return the facts with symbols replaced."""
        return Facts(
            frozenset(f.xreplace(replacement) for f in self.nonnegative),
            frozenset(f.xreplace(replacement) for f in self.positive),
        )

    def shifted(self, above: Mapping[Any, tuple[Any, Any]]) -> Facts:
        """Return the facts with each symbol replaced by a bound plus a letter for the difference."""
        witnesses = self.witnesses
        for symbol, (bound, letter) in above.items():
            witnesses = tuple(
                _extended_witnesses(witnesses, index_name(letter), [symbol - bound])
            )
        moved = self.substituted(
            {symbol: bound + letter for symbol, (bound, letter) in above.items()}
        )
        return replace(moved, witnesses=witnesses)


@lru_cache(maxsize=20_000)
def _relevant_facts(
    nonnegative: frozenset[Any], positive: frozenset[Any], symbols: frozenset[Any]
) -> tuple[frozenset[Any], frozenset[Any]]:
    """Return the facts about these symbols, about the symbols of those facts, and so on; and facts without symbols."""
    left = {fact: symbols_of(fact) for fact in nonnegative | positive}
    related_facts: set[Any] = set()
    while new_facts := [
        fact
        for fact, fact_symbols in left.items()
        if not fact_symbols or not fact_symbols.isdisjoint(symbols)
    ]:
        symbols = symbols.union(*(left.pop(fact) for fact in new_facts))
        related_facts.update(new_facts)
    return nonnegative & related_facts, positive & related_facts


@lru_cache(maxsize=50_000)
def symbols_of(expr: Any) -> frozenset[Any]:
    """Return the free symbols of an expression.

    They are cached: sympy would walk the tree and rebuild every sum each time.
    """
    if isinstance(expr, sympy.Sum | sympy.Integral):
        symbols = symbols_of(expr.function)
        for index, *ends in expr.limits:
            symbols = (symbols - {index}).union(*map(symbols_of, ends or [index]))
        return symbols
    if expr.args and type(expr).free_symbols is sympy.Basic.free_symbols:
        return frozenset[Any]().union(*map(symbols_of, expr.args))
    return frozenset(expr.free_symbols)


@lru_cache(maxsize=20_000)
def renamed(expr: Any, old: Any, new: Any) -> Any:
    """Return an expression with a symbol replaced. It is cached: sympy is slow to rebuild a maximum."""
    return expr.xreplace({old: new})


def _extended_witnesses(
    witnesses: Any, name: str, values: list[Any]
) -> Iterator[Mapping[str, Any]]:
    for value in values:
        for witness in witnesses:
            number = value_at(value, witness)
            if number is not None:
                yield {**witness, name: number}


def value_at(expr: Any, witness: Mapping[str, Any]) -> Value | None:
    """Return the value of an expression at a witness, or None if it has none there."""
    if not all(index_name(s) in witness for s in symbols_of(expr)):
        return None
    try:
        return compile_expr(expr)(dict(witness), _BITS)
    except (EvaluationError, TypeError):
        return None


def is_negative_at(expr: Any, witness: Mapping[str, Any], strict: bool = False) -> bool:
    """Test whether an expression is certainly negative at a witness (not positive, if ``strict``)."""
    value = value_at(expr, witness)
    return value is not None and compare(value, ">" if strict else ">=", _ZERO) is False


def differences(relation: Any) -> list[tuple[Any, bool]]:
    """Split a relation into expressions that are nonnegative, or positive if the flag is set."""
    if relation is sympy.true or isinstance(relation, sympy.Ne):
        return []
    if relation is sympy.false:
        raise FalseAssumptionError("an assumption is false as it stands.")
    if isinstance(relation, sympy.And):
        return [part for arg in relation.args for part in differences(arg)]
    if isinstance(relation, sympy.Eq):
        return [
            (relation.lhs - relation.rhs, False),
            (relation.rhs - relation.lhs, False),
        ]
    if isinstance(relation, sympy.GreaterThan | sympy.StrictGreaterThan):
        return [
            (relation.lhs - relation.rhs, isinstance(relation, sympy.StrictGreaterThan))
        ]
    if isinstance(relation, sympy.LessThan | sympy.StrictLessThan):
        return [
            (relation.rhs - relation.lhs, isinstance(relation, sympy.StrictLessThan))
        ]
    raise ValueError(
        f"an assumption must be built from <= < >= > = and And, got {relation}."
    )


def symbol_signs(symbol: Any) -> list[tuple[Any, bool]]:
    """Return the signs that sympy knows of a symbol, as in :func:`differences`."""
    signs = (
        (symbol, symbol.is_positive, symbol.is_nonnegative),
        (-symbol, symbol.is_negative, symbol.is_nonpositive),
    )
    return [(side, bool(strict)) for side, strict, loose in signs if strict or loose]


def symbol_facts(symbols: Iterable[Any]) -> list[tuple[Any, bool]]:
    """Return the signs that sympy knows of symbols. Strict signs of integers are tightened by one."""
    facts: list[tuple[Any, bool]] = []
    for symbol in symbols:
        for side, strict in symbol_signs(symbol):
            facts += (
                [(side, True), (side - 1, False)]
                if strict and symbol.is_integer
                else [(side, strict)]
            )
    return facts


def with_witnesses(facts: Facts, symbols: Set[Any]) -> Facts:
    """Return the facts with witnesses for some symbols: points that satisfy the facts, found by random search."""
    if facts.witnesses:
        missing = sorted(
            (s for s in symbols if index_name(s) not in facts.witnesses[0]), key=str
        )
        return (
            replace(facts, witnesses=_completed(facts.witnesses, missing))
            if missing
            else facts
        )
    all_symbols = frozenset(symbols).union(
        *(symbols_of(f) for f in (*facts.nonnegative, *facts.positive))
    )
    return replace(facts, witnesses=_search_witnesses(facts, all_symbols))


def _completed(witnesses: Any, missing: list[Any]) -> tuple[dict[str, Any], ...]:
    rng = Random("extended witnesses")
    return tuple(
        {**w, **{index_name(s): to_value(_value(s, rng)) for s in missing}}
        for w in witnesses
    )


@lru_cache(maxsize=2000)
def _search_witnesses(
    facts: Facts, symbols: frozenset[Any]
) -> tuple[dict[str, Any], ...]:
    ordered = sorted(symbols, key=lambda s: s.name)
    rng = Random("witnesses")
    witnesses: list[dict[str, Any]] = []
    for _ in range(_TRIES):
        point = {index_name(s): to_value(_value(s, rng)) for s in ordered}
        if _satisfies(facts, point):
            witnesses.append(point)
            if len(witnesses) == _ENOUGH_WITNESSES:
                break
    return tuple(witnesses)


def _value(symbol: Any, rng: Random) -> Fraction:
    size = rng.choice(_INTEGERS if symbol.is_integer else _REALS)
    sign = (
        -1
        if symbol.is_nonpositive or (not symbol.is_nonnegative and rng.random() < 0.4)
        else 1
    )
    if rng.random() < 0.1 and not symbol.is_nonzero:
        sign = 0
    return sign * size


def _satisfies(facts: Facts, point: dict[str, Any]) -> bool:
    for bounds, relation in ((facts.nonnegative, ">="), (facts.positive, ">")):
        for f in bounds:
            value = value_at(f, point)
            if value is None or not compare(value, relation, _ZERO):
                return False
    return True


Limits = tuple[tuple[Any, Any, Any], ...]


@dataclass(frozen=True)
class Occurrence:
    """A place in an expression, with the facts that hold there."""

    facts: Facts
    path: tuple[Any, ...] = ()  # indices of the sums around the place, outermost first

    def inside(self, limit: Any) -> tuple[Any, Occurrence]:
        """Return a fresh symbol for the index of a sum, and the place inside the sum."""
        index, lo, hi = limit
        fresh = _fresh(index, len(self.path))
        facts = inside_sums(self.facts, ((fresh, lo, hi),))
        return fresh, Occurrence(facts, (*self.path, index))


@lru_cache(maxsize=1000)
def _fresh(index: Any, depth: int) -> Any:
    """Return a symbol for an index at a nesting depth, the same on every call, so that cached results are reused."""
    return sympy.Dummy(index.name, integer=True)


def inside_sums(facts: Facts, limits: Limits) -> Facts:
    """Add ``lo <= i`` and ``i <= hi`` for the indices of some sums, outermost first."""
    for index, lo, hi in limits:
        inside = [index >= lo] + ([] if hi == sympy.oo else [index <= hi, lo <= hi])
        facts = facts.with_witness_values(index, (lo, lo + 1, lo + 3)).assume(
            r for r in inside if r is not sympy.false
        )
    return facts
