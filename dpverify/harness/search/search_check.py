"""The counterexample search as a check. Its control is a right side slightly beyond the sharpest point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar

from dpverify.harness.checks import Check, Context, Point, as_point, missed_controls
from dpverify.harness.exact_results import (
    FACTORS,
    CounterexampleKind,
    ExtraPoints,
    Vacuity,
    counterexample,
    detected_words,
    edge_at,
    findings_words,
    refuted_again,
    sharper_statement,
    sharpest_words,
    slack_of,
    unevaluated,
    window_words,
)
from dpverify.harness.neighbours import JudgedBy, searched_again, true_neighbours
from dpverify.harness.search.candidates import Values
from dpverify.harness.search.domain import Region, Sampler, describe, make_sampler
from dpverify.harness.search.explore import completions
from dpverify.harness.search.practical import (
    is_practical,
    practical_conditions,
    practical_violation,
    roles_of,
)
from dpverify.harness.search.search import (
    Findings,
    beginnings,
    interior_of,
    largest_violation,
    search,
    simplest_violation,
)
from dpverify.harness.sides import LeftSide, Planted, Probe, Prober, TrueNeighbour
from dpverify.ledger.check_results import (
    CheckResult,
    ControlResult,
    Counterexample,
    Method,
)
from dpverify.ledger.formula import decimal_text, parse_relation
from dpverify.ledger.records import ORDERS
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain, parse_domain

FEWEST_EXAMPLES = 50

Ends = tuple[int | Fraction | str | None, int | Fraction | str | None]


@dataclass(frozen=True)
class SearchCheck(Check):
    """Search a statement's whole domain for a violation, decided in ball arithmetic. A search never proves."""

    # left side at a point; None: the claim's formula
    lhs: LeftSide | None = field(default=None, kw_only=True)
    # Bounds of the drawn points, included; None means unbounded. A region can narrow
    # the domain, but not widen it.
    region: Mapping[str, Ends] = field(default_factory=dict, kw_only=True)
    # domains of symbols that only lhs needs
    also: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    # Further conditions, such as the meaning of a symbol in the statement's reading:
    # "depth == floor(log2(T)) + 1".
    where: Sequence[str] | Callable[[Statement], Sequence[str]] = field(
        default=(), kw_only=True
    )
    # Points that are tried first. They may omit symbols, and symbols that the statement
    # does not have are ignored.
    corners: Sequence[Mapping[str, int | Fraction | str]] = field(
        default=(), kw_only=True
    )
    # else: margin 5%, integers >= 3
    interior: Callable[[Point], bool] | None = field(default=None, kw_only=True)
    # must be refuted in addition to the automatic fault
    planted: Sequence[Planted] = field(default=(), kw_only=True)
    # Weaker statements that hold in the region. Required if code measures a left side
    # that violates the statement at every point.
    neighbours: Sequence[TrueNeighbour] = field(default=(), kw_only=True)
    # grid for comparison with the trivial bound
    vacuity: Vacuity | None = field(default=None, kw_only=True)
    # declared core seconds per point
    seconds_each: float = field(default=0.0005, kw_only=True)

    method: ClassVar[Method] = "search"
    divisible: ClassVar[bool] = True

    def can_judge(self, statement: Statement) -> bool:
        """Return whether there are two sides and a relation that is decidable at a point."""
        sides = statement.rhs is not None and (
            self.lhs is not None or statement.lhs is not None
        )
        return sides and statement.relation not in ORDERS

    def cost(self, context: Context) -> float:
        """Return the declared core seconds: those of the search, and the same again for each control."""
        return self.seconds_each * context.budget.examples * (3 + len(self.planted))

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Search, simplify the counterexamples, and run the controls."""
        original = context.statement
        context = replace(context, statement=self._narrowed(original))
        statement = context.statement
        examples = self._examples(context)
        prober, sampler = (
            self._prober(context, statement, self.lhs),
            self._sampler(statement),
        )

        def probe_again(point: Point) -> Probe | None:
            return prober.probe(point) if sampler.in_domain(point) else None

        if (recorded := refuted_again(context, probe_again)) is not None:
            return recorded
        begin = beginnings(sampler, self._corners(statement, sampler), examples)
        findings = self._search(
            context, sampler, prober, begin, examples, self._seed(context, block)
        )
        region = describe(sampler, statement)
        further = ExtraPoints()
        if not findings.violations:
            further = self._search_extra_points(context, original, prober)
            findings.violations += further.violations
        if not findings.probes and not findings.violations:
            return self.result(
                status="untested",
                message="; ".join(
                    [
                        "no point drawn meets the domain and the conditions",
                        *unevaluated(findings, prober),
                    ]
                ),
                region=region,
            )
        counterexamples = self._counterexamples(
            context, original, sampler, prober, findings, examples
        )
        controls = [
            *self._controls(context, sampler, begin, findings, examples),
            *further.controls,
        ]
        missed = "" if counterexamples and not controls else missed_controls(controls)
        return self.result(
            status="refuted"
            if counterexamples
            else "inconclusive"
            if missed
            else "not refuted",
            message="; ".join(filter(None, [findings_words(findings), missed])),
            n=len(findings.probes),
            detects=detected_words(controls),
            statistic=sharpest_words(findings),
            region=region,
            window="; ".join(
                filter(None, [window_words(findings, prober), further.window])
            ),
            counterexamples=counterexamples,
            slack=slack_of(findings, statement.relation or "="),
            vacuous=self.vacuity.judge(statement) if self.vacuity is not None else None,
            controls=controls,
            true_neighbours=self._neighbours(statement, findings)
            if counterexamples
            else [],
        )

    def _wide_sampler(self, original: Statement, sampler: Sampler) -> Sampler:
        """Return the sampler of all points at which a counterexample may lie; by default that of the drawn points."""
        del original
        return sampler

    def _prober(
        self, context: Context, statement: Statement, lhs: LeftSide | None
    ) -> Prober:
        del context
        return Prober(statement, lhs)

    def _search(
        self,
        context: Context,
        sampler: Sampler,
        prober: Prober,
        begin: Iterable[Values],
        examples: int,
        seed: int,
        *,
        stop: bool = False,
    ) -> Findings:
        del context
        return search(sampler, prober, begin, examples, seed, stop=stop)

    def _search_extra_points(
        self, context: Context, original: Statement, prober: Prober
    ) -> ExtraPoints:
        """Probe a few points of ordinary sizes after a search without violations."""
        statement = self._narrowed(original)
        # a left side that code measures takes too long at such sizes
        if self.lhs is not None:
            return ExtraPoints()
        probe = practical_violation(statement, self._domains(), 0, prober, drawn=False)
        sized = bool(practical_conditions(roles_of(statement)))
        window = "none at practical sizes" if sized and probe is None else ""
        return ExtraPoints(
            violations=[probe] if probe is not None else [], window=window
        )

    def _neighbours(
        self, statement: Statement, findings: Findings
    ) -> list[ControlResult]:
        """Decide the true neighbours at the points that were searched."""
        searches = [
            (
                neighbour,
                partial(
                    searched_again,
                    neighbour.statement(statement),
                    findings,
                    neighbour.lhs or self.lhs,
                ),
            )
            for neighbour in self.neighbours
        ]
        judged_by: JudgedBy = "formulas" if self.lhs is None else "measurement"
        decide = Prober(statement, self.lhs).probe
        return true_neighbours(
            statement, findings, judged_by, searches, decide=decide, lhs=self.lhs
        )

    def _narrowed(self, statement: Statement) -> Statement:
        texts = self.where(statement) if callable(self.where) else self.where
        return replace(
            statement,
            requires=(*statement.requires, *(parse_relation(text) for text in texts)),
        )

    def _examples(self, context: Context) -> int:
        affordable = context.share / self.cost(context)
        return max(FEWEST_EXAMPLES, int(context.budget.examples * min(1.0, affordable)))

    def _seed(self, context: Context, block: int, stream: str = "") -> int:
        return int(context.rng(block, stream).integers(1 << 62))

    def _corners(self, statement: Statement, sampler: Sampler) -> list[Values]:
        """Return the author's corners. Symbols that a corner omits are as simple, and as large, as possible."""
        points: dict[tuple[tuple[str, Fraction], ...], Values] = {}
        samplers: dict[frozenset[str], Sampler] = {}
        symbols = sampler.symbols
        for corner in self.corners:
            fixed = {
                name: value
                for name, value in as_point(corner).items()
                if name in symbols
            }
            if corner and not fixed:
                raise ValueError(
                    f"a corner of {statement.key} must set one of {', '.join(symbols)}, got {dict(corner)}."
                )
            names = frozenset(fixed)
            if names not in samplers:
                samplers[names] = self._sampler(statement, names)
            for point in completions(samplers[names], fixed):
                points[tuple(sorted(point.items()))] = point
        return list(points.values())

    def _sampler(
        self, statement: Statement, first: frozenset[str] = frozenset()
    ) -> Sampler:
        region: Region = {
            name: (_end(lo), _end(hi)) for name, (lo, hi) in self.region.items()
        }
        return make_sampler(statement, region, self._domains(), first)

    def _domains(self) -> dict[str, Domain]:
        return {name: parse_domain(text) for name, text in self.also.items()}

    def _counterexamples(
        self,
        context: Context,
        original: Statement,
        sampler: Sampler,
        prober: Prober,
        findings: Findings,
        examples: int,
    ) -> list[Counterexample]:
        if not findings.violations:
            return []
        wide = self._wide_sampler(original, sampler)
        if not any(sampler.admits(probe.point) for probe in findings.violations):
            sampler = wide
        inside = self.interior or interior_of(sampler)
        edges = context.statement.edges

        def away(point: Point) -> bool:
            return not edge_at(edges, point)

        seeds = self._seed(context, 0, "smallest"), self._seed(context, 0, "interior")
        smallest = simplest_violation(
            sampler, prober, findings, examples, seeds[0], lambda _: True
        )
        interior = simplest_violation(
            sampler,
            prober,
            findings,
            examples,
            seeds[1],
            lambda p: inside(p) and away(p),
        )
        if interior is None and edges:  # at the ends of the domain, but not at an edge
            interior = simplest_violation(
                sampler, prober, findings, examples, seeds[1], away
            )
        largest = largest_violation(sampler, prober, findings)
        roles = roles_of(context.statement)
        practical = next(
            (
                probe
                for probe in findings.violations
                if is_practical(probe.point, roles)
            ),
            None,
        )
        # a left side that code measures takes too long at such sizes
        if self.lhs is None:
            wide_prober = self._prober(context, wide.statement, None)
            seed = self._seed(context, 0, "practical")
            drawn = context.budget.name != "smoke"
            practical = (
                practical_violation(
                    wide.statement, self._domains(), seed, wide_prober, drawn=drawn
                )
                or practical
            )
        named: tuple[tuple[CounterexampleKind, Probe | None], ...] = (
            ("smallest", smallest),
            ("practical", practical),
            ("interior", interior),
            ("largest-ratio", largest),
        )
        return [
            counterexample(kind, probe) for kind, probe in named if probe is not None
        ]

    def _controls(
        self,
        context: Context,
        sampler: Sampler,
        begin: Sequence[Values],
        findings: Findings,
        examples: int,
    ) -> list[ControlResult]:
        """Search each faulty statement in the same way, with a different seed, until it is refuted."""

        def control(
            name: str,
            fault: str,
            faulty: Statement,
            lhs: LeftSide | None,
            declared: bool,
        ) -> ControlResult:
            seed = self._seed(context, 0, f"control {name}")
            prober = self._prober(context, faulty, lhs)
            faulty_findings = self._search(
                context, sampler, prober, begin, examples, seed, stop=True
            )
            return faulty_findings.as_control(name, fault, declared)

        results: list[ControlResult] = []
        # further beyond the sharpest point, until the fault is detected
        for factor in [] if findings.violations else FACTORS:
            sharper = sharper_statement(context.statement, findings, factor)
            if sharper is None:
                break
            results = [
                control(f"sharper by {decimal_text(factor)}", *sharper, self.lhs, True)
            ]
            if results[0].refuted:
                break
        for planted in self.planted:
            fault = planted.rhs or "another left side"
            faulty = planted.statement(context.statement)
            lhs = planted.lhs or self.lhs
            results.append(
                control(planted.name, fault, faulty, lhs, planted.at_declared_size)
            )
        return results


def _end(end: int | Fraction | str | None) -> Fraction | None:
    return None if end is None else Fraction(end)
