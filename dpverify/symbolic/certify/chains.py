"""The chain of a derivation: every step as facts, or the reason why one has none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy

from dpverify.symbolic.certify.checker import checker
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.instances import full_where, premise_data, replaced, where_value
from dpverify.symbolic.certify.place import Expr, FactList
from dpverify.symbolic.certify.prefix import NotExpressibleError, conditions_of, from_sympy
from dpverify.symbolic.certify.prepare import prepare
from dpverify.symbolic.certify.rewriting import HOLE, Rewriting, Rewritten, unproven
from dpverify.symbolic.derive.matching import Move, _places
from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import ALGEBRA, PREMISE, Cases, Derivation, Link, Step
from dpverify.symbolic.prove.facts import differences
from dpverify.symbolic.rules import find_rule
from dpverify.symbolic.rules.base import Instance


class NoCertificateError(Exception):
    """A derivation, or a step of it, that is not written down as a certificate; the text says why."""


Gap = tuple[str, Expr, Expr]  # relation, the expression before and the one after


class Chains:
    """Writes the chains of one derivation."""

    def __init__(self, goals: Goals, derivation: Derivation) -> None:
        self.goals, self.derivation = goals, derivation
        self.quantified = replaced(derivation.steps)
        self.steps_written = 0

    def read(self, place: FactList, expr: Any) -> Expr:
        """Number of a sympy expression."""
        return int(place.e.read(from_sympy(expr)))

    def links(self, place: FactList, old: Any, links: tuple[Link, ...], setting: Setting) -> list[Gap]:
        """Write a chain from an expression on."""
        gaps = []
        for number, link in enumerate(links):
            try:
                gaps.append(self.link(place, old, link, setting))
            except NotExpressibleError as error:
                raise NoCertificateError(f"step {number}: {error}") from None
            except NoCertificateError as error:
                rule = link.rule if isinstance(link, Step) else "cases"
                raise NoCertificateError(f"step {number} ({rule}): {error}") from None
            old = link.expr
        return gaps

    def link(self, place: FactList, old: Any, link: Link, setting: Setting) -> Gap:
        """Write one step, or one split into cases."""
        before, after = self.read(place, old), self.read(place, link.expr)
        for expr in (before, after):
            prepare(self.goals, place, expr)
        if isinstance(link, Cases):
            self.cases(place, old, link, list(link.cases), setting)
        elif not self.follows(place, link.relation, before, after):
            if link.rule == ALGEBRA:
                if not self.goals.zero(place, place.form(place.e.minus(after, before))):
                    raise NoCertificateError("the two sides have different forms")
            else:
                self.rule(place, old, link, setting)
        if not self.follows(place, link.relation, before, after):
            raise NoCertificateError("the facts do not add up to the step")
        place.step(link.relation, before, after)
        self.steps_written += 1
        return link.relation, before, after

    def gap(self, place: FactList, relation: str, before: Expr, after: Expr) -> tuple[str, Expr]:
        """What must be known for a step."""
        e = place.e
        if relation == "=":
            return "=", e.minus(after, before)
        return ">=", e.minus(after, before) if relation == "<=" else e.minus(before, after)

    def follows(self, place: FactList, relation: str, before: Expr, after: Expr) -> bool:
        """Whether a step is known already."""
        kind, gap = self.gap(place, relation, before, after)
        return bool(place.scope.holds(kind, place.form(gap)))

    def rule(self, place: FactList, old: Any, step: Step, setting: Setting) -> None:
        """Write a step by a rule or a premise: in some place of the expression, or as a multiple of its sides."""
        before, after = self.read(place, old), self.read(place, step.expr)
        why = "no place for the rule is found"
        for instance, held, put, way in self._sides(step):
            if step.relation == "=" and way:
                continue
            write = self.writer(step, way, held, put)
            for context in self._contexts(old, held, step, setting):
                try:
                    moved = Rewriting(self.goals, write).moved(place, context, {})
                except checker().Refused as error:
                    moved, why = None, str(error)
                    continue
                if moved is None:
                    why = f"not carried through {context}" if not self.missing else f"not proven: {self.missing}"
                    continue
                if self.finish(place, step.relation, moved, before, after):
                    return
                why = "the expressions around the rule are not proven to be equal"
            try:
                moved = write(place, {})
            except checker().Refused:
                continue  # it mentions an index
            if moved is not None:
                kind, gap = self.gap(place, step.relation, before, after)
                form = place.form(gap)
                if self.goals.zero(place, form) if kind == "=" else self.goals.prove(place, form):
                    return
            del instance
        raise NoCertificateError(why)

    def finish(self, place: FactList, relation: str, moved: Rewritten, before: Expr, after: Expr) -> bool:
        """From an expression with a place for the rule to the one that the step prints, before and after it."""
        if self.follows(place, relation, before, after):
            return True
        e, zeros = place.e, []
        for a, b in ((before, moved.old), (moved.new, after)):
            gap = e.minus(b, a)
            if not self.goals.zero(place, place.form(gap)):
                return False
            zeros.append(gap)
        kind, gap = self.gap(place, relation, before, after)
        sign = "1" if relation != ">=" else "-1"
        change = e.minus(moved.new, moved.old) if relation != ">=" else e.minus(moved.old, moved.new)
        terms: list[Any] = [[sign, [], z] for z in zeros if place.form(z)]
        terms.append(["1", [], change] if kind == "=" or moved.way == 0 else ["1", [change]])
        return self.follows(place, relation, before, after) or place.fact(kind, gap, "combine", [], terms)

    def _sides(self, step: Step) -> Iterator[tuple[Instance, Any, Any, int]]:
        instance = self._instance(step)
        small, large = instance.lhs, instance.rhs
        if instance.relation == ">=":
            small, large = large, small
        equal = instance.relation == "="
        for held, put, way in ((small, large, 1), (large, small, -1)):
            yield instance, held, put, 0 if equal else way

    def _instance(self, step: Step) -> Instance:
        if step.rule != PREMISE:
            return find_rule(step.rule).instance(step.where)
        (name,) = step.premises
        return self.derivation.premises[name].instance(step.where)

    def _contexts(self, old: Any, held: Any, step: Step, setting: Setting) -> Iterator[Any]:
        letter = sympy.Symbol(HOLE, real=True)
        move = Move(old, step.expr, step.relation, step.context, setting.facts, setting.variables, setting.refuted)
        seen = []
        for context in _places(move, held, letter):
            if letter in context.free_symbols and context not in seen:
                seen.append(context)
                yield from_sympy(context, guarded=True)

    def writer(self, step: Step, way: int, held: Any, put: Any) -> Any:
        """Make what writes the step's instance at a place."""
        self.missing = ""
        if step.rule == PREMISE:
            (name,) = step.premises
            premise = self.derivation.premises[name]
            data = premise_data(premise, self.quantified.get(name, ()))
            where = full_where(data["letters"], step.where)
        else:
            name = step.rule
            where = {k: where_value(v) for k, v in step.where.items()}
        held_prefix, put_prefix = from_sympy(held), from_sympy(put)

        def write(place: FactList, env: Mapping[str, Expr]) -> Rewritten | None:
            e = place.e

            def read(prefix: Any) -> Expr:
                return int(e.put(e.read(prefix), dict(env)))

            written: dict[str, Any] = {}
            values: dict[str, Any] = {}
            for letter, value in where.items():
                if isinstance(value, tuple):
                    written[letter] = values[letter] = value[1]
                elif isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and _is_term(value):
                    fresh, (body,) = e.binder(value[0], e.read(value[1]))
                    body = e.put(body, dict(env))
                    written[letter] = ["idx", e.put(body, {fresh: e.letter("idx")})]
                    values[letter] = (fresh, body)
                else:
                    written[letter] = values[letter] = read(value)
            rules, method = place.proof.checker.rules, "premise" if step.rule == PREMISE else "rule"
            old, new = read(held_prefix), read(put_prefix)
            if step.rule != PREMISE and name not in rules:
                self.missing = f"there is no rule {name} in the catalogue"
                return None
            rule = checker().Rule(e, data if step.rule == PREMISE else rules[name])
            for expr in (old, new, *(v for v in values.values() if isinstance(v, int))):
                prepare(self.goals, place, expr)
            gap = e.minus(new, old) if way >= 0 else e.minus(old, new)
            relation = "=" if way == 0 else ">="
            if place.scope.holds(relation, place.form(gap)):
                return Rewritten(way, old, new)
            sides = [e.put(side, values) for side in (rule.lhs, rule.rhs)]
            for side in sides:
                prepare(self.goals, place, side)
            if left := unproven(self.goals, place, rule, values):
                self.missing = "; ".join(left)
                return None
            turned = rule.relation == ">="
            whole = e.minus(sides[0], sides[1]) if turned else e.minus(sides[1], sides[0])
            if not (
                place.fact(relation, whole, "instance", method, name, written)
                and (
                    place.scope.holds(relation, place.form(gap))
                    or self.goals.zero(place, place.form(e.minus(gap, whole)))
                )
            ):
                self.missing = f"the checker refuses the instance: {place.refusal}"
                return None
            return Rewritten(way, old, new)

        return write

    def cases(self, place: FactList, old: Any, split: Cases, left: list[Any], setting: Setting) -> None:
        """Write a split: each case where its assumption holds, and those that are left where it does not."""
        before, after = self.read(place, old), self.read(place, split.expr)
        relation, gap = self.gap(place, split.relation, before, after)
        if place.scope.holds(relation, place.form(gap)):
            return
        case, rest = left[0], left[1:]
        wanted = [d for r in conditions_of(case.assumption) for d in self._differences(place, r)]
        self._split(place, wanted, case, rest, (old, split, setting), (relation, gap))

    def _differences(self, place: FactList, relation: Any) -> list[tuple[Expr, bool]]:
        kind, a, b = relation
        left, right = (place.e.read(x) for x in (a, b))
        up, down = place.e.minus(left, right), place.e.minus(right, left)
        found = {">=": [(up, False)], ">": [(up, True)], "<=": [(down, False)], "<": [(down, True)]}
        if kind == "=":
            return [(up, False), (down, False)]
        if kind not in found:
            raise NoCertificateError(f"a case with the assumption {relation}")
        return found[kind]

    def _split(
        self, place: FactList, wanted: Any, case: Any, rest: list[Any], about: Any, claim: tuple[str, Expr]
    ) -> None:
        old, split, setting = about
        known = [(d, s) for d, s in wanted if not self.goals.expr(place, d, s)]
        if not known:
            inner = setting.narrowed(case.assumption)
            gaps = self.links(place, old, case.steps, inner)
            end = case.steps[-1].expr if case.steps else old
            last, target = self.read(place, end), self.read(place, split.expr)
            if not self.goals.zero(place, place.form(place.e.minus(target, last))):
                raise NoCertificateError(f"the case {case.assumption} ends elsewhere")
            self.add_up(place, claim, [*gaps, ("=", last, target)])
            return
        if not rest:
            raise NoCertificateError("the cases are not proven to cover the domain")
        gap, strict = known[0]
        lists: tuple[list[Any], list[Any]] = ([], [])
        first = place.e.turned(gap) if strict else gap
        sides = (
            (">=", first, lists[0], strict),
            (">", place.e.turned(first), lists[1], not strict),
        )
        for relation, assumed, items, others in sides:
            inner = place.case(relation, assumed, items)
            if others:
                self.cases(inner, old, split, rest, setting)
            else:
                self._split(inner, known[1:], case, rest, about, claim)
        place.split(first, *lists, *claim)

    def add_up(self, place: FactList, claim: tuple[str, Expr], gaps: list[Gap]) -> None:
        """From the steps of a chain to how its ends stand."""
        relation, gap = claim
        if place.scope.holds(relation, place.form(gap)):
            return
        terms: list[Any] = []
        for kind, before, after in gaps:
            how, one = self.gap(place, kind, before, after)
            if how == "=" and relation == ">=":
                sign = self._direction(place, gap, gaps)
                terms.append([sign, [], one])
            elif how == "=":
                terms.append(["1", [], one])
            else:
                terms.append(["1", [one]])
        if not place.fact(relation, gap, "combine", [], terms):
            raise NoCertificateError("the steps do not add up")

    def _direction(self, place: FactList, gap: Expr, gaps: list[Gap]) -> str:
        up = place.e.minus(gaps[-1][2], gaps[0][1])
        return "1" if place.form(up) == place.form(gap) else "-1"


def _is_term(value: list[Any]) -> bool:
    """Whether a list is an index with a term, and no expression: those with two entries begin with an operator."""
    return value[0] not in {
        "q", "exp", "log", "log2", "sqrt", "abs", "floor", "ceil", "popcount", "norm", "max", "min", "+", "*",
    }  # fmt: skip


__all__ = ["Chains", "NoCertificateError", "differences"]
