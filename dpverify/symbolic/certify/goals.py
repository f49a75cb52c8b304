"""Prove signs, and write the proofs as facts: by factors, terms, linear programs, cases and shifts."""

from __future__ import annotations

from functools import partial
from itertools import chain

from flint import fmpq

from dpverify.symbolic.certify.checker import Expr, Form, k, to_expr
from dpverify.symbolic.certify.columns import (
    PRODUCTS,
    columns_for,
    pruned,
    signed_monomials,
)
from dpverify.symbolic.certify.comparisons import (
    by_equal_places,
    by_floors,
    by_logarithms,
    by_one_root,
    by_squares,
    by_value,
)
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.polynomials import (
    by_polynomial_factors,
    cleared,
    common_powers,
    denominators,
    shifted,
)
from dpverify.symbolic.prove.certificate import solve

_DEPTH = 5
_MOST_COLUMNS = 420
_MOST_TERMS = 160
# limit on the entries of all linear programs of
# a certificate; beyond it, no proof is found
_EFFORT = 10_000_000
_RELATION = (">=", ">")


class Goals:
    """Proves signs of forms at places of one certificate."""

    def __init__(self) -> None:
        self.effort = _EFFORT
        # linear programs
        self.solved: dict[
            tuple[Form, tuple[Form, ...], tuple[bool, ...]], list[fmpq] | None
        ] = {}

    def prove_expr(self, place: FactList, expr: Expr, strict: bool = False) -> bool:
        """Prove the sign of an expression."""
        return self.prove(place, place.form(expr), strict)

    def prove(
        self, place: FactList, form: Form, strict: bool = False, depth: int = _DEPTH
    ) -> bool:
        """Prove that a form is nonnegative (positive, if ``strict``), and write this for the checker."""
        scope = place.scope
        relation = _RELATION[strict]
        if scope.holds(relation, form):
            return True
        if depth <= 0 or len(form) > _MOST_TERMS or not k.letters_in(form):
            return False
        key = (form.key(), strict)
        tried = place.failed.get(key, (0, 0))
        if key in place.busy or (tried[0] >= depth and tried[1] == len(scope.facts)):
            return False
        expr = to_expr(form)
        if place.is_refuted(expr, strict):
            place.failed[key] = _DEPTH, len(scope.facts)
            return False
        place.busy.add(key)
        try:
            for method in (
                self._split,
                self._factors,
                self._terms,
                self._linear,
                self._whole,
                self._by_arguments,
                self._fraction,
                partial(by_polynomial_factors, self),
                self._shift,
                self._products,
            ):
                if method(place, form, strict, depth) and place.scope.holds(
                    relation, place.form(expr)
                ):
                    return True
        except k.Refused:
            pass
        finally:
            place.busy.discard(key)
        place.failed[key] = depth, len(place.scope.facts)
        return False

    def prove_nonzero(self, place: FactList, form: Form) -> bool:
        """Prove that a form is not 0."""
        return bool(place.scope.sign(form) & 2) or any(
            self.prove(place, signed_form, True) for signed_form in (form, -form)
        )

    def prove_zero(self, place: FactList, form: Form) -> bool:
        """Prove that a form is 0."""
        if place.scope.holds("=", form):
            return True
        expr = to_expr(form)
        factors = denominators(form)
        if (
            factors
            and all(self.prove_nonzero(place, d) for d in factors)
            and not cleared(place.scope, place.form(expr), factors)
        ):
            return place.fact("=", expr, "combine", [to_expr(d) for d in factors], [])
        if any(
            way(self, place, place.form(expr))
            for way in (by_equal_places, by_one_root, by_value)
        ):
            return True
        if any(
            place.is_refuted(to_expr(signed_form), False)
            for signed_form in (form, -form)
        ):
            return False
        return self.prove(place, form) and self.prove(place, -form)

    def prove_relation(self, place: FactList, relation: str, expr: Expr) -> bool:
        """Prove that an expression has a relation to 0."""
        form = place.form(expr)
        if relation == "=":
            return self.prove_zero(place, form)
        return (
            self.prove_nonzero(place, form)
            if relation == "!="
            else self.prove(place, form, relation == ">")
        )

    # ---- ways to prove a sign

    def combined(
        self,
        place: FactList,
        form: Form,
        strict: bool,
        coefficient: object,
        factors: list[Expr],
    ) -> bool:
        """Write the sign of a product of factors with known signs."""
        return place.fact(
            _RELATION[strict],
            to_expr(form),
            "combine",
            [],
            [[str(coefficient), factors]],
        )

    def _split(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Split by which argument of a maximum is the largest."""
        maxima = [atom for m in form for atom, _ in m if atom[0] == "max"]
        if not maxima:
            return False
        a, b = map(to_expr, maxima[0][1:3])
        return self.by_cases(place, (a - b), form, strict, depth)

    def by_cases(
        self, place: FactList, gap: Expr, form: Form, strict: bool, depth: int
    ) -> bool:
        """Prove a sign where an expression is nonnegative, and where it is negative."""
        expr = to_expr(form)
        lists: tuple[list[object], list[object]] = ([], [])
        for relation, assumed, items in ((">=", gap, lists[0]), (">", -gap, lists[1])):
            case = place.case(relation, assumed, items)
            if not self.prove(case, case.form(expr), strict, depth - 1):
                return False
        place.split(gap, *lists, _RELATION[strict], expr)
        return True

    def _factors(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Prove the sign of a monomial, or of a common factor and its cofactor."""
        powers, cofactor = common_powers(place.scope, form)
        if not powers and len(form) > 1:
            return False
        coefficient = fmpq(1)
        sign = 1
        factors = []
        if len(form) == 1:
            coefficient = abs(form[min(form)])
            cofactor = k.ZERO
            sign = 1 if form[min(form)] > 0 else -1
        for atom, exponent in powers:
            factor_sign = self._power(place, atom, exponent, strict, depth)
            sign *= factor_sign
            factors.append(
                to_expr(place.scope.joined(((atom, exponent),)).times(factor_sign or 1))
            )
            if not factor_sign:
                return False
        if cofactor:
            factor_sign = self.either(place, cofactor, strict, depth)
            sign *= factor_sign
            factors.append(to_expr(cofactor.times(factor_sign or 1)))
        return sign > 0 and (
            place.scope.holds(_RELATION[strict], form)
            or self.combined(place, form, strict, coefficient, factors)
        )

    def either(self, place: FactList, form: Form, strict: bool, depth: int) -> int:
        """Return 1 if a form is proven to be nonnegative, -1 if its negation is, and 0 otherwise."""
        return next(
            (s for s in (1, -1) if self.prove(place, form.times(s), strict, depth - 1)),
            0,
        )

    def _power(
        self, place: FactList, atom: Form, exponent: Form, strict: bool, depth: int
    ) -> int:
        """Return the sign of an atom's power, by the sign of the atom or by facts about powers, or 0."""
        atom_form = k.alone(atom)
        value = exponent.constant()
        power_form = place.scope.joined(((atom, exponent),))
        if value is not None and value.q == 1 and value.p % 2 == 0:
            return int(not strict or self.prove_nonzero(place, atom_form))
        if atom[0] != "base" and value == 1:
            if atom[0] in ("letter", "moment", "norm", "inner", "integral", "apply"):
                signs = (
                    s
                    for s in (1, -1)
                    if self._of_letter(place, atom_form.times(s), strict, depth)
                )
                return next(signs, 0)
            if self._atom(place, atom, strict, depth):
                return 1
            return -1 if self.combination(place, -atom_form, strict, depth) else 0
        if self.prove(
            place, atom_form, strict or (value is not None and value < 0), depth - 1
        ):
            return int(place.scope.holds(_RELATION[strict], power_form))
        if value == -1 and self.prove(place, -atom_form, True, depth - 1):
            return -int(
                place.fact(
                    ">",
                    to_expr(-power_form),
                    "combine",
                    [to_expr(-atom_form)],
                    [["1", []]],
                )
            )
        return 0

    def _of_letter(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        return place.scope.holds(_RELATION[strict], form) or self.combination(
            place, form, strict, depth
        )

    def _atom(self, place: FactList, atom: Form, strict: bool, depth: int) -> bool:
        """Prove the sign of a function: of a sum by its terms, of other functions by facts about them."""
        kind, *arguments = atom
        if kind == "sum" and not strict:
            expr = k.row(*to_expr(k.alone(atom)))
            term, _ = place.scope.term(*expr)
            inner = place.inside(
                "oo" if arguments[0] == "oo" else to_expr(arguments[0])
            )
            return self.prove_expr(inner, term) and place.termwise(expr)
        if (
            kind == "floor"
            and not strict
            and self.prove(place, arguments[0], False, depth - 1)
        ):
            return True
        return self.combination(place, k.alone(atom), strict, depth)

    def _terms(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Prove the sign of every term separately."""
        if len(form) < 2 or any(c < 0 for c in form.values()):
            return False
        has_strict_term = not strict
        for m in form:
            term = k.monomial(m)
            if not has_strict_term and self.prove(place, term, True, depth - 1):
                has_strict_term = True
            elif not self.prove(place, term, False, depth - 1):
                return False
        return has_strict_term

    def _linear(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        return self.combination(place, form, strict, depth)

    def _products(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        return len(form) > 1 and any(
            self.combination(place, form, strict, depth, products)
            for products in PRODUCTS
        )

    def combination(
        self, place: FactList, form: Form, strict: bool, depth: int, products: str = ""
    ) -> bool:
        """Find weights by a linear program over known columns, and write the combination."""
        columns = pruned(columns_for(self, place, form, depth, products), form)
        monomials = [
            tuple(map(abs, signed_monomials(f)))
            for f in (form, *(c.form for c in columns))
        ]
        if len(columns) > _MOST_COLUMNS or not set().union(*monomials[1:]).issuperset(
            monomials[0]
        ):
            return False
        numbers = {
            m: n for n, m in enumerate(dict.fromkeys(chain.from_iterable(monomials)))
        }
        self.effort -= len(columns) * len(numbers)
        if self.effort < 0:
            return False
        target, *matrix = (
            {numbers[m]: c for m, c in zip(ms, f.values(), strict=True)}
            for ms, f in zip(monomials, (form, *(c.form for c in columns)), strict=True)
        )
        strict_columns = [c.strict and strict for c in columns]
        key = (form, tuple(c.form for c in columns), tuple(strict_columns))
        if key not in self.solved:
            self.solved[key] = solve(matrix, target, strict_columns)
        weights = self.solved[key]
        if weights is None or (
            strict
            and not any(
                w > 0 and s for w, s in zip(weights, strict_columns, strict=True)
            )
        ):
            return False
        used = [(w, c) for w, c in zip(weights, columns, strict=True) if w > 0]
        if not all(emit() for _, c in used for emit in c.emit):
            return False
        terms = [[str(-w if c.negated else w), list(c.factors)] for w, c in used]
        return place.fact(_RELATION[strict], to_expr(form), "combine", [], terms)

    def _whole(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Prove that an integer is nonnegative because it is above -1."""
        if strict or not place.scope.integer(form):
            return False
        return self.prove(place, form + k.ONE, True, depth - 2) and place.fact(
            ">=", to_expr(form), "whole"
        )

    def _by_arguments(
        self, place: FactList, form: Form, strict: bool, depth: int
    ) -> bool:
        """Compare the arguments of floors, logarithms or roots."""
        ways = (by_floors, by_logarithms, by_squares)
        return any(way(self, place, form, strict, depth) for way in ways)

    def _fraction(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Prove the sign of a form times its denominators."""
        divisors = []
        for divisor in denominators(form):
            sign = self.either(place, divisor, True, depth)
            if not sign:
                return False
            divisors.append(divisor.times(sign))
        top = cleared(place.scope, form, divisors)
        if not divisors or len(top) > _MOST_TERMS or top.key() is form.key():
            return False
        if not self.prove(place, top, strict, depth - 1):
            return False
        by = ["combine", [to_expr(d) for d in divisors], [["1", [to_expr(top)]]]]
        return place.fact(_RELATION[strict], to_expr(form), *by)

    def _shift(self, place: FactList, form: Form, strict: bool, depth: int) -> bool:
        """Measure letters from rational bounds such that no coefficient is negative."""
        terms = shifted(self, place, form)
        return terms is not None and place.fact(
            _RELATION[strict], to_expr(form), "combine", [], terms
        )
