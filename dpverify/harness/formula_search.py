"""Search of a claim without code: where sums are short, and at single large sizes, within a limit of work."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import msgspec

from dpverify.harness.checks import Context
from dpverify.harness.exact_results import FACTORS, ExtraPoints, sharper_statement
from dpverify.harness.search.constraints import links
from dpverify.harness.search.domain import Sampler, make_sampler
from dpverify.harness.search.explore import completions, corners
from dpverify.harness.search.practical import TRIED, roles_of
from dpverify.harness.search.search import Findings
from dpverify.harness.search.search_check import SearchCheck
from dpverify.harness.sides import LeftSide, Probe, Prober
from dpverify.ledger.check_results import CheckResult, ControlResult
from dpverify.ledger.formula import (
    Call,
    Infimum,
    Integral,
    Name,
    Node,
    Num,
    Sum,
    Supremum,
    children,
    free_names,
    to_text,
    walk,
)
from dpverify.ledger.formula.tree import SIGNATURES
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import decide_statement
from dpverify.symbolic.exact.numbers import EvaluationError, Meter
from dpverify.symbolic.exact.sums import constant_ratio

LENGTHS = (256, 32, 8)
"""Range lengths of integers that make a sum long, for a sum that is in no other sum, in one sum, or in several."""

# of an integer that makes sums long
SIZES = (300, 500, 1000, 2000, 5000, 10_000, 30_000, 100_000, 1_000_000)
# combinations of ordinary values of the other letters that are tried with each size
COMBINATIONS = 6
WORK: Mapping[str, int] = {
    "smoke": 3_000_000,
    "standard": 30_000_000,
    "full": 300_000_000,
}
"""Limit on the formula parts evaluated in the search, and again at single sizes. A million take about a second."""
# all searches of a claim, including those of faults, may use this many halves of WORK
HALVES = 7
POINT = 6  # a single point may use a sixth of the work
# and half of it if the statement has laws or
# integrals: a composition takes as long as many sums
POINT_OF_LAWS = 2

# For each function, the index of the argument that determines how long it takes.
AS_LONG_AS = {
    "sampled_gaussian_renyi": 0,
    "binomial_delta": 1,
    "binomial_law": 0,
    "repeated": 1,
    "self_composed": 1,
    "shuffled": 2,
    "above_threshold_law": 0,
}
SHORT = {"log", "log2"}  # a sum of logarithmic length is short


@dataclass(frozen=True)
class FormulaSearch(SearchCheck):
    """Search the domain of a statement of two formulas, within the bounds of :func:`short_sums`."""

    where: Sequence[str] | Callable[[Statement], Sequence[str]] = field(
        default_factory=lambda: short_sums, kw_only=True
    )

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Run the search. If no point has both sides, the message says why one of them is undefined."""
        with Meter(HALVES * WORK[context.budget.name] // 2).running():
            result = super().run_block(context, block)
        if result.status != "untested":
            return result
        narrowed = self._narrowed(context.statement)
        return msgspec.structs.replace(
            result, message=result.message + _why_undefined(self._sampler(narrowed))
        )

    def _prober(
        self, context: Context, statement: Statement, lhs: LeftSide | None
    ) -> Prober:
        if not statement.free:  # a claim about numbers has a single point
            return Prober(statement, lhs, WORK[context.budget.name])
        part = POINT_OF_LAWS if _has_long_values(statement) else POINT
        return Prober(statement, lhs, WORK[context.budget.name] // part)

    def _search(
        self,
        context: Context,
        sampler: Sampler,
        prober: Prober,
        *arguments: Any,
        **options: Any,
    ) -> Findings:
        with Meter(WORK[context.budget.name]).running():
            return super()._search(context, sampler, prober, *arguments, **options)

    def _search_extra_points(
        self, context: Context, original: Statement, prober: Prober
    ) -> ExtraPoints:
        """Probe single large values of the integers that make sums long, and ordinary sizes, in the whole domain."""
        with Meter(WORK[context.budget.name]).running():
            names = long_integers(original)
            probes = list(_at_sizes(original, names, prober)) if names else []
            violations = [probe for probe in probes if probe.holds is False]
            ordinary = super()._search_extra_points(context, original, prober)
        controls: list[ControlResult] = []
        if not violations:
            with Meter(WORK[context.budget.name] // 2).running():
                controls = list(self._control(context, original, probes))
        reached = [
            max((probe.point[name] for probe in probes), default=None) for name in names
        ]
        single = [
            f"{name} = {value}"
            for name, value in zip(names, reached, strict=True)
            if value is not None
        ]
        words = f"single points up to {', '.join(single)}" if single else ""
        return ExtraPoints(
            violations=[*violations, *ordinary.violations],
            controls=controls,
            window="; ".join(filter(None, [words, ordinary.window])),
        )

    def _control(
        self, context: Context, original: Statement, probes: Sequence[Probe]
    ) -> Iterator[ControlResult]:
        """Move the printed side beyond the sharpest of the large points, and probe that point again."""
        large = Findings(probes=[*probes])
        result: ControlResult | None = None
        # a larger factor may be needed if a side is known only as a wide interval
        for factor in FACTORS:
            sharper = sharper_statement(original, large, factor)
            if sharper is None or large.sharpest is None:
                return
            fault, faulty = sharper
            probe = self._prober(context, faulty, None).probe(large.sharpest.point)
            detected = probe is not None and probe.holds is False
            result = ControlResult(
                name="at single sizes",
                fault=fault,
                at_declared_size=True,
                refuted=detected,
            )
            if detected:
                break
        if result is not None:
            yield result

    def _wide_sampler(self, original: Statement, sampler: Sampler) -> Sampler:
        return make_sampler(original, {}, self._domains())


def _has_long_values(statement: Statement) -> bool:
    """Return whether a statement has laws, integrals or extrema."""
    sides = [
        side
        for side in (
            statement.lhs,
            statement.rhs,
            *(value for _, value in statement.let),
        )
        if side is not None
    ]
    parts = [part for side in sides for part in walk(side)]
    return any(
        (isinstance(part, Call) and part.name in SIGNATURES)
        or isinstance(part, Integral | Infimum | Supremum)
        for part in parts
    )


def _at_sizes(
    statement: Statement, names: Sequence[str], prober: Prober
) -> Iterator[Probe]:
    """Probe a statement at large values of some integers: each of them alone, then all together."""
    roles = {
        name: role
        for name, role in roles_of(statement).items()
        if name in statement.free and name not in names
    }
    tried = {
        name: TRIED[role]
        for name, role in roles.items()
        if role in TRIED and role != "steps"
    }
    ordinary = (
        dict(zip(tried, chosen, strict=True))
        for chosen in itertools.product(*tried.values())
    )
    groups = dict.fromkeys([*((name,) for name in names), tuple(names)])
    for ordinary_values in itertools.islice(
        itertools.chain([{}], filter(None, ordinary)), 1 + COMBINATIONS
    ):
        for group in groups:
            first = make_sampler(
                statement, {}, {}, frozenset(group) | ordinary_values.keys()
            )
            for size in SIZES:
                values = {**dict.fromkeys(group, Fraction(size)), **ordinary_values}
                for point in completions(first, values):
                    if (probe := prober.probe(point)) is not None:
                        yield probe


def _why_undefined(sampler: Sampler) -> str:
    """Return why the first undecidable corner of a domain has no value, or "" if all corners are decided."""
    for point in corners(sampler):
        try:
            decide_statement(sampler.statement, point)
        except EvaluationError as error:
            where = ", ".join(
                f"{name}={value}" for name, value in sorted(point.items())
            )
            return f"; at {where}: {error}"
    return ""


def short_sums(statement: Statement) -> list[str]:
    """Return conditions under which the sums of a statement are short: a bound for each integer that makes one long."""
    return [
        f"{name} <= {_end(statement, name, LENGTHS[min(depth, len(LENGTHS) - 1)])}"
        for name, depth in sorted(_depths(statement).items())
    ]


def long_integers(statement: Statement) -> list[str]:
    """List the integers of a statement that make a sum long."""
    return sorted(_depths(statement))


def _depths(statement: Statement) -> dict[str, int]:
    """Return each integer that makes a sum long, with the number of sums around that sum."""
    sides = (statement.lhs, statement.rhs, *(value for _, value in statement.let))
    depths: dict[str, int] = {}
    for name, depth in (
        symbol_depth
        for side in sides
        if side is not None
        for symbol_depth in _long(side, 0)
    ):
        depths[name] = max(depth, depths.get(name, 0))
    # a definition is as long as the letters that it uses
    for name, value in reversed(statement.let):
        for base in _sizes(value) if name in depths else ():
            depths[base] = max(depths[name], depths.get(base, 0))
    integers = {
        name for name, domain in statement.domains.items() if domain.kind == "integer"
    } - set(statement.let_names)
    return {name: depth for name, depth in depths.items() if name in integers}


def _long(node: Node, depth: int) -> Iterator[tuple[str, int]]:
    """Yield names that determine the length of a sum, each with the number of sums around it. Skip geometric sums."""
    if type(node) is Sum and constant_ratio(node.body, node.index) is None:
        yield from ((name, depth) for end in (node.lo, node.hi) for name in _sizes(end))
        yield from _long(node.body, depth + 1)
        return
    if isinstance(node, Call) and node.name in AS_LONG_AS:
        yield from ((name, depth) for name in _sizes(node.args[AS_LONG_AS[node.name]]))
    for child in children(node):
        yield from _long(child, depth)


def _sizes(node: Node) -> frozenset[str]:
    """Return the names with which a formula grows faster than their logarithm."""
    if isinstance(node, Call) and node.name in SHORT:
        return frozenset()
    names = free_names(node) if not children(node) else frozenset[str]()
    return names.union(*(_sizes(child) for child in children(node)))


def _end(statement: Statement, name: str, length: int) -> str:
    """Return a formula: ``length`` more than the least value (0 by default) that domain and conditions allow."""
    conditions = (*statement.domains[name].constraints, *statement.requires)
    start = 0
    formulas = []
    for link in (link for condition in conditions for link in links(condition)):
        small, large = (
            (link.left, link.right) if link.op[0] == "<" else (link.right, link.left)
        )
        if link.op == "==" and small == Name(name):
            small, large = large, small
        if large == Name(name) and isinstance(small, Num):
            start = max(start, math.ceil(small.value))
        elif large == Name(name) and name not in free_names(small):
            formulas.append(to_text(small))
    return (
        f"max({start + length}, {', '.join(f'{formula} + {length}' for formula in formulas)})"
        if formulas
        else f"{start + length}"
    )
