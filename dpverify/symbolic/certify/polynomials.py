"""Forms as polynomials: common factors, denominators, factors, and letters measured from their bounds."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from dpverify.symbolic.certify.checker import checker

Form = Any

_MOST_DEGREE = 14
_MOST_SHIFTED = 4


def shared(scope: Any, form: Form) -> tuple[list[tuple[int, int]], Form]:
    """Powers of atoms that all monomials share, and the form without them."""
    k, forms = checker(), scope.forms
    first, *others = form
    if not others:
        ((m, c),) = form.items()
        return list(m), {(): c}
    taken: dict[int, Any] = {}
    for atom, number in first:
        exponents = [[x for a, x in m if a == atom] for m in form]
        if any(len(xs) != 1 for xs in exponents):
            continue
        numbers = {xs[0] for xs in exponents}
        values = [k.as_constant(forms.forms[n]) for n in numbers]
        if len(numbers) == 1:
            taken[atom] = forms.forms[number]
        elif all(v is not None for v in values) and (min(values) > 0 or scope.atom_apart(atom)):
            taken[atom] = k.constant(min(values))
    if not taken:
        return [], form
    rest = scope.without(form, list(taken.items()))
    left = scope.product(rest, {tuple(sorted((a, forms.number(x)) for a, x in taken.items())): fmpq(1)})
    if left != form:
        return [], form
    return [(a, forms.number(x)) for a, x in taken.items()], rest


def denominators(scope: Any, form: Form) -> list[Form]:
    """Forms under fraction bars, as often as in their highest power."""
    k, forms = checker(), scope.forms
    powers: dict[int, Any] = {}
    for m in form:
        for atom, number in m:
            exponent = forms.forms[number]
            value = exponent.get((), fmpq(0)) if forms.atoms[atom][0] != "e" else fmpq(0)
            if value < 0 and (len(exponent) == 1 or forms.atoms[atom][0] == "base"):
                powers[atom] = max(powers.get(atom, fmpq(0)), -value)
    found: list[Form] = []
    for atom, power in powers.items():
        whole, base = k.floor_of(power), forms.base_of(atom)
        found += [base] * whole
        if power != whole:
            found.append(scope.power(base, k.constant(power - whole)))
    return found


def cleared(scope: Any, form: Form, divisors: list[Form]) -> Form:
    """A form times its denominators."""
    for divisor in divisors:
        form = scope.product(form, scope.one_factor(divisor))
    return form


class _Ring:
    """A polynomial ring whose generators are atoms, or powers of atoms with exponents that are no whole numbers."""

    def __init__(self, scope: Any, form: Form) -> None:
        self.scope, self.generators = scope, dict[Any, int]()
        rows = [({}, c) if not m else (self._row(m), c) for m, c in form.items()]
        self.context = fmpq_mpoly_ctx.get([f"x{i}" for i in range(max(1, len(self.generators)))], Ordering.lex)
        size = max(1, len(self.generators))
        self.polynomial = self.context.from_dict(
            {tuple(row.get(g, 0) for g in range(size)): c for row, c in rows}
        )  # fmt: skip

    def _row(self, monomial: Any) -> dict[int, int]:
        row: dict[int, int] = {}
        for atom, number in monomial:
            value = checker().as_constant(self.scope.forms.forms[number])
            whole = value is not None and value.q == 1 and value > 0
            key = (atom, None) if whole else (atom, number)
            place = self.generators.setdefault(key, len(self.generators))
            row[place] = row.get(place, 0) + (int(value.p) if whole else 1)
        return row

    def power(self, place: int, count: int) -> Form:
        """A generator to a power, as a form."""
        atom, number = list(self.generators)[place]
        forms = self.scope.forms
        if number is None:
            return self.scope.joined(((atom, forms.number(checker().constant(count))),))
        result = checker().constant(1)
        for _ in range(count):
            result = self.scope.product(result, {((atom, number),): fmpq(1)})
        return result

    def form(self, polynomial: Any) -> Form:
        """A polynomial as a form."""
        total: Form = {}
        for exponents, c in polynomial.to_dict().items():
            term = checker().constant(c)
            for place, count in enumerate(exponents):
                if count:
                    term = self.scope.product(term, self.power(place, int(count)))
            total = checker().added(total, term)
        return total


def factors_of(scope: Any, form: Form) -> tuple[Any, list[tuple[Form, int]]]:
    """Rational factor, and factors with their multiplicities."""
    if len(form) > 60:
        return fmpq(1), []
    ring = _Ring(scope, form)
    if ring.polynomial.total_degree() > _MOST_DEGREE:
        return fmpq(1), []
    constant, found = ring.polynomial.factor()
    return fmpq(constant), [(ring.form(p), int(n)) for p, n in found]


def bounds(place: Any) -> dict[str, list[tuple[Any, int]]]:
    """Rational bounds of letters that the facts give: (bound, 1) where it is below, (bound, -1) where it is above."""
    found: dict[str, list[tuple[Any, int]]] = {}
    scope = place.scope
    for key, strength in scope.index.items():
        if not strength or not 1 <= len(key) <= 2:
            continue
        letters = [(m, c) for m, c in key if m]
        if len(letters) != 1 or len(letters[0][0]) != 1:
            continue
        ((((atom, number),), c),) = letters
        if scope.forms.atoms[atom][0] != "letter" or checker().as_constant(scope.forms.forms[number]) != 1:
            continue
        rest = dict(key).get((), fmpq(0))
        found.setdefault(scope.forms.atoms[atom][1], []).append((-rest / c, 1 if c > 0 else -1))
    return found


def shifted(goals: Any, place: Any, form: Form) -> list[Any] | None:
    """Terms of a combination of products of distances from bounds, if one choice of bounds makes all weights >= 0."""
    scope = place.scope
    ring = _Ring(scope, form)
    if ring.polynomial.total_degree() > _MOST_DEGREE:
        return None
    known = bounds(place)
    options: list[list[tuple[int, Any, int, str]]] = []
    for (atom, number), place_of in ring.generators.items():
        kind, *rest = scope.forms.atoms[atom]
        if number is not None or kind != "letter" or rest[0] not in known:
            continue
        lows = [b for b, side in known[rest[0]] if side > 0]
        highs = [b for b, side in known[rest[0]] if side < 0]
        choice = [(place_of, max(lows), 1, rest[0])] if lows else []
        choice += [(place_of, min(highs), -1, rest[0])] if highs else []
        options.append(choice)
    if not options or len(options) > 8:
        return None
    for count, chosen in enumerate(product(*options)):
        if count >= 2**_MOST_SHIFTED:
            break
        moved = _moved(ring, chosen)
        if all(c > 0 for c in moved.values()):
            found = _terms(goals, place, ring, chosen, moved)
            if found is not None:
                return found
    return None


def _moved(ring: _Ring, choice: Any) -> dict[Any, Any]:
    """Coefficients after x = bound + side*y for every generator of a choice."""
    rows = {tuple(int(x) for x in e): fmpq(c) for e, c in ring.polynomial.to_dict().items()}
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


def _terms(goals: Any, place: Any, ring: _Ring, choice: Any, moved: dict[Any, Any]) -> list[Any] | None:
    e, distance = place.e, {}
    for g, bound, side, letter in choice:
        parts = [e.letter(letter), e.rational(-bound)]
        distance[g] = e.plus(*parts) if side > 0 else e.turned(e.plus(*parts))
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
                factors.append(goals.read.form(power))
        terms.append([str(c), factors])
    return terms
