"""Normal forms to test whether two formulas or two inequalities differ only in notation."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from dpverify.ledger.formula.tree import (
    BINDERS,
    Bin,
    Call,
    Compare,
    Formula,
    Name,
    Neg,
    Num,
    Sum,
    substitute,
    walk,
)

# atoms with their exponents, in a fixed order
Monomial: TypeAlias = tuple[tuple[object, Fraction], ...]
Polynomial: TypeAlias = dict[Monomial, Fraction]

MAX_TERMS = 200  # of an expanded product
MAX_POWER = 4  # a larger power of a sum is not expanded
MAX_BITS = 500  # of a coefficient


def arrangement(node: Formula) -> object:
    """Return a key that ignores brackets, the order of summands and factors, and the names of indices.

    It also ignores the order of the arguments of min and max. Nothing is expanded, collected, cancelled or evaluated.
    """
    match node:
        case Bin("+" | "-") | Neg():
            return ("sum", _sorted(_parts(node, "+", "-")))
        case Bin("*" | "/"):
            return ("product", _sorted(_parts(node, "*", "/")))
        case Bin(op, left, right):
            return (op, arrangement(left), arrangement(right))
        case Call(name, args):
            keys = tuple(map(arrangement, args))
            return (name, _sorted(keys) if name in {"min", "max"} else keys)
        case Sum(body, index, lo, hi):
            # ignore the name of the index
            bound = Name(f"#{sum(isinstance(part, Sum) for part in walk(body))}")
            inner = arrangement(substitute(body, {Name(index): bound}))
            return (type(node).__name__, inner, arrangement(lo), arrangement(hi))
        case _:
            return node


def _parts(node: Formula, join: str, split: str) -> tuple[tuple[bool, object], ...]:
    """Return the operands of nested sums or products, each with a flag that marks subtrahends or divisors."""
    match node:
        case Bin(op, left, right) if op == join:
            return (*_parts(left, join, split), *_parts(right, join, split))
        case Bin(op, left, right) if op == split:
            return (*_parts(left, join, split), (True, arrangement(right)))
        case Neg(arg) if join == "+":
            return ((True, arrangement(arg)),)
        case _:
            return ((False, arrangement(node)),)


def _sorted(keys: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(sorted(keys, key=repr))


def is_same_inequality(
    first_inequality: Compare,
    second_inequality: Compare,
    positive: frozenset[str],
    *,
    up_to_constants: bool = False,
) -> bool:
    """Test whether two inequalities are positive multiples or positive powers of each other.

    ``positive`` has the letters that are positive on their whole domain. Strict and weak inequalities count as the
    same. Logarithms and other function values are taken to be positive, as the powers in which they occur require.
    """
    if (
        len(first_inequality.ops) != 1
        or len(second_inequality.ops) != 1
        or "==" in (*first_inequality.ops, *second_inequality.ops)
    ):
        return False
    first, second = map(_sides, (first_inequality, second_inequality))
    polynomials = [
        (polynomial(small), polynomial(large)) for small, large in (first, second)
    ]
    factors = [(factored(small), factored(large)) for small, large in (first, second)]
    is_multiple = _is_multiple(polynomials[0], polynomials[1], positive)
    return is_multiple or _is_power(factors[0], factors[1], positive, up_to_constants)


def _sides(inequality: Compare) -> tuple[Formula, Formula]:
    """Return the smaller and the larger side."""
    small, large = inequality.operands
    return (large, small) if inequality.ops[0] in {">=", ">"} else (small, large)


def _is_multiple(
    left: tuple[Polynomial, Polynomial],
    right: tuple[Polynomial, Polynomial],
    positive: frozenset[str],
) -> bool:
    first = _added(left[1], left[0], Fraction(-1))
    second = _added(right[1], right[0], Fraction(-1))
    if not second or len(first) != len(second):
        return False
    term, size = next(iter(second.items()))
    for monomial, coefficient in first.items():
        factor = _times(monomial, _power(term, Fraction(-1)))
        scale = coefficient / size
        scaled = {_times(part, factor): value * scale for part, value in second.items()}
        if scale > 0 and scaled == first and _is_positive(factor, positive):
            return True
    return False


def _is_power(
    left: tuple[Polynomial, Polynomial],
    right: tuple[Polynomial, Polynomial],
    positive: frozenset[str],
    up_to_constants: bool,
) -> bool:
    sides = (*left, *right)
    if any(len(side) != 1 or min(side.values()) <= 0 for side in sides):
        return False
    if not all(_is_positive(term, positive) for side in sides for term in side):
        return False
    (first, ratio), (second, second_ratio) = (
        _quotient(*pair) for pair in (left, right)
    )
    if up_to_constants:
        first, second = (
            tuple(part for part in term if not isinstance(part[0], Num))
            for term in (first, second)
        )
    if (
        not first
        or not second
        or [atom for atom, _ in first] != [atom for atom, _ in second]
    ):
        return False
    power = first[0][1] / second[0][1]
    if power <= 0 or _power(second, power) != first:
        return False
    return up_to_constants or bool(
        ratio**power.denominator == second_ratio**power.numerator
    )


def _quotient(small: Polynomial, large: Polynomial) -> tuple[Monomial, Fraction]:
    ((above, size),) = small.items()
    ((below, scale),) = large.items()
    return _times(above, _power(below, Fraction(-1))), size / scale


def _is_positive(term: Monomial, positive: frozenset[str]) -> bool:
    return all(atom.id in positive for atom, _ in term if isinstance(atom, Name))


def polynomial(node: Formula) -> Polynomial:
    """Return a formula as a sum of products of powers; every other subexpression is an atom."""
    match node:
        case Num(value):
            return {(): value} if value else {}
        case Neg(arg):
            return _scaled(polynomial(arg), Fraction(-1))
        case Bin("+" | "-" as op, left, right):
            return _added(
                polynomial(left), polynomial(right), Fraction(1 if op == "+" else -1)
            )
        case Bin("*", left, right):
            return _product(polynomial(left), polynomial(right))
        case Bin("/", left, right):
            return _product(polynomial(left), _raised(polynomial(right), Fraction(-1)))
        case Bin("**", base, exponent):
            power = polynomial(exponent)
            if power.keys() <= {()}:
                return _raised(polynomial(base), power.get((), Fraction(0)))
            return _atom(("**", _key(polynomial(base)), _key(power)))
        case Call("sqrt", (arg,)):
            return _raised(polynomial(arg), Fraction(1, 2))
        case Call("log", (arg,)):
            return _logarithm(polynomial(arg))
        case Call(name, args):
            keys = tuple(_key(polynomial(arg)) for arg in args)
            return _atom((name, _sorted(keys) if name in {"min", "max"} else keys))
        case Sum(body, index, lo, hi):
            return _atom(
                (
                    BINDERS[type(node)],
                    _key(polynomial(body)),
                    index,
                    _key(polynomial(lo)),
                    _key(polynomial(hi)),
                )
            )
        case _:
            return _atom(node)


def factored(node: Formula) -> Polynomial:
    """Return a formula as one product of powers; a sum of several terms is an atom."""
    match node:
        case Bin("*", left, right):
            return _product(factored(left), factored(right))
        case Bin("/", left, right):
            return _product(factored(left), _raised(factored(right), Fraction(-1)))
        case Bin("**", base, exponent) if (power := polynomial(exponent)).keys() <= {
            ()
        }:
            return _raised(factored(base), power.get((), Fraction(0)))
        case Call("sqrt", (arg,)):
            return _raised(factored(arg), Fraction(1, 2))
        case _:
            terms = polynomial(node)
            return terms if len(terms) < 2 else _atom(("terms", _key(terms)))


def _atom(key: object, power: Fraction = Fraction(1)) -> Polynomial:
    return {((key, power),): Fraction(1)}


def _key(terms: Mapping[Monomial, Fraction]) -> tuple[object, ...]:
    return _sorted(tuple(terms.items()))


def _logarithm(arg: Polynomial) -> Polynomial:
    """Return the logarithm of a polynomial, with log(x**p) rewritten as p*log(x) for p > 0."""
    if len(arg) == 1 and set(arg.values()) == {Fraction(1)}:
        ((term, _),) = arg.items()
        if len(term) == 1 and term[0][1] > 0:
            return _scaled(_atom(("log", _key(_atom(term[0][0])))), term[0][1])
    return _atom(("log", _key(arg)))


def _scaled(terms: Polynomial, scale: Fraction) -> Polynomial:
    return {term: value * scale for term, value in terms.items()}


def _added(left: Polynomial, right: Polynomial, scale: Fraction) -> Polynomial:
    total = dict(left)
    for term, value in right.items():
        total[term] = total.get(term, Fraction(0)) + value * scale
    return {term: value for term, value in total.items() if value}


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    if len(left) * len(right) > MAX_TERMS:
        return _atom(("*", _sorted((_key(left), _key(right)))))
    total: Polynomial = {}
    for term, value in left.items():
        total = _added(
            total,
            {_times(term, factor): value * size for factor, size in right.items()},
            Fraction(1),
        )
    return total


def _times(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, Fraction(0)) + power
    nonzero = [(atom, power) for atom, power in powers.items() if power]
    return tuple(sorted(nonzero, key=lambda pair: repr(pair[0])))


def _power(term: Monomial, power: Fraction) -> Monomial:
    return tuple((atom, exponent * power) for atom, exponent in term)


def _raised(base: Polynomial, power: Fraction) -> Polynomial:
    if power == 0:
        return {(): Fraction(1)}
    if len(base) == 1:
        ((term, value),) = base.items()
        return _raised_term(term, value, power)
    if power.denominator == 1 and 1 <= power <= MAX_POWER:
        total = base
        for _ in range(int(power) - 1):
            total = _product(total, base)
        return total
    return _atom(("terms", _key(base)), power)


def _raised_term(term: Monomial, value: Fraction, power: Fraction) -> Polynomial:
    """Return a power of one term. The power of its coefficient is computed if it is rational, else kept as an atom."""
    raised = _power(term, power)
    if value == 1:
        return {raised: Fraction(1)}
    bits = max(value.numerator.bit_length(), value.denominator.bit_length()) * abs(
        power.numerator
    )
    root = (
        _root(value, power.denominator)
        if bits <= MAX_BITS and (value > 0 or power.denominator == 1)
        else None
    )
    if root is None:
        return {_times(raised, (((Num(value)), power),)): Fraction(1)}
    return {raised: root**power.numerator}


def _root(value: Fraction, degree: int) -> Fraction | None:
    """Return the rational root of a fraction, or None if the root is irrational."""
    if degree == 1:
        return value
    root = Fraction(
        round(value.numerator ** (1 / degree)), round(value.denominator ** (1 / degree))
    )
    return root if root**degree == value else None
