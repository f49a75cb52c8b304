"""Check certificates: JSON files that prove an inequality or equation between real expressions, step by step.

    python check_certificate.py FILE_OR_FOLDER...

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
from contextlib import contextmanager
from functools import cache, reduce
from pathlib import Path

from flint import arb, ctx, fmpq, fmpz

BITS = 256  # of enclosures of numbers
MOST_EXPANDED = 24  # integer powers of sums up to this one are multiplied out
MOST_TERMS = 6000
MOST_FACTORED = 10**48  # numbers of which a power is taken have prime factors that can be found
MOST_BITS = 200_000  # of a coefficient
MOST_PARTS = 200_000  # of an expression
MOST_WRITTEN = 5_000  # terms of sums in a certificate that are written out
MOST_SHOWN = 80  # characters of an expression in the name of what is given
MOST_POWER = 50_000  # of a number that is written out
FEW = 6  # finite sums of so few terms are written out
NONNEGATIVE = {"bit": 2, "popcount": 1, "binomial": 2, "moment": 2, "norm": 1}  # functions that are never below 0
ARITY = {"^": 2, "exp": 1, "log": 1, "floor": 1, "inner": 2, **NONNEGATIVE}
MANY = ("+", "*", "max")
RANGES = ("sum", "integral")
CONSTANTS = ("oo", "-oo", "pi")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
NUMBERS, FUNCTIONS = ("real", "integer"), ("sequence", "bits")
NO_NUMBERS = ("vector", "random", "gaussian")
KINDS = (*NUMBERS, *NO_NUMBERS, *FUNCTIONS)
DECLARED = {"set-bits": "bits", "gaussian-norm": "gaussian"}  # conditions that a letter is declared, and as what


class Refused(Exception):  # noqa: N818  it is an answer, no error
    """The certificate does not prove what it says."""


def need(condition, why, e=None):
    """Refuse what does not hold, with the reason, and the expression ``e`` that it is about."""
    if not condition:
        raise Refused(why if e is None else f"{why}: {shown(e)}")


@contextmanager
def untrusted():
    """Refuse whatever input makes the program fail: what raises an exception of any kind proves nothing."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"malformed: {type(error).__name__}") from error  # whose text may be too long to be written


class Row(tuple):
    """An operator with its arguments: an expression, or an atom of a form. Equal ones are one object."""

    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__

    def __lt__(self, other):
        return self.number < other.number

    def __add__(self, other):
        return row("+", self, other)

    def __neg__(self):
        return row("*", rational(-1), self)

    def __sub__(self, other):
        return self + -other


ROWS, FORMS = {}, {}


def row(*parts):
    found = ROWS.get(parts)
    if found is None:
        size = 1 + sum(part.size for part in parts if isinstance(part, Row))
        need(size < MOST_PARTS, "an expression with too many parts")
        found = ROWS[parts] = Row(parts)
        found.number = len(ROWS)
        found.size = size
    return found


def rational(value):
    return row("q", fmpq(value))


def letter(name):
    return row("letter", name)


def bind(index, body):
    """A body with an index that no other sum or function has, so that no substitution captures a letter."""
    need(NAME.match(index), f"{index!r} is no name")
    fresh = letter(f"~{len(ROWS)}")
    return fresh[1], put(body, {index: fresh})


def read(data, table=()):
    """Read the prefix format; an integer is a row of the certificate's table that was read before."""
    if isinstance(data, int) and not isinstance(data, bool):
        need(0 <= data < len(table), f"there is no expression {data} before this place")
        return table[data]
    if isinstance(data, str):
        need(data in CONSTANTS or NAME.match(data) or re.match(r"%[0-9]+\Z", data), f"{data!r} is no letter")
        return row(data) if data in CONSTANTS else letter(data)
    need(isinstance(data, list) and data and isinstance(data[0], str), f"{data!r} is no expression")
    op, *args = data
    if op == "q":
        need(len(args) == 1 and re.match(r"-?[0-9]+(/[1-9][0-9]*)?\Z", args[0]), f"{data!r} is no rational")
        return rational(fmpq(*map(int, args[0].split("/"))))
    if op in RANGES:
        index, *rest = args
        lo, hi, body = (read(a, table) for a in rest)
        index, body = bind(index, body)
        return row(op, index, lo, hi, body)
    if op == "apply":
        name, *args = args
        need(NAME.match(name) and args, f"{name!r} is no function")
        return row(op, name, *(read(a, table) for a in args))
    values = [read(a, table) for a in args]
    if op in SHORT and len(args) == 1 + ("b" in str(SHORT[op])):
        return put(read(SHORT[op]), dict(zip("ab", values, strict=False)))
    need((op in MANY and args) or ARITY.get(op) == len(args), f"{op!r} with {len(args)} arguments is unknown")
    return row(op, *values)


MINUS, UNDER = ["q", "-1"], ["^", "b", ["q", "-1"]]
SHORT = {  # functions that are said by others, of a and b
    "sqrt": ["^", "a", ["q", "1/2"]],
    "abs": ["max", "a", ["*", MINUS, "a"]],
    "min": ["*", MINUS, ["max", ["*", MINUS, "a"], ["*", MINUS, "b"]]],
    "ceil": ["*", MINUS, ["floor", ["*", MINUS, "a"]]],
    "log2": ["*", ["log", "a"], ["^", ["log", ["q", "2"]], MINUS]],
    "mod": ["+", "a", ["*", MINUS, "b", ["floor", ["*", "a", UNDER]]]],
}


def read_table(rows):
    """The expressions of a table, each of which may name those before it."""
    table = []
    for one in rows:
        table.append(read(one, table))
    return table


def put(e, where, memo=None):
    """Replace letters by expressions, and functions by (letter, body) or by another function's name."""
    memo = {} if memo is None else memo
    if e not in memo:
        op, *args = e
        if op == "letter":
            found = where.get(args[0], e)
            need(isinstance(found, Row), f"{args[0]} is a function")
        elif op == "apply":
            value, args = where.get(args[0], args[0]), [put(a, where, memo) for a in args[1:]]
            need(not isinstance(value, Row) and (isinstance(value, str) or len(args) == 1), f"{e[1]} is no function")
            found = row(op, value, *args) if isinstance(value, str) else put(value[1], {value[0]: args[0]})
        elif op in RANGES and any(type(value) is tuple for value in where.values()):
            lo, hi = (put(a, where, memo) for a in args[1:3])
            fresh = letter(f"~{len(ROWS)}")  # the body of a function may have a sum of this index, by the table
            found = row(op, fresh[1], lo, hi, put(args[3], {**where, args[0]: fresh}))
        else:
            found = row(op, *(put(a, where, memo) if isinstance(a, Row) else a for a in args))
        memo[e] = found
    return memo[e]


def parts_of(e):
    """An expression and all that it is made of."""
    yield e
    for a in e:
        if isinstance(a, Row):
            yield from parts_of(a)


def shown(e):
    """An expression as a line of text; the first index of a sum is i."""
    names = {}
    return re.sub(r"~\d+", lambda index: names.setdefault(index[0], f"i{len(names) or ''}"), as_text(e))


def as_text(e):
    """An expression as a line of text, with its indices as they stand."""
    op, *words = [as_text(a) if isinstance(a, Row) else str(a) for a in e]
    if op in ("+", "*", "^"):
        return f"({f' {op} '.join(words)})"
    if op == "apply":
        op, *words = words
    return f"{op}({', '.join(words)})" if words and op not in ("q", "letter") else "".join(words) or op


class Form(dict):
    """A polynomial {monomial: coefficient}; a monomial is a sorted tuple of (atom, exponent). Equal ones are one."""

    __eq__, __ne__, __hash__, __lt__ = object.__eq__, object.__ne__, object.__hash__, Row.__lt__

    def __add__(self, other):
        total = dict(self)
        for m, c in other.items():
            total[m] = total.get(m, 0) + c
        return form_of(total)

    def __sub__(self, other):
        return self + -other

    @cache
    def __neg__(self):
        return self.times(-1)

    def times(self, factor):
        return form_of({m: c * factor for m, c in self.items()})

    def constant(self):
        """The number that the form is, or None."""
        return fmpq(0) if not self else self.get(()) if len(self) == 1 else None

    def whole(self):
        """Whether it is a constant integer."""
        return self.constant() is not None and self.constant().q == 1

    @cache
    def parts(self):
        """The whole number below its constant term, and the rest."""
        whole = int(self.get((), fmpq(0)).floor())
        return whole, self - constant(whole)

    @cache
    def key(self):
        """The form up to a positive rational factor."""
        return self.times(1 / abs(self[min(self)])) if self else self

    @cache
    def content(self):
        """The positive rational that leaves whole coefficients without a common factor."""
        top, under = fmpz(0), fmpz(1)
        for c in self.values():
            top, under = top.gcd(c.p), under * c.q // under.gcd(c.q)
        return fmpq(abs(top), under)


def form_of(terms):
    key = frozenset((m, c.p, c.q) for m, c in terms.items() if c != 0)  # a rational's own hash is slow
    found = FORMS.get(key)
    if found is None:
        need(all(c == 0 or fmpq(c).height_bits() < MOST_BITS for c in terms.values()), "a coefficient that is too long")
        found = FORMS[key] = Form(sorted((m, c) for m, c in terms.items() if c != 0))
        found.number = len(FORMS)
    return found


def constant(value):
    return form_of({(): fmpq(value)})


ZERO, ONE = constant(0), constant(1)


def monomial(factors, coefficient=1):
    return form_of({tuple(sorted(factors)): fmpq(coefficient)})


def is_endless(atom):
    """Whether an atom is a series or an integral, which may diverge."""
    return atom[:2] == ("sum", "oo") or atom[0] == "integral"


@cache
def alone(atom):
    """The form of one atom; of a sum that is one, that sum."""
    return atom[1] if atom[0] == "base" else monomial([(atom, ONE)])


@cache
def letters_in(part):
    """Names of letters and functions in a form, atom or expression; indices of forms are among them."""
    if isinstance(part, Form):
        return frozenset().union(*(letters_in(x) for m in part for factor in m for x in factor))
    names = part[1:2] if part[0] in ("letter", "apply") and part[1][0] != "~" else ()
    return frozenset(names).union(*(letters_in(x) for x in part if isinstance(x, Form | Row)))


def renamed(part, old, new):
    """A form or an atom with another name for a letter."""
    if not isinstance(part, Row | Form) or old not in letters_in(part):
        return new if part == old else part
    if isinstance(part, Row):
        kind, *rest = (renamed(x, old, new) for x in part)
        return row(kind, *(sorted(rest) if kind == "max" else rest))
    monomials = (sorted((renamed(a, old, new), renamed(x, old, new)) for a, x in m) for m in part)
    return form_of(dict(zip(map(tuple, monomials), part.values(), strict=True)))


def ball(form):
    """An enclosure of a form without letters, or no number, of which no comparison holds."""
    with ctx.workprec(BITS):  # whatever precision its caller has, and keeps
        return sum((reduce(arb.__mul__, (ball_power(*f) for f in m), arb(c)) for m, c in form.items()), arb(0))


BALLS = {
    "e": lambda: arb(1).exp(),
    "pi": arb.pi,
    "prime": arb,
    "base": arb,
    "log": arb.log,
    "floor": arb.floor,
    "max": lambda *values: reduce(arb.max, values),
}


def ball_power(atom, exponent):
    if atom[0] not in BALLS:
        return arb("nan")
    base = BALLS[atom[0]](*(ball(part) if isinstance(part, Form) else arb(int(part)) for part in atom[1:]))
    return base ** int(exponent.constant().p) if exponent.whole() else (base.log() * ball(exponent)).exp()


@cache
def number_sign(form):
    value = ball(form)
    return 3 if value > 0 else 1 if value >= 0 else 2 if value < 0 else 0


SAID = {">=": 1, "!=": 2, ">": 3, "=": 0}  # what is known of a form's sign: 1 if it is nonnegative, 2 if it is not 0


class Scope:
    """The facts that hold at a place, and forms of expressions under them. Cases and ranges of indices nest."""

    written = 0  # terms of sums that a certificate has written out

    def __init__(self, kinds, facts, depth=0):
        self.kinds, self.depth, self.index = kinds, depth, {}  # signs by form
        self.facts = list(facts)  # (relation to 0, expression), and ("within", length, fact) for what holds in a range
        self.refresh()

    def refresh(self):
        """Compute all forms anew, since facts came that make some of them simpler; signs that were known stay so."""
        self.memo, self.missed, self.inner, self.converging = {}, set(), {}, set()
        if sum(self.enter(*fact) for fact in self.facts if fact[0] != "within"):
            self.refresh()

    def enter(self, relation, e):
        """Put a fact where it is looked up; True if it changes forms that were computed before."""
        form, changed = self.form(e), False
        if relation == "converges":
            (endless,) = (a for m in form for a, _ in m if is_endless(a))
            self.converging.add(endless)
            return False
        for one, said in ((form, SAID[relation] or 1), (-form, int(relation == "=") or SAID[relation] & 2)):
            key = one.key()
            if said & ~self.index.get(key, 0):
                changed = changed or key in self.missed
                self.index[key] = self.index.get(key, 0) | said
        return changed

    def learn(self, *fact):
        """Add a fact that is proven."""
        self.facts.append(fact)
        if self.enter(*fact):
            self.refresh()
        self.inner = {}  # their scopes do not know it

    def inside(self, length):
        """The scope of an index "%k" that runs over 0, 1, ..., length; over 0, 1, ... for oo, all reals for line."""
        key = self.range_key(length)
        if key not in self.inner:
            name, index = f"%{self.depth}", letter(f"%{self.depth}")
            facts = [fact for fact in self.facts if fact[0] in SAID]
            facts = [fact for fact in facts if not any(part[0] in RANGES for part in parts_of(fact[1]))]  # stay outside
            facts += [] if length == "line" else [(">=", index)]
            facts += [] if isinstance(length, str) else [(">=", length - index)]
            facts += [fact[2] for fact in self.facts if fact[0] == "within" and self.range_key(fact[1]) is key]
            kinds = {**self.kinds, name: "real" if length == "line" else "integer"}
            self.inner[key] = Scope(kinds, facts, self.depth + 1)
        return self.inner[key]

    def range_key(self, length):
        return length if isinstance(length, str) else self.form(length)

    def case(self, relation, e):
        """The scope in which one fact more is assumed: another one that knows what this one does, and learns it."""
        scope = Scope(self.kinds, self.facts, self.depth)
        scope.learn(relation, e)
        return scope

    # ---- signs

    def known(self, form):
        """What the facts say of a form, or its number."""
        key, other = form.key(), (-form).key()
        self.missed |= {key, other}
        found = self.index.get(key, 0) | self.index.get(other, 0) & 2
        return found if found == 3 or letters_in(form) else found | number_sign(form)

    def sign(self, form):
        """What is known: 1 if the form is nonnegative, plus 2 if it is not 0."""
        if not form:
            return 1
        found = self.known(form)
        if found < 3 and letters_in(form):
            signs = [reduce(int.__and__, (self.power_sign(a, x) for a, x in m), 3) for m in form]
            found |= signs[0] & 2 if len(form) == 1 else 0
            found |= max(signs) if all(c > 0 and s & 1 for c, s in zip(form.values(), signs, strict=True)) else 0
        return found

    def power_sign(self, atom, exponent):
        base = self.atom_sign(atom)
        if exponent.whole() and exponent.constant().p % 2 == 0:
            return base | 1
        return base if base == 3 or self.integer(exponent) else base & 1

    def atom_sign(self, atom):
        kind, *rest = atom
        if kind in ("prime", "e", "pi"):
            return 3
        if kind == "base":
            return self.sign(rest[0])
        found = self.known(alone(atom))
        if kind in NONNEGATIVE or (kind == "apply" and self.kinds.get(rest[0]) == "bits"):
            found |= 1  # a function of the kind bits lists positions
        elif kind == "max":
            found |= max((s for s in map(self.sign, rest) if s & 1), default=0)
        elif kind == "floor":
            found |= self.sign(rest[0]) & 1
        return found

    def holds(self, relation, form):
        """Whether a relation of a form to 0 is known."""
        if relation == "=":
            return bool(self.sign(form) & self.sign(-form) & 1)
        return self.sign(form) & SAID[relation] == SAID[relation]

    def integer(self, form):
        """Whether a form takes integer values, by the kinds of its letters."""
        return all(c.q == 1 and all(self.integer_power(a, x) for a, x in m) for m, c in form.items())

    def integer_power(self, atom, exponent):
        kind, *rest = atom
        if kind in ("letter", "apply"):
            whole = self.kinds.get(rest[0]) in ("integer", "bits")
        elif kind in ("max", "base"):
            whole = all(map(self.integer, rest))
        else:
            whole = kind in ("prime", "floor", "bit", "popcount")
        return whole and self.integer(exponent) and self.sign(exponent) & 1

    # ---- arithmetic of forms

    def form(self, e):
        """The form of an expression."""
        if e not in self.memo:
            self.memo[e] = self.compute(*e)
        return self.memo[e]

    def compute(self, op, *args):
        if op == "q":
            return constant(args[0])
        if op in ("letter", "pi"):
            need(op == "pi" or args[0] in self.kinds, f"the letter {args[:1]} is not declared")
            return alone(row(op, *args))
        if op in RANGES:
            return self.bound(op, *args)
        if op == "apply":
            need(self.kinds.get(args[0]) in FUNCTIONS, f"{args[0]} is not declared as a function")
            return alone(row(op, args[0], *map(self.form, args[1:])))
        if op == "^":
            return self.raised(args[0], self.form(args[1]))
        values = [self.form(a) for a in args]
        if op in ("+", "*"):
            return reduce(Form.__add__ if op == "+" else self.product, values)
        if op == "exp":
            return self.known_power(row("e"), values[0])
        if op == "log":
            return self.logarithm(values[0])
        if op == "floor":
            return self.floor(values[0])
        if op == "max":
            return self.maximum(values)
        need(op in ("inner", *NONNEGATIVE), f"{op} has no value here")
        return alone(row(op, *values))

    def raised(self, e, exponent):
        """A power of an expression; one of a product or power is taken apart before anything is multiplied out."""
        op, *args = e
        whole = exponent.whole()
        if op == "*" and (whole or all(self.sign(self.form(a)) & 1 for a in args)):
            return reduce(self.product, (self.raised(a, exponent) for a in args))
        if op == "^":
            inner = self.form(args[1])
            if (whole and inner.whole()) or self.sign(self.form(args[0])) & 1:
                return self.raised(args[0], self.product(inner, exponent))
        return self.power(self.form(e), exponent)

    def product(self, p, q):
        need(len(p) * len(q) <= MOST_TERMS, "a product of too many terms")
        total = {}
        for m, c in p.items():
            for n, d in q.items():
                for k, value in self.joined(m + n).items():
                    total[k] = total.get(k, 0) + c * d * value
        return form_of(total)

    def may_merge(self, atom, x, y):
        """Whether b**x*b**y = b**(x+y), for the atom b."""
        base, rising = self.atom_sign(atom), self.sign(x) & self.sign(y) & 1
        return base == 3 or (rising and base & 1) or (self.integer(x) and self.integer(y) and (rising or base & 2))

    def joined(self, factors):
        """The product of powers of atoms: like atoms merged, whole powers of sums and of primes multiplied out."""
        powers, found, coefficient, extra = [], [], fmpq(1), []
        for atom, exponent in factors:
            for k, (other, before) in enumerate(powers):
                if other is atom and self.may_merge(atom, exponent, before):
                    powers[k] = (atom, exponent + before)
                    break
            else:
                powers.append((atom, exponent))
        for atom, exponent in powers:
            whole, left = exponent.parts()
            if atom[0] == "prime":
                need(abs(whole) < MOST_POWER, "a power of a number that is too large")
                coefficient, exponent = coefficient * fmpq(int(atom[1])) ** whole, left
            elif atom[0] == "base" and not left and all(x.whole() and len(atom[1]) == 1 for m in atom[1] for _, x in m):
                extra, exponent = [*extra, self.power(atom[1], constant(whole))], left
            elif atom[0] == "base" and 0 < whole <= MOST_EXPANDED and self.may_merge(atom, left, constant(whole)):
                extra, exponent = extra + [atom[1]] * whole, left
            found += [(atom, exponent)] if exponent else []
        return reduce(self.product, extra, monomial(found, coefficient))

    def known_power(self, atom, exponent):
        """exp(x) or p**x, where exp(y*log(u)) and p**(y*log(u)/log(p)) are u**y for positive u."""
        under = () if atom[0] == "e" else ((row("log", alone(atom)), constant(-1)),)
        result, rest = ONE, ZERO
        for m, c in exponent.items():
            logs = [f for f in m if f[0][0] == "log" and f[1] is ONE and self.sign(f[0][1]) == 3]
            if len(logs) == 1 and set(under) <= set(m):
                others = monomial([f for f in m if f not in (logs[0], *under)], c)
                result = self.product(result, self.power(logs[0][0][1], others))
            else:
                rest += form_of({m: c})
        return self.product(result, self.joined(((atom, rest),))) if rest else result

    def prime_powers(self, value):
        """A positive rational as primes with their exponents."""
        need(max(abs(value.p), value.q) < MOST_FACTORED, "a power of too large a number")
        signed = [(p, int(n)) for p, n in fmpz(value.p).factor()] + [(p, -int(n)) for p, n in fmpz(value.q).factor()]
        return [(row("prime", str(p)), n) for p, n in signed]

    def power(self, base, exponent):
        """A form to the power of another: a rational, atoms that may be taken out of it, and a rest."""
        value, whole = exponent.constant(), exponent.whole()
        if value == 0:
            return ONE
        if not base and value is not None:
            return ZERO
        if whole and 0 < value <= MOST_EXPANDED and len(base) > 1:
            return reduce(self.product, [base] * int(value.p))
        content = base.content() if base else fmpq(1)
        if whole and base[min(base)] < 0:
            content = -content
        result, rest = constant(-1 if content < 0 and value.p % 2 else 1), base.times(1 / content)
        for prime, count in self.prime_powers(abs(content)):
            result = self.product(result, self.known_power(prime, exponent.times(count)))
        if len(rest) == 1:
            ((factors, sign),) = rest.items()
            left = []
            for atom, x in factors:
                if self.atom_sign(atom) & 1 or (whole and x.whole()):
                    x = self.product(x, exponent)
                    is_known = atom[0] in ("e", "prime")
                    result = self.product(result, self.known_power(atom, x) if is_known else self.joined(((atom, x),)))
                else:
                    left.append((atom, x))
            rest = monomial(left, sign)
            if len(left) == 1 and sign == 1 and left[0][1] is ONE:
                return self.product(result, self.joined(((left[0][0], exponent),)))
        return result if rest is ONE else self.product(result, self.joined(((row("base", rest), exponent),)))

    def as_factor(self, form):
        """A sum as one factor, which cancels against its own negative powers."""
        if len(form) < 2:
            return form
        content = form.content() if form[min(form)] > 0 else -form.content()
        return monomial([(row("base", form.times(1 / content)), ONE)], content)

    def logarithm(self, u):
        """The logarithm of a positive product is taken apart."""
        factors = min(u) if len(u) == 1 else ()
        if u is ONE:
            return ZERO
        if self.sign(u) < 3 or any(self.atom_sign(a) < 3 for a, _ in factors):
            return alone(row("log", u))
        content, total = u.content(), ZERO
        for prime, count in self.prime_powers(content):
            total += alone(row("log", alone(prime))).times(count)
        if len(u) > 1:
            return total + alone(row("log", u.times(1 / content)))
        for atom, x in factors:
            total += self.product(x, ONE if atom[0] == "e" else alone(row("log", alone(atom))))
        return total

    def floor(self, u):
        """Terms that are integers leave the floor."""
        whole = form_of({m: c for m, c in u.items() if self.integer(form_of({m: c}))})
        rest = u - whole
        value = rest.constant()
        return whole + (constant(value.floor()) if value is not None else alone(row("floor", rest)))

    def maximum(self, values):
        """The maximum of forms, without those that are known to be below another."""
        kept = []
        for value in sorted(set(values)):
            if not any(self.sign(one - value) & 1 for one in kept):
                kept = [one for one in kept if not self.sign(value - one) & 1] + [value]
        return kept[0] if len(kept) == 1 else alone(row("max", *sorted(kept)))

    # ---- sums and integrals

    def span(self, op, index, lo, hi, body):
        """What a range's index runs up to, from 0: a length, oo, or all reals for integrals."""
        need(op == "sum" or (lo[0], hi[0]) == ("-oo", "oo"), "only integrals over all reals are known here")
        return "line" if op == "integral" else "oo" if hi[0] == "oo" else hi - lo

    def term(self, op, index, lo, hi, body):
        """The body of a sum or integral at the index of its range, with the scope of that."""
        length, at = self.span(op, index, lo, hi, body), letter(f"%{self.depth}")
        need(at[1] not in letters_in(body), f"{at[1]} outside of its range")
        return put(body, {index: at if length == "line" else at + lo}), self.inside(length)

    def bound(self, op, index, lo, hi, body):
        """A sum, linear in its terms, or an integral over all reals: powers that do not hold the index leave it."""
        length, name, total = self.span(op, index, lo, hi, body), f"%{self.depth}", ZERO
        key, finite = self.range_key(length), not isinstance(length, str)
        if finite:
            need(self.integer(key), "the length of a range is not known to be an integer")
            count = key.constant()
            if count is not None and count < FEW:
                Scope.written += int(count.p) + 1
                need(Scope.written < MOST_WRITTEN, "sums of too many terms that are written out")
                return sum((self.form(put(body, {index: lo + rational(k)})) for k in range(int(count.p) + 1)), ZERO)
        term, scope = self.term(op, index, lo, hi, body)
        inner = scope.form(term)
        parts = [scope.taken_out(form_of({m: c}), name) for m, c in inner.items()]
        if not finite and len(parts) > 1:
            parts = [(ONE, inner)]  # they may diverge
        for outer, rest in parts:
            if finite and rest is ONE and self.sign(key + ONE) & 1:
                total += self.product(outer, key + ONE)
            else:
                need(finite or name in letters_in(rest), "an endless sum of what does not hold its index")
                total += self.product(outer, self.closed(key, rest))
        return total

    def closed(self, key, rest):
        """The form of a sum or integral by that of its terms; its index becomes "#k", with the least possible k."""
        height = max((int(n[1:]) for n in letters_in(rest) if n.startswith("#")), default=-1)
        rest = renamed(rest, f"%{self.depth}", f"#{height + 1}")
        return alone(row("integral", rest) if key == "line" else row("sum", key, rest))

    def taken_out(self, term, name):
        """Split one monomial into a factor without the index, and the rest."""
        ((factors, c),) = term.items()
        outer, inner = [], []
        for atom, exponent in factors:
            if name in letters_in(atom):
                inner.append((atom, exponent))
                continue
            free = form_of({m: k for m, k in exponent.items() if name not in letters_in(form_of({m: k}))})
            held = exponent - free
            if held and free and not self.may_merge(atom, free, held):
                free, held = ZERO, exponent
            outer += [(atom, free)] if free else []
            inner += [(atom, held)] if held else []
        return monomial(outer, c), monomial(inner)

    # ---- definedness

    def defined(self, e):
        """Refuse an expression with a part that may have no value: a division by 0, a log or root of a negative."""
        op, *args = e
        if op in RANGES:
            length = self.span(*e)
            for end in {"line": (), "oo": args[1:2]}.get(length, args[1:3]):
                self.defined(end)
                need(self.integer(self.form(end)), "the ends of a range are not known to be integers")
            term, inner = self.term(op, *args)
            inner.defined(term)
            need(self.converging.issuperset(a for m in self.form(e) for a, _ in m if is_endless(a)), "may diverge", e)
            return
        for a in args:
            if isinstance(a, Row):
                self.defined(a)
        if op == "^":
            base, exponent = (self.form(a) for a in args)
            signs = self.sign(base), self.sign(exponent)
            fine = signs[0] == 3 or (self.integer(exponent) and (signs[1] & 1 or signs[0] & 2))
            need(fine or signs[0] & signs[1] & 1, "a power may be undefined", e)
        elif op == "log":
            need(self.sign(self.form(args[0])) == 3, "a logarithm may be undefined", e)
        elif op == "moment":
            need(args[1] in (rational(1), rational(2)), "a moment may be undefined", e)
        elif op in ("bit", "popcount", "binomial"):
            natural = (self.integer(form) and self.sign(form) & 1 for form in map(self.form, args))
            need(all(natural), f"{op} may be undefined", e)

    def sort(self, e):
        """Whether an expression is a number, or else a vector or random; these are in few places only."""
        op, *args = e
        if op == "letter":
            kind = self.kinds.get(args[0], "real")
            return "number" if kind in NUMBERS else kind
        sorts = [self.sort(a) for a in args if isinstance(a, Row)]
        others = [s for s in sorts if s != "number"]
        if op in ("norm", "inner", "moment"):
            need(others == sorts[: 1 if op == "moment" else 2], f"{op} of what is not random, and no vector")
            return "number"
        if op == "+" and len(others) == len(sorts) and len(set(others)) == 1:
            return others[0]
        need(not others or (op == "*" and len(others) == 1), "no number", e)
        return others[0] if others else "number"

    def scalar(self, e):
        need(self.sort(e) == "number", "no number", e)
        return e


ORDERS = ("O", "O~")  # of growth: in the whole domain, up to a constant; up to powers of logarithms besides
RELATIONS = {"<=": (">=", 1), "<": (">", 1), ">=": (">=", -1), ">": (">", -1), "=": ("=", 1), "!=": ("!=", 1)}


def difference(relation, a, b):
    """A relation of two expressions as one of >= > = != between an expression and 0."""
    need(relation in RELATIONS, f"{relation!r} is no relation")
    kind, turn = RELATIONS[relation]
    return kind, b - a if turn == 1 else a - b


def times(one, other, power=1):
    """A product of powers, {base: exponent}, times a power of another."""
    found = {base: one.get(base, fmpq(0)) + power * other.get(base, fmpq(0)) for base in (*one, *other)}
    return {base: exponent for base, exponent in found.items() if exponent != 0}


class Rule:
    """What holds for all values of some letters, under conditions: a rule of the catalogue, a premise, a lemma."""

    def __init__(self, data, table=()):
        self.letters = dict(data["letters"])
        self.conditions = [condition(c, table) for c in data["conditions"]]
        self.lhs, self.rhs = read(data["lhs"], table), read(data["rhs"], table)
        self.relation, self.gap = difference(data["relation"], self.lhs, self.rhs)
        lists = {name: kind for name, kind in self.letters.items() if isinstance(kind, list)}
        self.declared = {name: [read(a, table) for a in kind[1:]] for name, kind in lists.items()}
        self.letters |= {name: kind[0] for name, kind in lists.items()}
        self.fixed = set()  # letters for which nothing else may stand

    def free(self):
        """Letters and functions that it is about, besides those for all of whose values it holds."""
        parts = (self.lhs, self.rhs, *(x for c in self.conditions for x in c[1:] if isinstance(x, Row)))
        return frozenset().union(*map(letters_in, parts)) - self.letters.keys()


def condition(data, table):
    """Read a condition: its kind, and what it is of."""
    kind, *args = data
    if kind in RELATIONS:
        return ("fact", *difference(kind, *(read(x, table) for x in args)))
    if kind == "forall":
        index, lo, hi, inner = args
        found, relation, gap = condition(inner, table)
        need(found == "fact", "forall is of a relation")
        index, body = bind(index, gap)
        return ("forall", relation, ("sum", index, read(lo, table), read(hi, table), body))
    need(kind in ("integer", "declared"), f"{kind!r} is no condition")
    what, name, *args = args if kind == "declared" else data
    return (what, name if what in DECLARED else read(name, table), *(read(a, table) for a in args))


class Proof(Rule):
    """A statement or lemma: facts, each with the way it follows, from its conditions to its conclusion."""

    def __init__(self, checker, data):
        said = {**data, **({"relation": "<=", "rhs": data["order"]["last"]} if data["relation"] in ORDERS else {})}
        super().__init__(said, checker.table)
        self.checker, self.data, self.table, local = checker, data, checker.table, data["local"]
        self.premises, self.stepped, self.logged = {}, set(), set()  # logged: letters of logarithms that O~ hides
        more = Rule({**said, "letters": local["letters"]}, self.table)
        need(not self.letters.keys() & more.letters.keys(), "a letter of its own that the statement has")
        self.kinds, self.declared = {**self.letters, **more.letters}, {**self.declared, **more.declared}
        for name, kind in self.kinds.items():
            need(NAME.match(name) and kind in KINDS, f"{name!r} is no letter, or no {kind}")
        besides = [condition(c, self.table) for c in local["conditions"]]
        assumed = self.conditions + besides
        need(all(c[0] == "fact" for c in assumed), "only relations can be assumed")
        self.assumed = [c[1:] for c in assumed]
        self.scope = Scope(self.kinds, self.assumed)
        # What is assumed of letters of the statement alone is not assumed of what stands for them elsewhere.
        for about in (letters_in(self.scope.form(c[2])) for c in besides):
            self.fixed |= about if about <= self.letters.keys() else set()
        for e in (self.lhs, self.rhs, *(c[2] for c in assumed)):
            self.scope.scalar(e)

    def read(self, data):
        return read(data, self.table)

    def grant(self, key, data):
        """Let a proof use a premise, and note what it is about."""
        rule = self.premises[key] = Rule(data, self.table)
        about = rule.free() | rule.letters.keys()
        if data["kind"] == "definition":
            self.checker.definitions.add(rule, seal(data, self.checker.data["table"]))
            need(self.kinds.get(rule.lhs[1]) == "sequence", f"{rule.lhs[1]} is declared as something else")
            self.fixed |= rule.free()
        elif any((self.kinds | rule.letters).get(name) in FUNCTIONS for name in about):
            self.fixed |= about  # functions may depend on all of them
            rule.fixed = about
        return rule

    def run(self):
        for name, data in self.data["premises"].items():
            self.grant(name, data)
        self.items(self.data["body"], self.scope, f"{self.data['name']}: body", self.relation, self.gap)
        self.scope.defined(self.lhs)
        self.scope.defined(self.rhs)
        need(not self.stepped & self.fixed, "an induction over what a premise is about")
        if self.data["relation"] in ORDERS:
            self.order(self.read(self.data["rhs"]), frozenset(self.data["hides"]), **self.data["order"])

    def order(self, printed, hidden, last, known, weights):
        """What is reached is O, or O~, of the right side: each of its terms is a product of powers of that side's."""
        need(not hidden & letters_in(printed), "the right side holds letters that the constant depends on")
        self.scope.defined(self.scope.scalar(printed))
        right, bounded, rates = self.rates(printed), [], self.rates(self.rhs, hidden)
        for small, large in ([self.read(x) for x in pair] for pair in known):
            bounded += self.at_most(small, large)
        for term, (of_right, of_bounded) in zip(rates, weights, strict=True):
            of_right, of_bounded = ([self.read(["q", w])[1] for w in part] for part in (of_right, of_bounded))
            need(min(of_right + of_bounded) >= 0 and sum(of_right) == 1, "weights that are negative, or not 1 in all")
            for parts, part in ((right, of_right), (bounded, of_bounded)):
                term = reduce(lambda t, one: times(t, one[0], -one[1]), zip(parts, part, strict=True), term)
            for (op, form), exponent in term.items():
                small = exponent > 0 or self.scope.sign(form - constant(2)) & 1
                need(op == "log" and small, "a term that is no product of the right side's")
                self.logged |= letters_in(form)
                need(exponent < 0 or self.data["relation"] == "O~", "a logarithm, which O does not hide")

    def at_most(self, small, large):
        """Quotients of terms of something by what is not below it: they are below some constant."""
        for e in (small, large):
            self.scope.defined(self.scope.scalar(e))
        (most,) = self.rates(large)
        need(self.scope.holds(">", self.scope.form(large)), "it may be 0")
        need(self.scope.holds(">=", self.scope.form(large - small)), "it is not known to be the larger one")
        return [times(one, most, -1) for one in self.rates(small)]

    def rates(self, e, hidden=frozenset()):
        """Products of powers of letters and logarithms, whose sum is an expression up to positive constant factors."""
        (op, *args), form = e, self.scope.form(e)
        sign, found = self.scope.sign(form), [{(op, self.scope.form(args[0]) if op == "log" else form): fmpq(1)}]
        if form is ZERO:
            return []
        if not letters_in(form) or (op == "letter" and args[0] in hidden):
            need(sign == 3 or (letters_in(form) and sign & 1), "a constant that may be negative", e)
            return [{}]
        if op == "log":
            inner = self.rates(args[0])
            small = any(x < 0 and kind == "log" for one in inner for (kind, _), x in one.items())
            need(inner and not small, "a logarithm of what may be near 0")
            need(sign & 1 and not hidden & letters_in(e), "a logarithm that may be negative", e)
        elif op == "+":
            found = [one for a in args for one in self.rates(a, hidden)]
        elif op == "*":
            found = reduce(lambda p, q: [times(a, b) for a in p for b in q], (self.rates(a, hidden) for a in args))
        elif op == "^":
            power = self.scope.form(args[1]).constant()
            need(power is not None, "a power that changes", e)
            fixed = {h for h in hidden if power > 0 or self.scope.sign(self.scope.form(letter(h))) == 3}
            found = [times({}, one, power) for one in self.rates(args[0], fixed)]
            need(power > 0 or len(found) == 1, "a sum below 1", e)
        else:
            need(op == "letter" and sign == 3, "no product of powers", e)
        return list({frozenset(one.items()): one for one in found}.values())

    def items(self, items, scope, name, *claim):
        """Go through facts, to what they must reach."""
        for k, item in enumerate(items):
            try:
                self.item(item, scope)
            except Refused as error:
                raise Refused(f"{name}[{k}] {error}") from None
        need(not claim or scope.holds(claim[0], scope.form(claim[1])), f"{name} does not reach the claim")

    def item(self, item, scope):
        if "within" in item:
            length = sys.intern(item["within"]) if item["within"] in ("oo", "line") else self.read(item["within"])
            inner = scope.inside(length)
            known = len(inner.facts)
            self.items(item["facts"], inner, "facts")
            scope.facts += [("within", length, fact) for fact in inner.facts[known:]]
            scope.refresh()
            return
        relation, e = item["is"][0], self.read(item["is"][1])
        need(relation in SAID or relation == "converges", f"{relation!r} is no relation to 0")
        scope.scalar(e)
        if "split" in item:
            by = scope.scalar(self.read(item["split"]))
            for name, inner in (("then", scope.case(">=", by)), ("else", scope.case(">", -by))):
                self.items(item[name], inner, name, relation, e)
        else:
            method, *args = item["by"]
            need(method in WAYS, f"{method!r} is no way to prove a fact")
            need((relation == "converges") == (method == "ratio"), f"{method} does not prove that it {relation}")
            getattr(self, method)(scope, relation, e, *args)
        scope.learn(relation, e)

    # ---- ways to prove a fact: relation of an expression to 0

    def combine(self, scope, relation, e, divisors, terms):
        """Times divisors, it is a sum of products of facts with weights >= 0; with any weight where a factor is 0."""
        left, total, least, strict = scope.form(e), ZERO, 0 if relation == "=" else 1, False
        for d in divisors:
            factor = scope.form(self.read(d))
            need(scope.sign(factor) & 2 and (least == 0 or scope.sign(factor) & 1), f"a divisor of unknown sign: {d}")
            left = scope.product(left, scope.as_factor(factor))
        for weight, factors in terms:
            weight, forms = self.read(["q", weight])[1], [scope.form(self.read(f)) for f in factors]
            total += reduce(scope.product, forms, constant(weight))
            if not any(scope.holds("=", f) for f in forms):
                signs = reduce(int.__and__, map(scope.sign, forms), 3)
                need(least and weight >= 0 and signs & 1, f"a term that may be negative, or is not 0: {factors}")
                strict = strict or (signs == 3 and weight > 0)
        need(left is total, "the combination is not what it is said to be")
        need(relation in (">=", "=") or (relation == ">" and strict), "it says less")

    def fraction(self, scope, relation, e, u):
        """It is floor(u) + 1 - u."""
        u = self.read(u)
        need(scope.form(e) is scope.form(row("floor", u) + rational(1) - u), "it is something else")
        need(relation == ">", "it is positive")

    def whole(self, scope, relation, e):
        """It is an integer above -1."""
        form = scope.form(e)
        need(scope.integer(form), "not known to be an integer")
        need(relation == ">=" and scope.sign(form + ONE) == 3, "not known to be above -1")

    def ratio(self, scope, relation, e, ratio):
        """It is a series, each term of which is the one before times a ratio that is at least 0 and below 1."""
        need(e[0] == "sum" and scope.span(*e) == "oo", "no series")
        ratio = scope.scalar(self.read(ratio))
        term, inner = scope.term(*e)
        index = f"%{scope.depth}"
        following = put(term, {index: letter(index) + rational(1)})
        need(inner.form(following) is inner.form(row("*", ratio, term)), "the terms have another ratio")
        need(index not in letters_in(inner.form(ratio)), "the ratio changes")
        need(scope.sign(scope.form(ratio)) & 1 and scope.sign(ONE - scope.form(ratio)) == 3, "not in [0, 1)")

    def congruent(self, scope, relation, e, index, context, a, b):
        """It is the difference of one expression at two equal places."""
        a, b = self.read(a), self.read(b)
        need(scope.holds("=", scope.form(a - b)), "the places are not known to be equal")
        index, body = bind(index, self.read(context))
        difference = put(body, {index: a}) - put(body, {index: b})
        need(scope.form(e) is scope.form(difference), "it is not this difference")
        need(relation == "=", "it is 0")

    def instance(self, scope, relation, e, source, name, where):
        """It is what a rule, a premise or a lemma says."""
        known = {"rule": self.checker.rules, "premise": self.premises, "lemma": self.checker.lemmas}
        known = known[source] if source != "induction" else {name: self}
        need(name in known, f"there is no {source} {name!r} before this place")
        rule = Rule(known[name]) if source == "rule" else known[name]
        self.checker.rules_used |= {name} if source == "rule" else set()
        need(set(where) == set(rule.letters), f"the letters {sorted(rule.letters)} need values, not {sorted(where)}")
        values = {one: self.value(scope, rule.letters[one], value, source) for one, value in where.items()}
        for one, said in rule.declared.items():
            said = [put(a, values) for a in said]
            need(self.is_declared(scope, rule.letters[one], values[one], said), f"{one} is declared otherwise")
        for k, one in enumerate(rule.conditions):
            need(self.met(scope, values, *one), f"condition {k} is not known")
        if source == "rule" and rule.lhs[0] == "integral":
            scope.learn("converges", put(rule.lhs, values))  # this is proved with the rule
        for side in (rule.lhs, rule.rhs):
            scope.defined(put(side, values))
        need(source != "induction" or self.earlier(scope, name, values), "not the statement for a smaller integer")
        need(source != "lemma" or not rule.free(), "the lemma is about letters of its own")
        own = known[name].data["local"]["letters"] if source == "lemma" else {}
        self.checker.applied += [(name, values)] if source == "lemma" else []
        tied = [one for one in rule.fixed & own.keys() if own[one] not in FUNCTIONS]
        need(not tied, f"a function depends on {', '.join(tied)}, which the lemma alone has")
        moved = {one for one, value in values.items() if value not in (one, letter(one))}
        need(not moved & rule.fixed, f"{', '.join(moved & rule.fixed)} is what a premise is about")
        self.fixed |= rule.fixed
        gap = scope.form(put(rule.gap, values))
        need(relation in {">=": (">=",), ">": (">", ">="), "=": ("=", ">=")}[rule.relation], "the instance says less")
        need(scope.form(e) in ((gap, -gap) if rule.relation == "=" else (gap,)), "it says another thing")

    def earlier(self, scope, name, values):
        """Whether the statement is used for a smaller value of an integer that it bounds from below, and no other."""
        others = {one for one, value in values.items() if value in (one, letter(one))}
        starts = [letters_in(scope.form(letter(name) - c[2])) for c in self.conditions if c[1] == ">="]
        smaller = scope.sign(scope.form(letter(name) - values[name])) == 3 and self.letters[name] == "integer"
        self.stepped.add(name)
        need(len(self.stepped) == 1, "an induction over two letters, each of which may bound the other")
        need(others | {name} == values.keys() and not self.data["local"]["letters"], "it is about other letters")
        return smaller and any(start <= others for start in starts)

    def value(self, scope, kind, data, source):
        """What stands for a letter, if it is of its kind."""
        if kind not in FUNCTIONS:
            value = self.read(data)
            wanted = "number" if kind in NUMBERS else kind
            need(scope.sort(value) == wanted or (kind == "random" and source == "rule"), f"{shown(value)} is no {kind}")
            need(kind != "integer" or scope.integer(scope.form(value)), "not known to be an integer", value)
            return value
        if isinstance(data, str):
            need(scope.kinds.get(data) in (kind, "bits" if source == "rule" else kind), f"{data} is no function")
            return data
        need(kind == "sequence", f"any function for {kind}")
        return bind(data[0], self.read(data[1]))

    def met(self, scope, values, kind, *args):
        """Whether a condition is known of an instance."""
        if kind == "forall":
            term, inner = scope.term(*(put(a, values) if isinstance(a, Row) else a for a in args[1]))
            return inner.holds(args[0], inner.form(term))
        first, *args = (put(a, values) if isinstance(a, Row) else a for a in args)
        if kind == "fact":
            return scope.holds(first, scope.form(*args))
        if kind == "integer":
            return scope.integer(scope.form(first))
        if kind in DECLARED:
            return self.is_declared(scope, DECLARED[kind], values[first], args)
        need(kind in ("random", "vector"), f"{kind!r} is not checked here")
        return scope.sort(first) in ((kind,) if kind == "vector" else NO_NUMBERS)

    def is_declared(self, scope, kind, value, said):
        """Whether a letter or function is declared as of a kind, for some numbers: the variance of a Gaussian."""
        name = value if isinstance(value, str) else value[1]
        own = self.declared.get(name, ()) if scope.kinds.get(name) == kind else ()
        return len(own) == len(said) > 0 and all(scope.form(a) is scope.form(b) for a, b in zip(own, said, strict=True))


WAYS = ("combine", "fraction", "whole", "ratio", "congruent", "instance")


def full(part, table):
    """An expression of a certificate without numbers of its table."""
    if isinstance(part, int):
        return full(table[part], table)
    return [full(x, table) for x in part] if isinstance(part, list) else part


def seal(data, table):
    """Digest of a statement, premise or lemma: whose it is, its definitions, and what it says, written out."""
    local = data.get("local", {"letters": {}, "conditions": []})
    narrow = {name: full(kind, table) for name, kind in local["letters"].items() if kind not in ("real", "sequence")}
    said = [data.get("claim"), data.get("variant"), data.get("reading"), data.get("quantity"), data.get("hides")]
    said += [{name: full(kind, table) for name, kind in data["letters"].items()}, narrow]
    said += [full(data[key], table) for key in ("conditions", "lhs", "relation", "rhs")]
    said.append(full(local["conditions"], table))
    said += sorted(seal(one, table) for one in data.get("definitions", ()))
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def granted(scope, relation, e):
    """Whether a relation to 0 is known, or a fact with a number added is it; integers lie at or above whole bounds."""
    form = scope.form(e)
    for said, fact in [fact for fact in scope.facts if fact[0] in (">=", ">") and relation in (">=", ">")]:
        least, is_strict = (form - scope.form(fact)).constant(), said == ">"
        if least is not None and scope.integer(form):
            least, is_strict = (least.floor() + 1 if is_strict else least.ceil()), False
        if least is not None and (least > 0 or (least == 0 and (is_strict or relation == ">="))):
            return True
    return scope.holds(relation, form)


class Definitions:
    """The equations of a certificate that say what functions are: there are such functions, whatever its letters are.

    A function has one equation, or a recursion: one at its start, and one at t by its value at t - 1, for all later
    integers t. No function is defined by itself in any other way.
    """

    def __init__(self):
        self.equations = {}  # by function: {seal: equation}

    def add(self, rule, key):
        """Take an equation in; the same one may come twice."""
        meant = rule.lhs[0] == "apply" and rule.lhs[1] not in rule.letters
        need(meant and rule.relation == "=", "a definition says what a function is")
        self.equations.setdefault(rule.lhs[1], {})[key] = rule

    def check(self):
        """Refuse equations that no function may have, or more than one."""
        below = {name: set() for name in self.equations}
        for name, rules in self.equations.items():
            starts = [
                rule
                for rule in rules.values()
                if [a[0] for a in rule.lhs[2:]] == ["q"] and not rule.letters and name not in letters_in(rule.rhs)
            ]
            others = [rule for rule in rules.values() if rule not in starts]
            need(len(starts) <= 1 and len(others) <= 1, f"{name} is defined twice")
            for rule in others:
                self.check_step(rule, name, starts)
            for rule in rules.values():
                below[name] |= letters_in(rule.rhs) & self.equations.keys()
            below[name].discard(name)
        while leaves := {name for name, functions in below.items() if not functions & below.keys()}:
            below = {name: functions for name, functions in below.items() if name not in leaves}
        need(not below, f"definitions run in a circle: {', '.join(sorted(below))}")

    def check_step(self, rule, name, starts):
        """Refuse an equation that is not for all places, or, by the function itself, not for all above its start."""
        places = [a[1] for a in rule.lhs[2:] if a[0] == "letter" and a[1] in rule.letters]
        need(len(places) == len(rule.lhs) - 2 == len(set(places)), f"{name} is not defined at places of its own")
        need(rule.letters.keys() <= set(places), f"{name} depends on letters that it does not show")
        if not starts and name not in letters_in(rule.rhs):
            return
        facts = [condition[1:] for condition in rule.conditions if condition[0] == "fact"]
        names = letters_in(rule.lhs).union(*(letters_in(e) for e in (rule.rhs, *(gap for _, gap in facts))))
        applied = [e for e in parts_of(rule.rhs) if e[0] == "apply"]
        functions = {name, *(e[1] for e in applied)}
        scope = Scope(dict.fromkeys(names, "real") | rule.letters | dict.fromkeys(functions, "sequence"), facts)
        place = letter(places[0])
        before = scope.form(place - rational(1))
        need(len(places) == 1 and rule.letters[places[0]] == "integer", f"{name} is no recursion over an integer")
        at = [scope.form(a) for e in applied if e[1] == name for a in e[2:]]
        need(all(one is before for one in at), f"{name} is defined by itself")
        if starts:
            need(granted(scope, ">", place - starts[0].lhs[2]), f"{name} is defined twice at its start")
        else:
            bounds = (scope.form(gap) - scope.form(place) for relation, gap in facts if relation in (">=", ">"))
            need(any(bound.constant() is not None for bound in bounds), f"the recursion of {name} has no start")


class Checker:
    """One certificate: its lemmas by name, the statement last, and what was used."""

    def __init__(self, rules):
        self.table, self.lemmas, self.rules, self.rules_used = [], {}, {r["name"]: r for r in rules}, set()
        self.data, self.statement, self.definitions = {"table": []}, None, Definitions()
        self.applied = []  # names of lemmas where they are used, with what stands for their letters

    def run(self, data):
        need(data["schema"] == 3, "the schema is not 3")
        self.data, Scope.written = data, 0
        self.table += read_table(data["table"])
        for proof in (*data["lemmas"], data["statement"]):
            need(proof["name"] not in self.lemmas, f"{proof['name']} is proved twice")
            for one in (proof, *proof["premises"].values()):
                need(one["seal"] == seal(one, data["table"]), f"the seal of {one['name']} is broken")
                for equation in one.get("definitions", ()):
                    self.definitions.add(Rule(equation, self.table), seal(equation, data["table"]))
            self.statement = Proof(self, proof)
            self.statement.run()
            self.lemmas[proof["name"]] = self.statement
        self.definitions.check()


@untrusted()
def run(data, rules):
    """The checker of a certificate that proves what it states; raises Refused where one does not."""
    checker = Checker(rules)
    checker.run(data)
    given_in(data)
    return checker


def reference(data):
    """Which statement of a claim it is, in words."""
    return f"{data['claim']} ({', '.join([*(f'{n}={c}' for n, c in data['reading'].items()), data['variant']])})"


def given_in(data):
    """What a certificate takes without proof: names of premises with their seals, or None where none can be proven.

    All that is assumed of letters that no statement has is among it, but one's sign. No two things have one name.
    """
    quantity, table = data["statement"].get("quantity"), read_table(data["table"])
    start = shown(read(data["statement"]["lhs"], table))
    start = start if len(start) < MOST_SHOWN else "what the derivation starts from"
    found = [(f"{quantity} is {start}", None, quantity)] if quantity else []  # name, seal if provable, what it says
    for proof in (*data["lemmas"], data["statement"]):
        local = proof["local"]
        for one in proof["premises"].values():
            if one["kind"] == "claim" and one.get("measured"):
                left = shown(read(one["lhs"], table))
                found.append((f"{reference(one)}, whose left side is {left}", None, one["seal"]))
            elif one["kind"] == "claim":
                found.append((reference(one), one["seal"], one["seal"]))
            elif one["kind"] != "definition":
                found.append((one["name"], None, one["seal"]))
        for relation, *sides in local["conditions"]:
            a, b = (read(side, table) for side in sides)
            sign = relation in (">=", ">") and a[0] == "letter" and a[1] in local["letters"] and b == rational(0)
            found += [] if sign else [(f"{shown(a)} {relation} {shown(b)}", None, "condition")]
    contents = {}
    for name, _, content in found:
        need(contents.setdefault(name, content) == content, f"two things are given as {name!r}")
    return {name: key for name, key, _ in found}


def open_premises(seals, given):
    """Names of premises that no accepted certificate proves; what is proven from itself is not."""
    grounded, size = set(), -1
    while len(grounded) > size:
        size = len(grounded)
        grounded |= {one for one in seals if all(p in grounded or p not in seals for p in seals[one].values())}
    found, todo, seen = {}, list(given.items()), set()
    for name, one in todo:
        if one not in grounded:
            found[name] = None
        elif one not in seen:
            seen.add(one)
            todo += seals[one].items()
    return list(found)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from read_statement import main  # which imports this file by its name

    sys.exit(main(sys.argv[1:]))
