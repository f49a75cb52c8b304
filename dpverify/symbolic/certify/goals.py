"""Proofs of signs, found here and written down as facts: by factors, terms, linear programs, cases and shifts."""

from __future__ import annotations

from typing import Any

from flint import fmpq

from dpverify.symbolic.certify.checker import checker
from dpverify.symbolic.certify.columns import columns_for, pruned
from dpverify.symbolic.certify.equal_places import by_equal_places
from dpverify.symbolic.certify.place import Expr, FactList
from dpverify.symbolic.certify.polynomials import cleared, denominators, factors_of, shared, shifted
from dpverify.symbolic.certify.readback import Readback
from dpverify.symbolic.prove.certificate import solve

Form = Any

_DEPTH = 5
_MOST_COLUMNS = 420
_MOST_TERMS = 160
_EFFORT = 3_000_000  # entries of all linear programs of one certificate: where they are used up, it has none


class Goals:
    """Proves signs of forms at places of one certificate."""

    def __init__(self, readback: Readback) -> None:
        self.read = readback
        self.effort = _EFFORT
        self.k = checker()

    def expr(self, place: FactList, expr: Expr, strict: bool = False) -> bool:
        """Prove the sign of an expression."""
        return self.prove(place, place.form(expr), strict)

    def prove(self, place: FactList, form: Form, strict: bool = False, depth: int = _DEPTH) -> bool:
        """Prove that a form is nonnegative, or positive, so that the checker knows it from then on."""
        scope, wanted = place.scope, 2 if strict else 1
        if scope.sign(form) >= wanted:
            return True
        if depth <= 0 or len(form) > _MOST_TERMS or not scope.forms.letters_in(form):
            return False
        key = (scope.key(form), strict)
        tried = place.failed.get(key, (0, 0))
        if key in place.busy or (tried[0] >= depth and tried[1] == len(scope.facts)):
            return False
        expr = self.read.form(form)
        if place.refuted(expr, strict):
            place.failed[key] = _DEPTH, len(scope.facts)
            return False
        place.busy.add(key)
        try:
            for method in (
                self._split, self._factors, self._terms, self._linear, self._whole, self._fraction, self._polynomial,
                self._shift, self._products,
            ):  # fmt: skip
                if method(place, form, strict, depth) and place.scope.sign(place.form(expr)) >= wanted:
                    return True
        except self.k.Refused:
            pass
        finally:
            place.busy.discard(key)
        place.failed[key] = depth, len(place.scope.facts)
        return False

    def apart(self, place: FactList, form: Form) -> bool:
        """Prove that a form is not 0."""
        if place.scope.is_apart(form):
            return True
        return self.prove(place, form, True) or self.prove(place, self.k.scaled(form, -1), True)

    def zero(self, place: FactList, form: Form) -> bool:
        """Prove that a form is 0."""
        if place.scope.holds("=", form):
            return True
        expr = self.read.form(form)
        under = denominators(place.scope, form)
        if under and all(self.apart(place, d) for d in under) and not cleared(place.scope, place.form(expr), under):
            return place.fact("=", expr, "cleared", [self.read.form(d) for d in under])
        if by_equal_places(self, place, place.form(expr)):
            return True
        if place.refuted(expr, False) or place.refuted(self.read.form(self.k.scaled(form, -1)), False):
            return False
        return self.prove(place, form) and self.prove(place, self.k.scaled(form, -1))

    # ---- the ways

    def _split(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Where a maximum stands, one of its arguments is the largest."""
        for monomial in form:
            for atom, _ in monomial:
                kind, *rest = place.scope.forms.atoms[atom]
                if kind == "max":
                    a, b = (self.read.form(place.scope.forms.forms[n]) for n in rest[:2])
                    return self.by_cases(place, place.e.minus(a, b), form, strict, depth)
        return False

    def by_cases(self, place: FactList, gap: Expr, form: Form, strict: bool, depth: int) -> bool:
        """Prove a sign where an expression is nonnegative, and where it is negative."""
        expr = self.read.form(form)
        lists: tuple[list[Any], list[Any]] = ([], [])
        against = place.e.turned(gap)
        for relation, assumed, items in ((">=", gap, lists[0]), (">", against, lists[1])):
            case = place.case(relation, assumed, items)
            if not self.prove(case, case.form(expr), strict, depth - 1):
                return False
        place.split(gap, *lists, ">" if strict else ">=", expr)
        return True

    def _factors(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """A monomial, or a common factor and what is left."""
        taken, rest = shared(place.scope, form)
        if not taken and len(form) > 1:
            return False
        sign, factors = 1, []
        coefficient = fmpq(1)
        if len(form) == 1:
            (((), coefficient),) = rest.items() if () in rest else [((), fmpq(1))]
            if coefficient < 0:
                sign, coefficient = -1, -coefficient
            rest = {}
        for atom, exponent in taken:
            power = place.scope.joined(((atom, exponent),))
            whole = self.k.as_constant(place.scope.forms.forms[exponent])
            if whole is not None and whole.q == 1 and whole.p % 2 == 0:
                alone = place.scope.forms.power_of(place.scope.forms.atoms[atom])
                if strict and not self.apart(place, alone):
                    return False
                factors.append(self.read.form(power))
                continue
            found = self._power(place, atom, exponent, strict, depth)
            if not found:
                return False
            sign *= found
            factors.append(self.read.form(self.k.scaled(power, found)))
        if rest:
            found = self._either(place, rest, strict, depth)
            if not found:
                return False
            sign *= found
            factors.append(self.read.form(self.k.scaled(rest, found)))
        if sign < 0:
            return False
        expr = self.read.form(form)
        relation = ">" if strict else ">="
        return place.scope.sign(form) >= (2 if strict else 1) or place.fact(
            relation, expr, "combine", [], [[str(coefficient), factors]]
        )

    def _either(self, place: FactList, form: Form, strict: bool, depth: int) -> int:
        """1 if a form is proven to be nonnegative, -1 if its opposite is."""
        for sign in (1, -1):
            if self.prove(place, self.k.scaled(form, sign), strict, depth - 1):
                return sign
        return 0

    def _power(self, place: FactList, atom: int, exponent: int, strict: bool, depth: int) -> int:
        """The sign of an atom's power, by that of the atom, or by what is known of powers."""
        forms = place.scope.forms
        kind, *rest = forms.atoms[atom]
        alone = forms.forms[rest[0]] if kind == "base" else forms.power_of(forms.atoms[atom])
        power = place.scope.joined(((atom, exponent),))
        wanted = 2 if strict else 1
        value = self.k.as_constant(forms.forms[exponent])
        if kind != "base" and value == 1:
            if kind in ("letter", "moment", "norm", "inner", "integral", "apply"):
                return self._alone(place, alone, strict, depth)
            return (
                1 if self._atom(place, atom, strict, depth) else -1 if self._below(place, alone, strict, depth) else 0
            )
        if self.prove(place, alone, strict or (value is not None and value < 0), depth - 1):
            return 1 if place.scope.sign(power) >= wanted else 0
        negative = self.k.scaled(alone, -1)
        if value == -1 and self.prove(place, negative, True, depth - 1):
            turned = self.read.form(self.k.scaled(power, -1))
            return -1 if place.fact(">", turned, "combine", [self.read.form(negative)], [["1", []]]) else 0
        return 0

    def _alone(self, place: FactList, form: Form, strict: bool, depth: int) -> int:
        for sign in (1, -1):
            turned = self.k.scaled(form, sign)
            if place.scope.sign(turned) >= (2 if strict else 1) or self.combination(
                place, turned, strict, depth, False
            ):
                return sign
        return 0

    def _below(self, place: FactList, alone: Form, strict: bool, depth: int) -> bool:
        return self.combination(place, self.k.scaled(alone, -1), strict, depth, False)

    def _atom(self, place: FactList, atom: int, strict: bool, depth: int) -> bool:
        """The sign of a function: of a sum by its terms, of others by what is known of them."""
        forms = place.scope.forms
        kind, *rest = forms.atoms[atom]
        alone = forms.power_of(forms.atoms[atom])
        if kind == "sum" and not strict:
            expr = self.read.atom(atom)
            _, index, lo, _, body = place.e.rows[expr]
            length = "oo" if rest[0] == "oo" else self.read.form(forms.forms[rest[0]])
            inner = place.inside(length)
            term = place.e.put(body, {index: place.e.plus(lo, place.e.letter(inner.index))})
            return self.expr(inner, term) and place.fact(">=", expr, "termwise")
        if kind == "floor" and not strict and self.prove(place, forms.forms[rest[0]], False, depth - 1):
            return True
        return self.combination(place, alone, strict, depth, False)

    def _terms(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Every term by itself."""
        if len(form) < 2 or any(c < 0 for m, c in form.items() if m):
            return False
        if form.get((), 0) < 0:
            return False
        some = not strict
        for m in form:
            term = {m: fmpq(1)}
            if not some and self.prove(place, term, True, depth - 1):
                some = True
            elif not self.prove(place, term, False, depth - 1):
                return False
        return some

    def _linear(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        return len(form) > 0 and self.combination(place, form, strict, depth, products=False)

    def _products(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        return len(form) > 1 and self.combination(place, form, strict, depth, products=True)

    def combination(self, place: FactList, form: Form, strict: bool, depth: int, products: bool) -> bool:
        """Find weights by a linear program over what is known, and write it down."""
        columns = columns_for(self, place, form, depth, products)
        columns = pruned(columns, form)
        if len(columns) > _MOST_COLUMNS or not all(any(m in c.form for c in columns) for m in form):
            return False
        numbers: dict[Any, int] = {}
        for column in (form, *(c.form for c in columns)):
            for m in column:
                numbers.setdefault(m, len(numbers))
        self.effort -= len(columns) * len(numbers)
        if self.effort < 0:
            return False
        matrix = [{numbers[m]: c for m, c in column.form.items()} for column in columns]
        wanted = [c.strict for c in columns]
        weights = solve(matrix, {numbers[m]: c for m, c in form.items()}, wanted if strict else [False] * len(columns))
        if weights is None or (strict and not any(w > 0 and s for w, s in zip(weights, wanted, strict=True))):
            return False
        terms = []
        for weight, column in zip(weights, columns, strict=True):
            if weight > 0:
                if not all(emit() for emit in column.emit):
                    return False
                sign = weight if not column.negated else -weight
                terms.append([str(sign), list(column.factors), *column.zero])
        return place.fact(">" if strict else ">=", self.read.form(form), "combine", [], terms)

    def _whole(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """An integer above -1 is nonnegative; a positive one is at least 1."""
        if not place.scope.integer(form):
            return False
        if strict:
            return False
        return self.prove(place, self.k.added(form, self.k.constant(1)), True, depth - 2) and place.fact(
            ">=", self.read.form(form), "whole"
        )

    def _fraction(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Times its denominators."""
        divisors = []
        for divisor in denominators(place.scope, form):
            sign = next((s for s in (1, -1) if self.prove(place, self.k.scaled(divisor, s), True, depth - 1)), 0)
            if not sign:
                return False
            divisors.append(self.k.scaled(divisor, sign))
        if not divisors:
            return False
        top = cleared(place.scope, form, divisors)
        if len(top) > _MOST_TERMS or place.scope.key(top) == place.scope.key(form):
            return False
        if not self.prove(place, top, strict, depth - 1):
            return False
        by = ["combine", [self.read.form(d) for d in divisors], [["1", [self.read.form(top)]]]]
        return place.fact(">" if strict else ">=", self.read.form(form), *by)

    def _polynomial(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Factors of a polynomial in its atoms."""
        if len(form) < 2:
            return False
        coefficient, found = factors_of(place.scope, form)
        if len(found) < 2 and not any(count > 1 for _, count in found):
            return False
        sign, factors = (1 if coefficient > 0 else -1), []
        for factor, count in found:
            node = self.read.form(factor)
            if count % 2 == 0:
                if strict and not self.apart(place, factor):
                    return False
                square = place.e.times(node, node)
                if not place.scope.sign(place.form(square)) and not place.fact(">=", square, "square", node):
                    return False
                if strict and place.scope.sign(place.form(square)) < 2:
                    place.fact(">", square, "square", node)
                factors += [square] * (count // 2)
                continue
            turned = self._either(place, factor, strict, depth)
            if not turned:
                return False
            sign *= turned
            factors += [self.read.form(self.k.scaled(factor, turned))] * count
        if sign < 0:
            return False
        expr = self.read.form(form)
        return place.fact(">" if strict else ">=", expr, "combine", [], [[str(abs(coefficient)), factors]])

    def _shift(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Measure letters from rational bounds: what is left has no negative coefficient."""
        terms = shifted(self, place, form)
        if terms is None:
            return False
        return place.fact(">" if strict else ">=", self.read.form(form), "combine", [], terms)
