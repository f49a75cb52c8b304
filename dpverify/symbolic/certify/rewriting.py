"""Carry an instance of a rule up to the expression around it, with one fact per level.

Before the checker reads an expression, signs, ranges and convergence of its parts must be facts. This module proves
them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dpverify.symbolic.certify.checker import HOLE, Expr, comparison_text, k, text_of, written
from dpverify.symbolic.certify.columns import instance_gap
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList

if TYPE_CHECKING:
    from dpverify.symbolic.certify.goals import Goals


def converges(goals: Goals, place: FactList, series: Expr) -> None:
    """Prove that a series of one product converges."""
    term, inner = place.scope.term(*series)
    form = inner.form(term)
    if len(form) == 1:
        _, summand = inner.taken_out(form, f"%{place.scope.depth}")
        closed = place.scope.closed("oo", summand)
        if len(summand) == 1 and closed not in place.scope.converging:
            _geometric(goals, place, written(closed), min(summand))


def _geometric(goals: Goals, place: FactList, series: Expr, powers: Any) -> None:
    """Prove that a series converges because its terms have a constant ratio in [0, 1)."""
    index = k.letter(f"%{place.scope.depth}")
    after = {index[1]: k.row("+", index, k.rational(1))}
    inner = place.inside("oo").scope
    steps = [(a, inner.form(k.put(written(x), after) - written(x))) for a, x in powers]
    ratio = written(k.monomial([(a, x) for a, x in steps if x]))
    prepare(goals, place, ratio)
    if goals.expr(place, ratio) and goals.expr(place, (k.rational(1) - ratio), True):
        place.fact("converges", series, "ratio", ratio)


def prepare(goals: Goals, place: FactList, expr: Expr) -> None:
    """Prove what is possible about the parts of an expression: signs of bases, exponents and ranges."""
    if expr in place.prepared:
        return
    place.prepared.add(expr)
    op, *args = expr
    try:
        if op in ("sum", "integral"):
            _prepare_bound(goals, place, expr)
            return
        for arg in args:
            if isinstance(arg, k.Row):
                prepare(goals, place, arg)
        if op == "^":
            _prepare_power(goals, place, *args)
        elif op in ("log", "exp"):
            goals.expr(place, args[0], op == "log")
    except k.Refused:
        return


def _prepare_bound(goals: Goals, place: FactList, expr: Expr) -> None:
    op, index, lo, hi, body = expr
    length = place.scope.span(*expr)
    for end in {"line": (), "oo": (lo,)}.get(length, (lo, hi)):
        prepare(goals, place, end)
    if not isinstance(length, str):
        goals.expr(place, k.row("+", length, k.rational(1)))
    inner = place.inside(length)
    at = k.letter(inner.index)
    term = k.put(body, {index: at if op == "integral" else k.row("+", at, lo)})
    prepare(goals, inner, term)
    if op == "sum" and any(atom[0] == "max" for m in inner.form(term) for atom, _ in m) and goals.expr(inner, term):
        place.termwise(expr)  # its form has separate terms
    if length == "oo":
        converges(goals, place, expr)


def _prepare_power(goals: Goals, place: FactList, below: Expr, above: Expr) -> None:
    base = place.form(below)
    exponent = place.form(above)
    value = exponent.constant()
    if value is not None and value.q == 1 and value >= 0:
        return
    proven = goals.prove(place, base, True) or ((value is None or value > 0) and goals.prove(place, base))
    if not proven and (value is None or value.q > 1):
        as_written(goals, place, below)
    if value is None:
        goals.prove(place, exponent)
    elif value.q == 1:
        goals.apart(place, base)
    if len(base) == 1 and (value is None or value.q != 1):
        for atom, _ in min(base):
            goals.prove(place, k.alone(atom))


def as_written(goals: Goals, place: FactList, expr: Expr) -> str:
    """Prove the sign of sums, products and squares before they are expanded. Return ``>``, ``>=`` or an empty text."""
    op, *args = expr
    for relation in (">", ">="):
        if goals.expr(place, expr, relation == ">"):
            return relation
    if op == "^" and place.form(args[1]).constant() == 2:
        return ">=" * place.square(args[0])
    if op == "sum":
        term, _ = place.scope.term(*expr)
        inner = place.inside(place.scope.span(*expr))
        return ">=" * bool(as_written(goals, inner, term) and place.termwise(expr))
    signs = [as_written(goals, place, arg) for arg in args] if op in "+*" else [""]
    terms = [["1", [arg]] for arg in args] if op == "+" else [["1", args]]
    strict = any(sign == ">" for sign in signs) if op == "+" else all(sign == ">" for sign in signs)
    relation = ">" if strict else ">="
    return relation * (all(signs) and place.fact(relation, expr, "combine", [], terms))


@dataclass(frozen=True)
class Rewritten:
    """An expression before and after a rewrite, and its direction: 1 up, -1 down, 0 equal."""

    way: int
    old: Expr
    new: Expr

    @property
    def gap(self) -> Expr:
        """The size of the change as a nonnegative expression."""
        return (self.new - self.old) if self.way >= 0 else (self.old - self.new)

    @property
    def relation(self) -> str:
        """The relation of the gap to 0."""
        return "=" if self.way == 0 else ">="


#: Writes the instance at a place with the place's indices, or returns None if its conditions are not proven.
Write = Callable[[FactList, Mapping[str, Expr]], "Rewritten | None"]


@cache
def has_hole(expr: Expr) -> bool:
    """Test whether an expression contains the hole."""
    return expr is HOLE or any(has_hole(arg) for arg in expr if isinstance(arg, k.Row))


def context_of(data: Any) -> Expr:
    """Read an expression with a hole. Indices of its sums keep their names, since the instance may contain them."""
    if not isinstance(data, list) or data[0] in ("q", "apply"):
        return k.read(data)
    op, *args = data
    names = [args.pop(0)] if op in ("sum", "integral") else []
    parts = [context_of(arg) for arg in args]
    if op in k.SHORT:
        return k.put(k.read(k.SHORT[op]), dict(zip("ab", parts, strict=False)))
    return k.row(op, *names, *parts)


class Rewriting:
    """Carries an instance up to the expression around it."""

    def __init__(self, goals: Goals, write: Write) -> None:
        self.goals = goals
        self.write = write

    def moved(self, place: FactList, context: Expr, env: Mapping[str, Expr]) -> Rewritten | None:
        """Return an expression with a hole before and after the instance is applied, or None if this is not proven."""
        if context is HOLE:
            return self.write(place, env)
        op, *args = context
        if op == "sum":
            return self._sum(place, context, env)
        if op in ("integral", "apply") or not has_hole(context):
            return None
        parts = [self.moved(place, arg, env) if has_hole(arg) else None for arg in args]
        if any(part is None and has_hole(arg) for part, arg in zip(parts, args, strict=True)):
            return None
        old = [k.put(arg, env) if p is None else p.old for p, arg in zip(parts, args, strict=True)]
        new = [k.put(arg, env) if p is None else p.new for p, arg in zip(parts, args, strict=True)]
        moves = [p for p in parts if p is not None]
        ways = {p.way for p in moves if p.way}
        if not ways:
            return self._equal(place, op, old, new)
        if len(ways) > 1:
            return None
        if op == "+":
            terms = [["1", [p.gap]] for p in moves]
            return self._known(
                place, Rewritten(max(ways, key=abs), k.row(op, *old), k.row(op, *new)), "combine", [], terms
            )
        if op == "*":
            return self._times(place, parts, old, new)
        if len(moves) > 1:
            return None
        (way,) = ways
        at = next(i for i, p in enumerate(parts) if p is not None)
        low, high = (old[at], new[at]) if way > 0 else (new[at], old[at])
        rewritten = Rewritten(way, k.row(op, *old), k.row(op, *new))
        if op in ("exp", "log"):
            return self._by_rule(place, rewritten, f"{op}-monotone", {"a": low, "b": high})
        if op == "^":
            return self._base(place, rewritten, low, high) if at == 0 else self._exponent(place, rewritten, low, high)
        return rewritten if self.goals.expr(place, rewritten.gap) else None

    def _known(self, place: FactList, rewritten: Rewritten, *by: Any) -> Rewritten | None:
        for expr in (rewritten.old, rewritten.new):
            prepare(self.goals, place, expr)
        is_proven = place.scope.holds(rewritten.relation, place.form(rewritten.gap))
        return rewritten if is_proven or (by and place.fact(rewritten.relation, rewritten.gap, *by)) else None

    def _equal(self, place: FactList, op: str, old: list[Expr], new: list[Expr]) -> Rewritten | None:
        current = list(old)
        for n, (a, b) in enumerate(zip(old, new, strict=True)):
            if a is not b:
                context = k.row(op, *current[:n], HOLE, *current[n + 1 :])
                rewritten = Rewritten(0, *(k.put(context, {"HOLE": x}) for x in (a, b)))
                if not self._known(place, rewritten, "congruent", "HOLE", context, b, a):
                    return None
                current[n] = b
        return self._known(place, Rewritten(0, k.row(op, *old), k.row(op, *new)))

    def _times(
        self, place: FactList, parts: list[Rewritten | None], old: list[Expr], new: list[Expr]
    ) -> Rewritten | None:
        still = [x for p, x in zip(parts, old, strict=True) if p is None]
        moves = [p for p in parts if p is not None]
        outer = k.row("*", *still) if still else k.rational(1)
        prepare(self.goals, place, outer)
        sign = 1 if self.goals.expr(place, outer) else -1
        outer = outer if sign > 0 else -outer
        if not self.goals.expr(place, outer) or any(p.way == 0 for p in moves):
            return None
        if len(moves) > 1 and not all(self.goals.expr(place, x) for p in moves for x in (p.old, p.new)):
            return None
        terms = []
        for n, p in enumerate(moves):
            around = [q.new for q in moves[:n]] + [q.old for q in moves[n + 1 :]]
            terms.append(["1", [outer, p.gap, *around]])
        rewritten = Rewritten(moves[0].way * sign, k.row("*", *old), k.row("*", *new))
        return self._known(place, rewritten, "combine", [], terms)

    def _base(self, place: FactList, rewritten: Rewritten, low: Expr, high: Expr) -> Rewritten | None:
        """Prove the direction of a power whose base changes."""
        power = rewritten.old[2]
        goals = self.goals
        if goals.expr(place, power) and goals.expr(place, low):
            if not place.scope.sign(place.form(high)) & 1:
                place.fact(">=", high, "combine", [], [["1", [low]], ["1", [high - low]]])
            return self._by_rule(place, rewritten, "power-monotone", {"a": low, "b": high, "p": power})
        if not (goals.expr(place, -power) and goals.expr(place, low, True)):
            return None
        goals.expr(place, high, True)
        rewritten = Rewritten(-rewritten.way, rewritten.old, rewritten.new)
        under = [k.row("^", x, k.rational(-1)) for x in (high, low)]
        first = self._by_rule(place, Rewritten(1, *under), "reciprocal-monotone", {"a": low, "b": high})
        if first is None or place.scope.holds(">=", place.form(rewritten.gap)):
            return first and rewritten
        return self._by_rule(place, rewritten, "power-monotone", {"a": under[0], "b": under[1], "p": -power})

    def _exponent(self, place: FactList, rewritten: Rewritten, low: Expr, high: Expr) -> Rewritten | None:
        """Prove the direction of a power whose exponent changes."""
        base = rewritten.old[1]
        goals = self.goals
        if goals.expr(place, (base - k.rational(1))):
            return self._by_rule(place, rewritten, "power-increasing", {"x": base, "p": low, "q": high})
        if not (goals.expr(place, base) and goals.expr(place, (k.rational(1) - base))):
            return None
        rewritten = Rewritten(-rewritten.way, rewritten.old, rewritten.new)
        if goals.expr(place, low):
            return self._by_rule(place, rewritten, "power-decreasing", {"x": base, "p": high, "q": low})
        if not goals.expr(place, base, True):
            return None
        where = {"x": k.row("^", base, k.rational(-1)), "p": -high, "q": -low}
        return self._by_rule(place, rewritten, "power-increasing", where)

    def _by_rule(self, place: FactList, rewritten: Rewritten, name: str, where: dict[str, Expr]) -> Rewritten | None:
        gap = instance_gap(place, name, where)
        if gap is None or unproven(self.goals, place, k.Rule(place.proof.checker.rules[name]), where):
            return None
        if not place.scope.holds(">=", place.form(gap)) and not place.fact(">=", gap, "instance", "rule", name, where):
            return None
        return self._known(place, rewritten)

    def _sum(self, place: FactList, context: Expr, env: Mapping[str, Expr]) -> Rewritten | None:
        """Prove the direction of a sum by that of its terms."""
        _, index, lo, hi, body = context
        if has_hole(lo):
            return None
        if has_hole(hi):
            return self._end(place, context, env)
        low = k.put(lo, env)
        high = k.put(hi, env)
        length = place.scope.span("sum", index, low, high, body)
        for end in (low, *(() if length == "oo" else (high,))):
            prepare(self.goals, place, end)
        inner = place.inside(length)
        moved_body = self.moved(inner, body, {**env, index: k.row("+", low, k.letter(inner.index))})
        if moved_body is None:
            return None
        fresh = k.letter(k.bind("i", HOLE)[0])
        back = {inner.index: (fresh - low)}
        parts = (moved_body.old, moved_body.new, moved_body.gap, -moved_body.gap)
        old, new, *gaps = (k.row("sum", fresh[1], low, high, k.put(x, back)) for x in parts)
        rewritten = Rewritten(moved_body.way, old, new)
        for expr in (old, new, *gaps):
            prepare(self.goals, place, expr)
        proven = all(place.termwise(gap) for gap in (gaps if rewritten.relation == "=" else gaps[:1]))
        return self._known(place, rewritten) if proven else None

    def _end(self, place: FactList, context: Expr, env: Mapping[str, Expr]) -> Rewritten | None:
        """Prove that a sum of nonnegative terms grows with its upper end."""
        _, index, lo, hi, body = context
        end = self.moved(place, hi, env)
        if end is None or end.way == 0:
            return None
        low = k.put(lo, env)
        small, large = (end.old, end.new) if end.way > 0 else (end.new, end.old)
        fresh = k.letter(k.bind("i", HOLE)[0])
        inner = k.put(body, {**env, index: fresh})
        rewritten = Rewritten(end.way, *(k.row("sum", fresh[1], low, x, inner) for x in (end.old, end.new)))
        where = {"f": ["idx", k.put(inner, {fresh[1]: k.letter("idx")})], "lo": low, "hi": small, "more": large}
        rule = k.Rule(place.proof.checker.rules["sum-extend"])
        if unproven(self.goals, place, rule, {**where, "f": (fresh[1], inner)}):
            return None
        return self._known(place, rewritten, "instance", "rule", "sum-extend", where)


class Unproven(NamedTuple):
    """A condition of a rule's instance that is not proved."""

    kind: str
    relation: str = ""
    expr: Expr | None = None

    def __str__(self) -> str:
        if self.expr is None:
            return self.kind
        if self.kind == "integer":
            return f"{text_of(self.expr)} is an integer"
        if self.relation == "!=":  # which the language of formulas does not have
            return f"{text_of(self.expr)} is not 0"
        return comparison_text(self.relation, self.expr)


def unproven(goals: Goals, place: FactList, rule: Any, values: Mapping[str, Any]) -> list[Unproven]:
    """Prove the conditions of a rule's instance; return those that are not proved."""
    left = []
    for kind, *args in rule.conditions:
        at = place
        relation = args[0]
        expr = None
        try:
            if kind == "forall":
                series = k.row(*(k.put(a, values) if isinstance(a, k.Row) else a for a in args[1]))
                expr, _ = place.scope.term(*series)
                at = place.inside(place.scope.span(*series))
            elif kind == "fact":
                expr = k.put(args[1], values)
            elif kind == "integer":
                expr = k.put(args[0], values)
                prepare(goals, place, expr)
            if expr is not None and kind != "integer":
                prepare(goals, at, expr)
                if not goals.known(at, relation, expr) and relation in (">=", ">"):
                    as_written(goals, at, expr)
            met = place.proof.met(place.scope, values, kind, *args)
        except k.Refused:
            met = False
        if not met:
            left.append(Unproven(kind, relation if isinstance(relation, str) else "", expr))
    return left
