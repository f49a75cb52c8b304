"""The search of a claim that has no code. It stays where sums are short, for a point is to cost milliseconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from dpverify.harness.context import Context
from dpverify.harness.search.climb import corners
from dpverify.harness.search.constraints import links
from dpverify.harness.search.domain import Sampler
from dpverify.harness.search.search_check import SearchCheck
from dpverify.ledger.formula import Call, Name, Node, Num, Sum, children, free_names
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.numbers import EvaluationError
from dpverify.symbolic.exact.statements import decide_statement
from dpverify.symbolic.exact.sums import constant_ratio

LENGTHS = (256, 32, 8)
"""Most values of an integer that a sum runs to, of one that stands alone, inside of another, and deeper."""

AS_LONG_AS = {"binomial": 0, "sampled_gaussian_renyi": 0}  # functions, and the argument that says how long they take
SHORT = {"log", "log2"}  # what runs to a logarithm is short


@dataclass(frozen=True)
class FormulaSearch(SearchCheck):
    """Search of the domain of a statement of two formulas, within :func:`short_sums`."""

    where: Sequence[str] | Callable[[Statement], Sequence[str]] = field(
        default_factory=lambda: short_sums, kw_only=True
    )

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Search; where no point has two sides, say of one of them why."""
        result = super().run_block(context, block)
        if result.status != "untested":
            return result
        narrowed = self._narrowed(context.statement)
        return msgspec.structs.replace(result, message=result.message + _why_undefined(self._sampler(narrowed)))


def _why_undefined(sampler: Sampler) -> str:
    """Why a statement cannot be decided at the first point of a domain that shows it; empty where none does."""
    for point in corners(sampler):
        try:
            decide_statement(sampler.statement, point)
        except EvaluationError as error:
            where = ", ".join(f"{name}={value}" for name, value in sorted(point.items()))
            return f"; at {where}: {error}"
    return ""


def short_sums(statement: Statement) -> list[str]:
    """Conditions under which the sums of a statement are short: an end for each integer that makes one long."""
    sides = (statement.lhs, statement.rhs, *(value for _, value in statement.let))
    depths: dict[str, int] = {}
    for name, depth in (each for side in sides if side is not None for each in _long(side, 0)):
        depths[name] = max(depth, depths.get(name, 0))
    for name, value in reversed(statement.let):  # a definition is as long as what it is made of
        for base in _sizes(value) if name in depths else ():
            depths[base] = max(depths[name], depths.get(base, 0))
    whole = {name for name, domain in statement.domains.items() if domain.kind == "integer"} - set(statement.let_names)
    return [
        f"{name} <= {_least(statement, name) + LENGTHS[min(depth, len(LENGTHS) - 1)]}"
        for name, depth in sorted(depths.items())
        if name in whole
    ]


def _long(node: Node, depth: int) -> Iterator[tuple[str, int]]:
    """Names that say how long a sum in a formula is, each with the number of sums around it; not of a geometric one."""
    if isinstance(node, Sum) and constant_ratio(node.body, node.index) is None:
        yield from ((name, depth) for end in (node.lo, node.hi) for name in _sizes(end))
        yield from _long(node.body, depth + 1)
        return
    if isinstance(node, Call) and node.name in AS_LONG_AS:
        yield from ((name, depth) for name in _sizes(node.args[AS_LONG_AS[node.name]]))
    for child in children(node):
        yield from _long(child, depth)


def _sizes(node: Node) -> frozenset[str]:
    """Names with which a formula grows faster than a logarithm of them."""
    if isinstance(node, Call) and node.name in SHORT:
        return frozenset()
    own = free_names(node) if not children(node) else frozenset[str]()
    return own.union(*(_sizes(child) for child in children(node)))


def _least(statement: Statement, name: str) -> int:
    """Where the domain of an integer begins; 0 where no number says so."""
    conditions = (*statement.domains[name].constraints, *statement.requires)
    starts = [0]
    for link in (link for condition in conditions for link in links(condition)):
        small, large = (link.left, link.right) if link.op[0] == "<" else (link.right, link.left)
        if large == Name(name) and isinstance(small, Num):
            starts.append(math.ceil(small.value))
    return max(starts)
