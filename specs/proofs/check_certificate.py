"""Check certificates: JSON files that prove an inequality or equation between real expressions, step by step.

    python check_certificate.py [--rules rules.json] FILE_OR_FOLDER...

Nothing is searched for. A certificate lists facts, each with the way it follows from those before it; the program
recomputes every one and refuses the file, with the place, at the first that does not follow. The exit code is 0 if all
files are accepted, 1 if one is refused.

How it reasons. Every expression has a value for all values of its letters: 0**negative, a negative number to a power
that is no integer, and log of what is not positive are 0, as are sums and integrals that diverge. All laws used here
hold with these values, and those that need more (b**x*b**y = b**(x+y), log(a*b) = log(a) + log(b), ...) are used only
where the facts known so far grant it. That no such value hides in a statement is checked apart (`Scope.defined`).
An expression is compared by its *form*: a polynomial, as a dictionary from monomials to rational coefficients. A
monomial is a product of atoms, each to a power; a power is a form again. A *fact* is a form that is >= 0, > 0, = 0 or
not 0 on the domain. A fact is looked up by its form, up to a positive factor; signs of products, sums and powers of
what is known are read off; that is all that is ever inferred without being written in the certificate.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from functools import reduce
from pathlib import Path

from flint import arb, ctx, fmpq, fmpz

ctx.prec = 256
ZERO, ONE = fmpq(0), fmpq(1)
MOST_EXPANDED = 24  # integer powers of sums up to this one are multiplied out
MOST_TERMS = 6000
FEW = 6  # finite sums of so few terms are written out
ARITY = {"^": 2, "exp": 1, "log": 1, "log2": 1, "sqrt": 1, "abs": 1, "floor": 1, "ceil": 1, "mod": 2, "bit": 2,
         "popcount": 1, "moment": 2, "norm": 1, "inner": 2}  # fmt: skip
MANY = ("+", "*", "max", "min")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
NUMBERS = ("real", "integer")
NO_NUMBERS = ("vector", "random", "gaussian")


class Refused(Exception):  # noqa: N818  it is an answer, no error
    """The certificate does not prove what it says."""


def need(condition, why):
    if not condition:
        raise Refused(why)


# ---------------------------------------------------------------------------------------------------------- expressions


class Expressions:
    """Expressions as numbered rows, equal ones with equal numbers. A row is a tuple of an operator and its arguments.

    Every sum, integral and lambda gets an index of its own, "~k", so that no substitution captures a letter.
    """

    def __init__(self):
        self.rows, self.numbers, self.bound, self.plain = [], {}, 0, []

    def make(self, *row):
        number = self.numbers.get(row)
        if number is None:
            number = self.numbers[row] = len(self.rows)
            self.rows.append(row)
            parts = row[1:] if row[0] not in ("q", "letter", "apply") else row[2:]
            self.plain.append(row[0] not in ("sum", "integral") and all(self.plain[e] for e in parts))
        return number

    def rational(self, value):
        return self.make("q", fmpq(value))

    def letter(self, name):
        return self.make("letter", name)

    def plus(self, *args):
        return self.make("+", *args)

    def times(self, *args):
        return self.make("*", *args)

    def minus(self, a, b):
        return self.plus(a, self.turned(b))

    def turned(self, a):
        return self.times(self.rational(-1), a)

    def build(self, op, *args):
        """A row; sqrt, abs, min, ceil, log2 and mod are said by other operators."""
        if op == "sqrt":
            return self.make("^", args[0], self.rational(fmpq(1, 2)))
        if op == "abs":
            return self.make("max", args[0], self.turned(args[0]))
        if op in ("min", "ceil"):
            return self.turned(self.make("max" if op == "min" else "floor", *map(self.turned, args)))
        if op == "log2":
            return self.times(
                self.make("log", args[0]), self.make("^", self.make("log", self.rational(2)), self.rational(-1))
            )
        if op == "mod":
            quotient = self.times(args[0], self.make("^", args[1], self.rational(-1)))
            return self.minus(args[0], self.times(args[1], self.make("floor", quotient)))
        return self.make(op, *args)

    def binder(self, index, *bodies):
        """Bodies with an index of their own in the place of a letter."""
        need(isinstance(index, str) and NAME.match(index), f"{index!r} is no name")
        self.bound += 1
        fresh = f"~{self.bound}"
        return fresh, [self.put(body, {index: self.letter(fresh)}) for body in bodies]

    def read(self, data, table=()):
        """Read the prefix format; an integer is a row of the certificate's table that was read before."""
        if isinstance(data, int) and not isinstance(data, bool):
            need(0 <= data < len(table), f"there is no expression {data} before this place")
            return table[data]
        if isinstance(data, str):
            if data in ("oo", "-oo", "pi"):
                return self.make(data)
            need(NAME.match(data) or re.match(r"%\d+\Z", data), f"{data!r} is no letter")
            return self.letter(data)
        need(isinstance(data, list) and data and isinstance(data[0], str), f"{data!r} is no expression")
        op, *args = data
        if op == "q":
            need(len(args) == 1 and re.match(r"-?\d+(/[1-9]\d*)?\Z", args[0]), f"{data!r} is no rational")
            top, _, under = args[0].partition("/")
            return self.make("q", fmpq(int(top), int(under or 1)))
        if op in ("sum", "integral"):
            need(len(args) == 4, f"{op} has four arguments")
            lo, hi, body = (self.read(a, table) for a in args[1:])
            index, (body,) = self.binder(args[0], body)
            return self.make(op, index, lo, hi, body)
        if op == "apply":
            need(len(args) == 2 and NAME.match(args[0]), "apply has a name and an argument")
            return self.make("apply", args[0], self.read(args[1], table))
        need((op in MANY and args) or ARITY.get(op) == len(args), f"{op!r} with {len(args)} arguments is unknown")
        return self.build(op, *(self.read(a, table) for a in args))

    def put(self, number, where, memo=None):
        """Replace letters by expressions, and functions by (letter, body) or by another function's name."""
        memo = {} if memo is None else memo
        if number in memo:
            return memo[number]
        row = self.rows[number]
        op = row[0]
        if op == "letter":
            found = where.get(row[1], number)
            need(isinstance(found, int), f"{row[1]} is a function")
        elif op in ("q", "pi", "oo", "-oo"):
            found = number
        elif op in ("sum", "integral"):
            inner = {k: v for k, v in where.items() if k != row[1]}
            lo, hi = (self.put(e, where, memo) for e in row[2:4])
            body = self.put(row[4], inner, memo if len(inner) == len(where) else None)
            found = self.make(op, row[1], lo, hi, body)
        elif op == "apply":
            arg, value = self.put(row[2], where, memo), where.get(row[1], row[1])
            need(not isinstance(value, int), f"{row[1]} is no function")
            found = self.make("apply", value, arg) if isinstance(value, str) else self.put(value[1], {value[0]: arg})
        else:
            found = self.make(op, *(self.put(e, where, memo) for e in row[1:]))
        memo[number] = found
        return found


# ---------------------------------------------------------------------------------------------------------------- forms


class Forms:
    """Numbers for atoms and for forms, and what can be said of a form without knowing any facts.

    A form is a dictionary {monomial: coefficient}; a monomial is a sorted tuple of (atom, exponent), both numbers.
    """

    def __init__(self):
        self.atoms, self.atom_numbers, self.special = [], {}, set()  # special: sums and primes, to whole powers
        self.forms, self.form_numbers = [], {}
        self.known = {}

    def atom(self, *key):
        number = self.atom_numbers.get(key)
        if number is None:
            number = self.atom_numbers[key] = len(self.atoms)
            self.atoms.append(key)
            self.special.update([number] if key[0] in ("prime", "base") else [])
        return number

    def number(self, form):
        key = tuple(sorted(form.items(), key=lambda item: item[0]))
        number = self.form_numbers.get(key)
        if number is None:
            number = self.form_numbers[key] = len(self.forms)
            self.forms.append(form)
        return number

    def power_of(self, key, exponent=ONE):
        """The form of one atom to a rational power."""
        return {((self.atom(*key), self.number(constant(exponent))),): ONE}

    def base_of(self, atom):
        """The form whose powers an atom's powers are."""
        kind, *rest = self.atoms[atom]
        return self.forms[rest[0]] if kind == "base" else self.power_of(self.atoms[atom])

    def heights(self, form):
        """Number of the highest index "#k" in a form, or -1."""
        return max((int(n[1:]) for n in self.letters_in(form) if n.startswith("#")), default=-1)

    def parts(self, atom):
        """Forms that an atom is made of: the numbers in its key."""
        return [self.forms[n] for n in self.atoms[atom] if isinstance(n, int)]

    def letters_in(self, form):
        """Letters and functions in a form, its own indices "#k" among them."""
        found = set()
        for monomial in form:
            for atom, exponent in monomial:
                found |= self.letters_of(atom) | self.letters_in(self.forms[exponent])
        return found

    def letters_of(self, atom):
        if atom not in self.known:
            kind, *rest = self.atoms[atom]
            found = {rest[0]} if kind in ("letter", "apply") else set()
            self.known[atom] = found.union(*(self.letters_in(part) for part in self.parts(atom)))
        return self.known[atom]

    def renamed(self, form, old, new):
        """A form with another name for a letter."""
        if old not in self.letters_in(form):
            return form
        total = {}
        for monomial, c in form.items():
            factors = ((self.atom_renamed(a, old, new), self.renamed(self.forms[x], old, new)) for a, x in monomial)
            total[tuple(sorted((a, self.number(x)) for a, x in factors))] = c
        return total

    def atom_renamed(self, atom, old, new):
        kind, *rest = self.atoms[atom]
        if kind == "letter":
            return self.atom(kind, new if rest[0] == old else rest[0])
        rest = [self.number(self.renamed(self.forms[n], old, new)) if isinstance(n, int) else n for n in rest]
        return self.atom(kind, *(sorted(rest) if kind == "max" else rest))

    def ball(self, form):
        """An enclosure of a form without letters."""
        total = arb(0)
        for monomial, c in form.items():
            term = arb(c)
            for atom, exponent in monomial:
                term *= self.ball_power(atom, self.forms[exponent])
            total += term
        return total

    def ball_power(self, atom, exponent):
        kind, *rest = self.atoms[atom]
        need(kind in ("e", "pi", "prime", "log", "floor", "base", "max"), f"no number is known for {kind}")
        x, value, balls = self.ball(exponent), as_constant(exponent), [self.ball(part) for part in self.parts(atom)]
        if kind == "prime":
            base = arb(int(rest[0]))
        elif kind in ("e", "pi"):
            base = arb.pi() if kind == "pi" else arb(1).exp()
        else:
            need(kind != "log" or balls[0] > 0, "a logarithm of what may not be positive")
            base = balls[0].log() if kind == "log" else balls[0].floor() if kind == "floor" else balls[0]
            for ball in balls[1:]:
                base = base.max(ball)
        if value is not None and value.q == 1:
            need(value >= 0 or base != 0, "a division by what may be 0")
            return base ** int(value.p)
        need(base > 0, "a power of what may not be positive")
        return (base.log() * x).exp()


def constant(value):
    return {(): fmpq(value)} if value != 0 else {}


def as_constant(form):
    if not form:
        return ZERO
    return form[()] if len(form) == 1 and () in form else None


def is_whole(form):
    value = as_constant(form)
    return value is not None and value.q == 1


def scaled(form, factor):
    return {m: c * factor for m, c in form.items()} if factor != 0 else {}


def added(*forms):
    total = {}
    for form in forms:
        for m, c in form.items():
            total[m] = total.get(m, ZERO) + c
    return {m: c for m, c in total.items() if c != 0}


def floor_of(value):
    return int(value.p) // int(value.q)


# --------------------------------------------------------------------------------------------------------------- scopes


class Scope:
    """The facts that hold at a place, and forms of expressions under them. Cases and ranges of indices nest."""

    def __init__(self, expressions, forms, kinds, facts, outer=None, granted=(), depth=0):
        self.expressions, self.forms, self.kinds, self.depth = expressions, forms, dict(kinds), depth
        self.facts = list(facts)  # (relation, expression), the relation to 0 one of >= > = !=
        self.outer, self.length, self.own = (
            outer,
            None,
            [],
        )  # of a range: where it is, its length, what holds only in it
        self.children, self.granted = [], list(granted)  # scopes of ranges; what earlier scopes knew of such ranges
        self.refresh()

    def refresh(self):
        """Compute all forms anew, since facts came that make some of them simpler."""
        self.index, self.apart, changed = (
            {},
            set(),
            True,
        )  # from forms to what is known of them, and those that are not 0
        while changed:
            self.memo, self.missed, self.ranges = {}, set(), {}
            changed = sum(self.enter(relation, e) for relation, e in self.facts) > 0

    def enter(self, relation, e):
        """Put a fact where it is looked up; True if it changes forms that were computed before."""
        form, changed = self.form(e), False
        for one in (form, scaled(form, -1)) if relation in ("=", "!=") else (form,):
            key = self.key(one)
            if relation == "!=":
                changed = changed or (key in self.missed and key not in self.apart)
                self.apart.add(key)
            elif self.index.get(key, 0) < (2 if relation == ">" else 1):
                changed = changed or key in self.missed
                self.index[key] = 2 if relation == ">" else 1
        return changed

    def add(self, relation, e):
        """Add a fact that is proven, here and in the scopes of ranges inside."""
        if self.outer:
            self.own.append((relation, e))
        scope = self if self.learn(relation, e) else None
        while scope:
            scope.refresh()
            scope = scope.outer

    def learn(self, relation, e):
        self.facts.append((relation, e))
        changed = self.enter(relation, e)
        for child in list(self.children) if self.expressions.plain[e] else ():  # facts about sums stay outside of them
            if child.learn(relation, e):
                child.refresh()
                changed = True
        return changed

    def range_key(self, length):
        return length if isinstance(length, str) else self.forms.number(self.form(length))

    def inside(self, length):
        """The scope of an index "%k" that runs over 0, 1, ..., length; over 0, 1, ... for oo, all reals for line."""
        key = self.range_key(length)
        if key not in self.ranges:
            same = [child for child in self.children if self.range_key(child.length) == key]
            self.ranges[key] = same[0] if same else self.opened(length, key)
        return self.ranges[key]

    def opened(self, length, key):
        e, name = self.expressions, f"%{self.depth}"
        index = e.letter(name)
        own = [] if length == "line" else [(">=", index)]
        own += [] if isinstance(length, str) else [(">=", e.minus(length, index))]
        own += [fact for other, facts in self.granted if self.range_key(other) == key for fact in facts]
        kinds = {**self.kinds, name: "real" if length == "line" else "integer"}
        facts = [fact for fact in self.facts if e.plain[fact[1]]]
        child = Scope(self.expressions, self.forms, kinds, [*facts, *own], self, (), self.depth + 1)
        child.length, child.own = length, own
        self.children.append(child)
        return child

    def case(self, relation, e):
        """The scope in which one fact more is assumed."""
        granted = [*self.granted, *((child.length, child.own) for child in self.children)]
        return Scope(self.expressions, self.forms, self.kinds, [*self.facts, (relation, e)], None, granted, self.depth)

    # ---- signs

    def key(self, form):
        """A form up to a positive rational factor."""
        if not form:
            return ()
        first = abs(form[min(form)])
        return tuple(sorted(((m, c / first) for m, c in form.items()), key=lambda item: item[0]))

    def sign(self, form):
        """2: the form is known to be positive; 1: not to be negative; 0: not known."""
        if not form:
            return 1
        key = self.key(form)
        found = self.index.get(key, 0)
        if found < 2 and not self.forms.letters_in(form):
            found = self.number_sign(form)
        elif found < 2:
            self.missed.add(key)
            signs = [self.monomial_sign(m) if c > 0 else 0 for m, c in form.items()]
            found = max(found, 0 if 0 in signs else max(signs))
        if found == 1 and key in self.apart:
            found = 2
        return found

    def number_sign(self, form):
        try:
            ball = self.forms.ball(form)
        except Refused:
            return 0
        return 2 if ball > 0 else 1 if ball >= 0 else 0

    def monomial_sign(self, monomial):
        return min((self.power_sign(a, self.forms.forms[x]) for a, x in monomial), default=2)

    def power_sign(self, atom, exponent):
        base = self.atom_sign(atom)
        if base == 2:
            return 2
        value = as_constant(exponent)
        if value is not None and value.q == 1 and value.p % 2 == 0:
            return 2 if self.atom_apart(atom) else 1
        return base

    def atom_sign(self, atom):
        kind, *rest = self.forms.atoms[atom]
        if kind in ("prime", "e", "pi"):
            return 2
        if kind == "base":
            return self.sign(self.forms.forms[rest[0]])
        key = ((((atom, self.forms.number(constant(1))),), ONE),)
        found = self.index.get(key, 0)
        if found < 2:
            self.missed.add(key)
            if not self.forms.letters_of(atom):
                found = max(found, self.number_sign(dict(key)))
            elif kind in ("bit", "popcount", "moment", "norm", "apply"):
                found = max(found, 1)  # a function letter lists positions of bits
            elif kind == "max":
                found = max(found, *(self.sign(self.forms.forms[n]) for n in rest))
            elif kind == "floor":
                found = max(found, min(1, self.sign(self.forms.forms[rest[0]])))
        if found == 1 and key in self.apart:
            found = 2
        return found

    def atom_apart(self, atom):
        """Whether an atom is known not to be 0."""
        return self.atom_sign(atom) == 2 or self.is_apart(self.forms.base_of(atom))

    def is_apart(self, form):
        key = self.key(form)
        if key in self.apart or self.sign(form) == 2 or self.sign(scaled(form, -1)) == 2:
            return True
        self.missed.add(key)
        if len(form) != 1 or () in form or form == self.forms.power_of(self.forms.atoms[min(form)[0][0]]):
            return False
        powers = [(a, self.forms.forms[x]) for a, x in min(form)]
        return all(self.atom_sign(a) == 2 or (self.integer(x) and self.atom_apart(a)) for a, x in powers)

    def holds(self, relation, form):
        """Whether a relation of a form to 0 is known."""
        if relation == "=":
            return not form or (self.sign(form) >= 1 and self.sign(scaled(form, -1)) >= 1)
        if relation == "!=":
            return self.is_apart(form)
        return self.sign(form) >= (2 if relation == ">" else 1)

    def integer(self, form):
        """Whether a form takes integer values, by the kinds of its letters."""
        return all(c.q == 1 and all(self.integer_power(a, self.forms.forms[x]) for a, x in m) for m, c in form.items())

    def integer_power(self, atom, exponent):
        kind, *rest = self.forms.atoms[atom]
        if kind in ("letter", "apply"):
            whole = self.kinds.get(rest[0]) in ("integer", "bits")
        elif kind in ("max", "base"):
            whole = all(self.integer(self.forms.forms[n]) for n in rest)
        else:
            whole = kind in ("prime", "floor", "bit", "popcount")
        return whole and self.integer(exponent) and self.sign(exponent) >= 1

    # ---- arithmetic of forms

    def form(self, e):
        """The form of an expression."""
        if e not in self.memo:
            self.memo[e] = self.compute(e)
        return self.memo[e]

    def compute(self, e):
        op, *args = self.expressions.rows[e]
        forms = self.forms
        if op == "q":
            return constant(args[0])
        if op in ("letter", "pi"):
            need(op == "pi" or args[0] in self.kinds, f"the letter {args[:1]} is not declared")
            return forms.power_of((op, *args))
        if op in ("sum", "integral"):
            return self.bound(op, *args)
        if op == "apply":
            need(self.kinds.get(args[0]) == "bits", f"{args[0]} is not declared as a function")
            return forms.power_of(("apply", args[0], forms.number(self.form(args[1]))))
        if op == "^":
            return self.raised(args[0], self.form(args[1]))
        values = [self.form(a) for a in args]
        if op == "+":
            return added(*values)
        if op == "*":
            return reduce(self.product, values)
        if op == "exp":
            return self.known_power(("e",), values[0])
        if op == "log":
            return self.logarithm(values[0])
        if op == "floor":
            return self.floor(values[0])
        if op == "max":
            return self.maximum(values)
        need(op in ("bit", "popcount", "moment", "norm", "inner"), f"{op} has no value here")
        return forms.power_of((op, *(forms.number(v) for v in values)))

    def raised(self, e, exponent):
        """A power of an expression; one of a product or power is taken apart before anything is multiplied out."""
        op, *args = self.expressions.rows[e]
        whole = is_whole(exponent)
        if op == "*" and (whole or all(self.sign(self.form(a)) for a in args)):
            return reduce(self.product, (self.raised(a, exponent) for a in args))
        if op == "^":
            inner = self.form(args[1])
            if (whole and is_whole(inner)) or self.sign(self.form(args[0])):
                return self.raised(args[0], self.product(inner, exponent))
        return self.power(self.form(e), exponent)

    def product(self, p, q):
        total = {}
        need(len(p) * len(q) <= MOST_TERMS, "a product of too many terms")
        for m, c in p.items():
            for n, d in q.items():
                for k, value in self.joined(m + n).items():
                    total[k] = total.get(k, ZERO) + c * d * value
        return {m: c for m, c in total.items() if c != 0}

    def may_merge(self, atom, x, y):
        """Whether b**x*b**y = b**(x+y), for the atom b."""
        if self.atom_sign(atom) == 2:
            return True
        rising = self.sign(x) >= 1 and self.sign(y) >= 1
        if self.integer(x) and self.integer(y) and (rising or self.atom_apart(atom)):
            return True
        return rising and self.atom_sign(atom) >= 1

    def joined(self, factors):
        """The product of powers of atoms: like atoms merged, whole powers of sums and of primes multiplied out."""
        forms, powers, coefficient, extra = self.forms, {}, ONE, []
        if len({a for a, _ in factors} - forms.special) == len(factors):
            return {tuple(sorted(factors)): ONE}
        for atom, number in factors:
            exponent = forms.forms[number]
            others = powers.setdefault(atom, [])
            for k, other in enumerate(others):
                if self.may_merge(atom, exponent, other):
                    others[k] = added(exponent, other)
                    break
            else:
                others.append(exponent)
        found = []
        for atom, exponents in powers.items():
            kind, *rest = forms.atoms[atom]
            for exponent in exponents:
                whole = floor_of(exponent.get((), ZERO))
                if kind == "prime" and whole:
                    coefficient *= fmpq(int(rest[0])) ** whole
                    exponent = added(exponent, constant(-whole))
                elif kind == "base" and 0 < whole <= MOST_EXPANDED:
                    left = added(exponent, constant(-whole))
                    if not left or self.may_merge(atom, left, constant(whole)):
                        extra += [forms.forms[rest[0]]] * whole
                        exponent = left
                if exponent:
                    found.append((atom, forms.number(exponent)))
        return reduce(self.product, extra, {tuple(sorted(found)): coefficient})

    def rational_power(self, value, exponent):
        """A positive rational to any power."""
        result = constant(1)
        for part, sign in ((value.p, 1), (value.q, -1)):
            for prime, count in fmpz(part).factor():
                raised = self.known_power(("prime", str(prime)), scaled(exponent, fmpq(sign * int(count))))
                result = self.product(result, raised)
        return result

    def known_power(self, key, exponent):
        """exp(x) or p**x, where exp(y*log(u)) and p**(y*log(u)/log(p)) are u**y for positive u."""
        forms, result, rest, under = self.forms, constant(1), {}, ()
        if key != ("e",):
            under = ((forms.atom("log", forms.number(forms.power_of(key))), forms.number(constant(-1))),)
        for m, c in exponent.items():
            logs = [f for f in m if self.positive_log(f)] if set(under) <= set(m) else []
            if len(logs) == 1:
                others = {tuple(f for f in m if f not in (logs[0], *under)): c}
                result = self.product(result, self.power(forms.parts(logs[0][0])[0], others))
            else:
                rest[m] = c
        return self.product(result, self.joined(((forms.atom(*key), forms.number(rest)),))) if rest else result

    def positive_log(self, factor):
        """Whether a factor of a monomial is log(u) for a positive u."""
        atom, number = factor
        is_log = self.forms.atoms[atom][0] == "log" and as_constant(self.forms.forms[number]) == 1
        return is_log and self.sign(self.forms.parts(atom)[0]) == 2

    def power(self, base, exponent):
        """A form to the power of another."""
        value = as_constant(exponent)
        if value is not None:
            if value == 0:
                return constant(1)
            if not base:
                return {}
            if value.q == 1 and 0 < value <= MOST_EXPANDED and len(base) > 1:
                result = base
                for _ in range(int(value.p) - 1):
                    result = self.product(result, base)
                return result
        if not base:
            return self.forms.power_of(("base", self.forms.number({}))) if value else self.atom_power({}, exponent)
        return self.distributed(base, exponent)

    def atom_power(self, base, exponent):
        return self.joined(((self.forms.atom("base", self.forms.number(base)), self.forms.number(exponent)),))

    def common(self, form, whole):
        """Powers of atoms that may be taken out of a power of a form: the least one of each atom in its monomials."""
        found = []
        for atom in dict.fromkeys(a for m in form for a, _ in m):
            exponents = [[x for a, x in m if a == atom] for m in form]
            if any(len(xs) > 1 for xs in exponents):
                continue
            numbers = {xs[0] if xs else self.forms.number({}) for xs in exponents}
            values = [as_constant(self.forms.forms[n]) for n in numbers]
            if len(numbers) > 1 and any(v is None for v in values):
                continue
            least = self.forms.forms[numbers.pop()] if len(numbers) == 1 else constant(min(values))
            integers = all(v is not None and v.q == 1 for v in values)
            safe = self.atom_sign(atom) or (whole and integers)
            if least and safe and (len(values) == 1 or self.atom_apart(atom) or min(values) > 0):
                found.append((atom, least))
        return found

    def split(self, form, whole):
        """A form as a rational, powers of atoms, and a rest; for whole powers, with a positive first coefficient."""
        taken = self.common(form, whole)
        rest = self.without(form, taken)
        content = content_of(rest)
        content = -content if whole and len(rest) > 1 and rest[min(rest)] < 0 else content
        return content, taken, scaled(rest, 1 / content)

    def one_factor(self, form):
        """A sum as one factor, which cancels against its own negative powers."""
        if len(form) < 2:
            return form
        content, taken, rest = self.split(form, True)
        base = (self.forms.atom("base", self.forms.number(rest)), self.forms.number(constant(1)))
        return {tuple(sorted([*((a, self.forms.number(x)) for a, x in taken), base])): content}

    def without(self, form, taken):
        """A form divided by powers of atoms: each monomial has them once, or not at all."""
        result, gone = {}, dict(taken)
        for m, c in form.items():
            powers = [(a, self.forms.forms[x]) for a, x in m]
            powers += [(a, {}) for a in gone if a not in dict(m)]
            left = [(a, added(x, scaled(gone.get(a, {}), -1))) for a, x in powers]
            result[tuple(sorted((a, self.forms.number(x)) for a, x in left if x))] = c
        return result

    def distributed(self, base, exponent):
        """A power of a product: positive and nonnegative factors by themselves; any factor, for integer exponents."""
        forms = self.forms
        whole = self.integer(exponent) or (is_whole(exponent))
        content, taken, rest = self.split(base, whole and as_constant(exponent) is not None)
        result = self.rational_power(abs(content), exponent)
        if content < 0 and as_constant(exponent).p % 2:
            result = scaled(result, -1)
        for atom, x in taken:
            raised = self.product(x, exponent)
            key = forms.atoms[atom]
            if key[0] in ("e", "prime"):
                result = self.product(result, self.known_power(key, raised))
            elif raised:
                result = self.product(result, self.joined(((atom, forms.number(raised)),)))
        if rest == {(): fmpq(-1)} and is_whole(exponent):
            return scaled(result, -1 if int(as_constant(exponent).p) % 2 else 1)
        if rest == {(): ONE}:
            return result
        if len(rest) == 1:
            ((monomial, c),) = rest.items()
            if c == 1 and len(monomial) == 1 and as_constant(forms.forms[monomial[0][1]]) == 1:
                return self.product(result, self.joined(((monomial[0][0], forms.number(exponent)),)))
        return self.product(result, self.atom_power(rest, exponent))

    def logarithm(self, u):
        forms = self.forms
        if u == {(): ONE}:
            return {}
        if self.sign(u) < 2:
            return forms.power_of(("log", forms.number(u)))
        content, taken, rest = self.split(u, False)
        if self.sign(rest) < 2 or any(self.atom_sign(a) < 2 for a, _ in taken):
            return forms.power_of(("log", forms.number(u)))
        total = {} if rest == {(): ONE} else self.log_atom(rest)
        for part, sign in ((content.p, 1), (content.q, -1)):
            for prime, count in fmpz(part).factor():
                total = added(total, scaled(self.log_atom(forms.power_of(("prime", str(prime)))), sign * int(count)))
        for atom, x in taken:
            log = constant(1) if forms.atoms[atom] == ("e",) else self.log_atom(forms.base_of(atom))
            total = added(total, self.product(x, log))
        return total

    def log_atom(self, form):
        return self.forms.power_of(("log", self.forms.number(form)))

    def floor(self, u):
        """Terms that are integers leave the floor."""
        whole = {m: c for m, c in u.items() if self.integer({m: c})}
        rest = {m: c for m, c in u.items() if m not in whole}
        value = as_constant(rest)
        if value is not None:
            return added(whole, constant(floor_of(value)))
        return added(whole, self.forms.power_of(("floor", self.forms.number(rest))))

    def maximum(self, values):
        """The maximum of forms, without those that are known to be below another."""
        kept = []
        for k, value in enumerate(values):
            later = values[k + 1 :]
            if not any(self.sign(added(other, scaled(value, -1))) for other in [*kept, *later] if other is not value):
                kept.append(value)
        if len(kept) == 1:
            return kept[0]
        if not kept:
            return values[-1]  # all are equal
        return self.forms.power_of(("max", *sorted(self.forms.number(v) for v in kept)))

    # ---- sums and integrals

    def bound(self, op, index, lo, hi, body):
        """A sum, linear in its terms, or an integral over all reals: powers that do not hold the index leave it."""
        e, forms, number, span = self.expressions, self.forms, "oo", None
        length, start = self.length_of(op, lo, hi), e.plus(e.letter(f"%{self.depth}"), lo)
        if op == "integral":
            start = e.letter(f"%{self.depth}")
        elif length != "oo":
            span = self.form(length)
            number, count = forms.number(span), as_constant(span)
            need(self.integer(span), "the length of a range is not known to be an integer")
            if count is not None and count < FEW:
                return added(
                    *(self.form(e.put(body, {index: e.plus(lo, e.rational(k))})) for k in range(int(count.p) + 1))
                )
        scope, name, total = self.inside(length), f"%{self.depth}", {}
        inner = scope.form(e.put(body, {index: start}))
        for term in [{m: c} for m, c in inner.items()] if span is not None else [inner] if inner else []:
            outer, rest = scope.taken_out(term, name)
            if span is not None and rest == constant(1) and self.sign(added(span, rest)):
                total = added(total, self.product(outer, added(span, rest)))
                continue
            need(span is not None or name in forms.letters_in(rest), "an endless sum of what does not hold its index")
            rest = forms.number(forms.renamed(rest, name, f"#{forms.heights(rest) + 1}"))
            key = ("integral", rest) if op == "integral" else ("sum", number, rest)
            total = added(total, self.product(outer, forms.power_of(key)))
        return total

    def length_of(self, op, lo, hi):
        """What a range's index runs up to, from 0: a length, oo, or all reals for integrals."""
        ends = [self.expressions.rows[x][0] for x in (lo, hi)]
        need(op == "sum" or ends == ["-oo", "oo"], "only integrals over all reals are known here")
        return "line" if op == "integral" else "oo" if ends[1] == "oo" else self.expressions.minus(hi, lo)

    def taken_out(self, term, name):
        """Split one monomial (of a longer form: nothing) into a factor without the index, and the rest."""
        forms = self.forms
        if len(term) != 1:
            return constant(1), term
        ((monomial, c),) = term.items()
        outer, inner = [], []
        for atom, number in monomial:
            exponent = forms.forms[number]
            if name in forms.letters_of(atom):
                inner.append((atom, number))
                continue
            free = {m: k for m, k in exponent.items() if name not in forms.letters_in({m: k})}
            held = {m: k for m, k in exponent.items() if m not in free}
            if held and free and not self.may_merge(atom, free, held):
                free, held = {}, exponent
            outer += [(atom, forms.number(free))] if free else []
            inner += [(atom, forms.number(held))] if held else []
        return {tuple(sorted(outer)): c}, {tuple(sorted(inner)): ONE}

    # ---- definedness

    def defined(self, e):
        """Refuse an expression with a part that may have no value: a division by 0, a log or root of a negative."""
        op, *args = self.expressions.rows[e]
        if op in ("q", "pi", "letter"):
            return
        if op in ("sum", "integral"):
            index, lo, hi, body = args
            length, name = self.length_of(op, lo, hi), f"%{self.depth}"
            for end in {"line": (), "oo": (lo,)}.get(length, (lo, hi)):
                self.defined(end)
                need(self.integer(self.form(end)), "the ends of a range are not known to be integers")
            at = self.expressions.letter(name)
            term = self.expressions.put(body, {index: at if length == "line" else self.expressions.plus(at, lo)})
            self.inside(length).defined(term)
            need(length != "oo" or self.inside(length).converges(term, name), "a series is not known to converge")
            return
        for a in args[1:] if op == "apply" else args:
            self.defined(a)
        if op == "^":
            base, exponent = (self.form(a) for a in args)
            fine = (self.integer(exponent) and (self.sign(exponent) or self.is_apart(base))) or self.sign(base) == 2
            need(fine or (self.sign(base) and self.sign(exponent)), f"a power may be undefined: {self.shown(e)}")
        elif op == "log":
            need(self.sign(self.form(args[0])) == 2, f"a logarithm may be undefined: {self.shown(e)}")

    def converges(self, term, name):
        """Whether a term is geometric in an index: a factor without it, times x**(k*index) with 0 <= x < 1, k > 0."""
        _, rest = self.taken_out(self.form(term), name)
        if len(rest) != 1:
            return False
        (monomial,) = rest
        index = self.forms.power_of(("letter", name))
        logs = {}
        for atom, number in monomial:
            if name in self.forms.letters_of(atom):
                return False
            kind, ratio = self.forms.atoms[atom][0], {}
            for m, c in self.forms.forms[number].items():
                ((one, _),) = index.items()
                if one[0] not in m:
                    return False
                ratio = added(ratio, {tuple(f for f in m if f != one[0]): c})
            if name in self.forms.letters_in(ratio):
                return False
            below = added(constant(1), scaled(self.forms.base_of(atom), -1))
            if (
                len(monomial) == 1
                and kind != "e"
                and self.atom_sign(atom)
                and min(self.sign(ratio), self.sign(below)) == 2
            ):
                return True
            if self.atom_sign(atom) != 2:
                return False
            log = constant(1) if kind == "e" else self.logarithm(self.forms.base_of(atom))
            logs = added(logs, self.product(ratio, log))
        return self.sign(scaled(logs, -1)) == 2

    def scalar(self, e):
        """Refuse an expression that holds a vector or a random variable outside norms, inner products and moments."""
        op, *args = self.expressions.rows[e]
        if op == "letter":
            need(self.kinds.get(args[0], "real") in NUMBERS, f"{args[0]} is no number")
        elif op == "moment":
            self.scalar(args[1])
        elif op in ("sum", "integral", "apply"):
            for a in args[1:]:
                self.scalar(a)
        elif op not in ("q", "norm", "inner"):
            for a in args:
                self.scalar(a)

    def shown(self, e):
        """An expression as a line of text, for reasons."""
        op, *args = self.expressions.rows[e]
        if op in ("q", "letter"):
            return str(args[0])
        return f"({op} {' '.join(a if isinstance(a, str) else self.shown(a) for a in args)})"


def content_of(form):
    """The positive rational that leaves whole coefficients without a common factor."""
    top, under = fmpz(0), fmpz(1)
    for c in form.values():
        top, under = top.gcd(c.p), under * c.q // under.gcd(c.q)
    return fmpq(abs(top), under) if len(form) > 1 or form else ONE


# ------------------------------------------------------------------------------------------------- rules and conditions

RELATIONS = {"<=": (">=", 1), "<": (">", 1), ">=": (">=", -1), ">": (">", -1), "=": ("=", 1), "!=": ("!=", 1)}


class Rule:
    """What holds for all values of some letters, under conditions: a rule of the catalogue, a premise, a lemma."""

    def __init__(self, expressions, data, table=()):
        self.letters = dict(data["letters"])
        self.conditions = [condition(expressions, c, table) for c in data["conditions"]]
        self.lhs, self.rhs = expressions.read(data["lhs"], table), expressions.read(data["rhs"], table)
        need(data["relation"] in RELATIONS, f"{data['relation']!r} is no relation")
        self.relation = data["relation"]


def condition(expressions, data, table):
    """Read a condition; relations become one of >= > = != between an expression and 0."""
    kind, *args = data
    if kind in RELATIONS:
        relation, turn = RELATIONS[kind]
        a, b = (expressions.read(x, table) for x in args)
        return ("fact", relation, expressions.minus(b, a) if turn == 1 else expressions.minus(a, b))
    if kind == "converges":
        index, lo, body = args
        return ("converges", expressions.read(["sum", index, lo, "oo", body], table))
    if kind == "forall":
        index, lo, hi, inner = args
        lo, hi = expressions.read(lo, table), expressions.read(hi, table)
        found = condition(expressions, inner, table)
        need(found[0] == "fact", "forall is of a relation")
        fresh, (body,) = expressions.binder(index, found[2])
        return ("forall", fresh, lo, hi, found[1], body)
    need(kind in ("integer", "declared"), f"{kind!r} is no condition")
    if kind == "declared":
        return ("declared", args[0], *(a if args[0] == "set-bits" and k == 0 else expressions.read(a, table)
                                       for k, a in enumerate(args[1:])))  # fmt: skip
    return ("integer", expressions.read(args[0], table))


WAYS = ("combine", "square", "fraction", "whole", "termwise", "cleared", "congruent", "instance")
DECLARED = {"random": "is_random", "vector": "is_vector", "gaussian-norm": "is_gaussian", "set-bits": "are_bits"}


class Proof:
    """One list of facts, from the letters and the conditions of a statement to its conclusion."""

    def __init__(self, checker, data):
        self.checker, self.data = checker, data
        self.e, self.table = checker.expressions, checker.table
        kinds = {}
        for name, kind in data["letters"].items():
            need(NAME.match(name), f"{name!r} is no letter")
            kinds[name] = kind if isinstance(kind, str) else kind[0]
            need(kinds[name] in (*NUMBERS, *NO_NUMBERS, "bits"), f"{kinds[name]!r} is no kind of letter")
        self.declared = {n: [self.read(a) for a in k[1:]] for n, k in data["letters"].items() if isinstance(k, list)}
        assumed = [condition(self.e, c, self.table) for c in data["conditions"]]
        need(all(c[0] == "fact" for c in assumed), "only relations can be assumed")
        self.scope = Scope(self.e, checker.forms, kinds, [c[1:] for c in assumed])
        for _, _, e in assumed:
            self.scope.scalar(e)

    def read(self, data):
        return self.e.read(data, self.table)

    def run(self):
        self.items(self.data["body"], self.scope, "body")
        lhs, rhs = self.read(self.data["lhs"]), self.read(self.data["rhs"])
        need(self.data["relation"] in ("<=", ">=", "="), "only <=, >= and = are proven")
        chain = [lhs, *(self.link(k, link) for k, link in enumerate(self.data["chain"])), rhs]
        relations = [*(link[0] for link in self.data["chain"]), self.data["last"]]
        for k, (relation, old, new) in enumerate(zip(relations, chain, chain[1:], strict=False)):
            need(relation in ("=", self.data["relation"]), f"chain {k}: the relation {relation} leads elsewhere")
            self.step(self.scope, relation, old, new, f"chain {k}")
        self.scope.scalar(lhs)
        self.scope.defined(lhs)

    def link(self, k, link):
        need(isinstance(link, list) and len(link) == 2, f"chain {k}: not a relation and an expression")
        return self.read(link[1])

    def step(self, scope, relation, old, new, place):
        """Whether one expression stands in a relation to the next, which has a value everywhere."""
        try:
            kind, turn = RELATIONS[relation]
            scope.scalar(new)
            scope.defined(new)
            gap = added(scope.form(new), scaled(scope.form(old), -1))
            need(scope.holds(kind, scaled(gap, turn)), f"not known: {scope.shown(old)} {relation} {scope.shown(new)}")
        except Refused as error:
            raise Refused(f"{place}: {error}") from None

    def items(self, items, scope, place):
        for k, item in enumerate(items):
            here = f"{place}[{k}]"
            try:
                self.item(item, scope, here)
            except Refused as error:
                raise Refused(str(error) if str(error).startswith("body") else f"{here}: {error}") from None

    def item(self, item, scope, here):
        if "within" in item:
            length = item["within"]
            inner = scope.inside(length if length in ("oo", "line") else self.read(length))
            self.items(item["facts"], inner, here + ".facts")
        elif "step" in item:
            relation, old, new = item["step"]
            self.step(scope, relation, self.read(old), self.read(new), here)
        elif "split" in item:
            e, claim = self.read(item["split"]), item["is"]
            against = self.e.turned(e)
            for name, inner in (("then", scope.case(">=", e)), ("else", scope.case(">", against))):
                self.items(item[name], inner, f"{here}.{name}")
                need(inner.holds(claim[0], inner.form(self.read(claim[1]))), f"{here}.{name} does not reach the claim")
            self.conclude(scope, *claim)
        else:
            relation, e = item["is"]
            need(relation in (">=", ">", "=", "!="), f"{relation!r} is no relation to 0")
            method, *args = item["by"]
            need(method in WAYS, f"{method!r} is no way to prove a fact")
            getattr(self, method)(scope, relation, self.read(e), *args)
            self.conclude(scope, relation, e)

    def conclude(self, scope, relation, e):
        number = self.read(e)
        scope.scalar(number)
        scope.add(relation, number)

    # ---- ways to prove a fact: relation of an expression to 0

    def combine(self, scope, relation, e, divisors, terms):
        """Times positive factors, it is a nonnegative combination of products of facts, plus multiples of zeros."""
        left = scope.form(e)
        for d in divisors:
            factor = scope.form(self.read(d))
            need(scope.sign(factor) == 2, f"the divisor {d} is not known to be positive")
            left = scope.product(left, scope.one_factor(factor))
        right, strict, zeros_only = {}, False, True
        for weight, factors, *zero in terms:
            weight, strength = self.e.rows[self.e.read(["q", weight])][1], 2
            product = constant(weight)
            for f in (*factors, *zero):
                factor = scope.form(self.read(f))
                strength = min(strength, scope.sign(factor))
                product = scope.product(product, factor)
            if zero:
                need(scope.holds("=", scope.form(self.read(zero[0]))), f"{zero[0]} is not known to be 0")
            else:
                need(weight >= 0, f"the weight {weight} is negative")
                need(strength, f"a factor among {factors} is not known to be nonnegative")
                strict, zeros_only = strict or (strength == 2 and weight > 0), False
            right = added(right, product)
        need(added(left, scaled(right, -1)) == {}, "the combination is not what it is said to be")
        need(relation == ">=" or (relation == ">" and strict) or (relation == "=" and zeros_only), "it says less")

    def square(self, scope, relation, e, root):
        """It is the square of a real number."""
        form = scope.form(self.read(root))
        need(added(scope.form(e), scaled(scope.product(form, form), -1)) == {}, "it is not this square")
        need(relation == ">=" or (relation == ">" and scope.is_apart(form)), "a square may be 0")

    def fraction(self, scope, relation, e, u):
        """It is floor(u) + 1 - u."""
        u = self.read(u)
        gap = scope.form(self.e.plus(self.e.make("floor", u), self.e.rational(1), self.e.times(self.e.rational(-1), u)))
        need(relation == ">" and added(scope.form(e), scaled(gap, -1)) == {}, "it is something else")

    def whole(self, scope, relation, e):
        """It is an integer above -1."""
        form = scope.form(e)
        need(scope.integer(form), "not known to be an integer")
        need(relation == ">=" and scope.sign(added(form, constant(1))) == 2, "not known to be above -1")

    def termwise(self, scope, relation, e):
        """It is a sum, and its terms are nonnegative, or 0."""
        op, *args = self.e.rows[e]
        need(op == "sum" and relation in (">=", "="), "termwise is for sums, and >= or =")
        index, lo, hi, body = args
        scope.defined(e)
        inner = scope.inside(scope.length_of(op, lo, hi))
        term = self.e.put(body, {index: self.e.plus(lo, self.e.letter(f"%{scope.depth}"))})
        need(inner.holds(relation, inner.form(term)), "not known of the terms")

    def cleared(self, scope, relation, e, divisors):
        """Times things that are not 0, it is 0."""
        left = scope.form(e)
        for d in divisors:
            factor = scope.form(self.read(d))
            need(scope.is_apart(factor), f"the divisor {d} is not known to be other than 0")
            left = scope.product(left, scope.one_factor(factor))
        need(relation == "=" and left == {}, "it is not 0")

    def congruent(self, scope, relation, e, index, context, a, b):
        """It is the difference of one expression at two equal places."""
        a, b = self.read(a), self.read(b)
        need(scope.holds("=", added(scope.form(a), scaled(scope.form(b), -1))), "the places are not known to be equal")
        fresh, (body,) = self.e.binder(index, self.read(context))
        gap = scope.form(self.e.minus(self.e.put(body, {fresh: a}), self.e.put(body, {fresh: b})))
        need(relation == "=" and added(scope.form(e), scaled(gap, -1)) == {}, "it is not this difference")

    def instance(self, scope, relation, e, source, name, where):
        """It is what a rule, a premise or a lemma says."""
        known = {"rule": self.checker.rules, "premise": self.checker.premises, "lemma": self.checker.lemmas}[source]
        need(name in known, f"there is no {source} {name!r} before this place")
        rule = Rule(self.e, known[name]) if source == "rule" else known[name]
        self.checker.used.update([name] if source == "rule" else [])
        need(set(where) == set(rule.letters), f"the letters {sorted(rule.letters)} need values, not {sorted(where)}")
        values = {}
        for letter, value in where.items():
            need(
                source == "rule" or rule.letters[letter] in NUMBERS, f"{letter} is no number: nothing may stand for it"
            )
            if rule.letters[letter] in ("sequence", "bits"):
                if isinstance(value, str):
                    need(scope.kinds.get(value) == "bits", f"{value} is no function")
                    values[letter] = value
                else:
                    fresh, (body,) = self.e.binder(value[0], self.read(value[1]))
                    values[letter] = (fresh, body)
            else:
                values[letter] = self.read(value)
                if rule.letters[letter] in NUMBERS:
                    scope.scalar(values[letter])
                if rule.letters[letter] == "integer":
                    need(scope.integer(scope.form(values[letter])), f"{letter} is not known to be an integer")
        lhs, rhs = self.e.put(rule.lhs, values), self.e.put(rule.rhs, values)
        for k, one in enumerate(rule.conditions):
            need(self.met(scope, one, values), f"condition {k} is not known")
        for side in (lhs, rhs):
            scope.defined(side)
        kind, turn = RELATIONS[rule.relation]
        gap = scaled(scope.form(self.e.minus(rhs, lhs)), turn)
        needed = {">=": (">=",), ">": (">", ">="), "=": ("=", ">="), "!=": ()}[kind]
        need(relation in needed and added(scope.form(e), scaled(gap, -1)) == {}, "the instance says something else")

    def met(self, scope, one, values):
        kind, *args = one
        if kind == "fact":
            return scope.holds(args[0], scope.form(self.e.put(args[1], values)))
        if kind == "converges":
            return scope.defined(self.e.put(args[0], values)) is None
        if kind == "integer":
            return scope.integer(scope.form(self.e.put(args[0], values)))
        if kind == "forall":
            index, lo, hi, relation, body = args
            lo, hi, body = (self.e.put(x, values) for x in (lo, hi, body))
            inner = scope.inside(scope.length_of("sum", lo, hi))
            at = self.e.plus(lo, self.e.letter(f"%{scope.depth}"))
            return inner.holds(relation, inner.form(self.e.put(body, {index: at})))
        what, *args = args
        need(what in DECLARED, f"{what!r} is not checked here")
        args = (values[x] if isinstance(x, str) else self.e.put(x, values) for x in args)
        return getattr(self, DECLARED[what])(scope, *args)

    # ---- what letters are declared to be

    def is_random(self, scope, e):
        names = self.checker.forms.letters_in(scope.form(e))
        return bool(names) and all(scope.kinds.get(n) in NO_NUMBERS for n in names)

    def is_vector(self, scope, e):
        """Whether it is a linear combination of vectors."""

        def degree(factors):
            names = [(self.checker.forms.atoms[a], x) for a, x in factors]
            vectors = [x for (kind, *rest), x in names if kind == "letter" and scope.kinds[rest[0]] in NO_NUMBERS]
            return len(vectors) == 1 and as_constant(self.checker.forms.forms[vectors[0]]) == 1

        form = scope.form(e)
        return bool(form) and all(degree(m) for m in form)

    def is_gaussian(self, scope, e, dimension, variance):
        op, name = self.e.rows[e][:2]
        found = self.declared.get(name) if op == "letter" and scope.kinds.get(name) == "gaussian" else None
        return bool(found) and all(
            scope.form(a) == scope.form(b) for a, b in zip(found, (dimension, variance), strict=True)
        )

    def are_bits(self, scope, name, of):
        found = self.declared.get(name) if isinstance(name, str) and scope.kinds.get(name) == "bits" else None
        return bool(found) and scope.form(found[0]) == scope.form(of)


def seal(data, table):
    """Digest of what a statement, premise or lemma says, its expressions written out."""

    def full(part):
        if isinstance(part, int):
            return full(table[part])
        return [full(x) for x in part] if isinstance(part, list) else part

    letters = {name: full(kind) for name, kind in data["letters"].items()}
    said = [letters, *(full(data[key]) for key in ("conditions", "lhs", "relation", "rhs"))]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


class Checker:
    """One certificate."""

    def __init__(self, rules):
        self.expressions, self.forms, self.table, self.used = Expressions(), Forms(), [], set()
        self.rules, self.premises, self.lemmas = {r["name"]: r for r in rules}, {}, {}

    def run(self, data):
        need(data["schema"] == 1, "the schema is not 1")
        for row in data["table"]:
            self.table.append(self.expressions.read(row, self.table))
        for one in (data["statement"], *data["premises"].values(), *data["lemmas"]):
            need(one["seal"] == seal(one, data["table"]), f"the seal of {one['name']} is broken")
        self.premises = {n: Rule(self.expressions, p, self.table) for n, p in data["premises"].items()}
        for k, lemma in enumerate(data["lemmas"]):
            try:
                Proof(self, lemma).run()
            except Refused as error:
                raise Refused(f"lemma {k}: {error}") from None
            self.lemmas[lemma["name"]] = Rule(self.expressions, lemma, self.table)
        Proof(self, data["statement"]).run()
        return sorted(self.used)


def check(data, rules):
    """The rules that a certificate uses; raises Refused where it does not prove its statement."""
    try:
        return Checker(rules).run(data)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Refused(f"malformed: {type(error).__name__}: {error}") from None


def main(words):
    rules_file = Path(__file__).with_name("rules.json")
    if words[:1] == ["--rules"]:
        rules_file, words = Path(words[1]), words[2:]
    files = [f for w in words for f in (sorted(Path(w).glob("*.json")) if Path(w).is_dir() else [Path(w)])]
    rules, refused = json.loads(rules_file.read_text())["rules"], 0
    for file in files:
        try:
            data = json.loads(file.read_text())
            used = check(data, rules)
            given = ", ".join(data["premises"]) or "nothing"
            local = ", ".join(data["statement"]["local"])
            given += f"; where there are such values of {local}" if local else ""
            print(f"accepted: {file.name}, rules: {', '.join(used) or 'none'}; given: {given}")
        except (Refused, OSError, ValueError) as error:
            refused += 1
            print(f"refused: {file.name}: {error}")
    print(f"{len(files) - refused} of {len(files)} accepted")
    return 1 if refused or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
