"""Write the chain of a derivation: every step as facts, or the reason why a step has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import sympy

from dpverify.symbolic.certify.checker import (
    HOLE,
    Expr,
    comparison_text,
    k,
    rules,
    text_of,
    to_expr,
)
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import (
    FactList,
    NoCertificateError,
    Origin,
    Path,
    Trace,
)
from dpverify.symbolic.certify.polynomials import on_interval
from dpverify.symbolic.certify.prefix import (
    NotExpressibleError,
    conditions_of,
    from_sympy,
    read,
    where_value,
)
from dpverify.symbolic.certify.rewriting import Rewrite, Rewriting, context_of
from dpverify.symbolic.certify.side_conditions import prepare, unproven
from dpverify.symbolic.derive.matching import with_part_replaced
from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import (
    ALGEBRA,
    PREMISE,
    Cases,
    Derivation,
    Link,
    Step,
)
from dpverify.symbolic.rules import find_rule

Gap = tuple[str, Expr, Expr]  # relation, the expression before and the one after


def gap_of(relation: str, before: Expr, after: Expr) -> tuple[str, Expr]:
    """Return the relation and the difference that must be known for a step."""
    kind, gap = k.difference(relation, before, after)
    return kind, gap


class Chains:
    """Writes the chain of one derivation."""

    def __init__(
        self, goals: Goals, derivation: Derivation, origin_of: Callable[[Step], Origin]
    ) -> None:
        self.goals = goals
        self.derivation = derivation
        self.origin_of = origin_of
        self.missing = ""
        self.trace = Trace()

    def links(
        self,
        place: FactList,
        old: Any,
        links: tuple[Link, ...],
        setting: Setting,
        around: Path = (),
    ) -> list[Gap]:
        """Write a chain of links that starts at an expression."""
        gaps = []
        for number, link in enumerate(links):
            path = (*around, number)
            try:
                gaps.append(self._link(place, old, link, setting, path))
            except (NotExpressibleError, NoCertificateError, k.Refused) as error:
                rule = link.rule if isinstance(link, Step) else "cases"
                failing = getattr(error, "path", ()) or path
                problem = getattr(error, "problem", str(error))
                self.trace.problems.setdefault(failing, problem)
                raise NoCertificateError(
                    f"step {number} ({rule}): {error}", failing, problem
                ) from None
            self.trace.proved.add(path)
            old = link.expr
        return gaps

    def add_up(self, place: FactList, claim: tuple[str, Expr], gaps: list[Gap]) -> None:
        """Write the relation between the ends of a chain by adding its steps."""
        relation, gap = claim
        if place.scope.holds(relation, place.form(gap)):
            return
        up = not gaps or place.form(gaps[-1][2] - gaps[0][1]) is place.form(gap)
        terms = []
        for kind, before, after in gaps:
            _, difference = gap_of(kind, before, after)
            terms.append(["1" if up or kind != "=" else "-1", [difference]])
        if not place.fact(relation, gap, "combine", [], terms):
            raise NoCertificateError(f"the steps do not add up: {place.refusal}")

    def _link(
        self, place: FactList, old: Any, link: Link, setting: Setting, path: Path
    ) -> Gap:
        """Write one step, or one split into cases."""
        before = read(old)
        after = read(link.expr)
        for expr in (before, after):
            prepare(self.goals, place, expr)
        if isinstance(link, Cases):
            self._cases(place, (old, link, setting, path), list(link.cases))
        elif not self._follows(place, link.relation, before, after):
            if link.rule == ALGEBRA:
                self.goals.prove_zero(place, place.form(after - before))
            else:
                self._rule(place, old, link, setting)
        if not self._follows(place, link.relation, before, after):
            raise NoCertificateError("the facts do not add up to the step")
        return link.relation, before, after

    def _follows(
        self, place: FactList, relation: str, before: Expr, after: Expr
    ) -> bool:
        """Test whether a step is known already."""
        kind, gap = gap_of(relation, before, after)
        return bool(place.scope.holds(kind, place.form(gap)))

    def _rule(self, place: FactList, old: Any, step: Step, setting: Setting) -> None:
        """Write a step by a rule or a premise: at some place in the expression, or as a multiple of its sides."""
        before = read(old)
        after = read(step.expr)
        why = "the rule's sides are not found in the two expressions"
        for part, replacement, direction in self._sides(step):
            if step.relation == "=" and direction:
                continue
            write = self._writer(step, direction, part, replacement)
            for context in self._contexts(old, part, step, setting):
                try:
                    rewrite = Rewriting(self.goals, write).rewrite(place, context, {})
                except k.Refused as error:
                    why = str(error)
                    continue
                if rewrite is None:
                    why = (
                        f"not proven: {self.missing}"
                        if self.missing
                        else f"not carried through {text_of(context)}"
                    )
                elif self._finish(place, step.relation, rewrite, before, after):
                    return
                else:
                    why = "the expressions around the rule are not proven to be equal"
            try:
                rewrite = write(place, {})
            except k.Refused:
                continue  # the instance contains an index of a sum
            kind, gap = gap_of(step.relation, before, after)
            if rewrite is not None and self.goals.prove_relation(place, kind, gap):
                return
        raise NoCertificateError(why)

    def _finish(
        self,
        place: FactList,
        relation: str,
        rewrite: Rewrite,
        before: Expr,
        after: Expr,
    ) -> bool:
        """Connect the expressions around the rule with those that the step prints, before and after it."""
        if self._follows(place, relation, before, after):
            return True
        for a, b in ((before, rewrite.old), (rewrite.new, after)):
            if not self.goals.prove_zero(place, place.form(b - a)):
                return False
        direction = {1: "<=", -1: ">=", 0: "="}[rewrite.direction]
        gaps = [
            ("=", before, rewrite.old),
            (direction, rewrite.old, rewrite.new),
            ("=", rewrite.new, after),
        ]
        try:
            self.add_up(place, gap_of(relation, before, after), gaps)
        except NoCertificateError:
            return False
        return True

    def _sides(self, step: Step) -> Iterator[tuple[Any, Any, int]]:
        if step.rule == PREMISE:
            instance = self.derivation.premises[step.premises[0]].instance(step.where)
        else:
            instance = find_rule(step.rule).instance(step.where)
        small = instance.lhs
        large = instance.rhs
        if instance.relation == ">=":
            small, large = large, small
        equal = instance.relation == "="
        for part, replacement, direction in ((small, large, 1), (large, small, -1)):
            yield part, replacement, 0 if equal else direction

    def _contexts(
        self, old: Any, part: Any, step: Step, setting: Setting
    ) -> Iterator[Expr]:
        letter = sympy.Symbol(HOLE[1], real=True)
        contexts = []
        for context in (
            with_part_replaced(old, part, letter, setting.facts)
            if step.context is None
            else [step.context]
        ):
            if letter in context.free_symbols and context not in contexts:
                contexts.append(context)
                yield context_of(from_sympy(context, guarded=True))

    def _writer(self, step: Step, direction: int, part: Any, replacement: Any) -> Any:
        """Return a function that writes the step's instance at a place."""
        self.missing = ""
        if step.rule == PREMISE:
            source = self.origin_of(step)
        else:
            data = next((r for r in rules() if r["name"] == step.rule), None)
            if data is None:
                raise NoCertificateError(
                    f"there is no rule {step.rule} in the catalogue"
                )
            where = {name: where_value(value) for name, value in step.where.items()}
            source = Origin("rule", step.rule, k.Rule(data), where)
        sides = k.read(from_sympy(part)), k.read(from_sympy(replacement))

        def write(place: FactList, env: Mapping[str, Expr]) -> Rewrite | None:
            rewrite = Rewrite(direction, *(k.put(side, env) for side in sides))
            data_values: dict[str, Any] = {}
            values: dict[str, Any] = {}
            for letter, value in source.where.items():
                if isinstance(value, tuple) and len(value) == 1:
                    data_values[letter] = values[letter] = value[0]
                elif isinstance(value, tuple):
                    fresh, body = k.bind(value[0], k.read(value[1]))
                    body = k.put(body, env)
                    data_values[letter] = ["idx", k.put(body, {fresh: k.letter("idx")})]
                    values[letter] = (fresh, body)
                else:
                    data_values[letter] = values[letter] = k.put(k.read(value), env)
            for expr in (
                rewrite.old,
                rewrite.new,
                *(v for v in values.values() if isinstance(v, k.Row)),
            ):
                prepare(self.goals, place, expr)
            if place.scope.holds(rewrite.relation, place.form(rewrite.gap)):
                return rewrite
            if source.kind == "condition":
                self.missing = comparison_text(*gap_of(step.relation, *sides))
                return None
            for side in (source.rule.lhs, source.rule.rhs):
                prepare(self.goals, place, k.put(side, values))
            if step.rule == "bernstein" and on_interval(
                self.goals, place, rewrite.gap, step.where
            ):
                return rewrite
            if unproved := unproven(self.goals, place, source.rule, values):
                self.missing = "; ".join(map(str, unproved))
                return None
            instance_gap = k.put(source.rule.gap, values)
            relation = rewrite.relation if source.rule.relation != ">" else ">"
            if not place.fact(
                relation,
                instance_gap,
                "instance",
                source.kind,
                source.name,
                data_values,
            ):
                self.missing = f"the checker refuses the instance: {place.refusal}"
                return None
            is_proven = place.scope.holds(rewrite.relation, place.form(rewrite.gap))
            remaining_gap = rewrite.gap - instance_gap
            if is_proven or (
                self.goals.prove_zero(place, place.form(remaining_gap))
                and place.fact(
                    rewrite.relation,
                    rewrite.gap,
                    "combine",
                    [],
                    [["1", [instance_gap]], ["1", [remaining_gap]]],
                )
            ):
                return rewrite
            self.missing = f"the instance is not {text_of(rewrite.gap)}"
            return None

        return write

    def _cases(
        self,
        place: FactList,
        context: tuple[Any, Cases, Setting, Path],
        cases_left: list[Any],
    ) -> None:
        """Write a split: the first case where its assumption holds, and the remaining cases elsewhere."""
        old, split, _, _ = context
        claim = gap_of(split.relation, read(old), read(split.expr))
        if not place.scope.holds(claim[0], place.form(claim[1])):
            case = cases_left[0]
            later_cases = cases_left[1:]
            differences = [
                d for r in conditions_of(case.assumption) for d in _differences(r)
            ]
            self._split(place, differences, case, later_cases, context, claim)

    def _split(
        self,
        place: FactList,
        differences: Any,
        case: Any,
        later_cases: list[Any],
        context: Any,
        claim: tuple[str, Expr],
    ) -> None:
        old, split, setting, path = context
        open_differences = [
            (d, s) for d, s in differences if not self.goals.prove_expr(place, d, s)
        ]
        if not open_differences:
            number = len(split.cases) - len(later_cases) - 1
            try:
                gaps = self.links(
                    place,
                    old,
                    case.steps,
                    setting.with_assumption(case.assumption),
                    (*path, number),
                )
            except NoCertificateError as error:
                raise NoCertificateError(
                    f"case {case.assumption}: {error}", error.path, error.problem
                ) from None
            last = read(case.steps[-1].expr if case.steps else old)
            target = read(split.expr)
            if not self.goals.prove_zero(place, place.form(target - last)):
                raise NoCertificateError(f"the case {case.assumption} ends elsewhere")
            self.add_up(place, claim, [*gaps, ("=", last, target)])
            return
        if not later_cases:
            raise NoCertificateError("the cases are not proven to cover the domain")
        gap, strict = open_differences[0]
        lists: tuple[list[Any], list[Any]] = ([], [])
        first = -gap if strict else gap
        sides = ((">=", first, lists[0], strict), (">", -first, lists[1], not strict))
        for relation, assumed, items, is_outside in sides:
            inner = place.case(relation, assumed, items)
            self._write_square_comparison(inner, assumed)
            if is_outside:
                self._cases(inner, context, later_cases)
            else:
                self._split(
                    inner, open_differences[1:], case, later_cases, context, claim
                )
        place.split(first, *lists, *claim)

    def _write_square_comparison(self, place: FactList, gap: Expr) -> None:
        """Write ``a**2 <= b**2`` if ``a <= b`` has square roots."""
        form = place.form(gap)
        above = k.form_of({m: abs(c) for m, c in form.items()})
        halves = (x.constant() for m in form for _, x in m)
        if (
            len(form) == 2
            and above is not form
            and any(x is not None and x.q == 2 for x in halves)
        ):
            total = to_expr(above)
            if self.goals.prove_expr(place, total):
                place.fact(
                    ">=",
                    to_expr(place.scope.product(form, above)),
                    "combine",
                    [],
                    [["1", [gap, total]]],
                )


def _differences(relation: Any) -> list[tuple[Expr, bool]]:
    """Return a condition as expressions that are nonnegative, or positive if the flag is set."""
    kind, gap = k.condition(relation, ())[1:]
    if kind == "!=":
        raise NoCertificateError(f"a case with the assumption {relation}")
    return [(gap, kind == ">"), *([(-gap, False)] if kind == "=" else [])]
