"""Search for a proof of a sign: ways to reduce a goal to simpler goals, tried in turn up to a limit of goals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

from flint import fmpq

from dpverify.symbolic.automatic.argument import formula
from dpverify.symbolic.automatic.knowledge import fact_columns
from dpverify.symbolic.automatic.program import RELATION, write_combination
from dpverify.symbolic.certify.checker import Expr, Form, k, to_expr
from dpverify.symbolic.certify.columns import FactColumn, columns_for, pruned
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.side_conditions import prepare

DEPTH = 5
MOST_TERMS = 60
MOST_PARTS = 6  # terms of a lemma about a sum
COST = 20  # cost of a way, in goals


Way = Callable[["Search", FactList, Form, bool, int], bool]
"""``way(search, facts, form, strict, depth)``: whether it proves a form nonnegative, or positive if ``strict``."""


class OutOfEffortError(Exception):
    """The search reached its limit of goals."""


class Search(Goals):
    """Proves signs of forms by more ways than the check of a written step uses."""

    def __init__(self, effort: int, ways: tuple[Way, ...]) -> None:
        super().__init__()
        self.ways = ways
        self.goals_left = effort
        self.whole: FactList | None = None  # the place of the statement, without cases
        self.tried: dict[str, None] = {}  # unproved goals, the latest last
        self._fact_columns: dict[Any, list[FactColumn]] = {}
        # parts of the statement about sums, the simplest first
        self.open_sums: dict[Expr, None] = {}
        self._unproved: set[Any] = set()
        self._open: set[Any] = set()

    def prove_relation(self, place: FactList, relation: str, expr: Expr) -> bool:
        """Prove a relation of an expression to 0, by a search unless another search is in progress."""
        if super().prove_relation(place, relation, expr):
            return True
        if self._open or relation == "!=":
            return False
        return (
            self.vanishes(place, expr)
            if relation == "="
            else self.search_expr(place, expr, relation == ">")
        )

    def prove(
        self, place: FactList, form: Form, strict: bool = False, depth: int = 5
    ) -> bool:
        """Prove a sign by the ways for steps of written proofs. Every call counts as a goal."""
        self.goals_left -= 1
        if self.goals_left < 0:
            raise OutOfEffortError
        return super().prove(place, form, strict, depth) or (
            not strict and self._bounded(place, form, depth)
        )

    def _bounded(self, place: FactList, form: Form, depth: int) -> bool:
        """Prove the sign of a number minus products of factors that are at most 1."""
        products = [(m, -c) for m, c in form.items() if m]
        left = form.get((), fmpq(0)) - sum(c for _, c in products)
        if (
            left < 0
            or depth < 2
            or len(form) < 2
            or not all(c > 0 and len(m) > 1 for m, c in products)
        ):
            return False
        terms = [[str(left), []]]
        for m, c in products:
            before: list[Expr] = []
            for factor in (place.scope.joined((pair,)) for pair in m):
                less = k.ONE - factor
                if not (
                    super().prove(place, factor, False)
                    and super().prove(place, less, False)
                ):
                    return False
                terms.append([str(c), [*before, to_expr(less)]])
                before.append(to_expr(factor))
        return place.fact(">=", to_expr(form), "combine", [], terms)

    def combination(
        self, place: FactList, form: Form, strict: bool, depth: int, products: str = ""
    ) -> bool:
        """Find weights of known facts, with floats first if there are many."""
        columns = pruned(columns_for(self, place, form, depth, products), form)
        if not all(any(m in c.form for c in columns) for m in form):
            return False
        return write_combination(place, form, strict, columns)

    def search_form(
        self, place: FactList, form: Form, strict: bool = False, depth: int = DEPTH
    ) -> bool:
        """Prove that a form is nonnegative, or positive."""
        if self.prove(place, form, strict):
            return True
        key = (place, form.key(), strict, depth, len(place.scope.facts))
        goal = (place, form.key(), strict)
        if (
            depth <= 0
            or len(form) > MOST_TERMS
            or key in self._unproved
            or goal in self._open
        ):
            return False
        expr = to_expr(form)
        if not form or place.is_refuted(expr, strict):
            return False
        self._open.add(goal)
        try:
            for way in self.ways:
                self.goals_left -= COST
                try:
                    if way(
                        self, place, place.form(expr), strict, depth
                    ) and place.scope.holds(RELATION[strict], place.form(expr)):
                        return True
                except k.Refused:
                    continue
        finally:
            self._open.discard(goal)
        self._unproved.add(key)
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

    def search_expr(
        self, place: FactList, expr: Expr, strict: bool = False, depth: int = DEPTH
    ) -> bool:
        """Prove the sign of an expression."""
        prepare(self, place, expr)
        return self.search_form(place, place.form(expr), strict, depth)

    def facts(self, place: FactList, form: Form) -> list[FactColumn]:
        """Return the facts about the functions in a form."""
        key = (place, form)
        if key not in self._fact_columns:
            self._fact_columns[key] = fact_columns(self, place, form)
        columns = (
            replace(column, form=_form_of(place, column))
            for column in self._fact_columns[key]
        )
        return [column for column in columns if column.form]

    def vanishes(self, place: FactList, expr: Expr) -> bool:
        """Prove that an expression is 0."""
        prepare(self, place, expr)
        if self.prove_zero(place, place.form(expr)):
            return True
        return self.search_expr(place, expr) and self.search_expr(place, -expr)

    def split(
        self, place: FactList, gap: Expr, form: Form, strict: bool, depth: int
    ) -> bool:
        """Prove a sign where an expression is nonnegative, and where it is negative."""
        expr = to_expr(form)
        lists: tuple[list[Any], list[Any]] = ([], [])
        for relation, assumed, items in ((">=", gap, lists[0]), (">", -gap, lists[1])):
            case = place.case(relation, assumed, items)
            tighten(case, assumed)
            if not self.search_form(case, case.form(expr), strict, depth - 1):
                return False
        place.split(gap, *lists, RELATION[strict], expr)
        return True


def _form_of(place: FactList, column: FactColumn) -> Form:
    """Return the form of a fact, which may have become simpler."""
    form: Form = reduce(place.scope.product, map(place.form, column.factors))
    return -form if column.negated else form


def tighten(place: FactList, assumed: Expr) -> None:
    """Write that an integer above 0 is at least 1."""
    less = place.form(assumed) - k.ONE
    if (
        place.scope.integer(less)
        and place.scope.sign(less + k.ONE) == 3
        and not place.scope.sign(less) & 1
    ):
        place.fact(">=", to_expr(less), "whole")


def atoms_of(form: Form) -> Iterator[Any]:
    """Yield the atoms of a form, atoms inside others last."""
    inner = []
    for m in form:
        for atom, exponent in m:
            yield atom
            inner += [
                part for part in (exponent, *atom[1:]) if isinstance(part, k.Form)
            ]
    for part in inner:
        yield from atoms_of(part)
