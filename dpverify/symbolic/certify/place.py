"""Where the facts of a certificate are written: a scope of the checker, and the list of facts that belongs to it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dpverify.symbolic.certify.checker import checker
from dpverify.symbolic.certify.numeric import Point, value_of

#: Number of an expression in the checker's table.
Expr = int


class AllRows:
    """A table in which the number of an expression is its place."""

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, place: int) -> int:
        return place


class FactList:
    """A scope, and where its facts go."""

    def __init__(self, proof: Any, scope: Any, items: list[Any], points: Iterable[Point] = ()) -> None:
        self.proof, self._scope, self._items = proof, scope, items
        self.e = proof.e
        self.points = list(points)
        self.refusal = ""
        self.failed: dict[Any, tuple[int, int]] = {}
        self.prepared: set[Expr] = set()
        self.busy: set[Any] = set()
        self.ranges: dict[Any, InRange] = {}

    @property
    def scope(self) -> Any:
        """The checker's scope."""
        return self._scope

    @property
    def items(self) -> list[Any]:
        """The list that the next fact goes to."""
        return self._items

    def fact(self, relation: str, expr: Expr, *by: Any) -> bool:
        """Write a fact, if the checker accepts it."""
        item = {"is": [relation, expr], "by": list(by)}
        return self._accepted(item)

    def _accepted(self, item: Any) -> bool:
        try:
            self.proof.item(item, self.scope, "")
        except checker().Refused as error:
            self.refusal = str(error)
            return False
        self.items.append(item)
        return True

    def step(self, relation: str, old: Expr, new: Expr) -> bool:
        """Write how an expression stands to the next, if the checker accepts it."""
        return self._accepted({"step": [relation, old, new]})

    def form(self, expr: Expr) -> Any:
        """The checker's form of an expression."""
        return self.scope.form(expr)

    def inside(self, length: Any) -> InRange:
        """The place of an index that runs over 0, 1, ..., length."""
        key = length if isinstance(length, str) else self.proof.checker.forms.number(self.form(length))
        if key not in self.ranges:
            self.ranges[key] = InRange(self, length)
        return self.ranges[key]

    def case(self, relation: str, expr: Expr, items: list[Any]) -> FactList:
        """The place where one fact more is assumed."""
        strict = relation == ">"
        points = [p for p in self.points if _may_hold(value_of(self.e, expr, p), strict)]
        return FactList(self.proof, self.scope.case(relation, expr), items, points)

    def split(self, expr: Expr, then: list[Any], other: list[Any], relation: str, claim: Expr) -> None:
        """Write a split into expr >= 0 and expr < 0, both of whose lists reach a claim, and learn the claim."""
        self.items.append({"split": expr, "then": then, "else": other, "is": [relation, claim]})
        self.scope.add(relation, claim)

    def refuted(self, expr: Expr, strict: bool) -> bool:
        """Whether an expression is negative at one of the points (not positive, for strict)."""
        for point in self.points:
            value = value_of(self.e, expr, point)
            if value is None:
                continue
            if value < -1e-9 * max(1.0, abs(value)) or (strict and value == 0):
                return True
        return False


def _may_hold(value: float | None, strict: bool) -> bool:
    return value is not None and (value > 1e-12 if strict else value >= -1e-12)


class InRange(FactList):
    """The place of an index within its range."""

    def __init__(self, around: FactList, length: Any) -> None:
        self.around, self.length = around, length
        self.index = f"%{around.scope.depth}"
        self.item: dict[str, Any] | None = None
        points = []
        for point in around.points:
            top = 40.0 if isinstance(length, str) else value_of(around.e, length, point)
            if top is None or math.isnan(top) or top < 0:
                continue
            ends = {0.0, 1.0, math.floor(min(top, 1e6) / 2), math.floor(top)}
            points += [{**point, self.index: k} for k in sorted(ends) if k <= top]
        super().__init__(around.proof, None, [], points[:24])

    @property
    def scope(self) -> Any:
        """The checker's scope, which may be a new one after new facts outside."""
        return self.around.scope.inside(self.length)

    @property
    def items(self) -> list[Any]:
        """A list at the end of what is written outside."""
        around = self.around.items
        if self.item is None or not around or around[-1] is not self.item:
            self.item = {"within": self.length, "facts": []}
            around.append(self.item)
        facts: list[Any] = self.item["facts"]
        return facts
