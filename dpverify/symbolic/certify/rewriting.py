"""An instance of a rule inside an expression: the facts from it up to the whole expression, one per level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpverify.symbolic.certify.checker import checker
from dpverify.symbolic.certify.columns import instance_gap
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import Expr, FactList
from dpverify.symbolic.certify.prefix import Prefix
from dpverify.symbolic.certify.prepare import prepare

HOLE = "HOLE"


@dataclass(frozen=True)
class Rewritten:
    """An expression before and after, and how it moved: 1 up, -1 down, 0 not at all."""

    way: int
    old: Expr
    new: Expr


#: Writes the instance at a place, whose indices stand for some letters; None if its conditions are not proven.
Write = Callable[[FactList, Mapping[str, Expr]], "Rewritten | None"]


def holds_hole(prefix: Prefix) -> bool:
    """Whether an expression has the hole in it."""
    return prefix == HOLE or (isinstance(prefix, list) and any(holds_hole(arg) for arg in prefix[1:]))


class Rewriting:
    """Carries an instance up to the expression around it."""

    def __init__(self, goals: Goals, write: Write) -> None:
        self.goals, self.write = goals, write

    def read(self, place: FactList, prefix: Prefix, env: Mapping[str, Expr]) -> Expr:
        """An expression with indices in the place of letters."""
        return int(place.e.put(place.e.read(prefix), dict(env)))

    def moved(self, place: FactList, context: Prefix, env: Mapping[str, Expr]) -> Rewritten | None:
        """Move an expression with a hole."""
        if context == HOLE:
            return self.write(place, env)
        found = self._level(place, context, env)
        if found is None:
            return None
        prepare(self.goals, place, found.old)
        prepare(self.goals, place, found.new)
        return found

    def _level(self, place: FactList, context: Prefix, env: Mapping[str, Expr]) -> Rewritten | None:
        op, *args = context
        if op == "sum":
            return self._sum(place, context, env)
        if op in ("integral", "apply") or not any(holds_hole(arg) for arg in args):
            return None
        parts = [self.moved(place, arg, env) if holds_hole(arg) else None for arg in args]
        if any(part is None and holds_hole(arg) for part, arg in zip(parts, args, strict=True)):
            return None
        still = [self.read(place, arg, env) if part is None else 0 for part, arg in zip(parts, args, strict=True)]
        old = place.e.build(op, *(s if p is None else p.old for p, s in zip(parts, still, strict=True)))
        new = place.e.build(op, *(s if p is None else p.new for p, s in zip(parts, still, strict=True)))
        moves = [p for p in parts if p is not None]
        if all(p.way == 0 for p in moves):
            return self._equal(place, op, parts, still, old, new)
        if op == "+":
            return self._plus(place, moves, old, new)
        if op == "*":
            return self._times(place, parts, still, old, new)
        if len(moves) == 1:
            return self._function(place, op, parts, still, old, new)
        return None

    def _known(self, place: FactList, way: int, old: Expr, new: Expr, *by: Any) -> Rewritten | None:
        e = place.e
        gap = e.minus(new, old) if way >= 0 else e.minus(old, new)
        prepare(self.goals, place, old)
        prepare(self.goals, place, new)
        relation = "=" if way == 0 else ">="
        if place.scope.holds(relation, place.form(gap)) or (by and place.fact(relation, gap, *by)):
            return Rewritten(way, old, new)
        return None

    def _equal(
        self, place: FactList, op: str, parts: list[Rewritten | None], still: list[Expr], old: Expr, new: Expr
    ) -> Rewritten | None:
        current = [s if p is None else p.old for p, s in zip(parts, still, strict=True)]
        for k, part in enumerate(parts):
            if part is None:
                continue
            before = list(current)
            current[k] = part.new
            context = place.e.build(op, *(place.e.letter(HOLE) if j == k else c for j, c in enumerate(current)))
            a, b = place.e.build(op, *current), place.e.build(op, *before)
            if not self._known(place, 0, b, a, "congruent", HOLE, context, part.new, part.old):
                return None
        return self._known(place, 0, old, new)

    def gap(self, place: FactList, moved: Rewritten) -> Expr:
        """How far an expression moved, as something that is not negative."""
        e = place.e
        return int(e.minus(moved.new, moved.old) if moved.way >= 0 else e.minus(moved.old, moved.new))

    def _plus(self, place: FactList, moves: list[Rewritten], old: Expr, new: Expr) -> Rewritten | None:
        ways = {p.way for p in moves if p.way}
        if len(ways) != 1:
            return None
        terms = [["1", [], self.gap(place, p)] if p.way == 0 else ["1", [self.gap(place, p)]] for p in moves]
        return self._known(place, ways.pop(), old, new, "combine", [], terms)

    def _times(
        self, place: FactList, parts: list[Rewritten | None], still: list[Expr], old: Expr, new: Expr
    ) -> Rewritten | None:
        e = place.e
        rest = [s for p, s in zip(parts, still, strict=True) if p is None]
        moves = [p for p in parts if p is not None]
        outer = e.times(*rest) if rest else e.rational(1)
        prepare(self.goals, place, outer)
        sign = 1
        if not self.goals.expr(place, outer):
            outer, sign = e.turned(outer), -1
            if not self.goals.expr(place, outer):
                return None
        if len({p.way for p in moves if p.way}) != 1 or any(p.way == 0 for p in moves):
            return None
        way = moves[0].way
        if len(moves) > 1 and not all(self.goals.expr(place, x) for p in moves for x in (p.old, p.new)):
            return None
        terms = []
        for k, p in enumerate(moves):
            around = [q.new for q in moves[:k]] + [q.old for q in moves[k + 1 :]]
            terms.append(["1", [outer, self.gap(place, p), *around]])
        return self._known(place, way * sign, old, new, "combine", [], terms)

    def _function(
        self, place: FactList, op: str, parts: list[Rewritten | None], still: list[Expr], old: Expr, new: Expr
    ) -> Rewritten | None:
        (at,) = (k for k, p in enumerate(parts) if p is not None)
        part = parts[at]
        assert part is not None
        low, high = (part.old, part.new) if part.way > 0 else (part.new, part.old)
        simple = {"exp": "exp-monotone", "log": "log-monotone", "log2": "log2-monotone", "sqrt": "sqrt-monotone"}
        if op in simple:
            return self._by_rule(place, part.way, old, new, simple[op], {"a": low, "b": high})
        if op == "^" and at == 0:
            return self._base(place, part.way, low, high, still[1], old, new)
        if op == "^":
            return self._exponent(place, part.way, low, high, still[0], old, new)
        gap = place.e.minus(new, old) if part.way > 0 else place.e.minus(old, new)
        return (
            Rewritten(part.way, old, new)
            if op in ("max", "min", "floor", "ceil") and self.goals.expr(place, gap)
            else None
        )

    def _base(
        self, place: FactList, way: int, low: Expr, high: Expr, power: Expr, old: Expr, new: Expr
    ) -> Rewritten | None:
        e = place.e
        if self.goals.expr(place, power) and self.goals.expr(place, low):
            return self._by_rule(place, way, old, new, "power-monotone", {"a": low, "b": high, "p": power})
        turned = e.turned(power)
        if not (self.goals.expr(place, turned) and self.goals.expr(place, low, True)):
            return None
        self.goals.expr(place, high, True)
        under = [e.make("^", x, e.rational(-1)) for x in (high, low)]
        first = self._by_rule(place, 1, under[0], under[1], "reciprocal-monotone", {"a": low, "b": high})
        if first is None or place.scope.holds(">=", place.form(self.gap(place, Rewritten(-way, old, new)))):
            return first and Rewritten(-way, old, new)
        where = {"a": under[0], "b": under[1], "p": turned}
        return self._by_rule(place, -way, old, new, "power-monotone", where)

    def _exponent(
        self, place: FactList, way: int, low: Expr, high: Expr, base: Expr, old: Expr, new: Expr
    ) -> Rewritten | None:
        e = place.e
        if self.goals.expr(place, e.minus(base, e.rational(1))):
            return self._by_rule(place, way, old, new, "power-increasing", {"x": base, "p": low, "q": high})
        if self.goals.expr(place, base) and self.goals.expr(place, e.minus(e.rational(1), base)):
            if self.goals.expr(place, low):
                return self._by_rule(place, -way, old, new, "power-decreasing", {"x": base, "p": high, "q": low})
            if self.goals.expr(place, base, True):
                minus = [e.times(e.rational(-1), x) for x in (high, low)]
                where = {"x": e.make("^", base, e.rational(-1)), "p": minus[0], "q": minus[1]}
                return self._by_rule(place, -way, old, new, "power-increasing", where)
        return None

    def _by_rule(
        self, place: FactList, way: int, old: Expr, new: Expr, name: str, where: dict[str, Expr]
    ) -> Rewritten | None:
        gap = instance_gap(place, name, where)
        if gap is None or not self.goals.expr(place, place.e.minus(old, old)):
            return None
        data = place.proof.checker.rules[name]
        if not conditions_proven(self.goals, place, checker().Rule(place.e, data), where):
            return None
        if not place.scope.holds(">=", place.form(gap)) and not place.fact(">=", gap, "instance", "rule", name, where):
            return None
        return self._known(place, way, old, new)

    def _sum(self, place: FactList, context: Prefix, env: Mapping[str, Expr]) -> Rewritten | None:
        _, index, lo, hi, body = context
        e = place.e
        inner_env = {k: v for k, v in env.items() if k != index}
        if holds_hole(lo):
            return None
        low = self.read(place, lo, env)
        if holds_hole(hi):
            return self._end(place, index, low, hi, body, env)
        high = self.read(place, hi, env)
        for end in (low, high):
            prepare(self.goals, place, end)
        inner = place.inside("oo" if hi == "oo" else e.minus(high, low))
        at = e.plus(low, e.letter(inner.index))
        found = self.moved(inner, body, {**inner_env, index: at})
        if found is None:
            return None
        back = {inner.index: e.minus(e.letter("HOLEINDEX"), low)}
        bodies = [e.put(x, back) for x in (found.old, found.new)]
        gap_body = e.minus(bodies[1], bodies[0]) if found.way >= 0 else e.minus(bodies[0], bodies[1])
        fresh, (old_body, new_body, gap_body) = e.binder("HOLEINDEX", *bodies, gap_body)
        old, new, gap = (e.make("sum", fresh, low, high, b) for b in (old_body, new_body, gap_body))
        prepare(self.goals, place, gap)
        if not place.fact("=" if found.way == 0 else ">=", gap, "termwise"):
            return None
        return self._known(place, found.way, old, new)

    def _end(
        self, place: FactList, index: str, low: Expr, hi: Prefix, body: Prefix, env: Mapping[str, Expr]
    ) -> Rewritten | None:
        """A sum of nonnegative terms grows with its upper end."""
        e, end = place.e, self.moved(place, hi, env)
        if end is None or end.way == 0:
            return None
        small, large = (end.old, end.new) if end.way > 0 else (end.new, end.old)
        fresh, (inner,) = e.binder(index, self.read(place, body, {k: v for k, v in env.items() if k != index}))
        old, new = (e.make("sum", fresh, low, x, inner) for x in (end.old, end.new))
        named = e.put(inner, {fresh: e.letter("idx")})
        where: dict[str, Any] = {"f": ["idx", named], "lo": low, "hi": small, "more": large}
        data = place.proof.checker.rules["sum-extend"]
        values = {**where, "f": (fresh, inner)}
        if not conditions_proven(self.goals, place, checker().Rule(e, data), values):
            return None
        gap = e.minus(new, old) if end.way > 0 else e.minus(old, new)
        prepare(self.goals, place, old)
        prepare(self.goals, place, new)
        place.fact(">=", gap, "instance", "rule", "sum-extend", where)
        return self._known(place, end.way, old, new)


def conditions_proven(goals: Goals, place: FactList, rule: Any, values: Mapping[str, Any]) -> bool:
    """Prove the conditions of a rule's instance."""
    return not unproven(goals, place, rule, values)


def unproven(goals: Goals, place: FactList, rule: Any, values: Mapping[str, Any]) -> list[str]:
    """Prove the conditions of a rule's instance; those that are not."""
    e, left = place.e, []
    for one in rule.conditions:
        kind, *args = one
        if kind == "fact":
            expr = e.put(args[1], dict(values))
            prepare(goals, place, expr)
            _prove(goals, place, args[0], expr)
        elif kind == "integer":
            prepare(goals, place, e.put(args[0], dict(values)))
        elif kind == "forall":
            index, lo, hi, relation, body = args
            lo, hi, body = (e.put(x, dict(values)) for x in (lo, hi, body))
            inner = place.inside("oo" if e.rows[hi] == ("oo",) else e.minus(hi, lo))
            expr = e.put(body, {index: e.plus(lo, e.letter(inner.index))})
            prepare(goals, inner, expr)
            _prove(goals, inner, relation, expr)
        try:
            met = place.proof.met(place.scope, one, dict(values))
        except checker().Refused:
            met = False
        if not met:
            left.append(
                str(kind) if kind != "fact" else f"{place.scope.shown(e.put(args[1], dict(values)))} {args[0]} 0"
            )
    return left


def _prove(goals: Goals, place: FactList, relation: str, expr: Expr) -> None:
    try:
        form = place.form(expr)
        if relation == "=":
            goals.zero(place, form)
        elif relation == "!=":
            goals.apart(place, form)
        else:
            goals.prove(place, form, relation == ">")
    except checker().Refused:
        return
