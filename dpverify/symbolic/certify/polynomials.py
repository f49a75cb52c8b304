"""Forms as polynomials: common factors, denominators, factors, and letters measured from their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import comb
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from dpverify.symbolic.certify.checker import Expr, Form, k, to_expr
from dpverify.symbolic.certify.prefix import from_sympy
from dpverify.symbolic.rules import find_rule

_MOST_DEGREE = 14
_MOST_SHIFTED = 4


def common_powers(scope: Any, form: Form) -> tuple[list[tuple[Any, Form]], Form]:
    """Return the powers of atoms that all monomials share, and the form without them."""
    if len(form) == 1:
        return list(min(form)), k.constant(form[min(form)])
    powers: list[tuple[Any, Form]] = []
    for atom, _ in min(form):
        exponents = [[x for a, x in m if a is atom] for m in form]
        if any(len(xs) != 1 for xs in exponents):
            continue
        distinct_exponents = {xs[0] for xs in exponents}
        values = [x.constant() for x in distinct_exponents]
        if len(distinct_exponents) == 1:
            powers.append((atom, distinct_exponents.pop()))
        elif all(v is not None for v in values) and (
            min(values) > 0 or scope.atom_sign(atom) & 2
        ):
            powers.append((atom, k.constant(min(values))))
    cofactor = _without(form, dict(powers))
    return (
        (powers, cofactor)
        if powers and scope.product(cofactor, k.monomial(powers)) is form
        else ([], form)
    )


def _without(form: Form, powers: dict[Any, Form]) -> Form:
    """Return a form divided by powers of atoms that occur once in each monomial."""
    left = {m: [(a, x - powers.get(a, k.ZERO)) for a, x in m] for m in form}
    return k.form_of(
        {tuple(sorted((a, x) for a, x in left[m] if x)): c for m, c in form.items()}
    )


def denominators(form: Form) -> list[Form]:
    """Return the forms in denominators, each as often as in its highest power."""
    powers: dict[Any, Any] = {}
    for m in form:
        for atom, exponent in m:
            value = exponent.get((), fmpq(0)) if atom[0] != "e" else fmpq(0)
            if value < 0 and (len(exponent) == 1 or atom[0] == "base"):
                powers[atom] = max(powers.get(atom, fmpq(0)), -value)
    factors: list[Form] = []
    for atom, power in powers.items():
        multiplicity = int(power.floor())
        factors += [k.alone(atom)] * multiplicity
        if power != multiplicity:
            factors.append(k.monomial([(atom, k.constant(power - multiplicity))]))
    return factors


def cleared(scope: Any, form: Form, divisors: list[Form]) -> Form:
    """Return a form times its denominators."""
    for divisor in divisors:
        form = scope.product(form, scope.as_factor(divisor))
    return form


class _Ring:
    """A polynomial ring. Generators are atoms, or powers of atoms with exponents that are not positive integers."""

    def __init__(self, scope: Any, form: Form) -> None:
        self.scope, self.generators = scope, dict[Any, int]()
        rows = [({}, c) if not m else (self._row(m), c) for m, c in form.items()]
        self.context = fmpq_mpoly_ctx.get(
            [f"x{i}" for i in range(max(1, len(self.generators)))], Ordering.lex
        )
        size = max(1, len(self.generators))
        self.polynomial = self.context.from_dict(
            {tuple(row.get(g, 0) for g in range(size)): c for row, c in rows}
        )

    def _row(self, monomial: Any) -> dict[int, int]:
        row: dict[int, int] = {}
        for atom, number in monomial:
            value = number.constant()
            is_natural = value is not None and value.q == 1 and value > 0
            key = (atom, None) if is_natural else (atom, number)
            place = self.generators.setdefault(key, len(self.generators))
            row[place] = row.get(place, 0) + (int(value.p) if is_natural else 1)
        return row

    def power(self, place: int, count: int) -> Form:
        """Return a power of a generator as a form."""
        atom, number = list(self.generators)[place]
        if number is None:
            return self.scope.joined(((atom, k.constant(count)),))
        return self.scope.joined(((atom, number),) * count)

    def form(self, polynomial: Any) -> Form:
        """Return a polynomial as a form."""
        total = k.ZERO
        for exponents, c in polynomial.to_dict().items():
            term = k.constant(c)
            for place, count in enumerate(exponents):
                if count:
                    term = self.scope.product(term, self.power(place, int(count)))
            total += term
        return total


def factors_of(scope: Any, form: Form) -> tuple[Any, list[tuple[Form, int]]]:
    """Return the rational factor, and the other factors with their multiplicities."""
    if len(form) > 60:
        return fmpq(1), []
    ring = _Ring(scope, form)
    if ring.polynomial.total_degree() > _MOST_DEGREE:
        return fmpq(1), []
    constant, factors = ring.polynomial.factor()
    return fmpq(constant), [(ring.form(p), int(n)) for p, n in factors]


def by_polynomial_factors(
    goals: Any, place: Any, form: Form, strict: bool, depth: int
) -> bool:
    """Prove the signs of the factors of a form as a polynomial in its atoms."""
    coefficient, factorization = (
        factors_of(place.scope, form) if len(form) > 1 else (fmpq(1), [])
    )
    if sum(count for _, count in factorization) < 2:
        return False
    sign = 1 if coefficient > 0 else -1
    factors = []
    for factor, count in factorization:
        if count % 2 == 0:
            factor_sign = goals.either(place, factor, True, depth) if strict else 1
            root = to_expr(factor.times(factor_sign or 1))
            if not (factor_sign if strict else place.square(root)):
                return False
            factors += (
                [root, root] * (count // 2)
                if strict
                else [k.row("*", root, root)] * (count // 2)
            )
            continue
        factor_sign = goals.either(place, factor, strict, depth)
        if not factor_sign:
            return False
        sign *= factor_sign
        factors += [to_expr(factor.times(factor_sign))] * count
    return sign > 0 and goals.combined(place, form, strict, abs(coefficient), factors)


def bounds(place: Any) -> dict[str, list[tuple[Any, int]]]:
    """Return rational bounds of letters by the facts: (bound, 1) for a lower bound, (bound, -1) for an upper bound."""
    bounds_by_letter: dict[str, list[tuple[Any, int]]] = {}
    for form, signs in place.scope.index.items():
        powers = [m for m in form if m]
        if signs & 1 and len(form) <= 2 and len(powers) == 1 and len(powers[0]) == 1:
            ((atom, exponent),) = powers[0]
            if atom[0] == "letter" and exponent is k.ONE:
                c = form[powers[0]]
                bounds_by_letter.setdefault(atom[1], []).append(
                    (-form.get((), fmpq(0)) / c, 1 if c > 0 else -1)
                )
    return bounds_by_letter


def shifted(goals: Any, place: Any, form: Form) -> list[Any] | None:
    """Return a form as a combination, with weights >= 0, of products of distances from bounds, or None."""
    ring = _Ring(place.scope, form)
    if ring.polynomial.total_degree() > _MOST_DEGREE:
        return None
    letter_bounds = bounds(place)
    options: list[list[tuple[int, Any, int, str]]] = []
    for (atom, number), place_of in ring.generators.items():
        kind, *arguments = atom
        if number is not None or kind != "letter" or arguments[0] not in letter_bounds:
            continue
        lows = [b for b, side in letter_bounds[arguments[0]] if side > 0]
        highs = [b for b, side in letter_bounds[arguments[0]] if side < 0]
        choice = [(place_of, max(lows), 1, arguments[0])] if lows else []
        choice += [(place_of, min(highs), -1, arguments[0])] if highs else []
        options.append(choice)
    if not options or len(options) > 8:
        return None
    for count, chosen in enumerate(product(*options)):
        if count >= 2**_MOST_SHIFTED:
            break
        moved = _moved(ring, chosen)
        if all(c > 0 for c in moved.values()):
            terms = _terms(goals, place, ring, chosen, moved)
            if terms is not None:
                return terms
    return None


def on_interval(goals: Any, place: Any, gap: Expr, where: Mapping[str, Any]) -> bool:
    """Write that a polynomial is nonnegative on an interval, by its Bernstein coefficients."""
    condition: Any = find_rule("bernstein").instance(where).conditions[0]
    x, low, high = (k.read(from_sympy(where[name])) for name in ("x", "low", "high"))
    shares = condition.coefficients
    sides = (x - low, high - x)
    if not all(goals.prove_expr(place, side) for side in sides):
        return False
    degree = len(shares) - 1
    width = where["high"] - where["low"]
    terms = [
        [
            str(share * comb(degree, n) / width**degree),
            [*[sides[0]] * n, *[sides[1]] * (degree - n)],
        ]
        for n, share in enumerate(shares)
    ]
    return bool(place.fact(">=", gap, "combine", [], terms))


def _moved(ring: _Ring, choice: Any) -> dict[Any, Any]:
    """Return the coefficients after the substitution x = bound + side*y for every generator of a choice."""
    rows = {
        tuple(int(x) for x in e): fmpq(c) for e, c in ring.polynomial.to_dict().items()
    }
    for place, bound, side, _ in choice:
        new: dict[Any, Any] = {}
        for row, c in rows.items():
            degree = row[place]
            for j in range(degree + 1):
                value = c * comb(degree, j) * bound ** (degree - j) * fmpq(side) ** j
                if value != 0:
                    key = (*row[:place], j, *row[place + 1 :])
                    new[key] = new.get(key, fmpq(0)) + value
        rows = {key: c for key, c in new.items() if c != 0}
    return rows


def _terms(
    goals: Any, place: Any, ring: _Ring, choice: Any, moved: dict[Any, Any]
) -> list[Any] | None:
    distance = {}
    for g, bound, side, letter in choice:
        gap = k.row("+", k.letter(letter), k.rational(-bound))
        distance[g] = gap if side > 0 else -gap
    terms = []
    for row, c in moved.items():
        factors: list[Any] = []
        for g, count in enumerate(row):
            if not count:
                continue
            if g in distance:
                factors += [distance[g]] * count
            else:
                power = ring.power(g, count)
                if not goals.prove(place, power, False, 3):
                    return None
                factors.append(to_expr(power))
        terms.append([str(c), factors])
    return terms
