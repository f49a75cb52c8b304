"""Prove that two expressions are equal on a domain, or that one is O or O~ of the other.

Equality is proved by several strategies of sympy, cheap ones first.

For orders of growth, an expression is read as a sum of products of powers, up to constant factors. Logarithms count as
letters. Let ``c_k <= const`` be conditions in which ``c_k`` are products of powers. A term
``m = prod r_j**w_j * prod c_k**v_k``, for weights ``w_j >= 0`` that add up to 1 and ``v_k >= 0``, is at most a constant
times the largest ``r_j``. The weights are found by exact linear programming over the exponents, and they are the proof.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias, TypeVar

import sympy
from flint import fmpq

from dpverify.symbolic.expressions.functions import Log2
from dpverify.symbolic.prove.canonical import canonical, common_denominator, expanded
from dpverify.symbolic.prove.certificate import solve
from dpverify.symbolic.prove.facts import (
    Facts,
    differences,
    symbol_facts,
    symbols_of,
    with_witnesses,
)
from dpverify.symbolic.prove.signs import is_nonnegative, is_positive

_SECONDS = 10.0
_MAX_OPERATIONS = 160


def are_equal(left: Any, right: Any, facts: Facts) -> bool:
    """Test whether two expressions are proven equal."""
    difference = left - right
    if difference == 0:
        return True
    if difference.has(sympy.nan, sympy.zoo):
        return False
    if with_witnesses(facts, symbols_of(difference)).is_nonzero_at_witness(difference):
        return False
    return _vanishes(difference, facts.relevant_to(symbols_of(difference)))


@lru_cache(maxsize=5000)
def _vanishes(difference: Any, facts: Facts) -> bool:
    renamed = difference.xreplace(_positive_symbols(difference, facts))
    for form in _forms(renamed, facts):
        if form == 0:
            return True
    if has_unknown_function(difference):
        return False
    return is_nonnegative(difference, facts) and is_nonnegative(-difference, facts)


def has_unknown_function(expr: Any) -> bool:
    """Test whether an expression applies a function with unknown values."""
    return any(
        not applied.is_integer
        for applied in expr.atoms(sympy.core.function.AppliedUndef)
    )


def _positive_symbols(expr: Any, facts: Facts) -> dict[Any, Any]:
    """Map symbols that the facts prove positive to symbols that sympy knows to be positive."""
    return {
        s: _positive(s)
        for s in sorted(symbols_of(expr), key=str)
        if s.is_real and not s.is_positive and is_positive(s, facts)
    }


@lru_cache(maxsize=1000)
def _positive(symbol: Any) -> Any:
    """Return a positive copy of a symbol, the same on every call, so that cached results about it are reused."""
    return sympy.Dummy(symbol.name, positive=True, integer=symbol.is_integer)


def _forms(expr: Any, facts: Facts) -> Iterator[Any]:
    """Yield equal forms of an expression. If the expression is 0, one of them is usually 0."""
    if not expr.has(sympy.Sum, sympy.Integral):
        yield expanded(expr)
    flat = _closed(canonical(expr, facts), facts)
    for form in dict.fromkeys((flat, _without_log2(flat))):
        yield expanded(form)
        cleared = _cleared(form)
        yield cleared
        yield sympy.expand(sympy.powsimp(cleared))
        yield sympy.expand(sympy.expand_log(sympy.powdenest(cleared)))
        yield sympy.powsimp(sympy.expand(cleared))
    if flat.count_ops() <= _MAX_OPERATIONS and not has_unknown_function(expr):
        plain = _without_log2(flat)
        for transform in (sympy.factor, sympy.radsimp, sympy.simplify):
            result = with_time_limit(_SECONDS, partial(transform, plain))
            if result is not None:
                yield result


def _closed(expr: Any, facts: Facts) -> Any:
    """Replace each sum and integral by a symbol: sympy would evaluate sums, and its empty sums are not 0."""
    letters: list[tuple[Any, Any]] = []

    def letter(node: Any) -> Any:
        for representative, dummy in letters:
            if same_terms(node, representative, facts):
                return dummy
        letters.append((node, sympy.Dummy("sum", real=True)))
        return letters[-1][1]

    return expr.replace(lambda e: isinstance(e, sympy.Sum | sympy.Integral), letter)


def same_terms(first: Any, second: Any, facts: Facts) -> bool:
    """Test whether two sums (or integrals) have equal ranges and provably equal terms."""
    if first == second:
        return True
    if first.func != second.func or len(first.limits) != 1 or len(second.limits) != 1:
        return False
    (index, lo, hi), (second_index, *ends) = first.limits[0], second.limits[0]
    body = second.function.xreplace({second_index: index})
    if any(
        a != b and expanded(a - b) != 0 for a, b in zip((lo, hi), ends, strict=True)
    ):
        return False
    return are_equal(first.function, body, facts)


def _without_log2(expr: Any) -> Any:
    return (
        expr.replace(Log2, lambda arg: sympy.log(arg) / sympy.log(2))
        if expr.has(Log2)
        else expr
    )


def _cleared(expr: Any) -> Any:
    """Return the numerator over the common denominator, which is 0 if the expression is 0."""
    denominator = common_denominator(expr)
    return expanded(
        sympy.Add(*(expanded(term * denominator) for term in sympy.Add.make_args(expr)))
    )


T = TypeVar("T")


class _TimeIsUp(BaseException):
    """Raised by the alarm; a BaseException so that no handler inside sympy swallows it."""


def with_time_limit(seconds: float, function: Callable[[], T]) -> T | None:
    """Call a function with a time limit. Return None if the limit is exceeded.

    The limit is far above the time of a normal step, so that a slow machine does not change a verdict. Outside the main
    thread, or if the system has no timer, there is no limit.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        return function()

    def stop(*_: Any) -> None:
        raise _TimeIsUp(stop)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function()
    except _TimeIsUp as up:
        if up.args != (stop,):
            raise
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


Monomial: TypeAlias = Mapping[Any, fmpq]
"""Nonzero exponents, by letter or logarithm."""

UNIT_MONOMIAL: Monomial = {}
LOGARITHMS = (sympy.log, Log2)


class NoMonomialsError(ValueError):
    """An expression is not, up to a constant, a sum of products of powers in which nothing cancels."""


def monomials(
    expr: Any, facts: Facts, fixed: frozenset[str] = frozenset()
) -> list[Monomial]:
    """Return products of powers whose sum bounds the expression from both sides, up to constant factors.

    The letters in ``fixed`` count as constants. They may be 0, so the sum is then only an upper bound. Every other
    letter is proven positive, and every logarithm nonnegative. A sum of no products is 0.
    """
    if expr.is_Rational and expr >= 0:
        return [UNIT_MONOMIAL] if expr > 0 else []
    if expr.is_Symbol and expr.name in fixed and is_nonnegative(expr, facts):
        return [UNIT_MONOMIAL]
    if expr.is_Symbol and is_positive(expr, facts):
        return [{expr: fmpq(1)}]
    if (
        isinstance(expr, LOGARITHMS)
        and monomials(expr.args[0], facts, fixed)
        and is_nonnegative(expr, facts)
    ):
        return [{expr: fmpq(1)}]
    if expr.is_Add:
        return _distinct(
            [monomial for arg in expr.args for monomial in monomials(arg, facts, fixed)]
        )
    if expr.is_Mul:
        products = [UNIT_MONOMIAL]
        for arg in expr.args:
            products = [
                times(monomial, factor)
                for monomial in products
                for factor in monomials(arg, facts, fixed)
            ]
        return _distinct(products)
    if expr.is_Pow and expr.exp.is_Rational:
        power = fmpq(int(expr.exp.p), int(expr.exp.q))
        base = monomials(expr.base, facts, fixed)
        if power > 0 or len(base) == 1:
            return [times(UNIT_MONOMIAL, monomial, power) for monomial in base]
    raise NoMonomialsError(
        f"{expr} is not proven to be a sum of products of powers in which nothing cancels."
    )


def times(left: Monomial, right: Monomial, power: fmpq | int = 1) -> Monomial:
    """Return a product of powers times a power of another product."""
    product = dict(left)
    for letter, exponent in right.items():
        product[letter] = product.get(letter, fmpq(0)) + power * exponent
    return {letter: exponent for letter, exponent in product.items() if exponent != 0}


def _distinct(terms: list[Monomial]) -> list[Monomial]:
    return list({frozenset(monomial.items()): monomial for monomial in terms}.values())


@dataclass(frozen=True)
class WeightedTerm:
    """A term of the left side that is at most a constant times logarithms times weighted terms of the right side."""

    term: Monomial
    # terms of the right side with weights that add up to 1
    right: tuple[tuple[Monomial, fmpq], ...]
    # products of powers that are at most a constant, with weights
    conditions: tuple[tuple[Monomial, fmpq], ...]
    # Remaining factors: positive powers of logarithms, for O~, and negative powers of
    # logarithms of numbers >= 2
    logarithms: Monomial

    def __post_init__(self) -> None:
        product = UNIT_MONOMIAL
        for monomial, weight in (*self.right, *self.conditions):
            product = times(product, monomial, weight)
        weights = [weight for _, weight in (*self.right, *self.conditions)]
        if sum((weight for _, weight in self.right), fmpq(0)) != 1 or min(weights) < 0:
            raise ArithmeticError(
                f"the weights of {self.term} must be nonnegative, and those of the right side add up"
            )
        if times(product, self.logarithms) != self.term:
            raise ArithmeticError(
                f"the weighted terms and conditions must give {self.term}."
            )


@dataclass(frozen=True)
class OrderProof:
    """The proof that a left side is O or O~ of a right side."""

    terms: tuple[WeightedTerm, ...]


def prove_order(
    left: Any,
    right: Any,
    relations: Iterable[Any],
    tilde: bool,
    fixed: frozenset[str] = frozenset(),
) -> OrderProof:
    """Prove that ``left`` is at most a constant times ``right`` where the relations hold, or raise NoMonomialsError.

    The constant may depend on the letters in ``fixed``. ``tilde`` also allows a power of the product of ``1 + |log x|``
    over all other letters.
    """
    facts = Facts().assume(relations := tuple(relations))
    terms = monomials(left, facts, fixed)
    rates = monomials(right, facts)
    if any(letter.name in fixed for letter in right.free_symbols):
        raise NoMonomialsError(f"{right} holds letters that the constant depends on.")
    letters = {s for side in (left, right, *relations) for s in side.free_symbols}
    constraints = list(_conditions(relations, letters, facts))
    return OrderProof(
        tuple(_weighted(term, rates, constraints, tilde, facts) for term in terms)
    )


def _conditions(
    relations: Iterable[Any], letters: set[Any], facts: Facts
) -> Iterator[Monomial]:
    """Yield products of powers that are at most a constant by the relations and by the signs of integers."""
    all_differences = [
        part for relation in relations for part, _ in differences(relation)
    ]
    all_differences += [part for part, _ in symbol_facts(letters)]
    for difference in all_differences:
        positive = [
            arg
            for arg in sympy.Add.make_args(difference)
            if not arg.could_extract_minus_sign()
        ]
        negative = sympy.Add(*positive) - difference
        try:
            (large,) = monomials(sympy.Add(*positive), facts)
            yield from (times(small, large, -1) for small in monomials(negative, facts))
        except ValueError:
            continue  # it does not bound products of powers


def _weighted(
    term: Monomial,
    rates: list[Monomial],
    constraints: list[Monomial],
    tilde: bool,
    facts: Facts,
) -> WeightedTerm:
    logarithms = sorted(
        {
            a
            for monomial in (term, *rates, *constraints)
            for a in monomial
            if isinstance(a, LOGARITHMS)
        },
        key=str,
    )
    spare: list[Monomial] = [{a: fmpq(1)} for a in logarithms] if tilde else []
    spare += [{a: fmpq(-1)} for a in logarithms if is_nonnegative(a.args[0] - 2, facts)]
    columns = [*rates, *constraints, *spare]
    rows = {
        a: place
        for place, a in enumerate(
            sorted({a for monomial in (term, *columns) for a in monomial}, key=str), 1
        )
    }
    matrix = [
        {rows[a]: exponent for a, exponent in monomial.items()} for monomial in columns
    ]
    for column in matrix[: len(rates)]:
        column[0] = fmpq(1)  # the weights of the right side add up to 1
    goal = {0: fmpq(1)} | {rows[a]: exponent for a, exponent in term.items()}
    weights = solve(matrix, goal, [False] * len(columns))
    if weights is None:
        product = sympy.Mul(
            *(a ** sympy.Rational(int(e.p), int(e.q)) for a, e in term.items())
        )
        raise NoMonomialsError(
            f"not proven that {product} is of the order of the right side."
        )
    pairs = [
        (monomial, weight) for monomial, weight in zip(columns, weights, strict=True)
    ]
    remaining = UNIT_MONOMIAL
    for monomial, weight in pairs[len(rates) + len(constraints) :]:
        remaining = times(remaining, monomial, weight)
    used = [
        tuple(p for p in part if p[1] != 0)
        for part in (pairs[: len(rates)], pairs[len(rates) :][: len(constraints)])
    ]
    return WeightedTerm(term, used[0], used[1], remaining)
