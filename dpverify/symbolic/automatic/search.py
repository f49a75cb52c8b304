"""The search for a proof of a sign: ways to make simpler goals of one, tried in turn within a stated time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

from flint import fmpq

from dpverify.symbolic.automatic.argument import formula
from dpverify.symbolic.automatic.knowledge import known_about, positive, square_columns
from dpverify.symbolic.automatic.program import RELATION, combined, written_down
from dpverify.symbolic.certify.checker import Expr, Form, k
from dpverify.symbolic.certify.columns import Known, columns_for, pruned
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.polynomials import cleared, denominators, factors_of, shared
from dpverify.symbolic.certify.prepared import prepare
from dpverify.symbolic.certify.readback import power, written

DEPTH = 5
MOST_TERMS = 60
MOST_PARTS = 6  # terms of a lemma about a sum
COST = 20  # of a way, in goals
UNIT = k.rational(1)


class OutOfEffortError(Exception):
    """The stated number of goals is reached."""


class Search(Goals):
    """Proves signs of forms by more ways than a step of a written proof needs."""

    def __init__(self, effort: int) -> None:
        super().__init__()
        self.left = effort
        self.whole: FactList | None = None  # the place of the statement, without cases
        self.tried: dict[str, None] = {}  # goals that were not proved, the last ones last
        self._known: dict[Any, list[Known]] = {}
        self.open_sums: dict[Expr, None] = {}  # simplest ones first: parts of the statement about sums
        self._missed: set[Any] = set()
        self._open: set[Any] = set()

    def known(self, place: FactList, relation: str, expr: Expr) -> bool:
        """Prove how an expression stands to 0; what no other proof waits for, by a search."""
        if super().known(place, relation, expr):
            return True
        if self._open or relation == "!=":
            return False
        return self.vanishes(place, expr) if relation == "=" else self.shown(place, expr, relation == ">")

    def prove(self, place: FactList, form: Form, strict: bool = False, depth: int = 5) -> bool:
        """Prove a sign by the ways of a step of a written proof."""
        self.left -= 1
        if self.left < 0:
            raise OutOfEffortError
        return super().prove(place, form, strict, depth) or (not strict and self._bounded(place, form, depth))

    def _bounded(self, place: FactList, form: Form, depth: int) -> bool:
        """A number minus products of factors that are at most 1."""
        products = [(m, -c) for m, c in form.items() if m]
        left = form.get((), fmpq(0)) - sum(c for _, c in products)
        if left < 0 or depth < 2 or len(form) < 2 or not all(c > 0 and len(m) > 1 for m, c in products):
            return False
        terms = [[str(left), []]]
        for m, c in products:
            before: list[Expr] = []
            for factor in (place.scope.joined((pair,)) for pair in m):
                less = k.ONE - factor
                if not (super().prove(place, factor, False) and super().prove(place, less, False)):
                    return False
                terms.append([str(c), [*before, written(less)]])
                before.append(written(factor))
        return place.fact(">=", written(form), "combine", [], terms)

    def combination(self, place: FactList, form: Form, strict: bool, depth: int, products: str = "") -> bool:
        """Find weights of known facts, of many by floats first."""
        columns = pruned(columns_for(self, place, form, depth, products), form)
        if not all(any(m in c.form for c in columns) for m in form):
            return False
        return written_down(place, form, strict, columns)

    def show(self, place: FactList, form: Form, strict: bool = False, depth: int = DEPTH) -> bool:
        """Prove that a form is nonnegative, or positive."""
        if self.prove(place, form, strict):
            return True
        key = (id(place), form.key(), strict, depth, len(place.scope.facts))
        goal = (id(place), form.key(), strict)
        if depth <= 0 or len(form) > MOST_TERMS or key in self._missed or goal in self._open:
            return False
        expr = written(form)
        if not form or place.refuted(expr, strict):
            return False
        self._open.add(goal)
        try:
            for way in WAYS:
                self.left -= COST
                try:
                    if way(self, place, place.form(expr), strict, depth) and place.scope.holds(
                        RELATION[strict], place.form(expr)
                    ):
                        return True
                except k.Refused:
                    continue
        finally:
            self._open.discard(goal)
        self._missed.add(key)
        if (
            not strict
            and place is self.whole
            and len(form) < MOST_PARTS
            and any(a[0] == "sum" for m in form for a, _ in m)
        ):
            self.open_sums[expr] = None
        text = f"{formula(expr)} {RELATION[strict]} 0"
        self.tried.pop(text, None)
        self.tried[text] = None
        return False

    def shown(self, place: FactList, expr: Expr, strict: bool = False, depth: int = DEPTH) -> bool:
        """Prove the sign of an expression."""
        prepare(self, place, expr)
        return self.show(place, place.form(expr), strict, depth)

    def facts(self, place: FactList, form: Form) -> list[Known]:
        """What is known about the functions in a form."""
        key = (place, form)
        if key not in self._known:
            self._known[key] = known_about(self, place, form)
        columns = (replace(column, form=_form_of(place, column)) for column in self._known[key])
        return [column for column in columns if column.form]

    def vanishes(self, place: FactList, expr: Expr) -> bool:
        """Prove that an expression is 0."""
        prepare(self, place, expr)
        if self.zero(place, place.form(expr)):
            return True
        return self.shown(place, expr) and self.shown(place, -expr)

    def split(self, place: FactList, gap: Expr, form: Form, strict: bool, depth: int) -> bool:
        """Prove a sign where an expression is nonnegative, and where it is negative."""
        expr = written(form)
        lists: tuple[list[Any], list[Any]] = ([], [])
        for relation, assumed, items in ((">=", gap, lists[0]), (">", -gap, lists[1])):
            case = place.case(relation, assumed, items)
            tighten(case, assumed)
            if not self.show(case, case.form(expr), strict, depth - 1):
                return False
        place.split(gap, *lists, RELATION[strict], expr)
        return True


def _form_of(place: FactList, column: Known) -> Form:
    """The form of a fact, which may be simpler than when it was found."""
    form: Form = reduce(place.scope.product, map(place.form, column.factors))
    return -form if column.negated else form


def tighten(place: FactList, assumed: Expr) -> None:
    """An integer above 0 is at least 1."""
    less = place.form(assumed) - k.ONE
    if place.scope.integer(less) and place.scope.sign(less + k.ONE) == 3 and not place.scope.sign(less) & 1:
        place.fact(">=", written(less), "whole")


# ---- ways: each proves a form from simpler ones, or does not


def by_maxima(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Where a maximum stands, one of its arguments is the largest."""
    for atom in _atoms(form):
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


def by_logarithms(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Compare the exponential of what stands beside logarithms with their arguments."""
    low: list[tuple[Expr, Any]] = []
    high: list[tuple[Expr, Any]] = []
    rest = form
    for m, c in form.items():
        if len(m) == 1 and m[0][0][0] == "log" and m[0][1] is k.ONE and k.letters_in(m[0][0][1]):
            (high if c > 0 else low).append((written(m[0][0][1]), abs(c)))
            rest -= k.monomial(m, c)
    if strict or not low + high or any(a[0] == "log" and k.letters_in(a[1]) for a in _atoms(rest)):
        return False
    scale = fmpq(1)
    for _, c in low + high:
        scale *= c.q
    scale = scale / min(c * scale for _, c in low + high)
    up = k.form_of({m: c * scale for m, c in rest.items() if c > 0})
    down = k.form_of({m: -c * scale for m, c in rest.items() if c < 0})
    a, b = (
        k.row("*", k.row("exp", written(part)), *(k.row("^", u, k.rational(c * scale)) for u, c in side))
        for part, side in ((down, low), (up, high))
    )
    if not (search.shown(place, a, True, 1) and search.shown(place, b - a, False, depth - 1)):
        return False
    gap = k.row("log", b) - k.row("log", a)
    place.fact(">=", gap, "instance", "rule", "log-monotone", {"a": a, "b": b})
    return place.fact(">=", written(form), "combine", [], [[str(1 / scale), [gap]]])


def by_exponentials(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Compare the logarithms of two products."""
    plus = [(m, c) for m, c in form.items() if c > 0]
    minus = [(m, -c) for m, c in form.items() if c < 0]
    if strict or len(plus) != 1 or len(minus) != 1:
        return False
    if all(x.constant() is not None and a[0] != "e" for m, _ in plus + minus for a, x in m):
        return False
    b, a = (written(k.monomial(*side[0])) for side in (plus, minus))
    if not (search.expr(place, a, True) and search.expr(place, b, True)):
        return False
    logs = [k.row("log", side) for side in (a, b)]
    if not search.shown(place, logs[1] - logs[0], False, depth - 1):
        return False
    where = {"a": logs[0], "b": logs[1]}
    gap = k.row("exp", logs[1]) - k.row("exp", logs[0])
    return place.fact(">=", gap, "instance", "rule", "exp-monotone", where) and bool(
        place.scope.holds(">=", form) or place.fact(">=", written(form), "combine", [], [["1", [gap]]])
    )


def by_square(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Complete the square of a letter or root, whose coefficient is positive and discriminant not."""
    for atom in dict.fromkeys(a for m in form for a, _ in m):
        if atom[0] not in ("letter", "base", "log", "e", "apply"):
            continue
        parts = _quadratic(form, atom)
        if parts is None:
            continue
        (a, b, c), root = parts
        product = place.scope.product
        if not search.prove(place, a, True):
            continue
        rest = product(a, c).times(4) - product(b, b)
        if not search.show(place, rest, strict, depth - 1):
            continue
        double = k.row("+", k.row("*", k.rational(2), written(a), root), written(b))
        place.square(double)
        terms = [["1", [k.row("*", double, double)]], ["1", [written(rest)]]]
        divisor = written(a.times(4))
        return place.fact(RELATION[strict], written(form), "combine", [divisor], terms)
    return False


def _quadratic(form: Form, atom: Any) -> tuple[tuple[Form, Form, Form], Expr] | None:
    """Coefficients of a form as a polynomial of degree 2 in an atom or its root."""
    exponents = {dict(m).get(atom, k.ZERO) for m in form}
    values = {x.constant() for x in exponents}
    if None in values:
        return None
    unit = max(values) / 2
    if unit <= 0 or not values <= {fmpq(0), unit, 2 * unit} or unit not in (fmpq(1), fmpq(1, 2), fmpq(2)):
        return None
    parts = []
    for n in (2, 1, 0):
        held = {
            tuple(f for f in m if f[0] is not atom): c
            for m, c in form.items()
            if dict(m).get(atom, k.ZERO).constant() == n * unit
        }
        parts.append(k.form_of(held))
    return (parts[0], parts[1], parts[2]), power(atom, k.constant(unit))


def by_roots(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Compare squares: a sum with a square root is the difference of two squares over another sum."""
    roots = {a: None for m in form for a, x in m if x.constant() is not None and x.constant().q == 2}
    for atom in roots:
        parts = _linear(form, atom)
        if parts is None:
            continue
        (outside, beside), root = parts
        product = place.scope.product
        squares = product(outside, outside) - product(product(beside, beside), place.form(written(k.alone(atom))))
        for sign in (1, -1):  # of what stands outside, against the root
            other = outside.times(sign) - product(beside.times(sign), place.form(root))
            if not search.prove(place, other, True):
                continue
            if search.show(place, squares.times(sign), strict, depth - 1):
                terms = [["1", [written(squares.times(sign))]]]
                return place.fact(RELATION[strict], written(form), "combine", [written(other)], terms)
        signs = place.scope.sign(outside) | place.scope.sign(-outside)
        if depth >= DEPTH - 1 and outside and not signs & 1 and search.prove(place, beside):
            return search.split(place, written(outside), form, strict, depth)
    return False


def _linear(form: Form, atom: Any) -> tuple[tuple[Form, Form], Expr] | None:
    """What stands outside of a square root, and what it is multiplied with."""
    parts: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
    for m, c in form.items():
        exponent = dict(m).get(atom, k.ZERO).constant()
        if exponent is None or exponent < 0:
            return None
        odd = exponent.q == 2
        left = exponent - fmpq(1, 2) if odd else exponent
        key = tuple((a, x if a is not atom else k.constant(left)) for a, x in m if a is not atom or left)
        parts[odd][key] = parts[odd].get(key, fmpq(0)) + c
    return (k.form_of(parts[0]), k.form_of(parts[1])), power(atom, k.constant(fmpq(1, 2)))


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


def _atoms(form: Form) -> Iterator[Any]:
    """Atoms of a form, those inside others last."""
    inner = []
    for m in form:
        for atom, exponent in m:
            yield atom
            inner += [part for part in (exponent, *atom[1:]) if isinstance(part, k.Form)]
    for part in inner:
        yield from _atoms(part)


Way = Callable[[Search, FactList, Form, bool, int], bool]
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
