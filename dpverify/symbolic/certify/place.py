"""Places of a certificate, and the trace of the links that are written there.

A place is a scope of the checker, with the list to which its facts are written (:class:`FactList`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flint import fmpq

from dpverify.symbolic.certify.checker import Expr, Form, Point, k, value_of


class ExpressionProof(k.Proof):  # type: ignore[misc]  # the checker has no types
    """A proof of the checker whose data may contain expressions."""

    def read(self, data: Any) -> Expr:
        """Read the prefix format. An expression is returned unchanged."""
        return data if isinstance(data, k.Row) else k.read(data)


class FactList:
    """A place: a scope of the checker, and the list to which its facts are written."""

    def __init__(
        self,
        proof: Any,
        scope: Any,
        items: list[Any],
        points: Iterable[Point] = (),
        unused: frozenset[Expr] = frozenset(),
    ) -> None:
        self.proof = proof
        self.unused = unused  # facts that searches do not use
        self.items = items
        self._scope = scope
        self.stale = False  # whether the scope must be refreshed before its next use
        self.version = 0  # number of facts learned at this place
        self.points = list(points)
        self.refusal = ""  # why the checker refused the last refused fact
        # goals without a proof: depth of the search, and number of facts at that time
        self.failed: dict[Any, tuple[int, int]] = {}
        self.prepared: set[Expr] = set()
        self.busy: set[Any] = set()  # goals that are being proved
        self.ranges: dict[Any, InRange] = {}
        self.cache: tuple[tuple[Any, int], dict[Hashable, Any]] = (None, 0), {}

    @property
    def scope(self) -> Any:
        """The checker's scope."""
        if self.stale:
            self._scope.refresh()
            self.stale = False
        return self._scope

    def cached(self, compute: Callable[..., Any], *arguments: Hashable) -> Any:
        """Return the result of a function, cached until a fact is added."""
        now = self.scope, len(self.scope.facts)
        if now != self.cache[0]:
            self.cache = now, {}
        results = self.cache[1]
        key = (compute, *arguments)
        if key not in results:
            results[key] = compute(*arguments)
        return results[key]

    def current_list(self) -> list[Any]:
        """Return the list to which the next fact is added."""
        return self.items

    def fact(self, relation: str, expr: Expr, *by: Any) -> bool:
        """Write a fact if the checker accepts it, and return whether it does."""
        item = {"is": [relation, expr], "by": list(by)}
        scope = self.scope
        try:
            self.proof.item(item, scope)
        except k.Refused as error:
            self.refusal = str(error)
            return False
        self.current_list().append(item)
        self.note_fact((relation, expr))
        return True

    def square(self, root: Expr) -> bool:
        """Write that a square is nonnegative: 2ab <= a**2 + b**2 for a = root/2 and b = -root/2."""
        half = k.row("*", k.rational(fmpq(1, 2)), root)
        return self.fact(
            ">=",
            k.row("*", root, root),
            "instance",
            "rule",
            "am-gm",
            {"a": half, "b": -half},
        )

    def termwise(self, total: Expr) -> bool:
        """Write that a sum is nonnegative if its terms are known to be. For a series, nothing is written."""
        _, index, lo, hi, body = total
        if hi[0] == "oo":
            return False
        terms = ["idx", k.put(body, {index: k.letter("idx")})]
        where = {"f": ["idx", k.rational(0)], "g": terms, "lo": lo, "hi": hi}
        return self.fact(">=", total, "instance", "rule", "sum-termwise", where)

    def note_fact(self, fact: Any) -> None:
        """Note that a fact was learned."""
        del fact
        self.version += 1

    def versions(self) -> tuple[int, ...]:
        """Return numbers that change when facts are learned at this place or at an enclosing place."""
        return (self.version,)

    def form(self, expr: Expr) -> Form:
        """Return the checker's form of an expression."""
        return self.scope.form(expr)

    def inside(self, length: Any) -> InRange:
        """Return the place inside the range of an index that runs over 0, 1, ..., length."""
        key = self.scope.range_key(length)
        if key not in self.ranges:
            self.ranges[key] = InRange(self, length)
        return self.ranges[key]

    def case(self, relation: str, expr: Expr, items: list[Any]) -> FactList:
        """Return the place with an additional assumption."""
        strict = relation == ">"
        points = [p for p in self.points if _may_hold(value_of(expr, p), strict)]
        return FactList(
            self.proof, self.scope.case(relation, expr), items, points, self.unused
        )

    def split(
        self,
        expr: Expr,
        if_nonnegative: list[Any],
        if_negative: list[Any],
        relation: str,
        claim: Expr,
    ) -> None:
        """Write a split into expr >= 0 and expr < 0, in which both lists prove a claim, and learn the claim."""
        self.scope.learn(relation, claim)
        self.current_list().append(
            {
                "split": expr,
                "then": if_nonnegative,
                "else": if_negative,
                "is": [relation, claim],
            }
        )
        self.note_fact((relation, claim))

    def is_refuted(self, expr: Expr, strict: bool) -> bool:
        """Test whether an expression is negative at a point (not positive, if ``strict``), beyond rounding errors."""
        for point in self.points:
            value = value_of(expr, point)
            if value is None:
                continue
            if value < -1e-9 * max(1.0, abs(value)) or (strict and value == 0):
                terms = (
                    [value_of(term, point) or 0.0 for term in expr[1:]]
                    if expr[0] == "+"
                    else []
                )
                if value < -1e-9 * max(map(abs, terms), default=0.0) or not any(terms):
                    return True
        return False


def _may_hold(value: float | None, strict: bool) -> bool:
    return value is not None and (value > 1e-12 if strict else value >= -1e-12)


class InRange(FactList):
    """The place of an index within its range."""

    def __init__(self, outer: FactList, length: Any) -> None:
        self.outer, self.length, self.outer_versions = outer, length, tuple[int, ...]()
        self.index = f"%{outer.scope.depth}"
        self.item: dict[str, Any] | None = None
        points = []
        for point in outer.points:
            top = 40.0 if isinstance(length, str) else value_of(length, point)
            if top is None or math.isnan(top) or top < 0:
                continue
            ends = {0.0, 1.0, math.floor(min(top, 1e6) / 2), math.floor(top)}
            points += [{**point, self.index: n} for n in sorted(ends) if n <= top]
        super().__init__(outer.proof, None, [], points[:24], outer.unused)

    @property
    def scope(self) -> Any:
        """The checker's scope, renewed if facts were learned at an enclosing place."""
        if self.outer_versions != self.outer.versions():
            self._scope = self.outer.scope.inside(self.length)
            self.outer_versions = self.outer.versions()
        return super().scope

    def versions(self) -> tuple[int, ...]:
        """Return numbers that change when facts are learned at this place or at an enclosing place."""
        return (self.version, *self.outer.versions())

    def note_fact(self, fact: Any) -> None:
        """Notify the enclosing places, where sums may have become simpler."""
        super().note_fact(fact)
        outer = self.outer
        self._add_range_fact(outer, fact)

    def _add_range_fact(self, outer: FactList, fact: Any) -> None:
        outer._scope.facts.append(("within", self.length, fact))
        outer.stale = True
        if isinstance(outer, InRange):
            outer._add_range_fact(outer.outer, ("within", self.length, fact))

    def current_list(self) -> list[Any]:
        """Return the list of facts of this range, which ends the enclosing list; begin a new one after another item."""
        outer = self.outer.current_list()
        if self.item is None or not outer or outer[-1] is not self.item:
            self.item = {"within": self.length, "facts": []}
            outer.append(self.item)
        facts: list[Any] = self.item["facts"]
        return facts


#: Place of a link: its number; in a split, then the number of the case and of the link in that case.
Path = tuple[int, ...]


class NoCertificateError(Exception):
    """A derivation or one of its steps has no certificate. The message gives the reason.

    ``path`` is the place of the link that fails, and ``problem`` the text without the numbers of links.
    """

    def __init__(self, why: str, path: tuple[int, ...] = (), problem: str = "") -> None:
        super().__init__(why)
        self.path = path
        self.problem = problem or why


@dataclass(frozen=True)
class Origin:
    """The source of an instance."""

    kind: str  # rule, premise or lemma
    name: str
    rule: Any  # its statement, as the checker reads it
    where: Mapping[str, Any]  # values of its letters


@dataclass
class Trace:
    """The links of a chain that were written, and the reasons why other links were not."""

    proved: set[Path] = field(default_factory=set)
    problems: dict[Path, str] = field(default_factory=dict)

    def is_proved(self, path: Path) -> bool:
        """Test whether a link was written at every place where it was needed."""
        return path in self.proved and path not in self.problems
