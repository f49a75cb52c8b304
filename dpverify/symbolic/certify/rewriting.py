"""Carry an instance of a rule up to the expression around it, with one fact per level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpverify.symbolic.certify.checker import HOLE, Expr, k
from dpverify.symbolic.certify.columns import instance_gap
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.side_conditions import prepare, unproven


@dataclass(frozen=True)
class Rewrite:
    """An expression before and after a rewrite, and its direction: 1 up, -1 down, 0 equal."""

    direction: int
    old: Expr
    new: Expr

    @property
    def gap(self) -> Expr:
        """The size of the change as a nonnegative expression."""
        return (self.new - self.old) if self.direction >= 0 else (self.old - self.new)

    @property
    def relation(self) -> str:
        """The relation of the gap to 0."""
        return "=" if self.direction == 0 else ">="


#: Writes the instance at a place with the place's indices, or returns None if its conditions are not proven.
Write = Callable[[FactList, Mapping[str, Expr]], "Rewrite | None"]


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

    def rewrite(
        self, place: FactList, context: Expr, env: Mapping[str, Expr]
    ) -> Rewrite | None:
        """Return an expression with a hole before and after the instance is applied, or None if this is not proven."""
        if context is HOLE:
            return self.write(place, env)
        op, *args = context
        if op == "sum":
            return self._sum(place, context, env)
        if op in ("integral", "apply") or not has_hole(context):
            return None
        parts = [
            self.rewrite(place, arg, env) if has_hole(arg) else None for arg in args
        ]
        if any(
            part is None and has_hole(arg)
            for part, arg in zip(parts, args, strict=True)
        ):
            return None
        old = [
            k.put(arg, env) if p is None else p.old
            for p, arg in zip(parts, args, strict=True)
        ]
        new = [
            k.put(arg, env) if p is None else p.new
            for p, arg in zip(parts, args, strict=True)
        ]
        changes = [p for p in parts if p is not None]
        directions = {p.direction for p in changes if p.direction}
        if not directions:
            return self._equal(place, op, old, new)
        if len(directions) > 1:
            return None
        if op == "+":
            terms = [["1", [p.gap]] for p in changes]
            return self._prove_rewrite(
                place,
                Rewrite(max(directions, key=abs), k.row(op, *old), k.row(op, *new)),
                "combine",
                [],
                terms,
            )
        if op == "*":
            return self._times(place, parts, old, new)
        if len(changes) > 1:
            return None
        (direction,) = directions
        at = next(i for i, p in enumerate(parts) if p is not None)
        low, high = (old[at], new[at]) if direction > 0 else (new[at], old[at])
        rewrite = Rewrite(direction, k.row(op, *old), k.row(op, *new))
        if op in ("exp", "log"):
            return self._by_rule(
                place, rewrite, f"{op}-monotone", {"a": low, "b": high}
            )
        if op == "^":
            return (
                self._base(place, rewrite, low, high)
                if at == 0
                else self._exponent(place, rewrite, low, high)
            )
        return rewrite if self.goals.prove_expr(place, rewrite.gap) else None

    def _prove_rewrite(
        self, place: FactList, rewrite: Rewrite, *by: Any
    ) -> Rewrite | None:
        for expr in (rewrite.old, rewrite.new):
            prepare(self.goals, place, expr)
        is_proven = place.scope.holds(rewrite.relation, place.form(rewrite.gap))
        return (
            rewrite
            if is_proven or (by and place.fact(rewrite.relation, rewrite.gap, *by))
            else None
        )

    def _equal(
        self, place: FactList, op: str, old: list[Expr], new: list[Expr]
    ) -> Rewrite | None:
        current = list(old)
        for n, (a, b) in enumerate(zip(old, new, strict=True)):
            if a is not b:
                context = k.row(op, *current[:n], HOLE, *current[n + 1 :])
                rewrite = Rewrite(0, *(k.put(context, {"HOLE": x}) for x in (a, b)))
                if not self._prove_rewrite(
                    place, rewrite, "congruent", "HOLE", context, b, a
                ):
                    return None
                current[n] = b
        return self._prove_rewrite(place, Rewrite(0, k.row(op, *old), k.row(op, *new)))

    def _times(
        self,
        place: FactList,
        parts: list[Rewrite | None],
        old: list[Expr],
        new: list[Expr],
    ) -> Rewrite | None:
        unchanged = [x for p, x in zip(parts, old, strict=True) if p is None]
        changes = [p for p in parts if p is not None]
        outer = k.row("*", *unchanged) if unchanged else k.rational(1)
        prepare(self.goals, place, outer)
        sign = 1 if self.goals.prove_expr(place, outer) else -1
        outer = outer if sign > 0 else -outer
        if not self.goals.prove_expr(place, outer) or any(
            p.direction == 0 for p in changes
        ):
            return None
        if len(changes) > 1 and not all(
            self.goals.prove_expr(place, x) for p in changes for x in (p.old, p.new)
        ):
            return None
        terms = []
        for n, p in enumerate(changes):
            around = [q.new for q in changes[:n]] + [q.old for q in changes[n + 1 :]]
            terms.append(["1", [outer, p.gap, *around]])
        rewrite = Rewrite(
            changes[0].direction * sign, k.row("*", *old), k.row("*", *new)
        )
        return self._prove_rewrite(place, rewrite, "combine", [], terms)

    def _base(
        self, place: FactList, rewrite: Rewrite, low: Expr, high: Expr
    ) -> Rewrite | None:
        """Prove the direction of a power whose base changes."""
        power = rewrite.old[2]
        goals = self.goals
        if goals.prove_expr(place, power) and goals.prove_expr(place, low):
            if not place.scope.sign(place.form(high)) & 1:
                place.fact(
                    ">=", high, "combine", [], [["1", [low]], ["1", [high - low]]]
                )
            return self._by_rule(
                place, rewrite, "power-monotone", {"a": low, "b": high, "p": power}
            )
        if not (goals.prove_expr(place, -power) and goals.prove_expr(place, low, True)):
            return None
        goals.prove_expr(place, high, True)
        rewrite = Rewrite(-rewrite.direction, rewrite.old, rewrite.new)
        reciprocals = [k.row("^", x, k.rational(-1)) for x in (high, low)]
        first = self._by_rule(
            place,
            Rewrite(1, *reciprocals),
            "reciprocal-monotone",
            {"a": low, "b": high},
        )
        if first is None or place.scope.holds(">=", place.form(rewrite.gap)):
            return first and rewrite
        return self._by_rule(
            place,
            rewrite,
            "power-monotone",
            {"a": reciprocals[0], "b": reciprocals[1], "p": -power},
        )

    def _exponent(
        self, place: FactList, rewrite: Rewrite, low: Expr, high: Expr
    ) -> Rewrite | None:
        """Prove the direction of a power whose exponent changes."""
        base = rewrite.old[1]
        goals = self.goals
        if goals.prove_expr(place, (base - k.rational(1))):
            return self._by_rule(
                place, rewrite, "power-increasing", {"x": base, "p": low, "q": high}
            )
        if not (
            goals.prove_expr(place, base)
            and goals.prove_expr(place, (k.rational(1) - base))
        ):
            return None
        rewrite = Rewrite(-rewrite.direction, rewrite.old, rewrite.new)
        if goals.prove_expr(place, low):
            return self._by_rule(
                place, rewrite, "power-decreasing", {"x": base, "p": high, "q": low}
            )
        if not goals.prove_expr(place, base, True):
            return None
        where = {"x": k.row("^", base, k.rational(-1)), "p": -high, "q": -low}
        return self._by_rule(place, rewrite, "power-increasing", where)

    def _by_rule(
        self, place: FactList, rewrite: Rewrite, name: str, where: dict[str, Expr]
    ) -> Rewrite | None:
        gap = instance_gap(place, name, where)
        if gap is None or unproven(
            self.goals, place, k.Rule(place.proof.checker.rules[name]), where
        ):
            return None
        if not place.scope.holds(">=", place.form(gap)) and not place.fact(
            ">=", gap, "instance", "rule", name, where
        ):
            return None
        return self._prove_rewrite(place, rewrite)

    def _sum(
        self, place: FactList, context: Expr, env: Mapping[str, Expr]
    ) -> Rewrite | None:
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
        body_rewrite = self.rewrite(
            inner, body, {**env, index: k.row("+", low, k.letter(inner.index))}
        )
        if body_rewrite is None:
            return None
        fresh = k.letter(k.bind("i", HOLE)[0])
        back = {inner.index: (fresh - low)}
        parts = (
            body_rewrite.old,
            body_rewrite.new,
            body_rewrite.gap,
            -body_rewrite.gap,
        )
        old, new, *gaps = (
            k.row("sum", fresh[1], low, high, k.put(x, back)) for x in parts
        )
        rewrite = Rewrite(body_rewrite.direction, old, new)
        for expr in (old, new, *gaps):
            prepare(self.goals, place, expr)
        proven = all(
            place.termwise(gap)
            for gap in (gaps if rewrite.relation == "=" else gaps[:1])
        )
        return self._prove_rewrite(place, rewrite) if proven else None

    def _end(
        self, place: FactList, context: Expr, env: Mapping[str, Expr]
    ) -> Rewrite | None:
        """Prove that a sum of nonnegative terms grows with its upper end."""
        _, index, lo, hi, body = context
        end = self.rewrite(place, hi, env)
        if end is None or end.direction == 0:
            return None
        low = k.put(lo, env)
        small, large = (end.old, end.new) if end.direction > 0 else (end.new, end.old)
        fresh = k.letter(k.bind("i", HOLE)[0])
        inner = k.put(body, {**env, index: fresh})
        rewrite = Rewrite(
            end.direction,
            *(k.row("sum", fresh[1], low, x, inner) for x in (end.old, end.new)),
        )
        where = {
            "f": ["idx", k.put(inner, {fresh[1]: k.letter("idx")})],
            "lo": low,
            "hi": small,
            "more": large,
        }
        rule = k.Rule(place.proof.checker.rules["sum-extend"])
        if unproven(self.goals, place, rule, {**where, "f": (fresh[1], inner)}):
            return None
        return self._prove_rewrite(
            place, rewrite, "instance", "rule", "sum-extend", where
        )
