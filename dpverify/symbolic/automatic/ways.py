"""Ways to prove a sign: each makes simpler goals of one, or combines facts and what rules say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flint import fmpq

from dpverify.symbolic.automatic.comparisons import by_exponentials, by_logarithms, by_roots, by_square
from dpverify.symbolic.automatic.knowledge import positive, square_columns
from dpverify.symbolic.automatic.program import RELATION, combined
from dpverify.symbolic.automatic.search import DEPTH, Search, Way, atoms_of
from dpverify.symbolic.certify.checker import Expr, Form, k
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.polynomials import cleared, denominators, factors_of, shared
from dpverify.symbolic.certify.readback import power, written

UNIT = k.rational(1)


def by_maxima(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Where a maximum stands, one of its arguments is the largest."""
    for atom in atoms_of(form):
        if atom[0] == "max":
            return search.split(place, written(atom[1]) - written(atom[2]), form, strict, depth)
    return False


def by_one_value(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Put the value of a letter that can have one value only."""
    for name in sorted(k.letters_in(form)):
        if name.startswith(("#", "%")):
            continue
        value = _only_value(search, place, name)
        if value is not None:
            return at_value(search, place, written(form), name, value, strict, depth)
    return False


def _only_value(search: Search, place: FactList, name: str) -> Expr | None:
    for known in list(place.scope.index):
        if len(known) != 2 or () not in known or k.letters_in(known) != {name}:
            continue
        gap = k.letter(name) + k.rational(known[()])
        if place.form(gap) is known and search.expr(place, gap) and search.expr(place, -gap):
            return k.rational(-known[()])
    return None


def at_value(search: Search, place: FactList, expr: Expr, name: str, value: Expr, strict: bool, depth: int) -> bool:
    """Prove the sign of an expression by that at the value that a letter is known to have."""
    put = k.put(expr, {name: value})
    if not search.shown(place, put, strict, depth - 1):
        return False
    hole = k.put(expr, {name: k.letter("HOLE")})
    place.fact("=", expr - put, "congruent", "HOLE", hole, k.letter(name), value)
    return place.fact(RELATION[strict], expr, "combine", [], [["1", [expr - put]], ["1", [put]]])


def by_denominators(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Multiply by the denominators."""
    divisors = positive(search, place, denominators(form))
    top = cleared(place.scope, form, divisors)
    if not divisors or top.key() is form.key() or not search.show(place, top, strict, depth - 1):
        return False
    return place.fact(
        RELATION[strict], written(form), "combine", [written(d) for d in divisors], [["1", [written(top)]]]
    )


def by_exponents(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Divide by one of the powers whose exponents have letters."""
    factors = {
        (a, x): None
        for m in form
        for a, x in m
        if x.constant() is None and sum(any(b is a for b, _ in n) for n in form) > 1
    }
    for atom, exponent in factors:
        if place.scope.atom_sign(atom) != 3:
            continue
        divisor = power(atom, -exponent)
        top = place.scope.product(form, place.form(divisor))
        if len(str(k.shown(written(top)))) >= len(str(k.shown(written(form)))):
            continue
        if search.show(place, top, strict, depth - 1):
            return place.fact(RELATION[strict], written(form), "combine", [divisor], [["1", [written(top)]]])
    return False


def by_factors(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Take out a common factor, or the factors of a polynomial."""
    powers, cofactor = shared(place.scope, form)
    if powers and len(form) > 1:
        common = k.monomial(powers)
        for sign in (1, -1):
            if search.prove(place, common.times(sign), strict):
                rest = cofactor.times(sign)
                if search.show(place, rest, strict, depth - 1):
                    factors = [written(common.times(sign)), written(rest)]
                    return place.fact(RELATION[strict], written(form), "combine", [], [["1", factors]])
        return False
    coefficient, factorization = factors_of(place.scope, form) if len(form) > 1 else (fmpq(1), [])
    if sum(count for _, count in factorization) < 2:
        return False
    factors, total = [], 1 if coefficient > 0 else -1
    for factor, count in factorization:
        if count % 2 == 0 and not strict:
            root = written(factor)
            if not place.square(root):
                return False
            factors += [k.row("*", root, root)] * (count // 2)
            continue
        sign = next((s for s in (1, -1) if search.prove(place, factor.times(s), strict)), 0)
        sign = sign or next((s for s in (1, -1) if search.show(place, factor.times(s), strict, depth - 1)), 0)
        if not sign:
            return False
        total *= sign**count
        factors += [written(factor.times(sign))] * count
    return total > 0 and place.fact(RELATION[strict], written(form), "combine", [], [[str(abs(coefficient)), factors]])


def by_facts(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Combine facts with what rules say of the functions in the goal, without products."""
    return combined(search, place, form, strict, search.facts(place, form), multiples=False)


def by_rules(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Combine facts with what rules say of the functions in the goal."""
    facts = [*search.facts(place, form), *square_columns(place, form)]
    if combined(search, place, form, strict, facts):
        return True
    for divisor in _coefficients(search, place, form, facts):
        if combined(search, place, form, strict, facts, [divisor]):
            return True
    return False


def _coefficients(search: Search, place: FactList, form: Form, facts: Any) -> Iterator[Form]:
    """Yield positive sums by which a fact multiplies a function that the goal has."""
    ours = {f for m in form for f in m if f[0][0] in ("e", "log", "sum") or f[1].constant() is None or not f[1].whole()}
    seen = set[Any]()
    for fact in facts:
        for function in ours & {f for m in fact.form for f in m}:
            held = {tuple(f for f in m if f != function): c for m, c in fact.form.items() if function in m}
            coefficient = k.form_of(held)
            if len(coefficient) < 2 and coefficient.constant() is not None:
                continue
            for sign in (1, -1):
                divisor = coefficient.times(sign)
                if divisor.key() not in seen and search.prove(place, divisor, True):
                    seen.add(divisor.key())
                    yield divisor
    return


def by_thresholds(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Split where a function's argument passes a number that its rules speak of."""
    if depth < DEPTH - 1:
        return False
    for gap in _thresholds(place, form):
        at = place.form(gap)
        if place.scope.sign(at) & 1 or place.scope.sign(-at) & 1:
            continue
        if search.split(place, gap, form, strict, depth):
            return True
    return False


def _thresholds(place: FactList, form: Form) -> Iterator[Expr]:
    seen = set[Any]()
    for atom, exponent in {f: None for m in form for f in m}:
        gaps = []
        if atom[0] == "e":
            gaps = [written(exponent), UNIT - written(exponent)]
        elif atom[0] == "log":
            gaps = [written(atom[1]) - UNIT]
        elif exponent.constant() is None:
            gaps = [written(k.alone(atom)) - UNIT, written(exponent) - UNIT]
        elif atom[0] == "letter":
            least = 2 if place.scope.integer(k.alone(atom)) else 1
            gaps = [written(k.alone(atom)) - k.rational(least)]
        for gap in gaps:
            if gap not in seen:
                seen.add(gap)
                yield gap


WAYS: tuple[Way, ...] = (
    by_maxima,
    by_one_value,
    by_facts,
    by_denominators,
    by_factors,
    by_exponents,
    by_square,
    by_roots,
    by_exponentials,
    by_logarithms,
    by_rules,
    by_thresholds,
)
