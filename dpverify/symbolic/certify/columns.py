"""What is known that may help a sign goal: facts, signs of monomials, and what rules say of its functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

from flint import arb, fmpq

from dpverify.symbolic.certify.checker import checker
from dpverify.symbolic.certify.place import Expr, FactList

Form = Any

_SCALE = 2**40
_MOST_FACTORS = 22
_MOST_PAIRS = 7


@dataclass
class Known:
    """A column of the linear program."""

    form: Form
    strict: bool
    factors: tuple[Expr, ...]  # expressions whose product this is, each known not to be negative
    zero: tuple[Expr, ...] = ()  # an expression that is known to be 0, if that is why
    negated: bool = False  # whether the weight is to be turned
    emit: list[Callable[[], bool]] = field(default_factory=list)  # writes the facts that this column uses


def columns_for(goals: Any, place: FactList, form: Form, depth: int, products: bool) -> list[Known]:
    """Columns that share letters with a form."""
    k, scope = checker(), place.scope
    known = list(_facts(goals, place, form))
    atoms = {a: None for f in (form, *(c.form for c in known)) for m in f for a, _ in m}
    powers = {p: None for f in (form, *(c.form for c in known)) for m in f for p in m}
    known.extend(_about(goals, place, list(atoms), list(powers), depth))
    columns = [*known, Known(k.constant(1), True, ())]
    if products:
        columns.extend(_squares(goals, place, form))
        usable = [c for c in known if not c.zero][:_MOST_FACTORS]
        for a, b in combinations_with_replacement(usable, 2):
            if len(a.form) * len(b.form) <= 200:
                both = scope.product(a.form, b.form)
                columns.append(Known(both, a.strict and b.strict, (*a.factors, *b.factors), emit=[*a.emit, *b.emit]))
    monomials = {m: None for f in (form, *(c.form for c in columns)) for m in f}
    for m in monomials:
        columns += _signs(goals, place, m, depth)
    return columns


def pruned(columns: list[Known], wanted: Form) -> list[Known]:
    """Drop columns that hold a monomial which nothing can cancel, until there is none."""
    while True:
        plus = {m for c in columns for m, x in c.form.items() if x > 0} | {m for m, x in wanted.items() if x < 0}
        minus = {m for c in columns for m, x in c.form.items() if x < 0} | {m for m, x in wanted.items() if x > 0}
        kept = [c for c in columns if all(m in (minus if x > 0 else plus) for m, x in c.form.items())]
        if len(kept) == len(columns):
            return kept
        columns = kept


def _facts(goals: Any, place: FactList, form: Form) -> Iterator[Known]:
    scope, k = place.scope, checker()
    letters = scope.forms.letters_in(form)
    chosen: list[tuple[str, Expr, Form]] = []
    left = [(r, e, scope.form(e)) for r, e in dict.fromkeys(scope.facts) if r != "!="]
    grown = True
    while grown:
        grown = False
        for fact in list(left):
            mine = scope.forms.letters_in(fact[2])
            if mine & letters:
                left.remove(fact)
                chosen.append(fact)
                if not mine <= letters:
                    letters = letters | mine
                    grown = True
    seen = set()
    for relation, e, f in sorted(chosen, key=lambda fact: len(fact[2])):
        key = scope.key(f)
        if not f or key in seen:
            continue
        seen.add(key)
        if relation == "=":
            yield Known(f, False, (), (e,))
            yield Known(k.scaled(f, -1), False, (), (e,), True)
        else:
            yield Known(f, scope.sign(f) == 2, (e,))


def _signs(goals: Any, place: FactList, m: Any, depth: int) -> list[Known]:
    """A monomial of known sign; an irrational constant in it is enclosed between rationals."""
    scope, k = place.scope, checker()
    if not m:
        return []
    closed = tuple(f for f in m if not scope.forms.letters_in({(f,): fmpq(1)}))
    rest = tuple(f for f in m if f not in closed)
    open_form = {rest: fmpq(1)}
    strength = scope.sign(open_form) if rest else 2
    turned = 1
    if not strength and rest:
        strength, turned = scope.sign(k.scaled(open_form, -1)), -1
    if not strength:
        return []
    node = goals.read.form(k.scaled(open_form, turned)) if rest else None
    around = () if node is None else (node,)
    if not closed:
        return [Known({m: fmpq(turned)}, strength == 2, around)]
    constant = {closed: fmpq(1)}
    ends = _enclosure(scope, constant)
    if ends is None:
        return []
    found = []
    for gap in (k.added(constant, k.constant(-ends[0])), k.added(k.constant(ends[1]), k.scaled(constant, -1))):
        if scope.sign(gap):
            both = scope.product(gap, k.scaled(open_form, turned) if rest else k.constant(1))
            found.append(Known(both, strength == 2, (goals.read.form(gap), *around)))
    return found


def _enclosure(scope: Any, constant: Form) -> tuple[fmpq, fmpq] | None:
    try:
        ball: arb = scope.forms.ball(constant) * _SCALE
        lo, hi = ball.lower().floor().unique_fmpz(), ball.upper().ceil().unique_fmpz()
    except checker().Refused:
        return None
    return None if lo is None or hi is None else (fmpq(lo - 1, _SCALE), fmpq(hi + 1, _SCALE))


def _squares(goals: Any, place: FactList, form: Form) -> Iterator[Known]:
    """Squares of differences of letters, and of their distances from 1."""
    e = place.e
    names = sorted(n for n in place.scope.forms.letters_in(form) if not n.startswith("#") and n in place.scope.kinds)
    letters = [e.letter(n) for n in names[:6]]
    for i, a in enumerate(letters):
        for b in (*letters[i + 1 :], e.rational(1)):
            gap = e.minus(a, b)
            square = e.times(gap, gap)
            yield Known(
                place.form(square), False, (square,),
                emit=[partial(place.fact, ">=", square, "square", gap)],
            )  # fmt: skip


def _about(goals: Any, place: FactList, atoms: list[int], powers: list[Any], depth: int) -> Iterator[Known]:
    """What rules say of exponentials, powers, logarithms, floors and bits."""
    if depth <= 1:
        return
    for atom, number in powers:
        yield from _power(goals, place, atom, number, depth)
    for atom in atoms:
        yield from _function(goals, place, atom, depth)


def _power(goals: Any, place: FactList, atom: int, number: int, depth: int) -> Iterator[Known]:
    scope, k, e, read = place.scope, checker(), place.e, goals.read
    kind, *rest = scope.forms.atoms[atom]
    exponent = scope.forms.forms[number]
    if kind == "e":
        u = read.form(exponent)
        yield from _rule(place, "one-minus-exp", {"x": e.turned(u)})
        for one in _rule(place, "one-minus-exp", {"x": u}):
            power = e.make("exp", u)
            both = scope.product(one.form, place.form(power))
            yield Known(both, False, (*one.factors, power), emit=one.emit)
        if goals.prove(place, k.scaled(exponent, -1), False, depth - 1):
            yield from _rule(place, "exp-monotone", {"a": u, "b": e.rational(0)})
        return
    value = k.as_constant(exponent)
    if value is not None and value.q == 1:
        return
    base = scope.forms.forms[rest[0]] if kind == "base" else scope.forms.power_of(scope.forms.atoms[atom])
    if kind == "prime" and value is not None:
        return
    b, x = read.form(base), read.form(exponent)
    if not goals.prove(place, exponent, False, depth - 1):
        return
    if goals.prove(place, k.added(k.constant(1), k.scaled(base, -1)), False, depth - 1):
        if goals.prove(place, base, False, depth - 1):
            one = e.rational(1)
            if value is None and goals.prove(place, k.added(exponent, k.constant(-1)), False, depth - 1):
                yield from _rule(place, "power-decreasing", {"x": b, "p": x, "q": one})
            yield from _rule(place, "power-at-most-one", {"x": b, "p": x})
    elif goals.prove(place, k.added(base, k.constant(-1)), False, depth - 1):
        yield from _rule(place, "power-increasing", {"x": b, "p": e.rational(0), "q": x})


def _function(goals: Any, place: FactList, atom: int, depth: int) -> Iterator[Known]:
    scope, k, e, read = place.scope, checker(), place.e, goals.read
    kind, *rest = scope.forms.atoms[atom]
    if kind == "log":
        of = scope.forms.forms[rest[0]]
        u = read.form(of)
        if not goals.prove(place, of, True, depth - 1):
            return
        if not scope.forms.letters_in(of):
            return
        yield from _rule(place, "log-tangent", {"x": u})
        if goals.prove(place, k.added(of, k.constant(-1)), False, depth - 1):
            yield from _rule(place, "log-monotone", {"a": e.rational(1), "b": u})
            if goals.prove(place, k.added(of, k.constant(-2)), False, depth - 1):
                yield from _rule(place, "log-monotone", {"a": e.rational(2), "b": u})
        elif goals.prove(place, k.added(k.constant(1), k.scaled(of, -1)), False, depth - 1):
            yield from _rule(place, "log-monotone", {"a": u, "b": e.rational(1)})
    elif kind == "floor":
        of = scope.forms.forms[rest[0]]
        u = read.form(of)
        yield from _rule(place, "floor-below", {"x": u})
        gap = e.plus(e.make("floor", u), e.rational(1), e.turned(u))
        yield Known(place.form(gap), True, (gap,), emit=[lambda: place.fact(">", gap, "fraction", u)])
        for least in (0, 1):
            if goals.prove(place, k.added(of, k.constant(-least)), False, depth - 1):
                at_least = e.plus(e.make("floor", u), e.rational(-least))
                if goals.prove(place, place.form(at_least), False, depth - 2):
                    yield Known(place.form(at_least), False, (at_least,))
    elif kind == "bit":
        s, i = (read.form(scope.forms.forms[n]) for n in rest)
        yield from _rule(place, "bit-times", {"s": s, "k": i, "x": e.rational(1)})
    elif kind == "max":
        nodes = [read.form(scope.forms.forms[n]) for n in rest]
        for node in nodes:
            gap = e.minus(read.atom(atom), node)
            if goals.prove(place, place.form(gap), False, depth - 1):
                yield Known(place.form(gap), False, (gap,))


def _rule(place: FactList, name: str, where: dict[str, Expr]) -> Iterator[Known]:
    """The inequality of a rule's instance, to be written down where it is used."""
    gap = instance_gap(place, name, where)
    if gap is None:
        return
    try:
        form = place.form(gap)
    except checker().Refused:
        return
    if form:
        yield Known(form, False, (gap,), emit=[lambda: place.fact(">=", gap, "instance", "rule", name, where)])


def instance_gap(place: FactList, name: str, where: dict[str, Any]) -> Expr | None:
    """The larger side of a rule's instance minus the smaller one."""
    data = place.proof.checker.rules.get(name)
    if data is None:
        return None
    rule = checker().Rule(place.e, data)
    lhs, rhs = place.e.put(rule.lhs, where), place.e.put(rule.rhs, where)
    gap = place.e.minus(rhs, lhs) if rule.relation in ("<=", "<", "=") else place.e.minus(lhs, rhs)
    return int(gap)
