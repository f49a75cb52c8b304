"""Search a statement's domain for a counterexample, and for the point at which it is sharpest."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import nlargest

from dpverify.harness.search.climb import climb, corners
from dpverify.harness.search.domain import Sampler
from dpverify.harness.search.explore import drive_up, shrink
from dpverify.harness.search.rationals import Interval, Values, complexity
from dpverify.harness.search.simplify import simplify, size
from dpverify.harness.sides import Probe, Prober
from dpverify.ledger.results import ControlResult

STARTS = 3  # how many of the sharpest points are climbed from
MARGIN = Fraction(1, 20)  # how far inside an interval an interior point lies, as a share of its width
INTERIOR_INTEGER = 3
LARGEST_TRIES = 300  # how many points are tried to shorten the point of the largest ratio
LONG = 12  # bits of a number in a counterexample from which on Hypothesis looks for another one
NEARLY = 0.99  # share of the largest ratio that a point of few digits must keep


@dataclass
class Findings:
    """What a search saw."""

    probes: list[Probe] = field(default_factory=list)  # points at which both sides have a value, in order
    sampled: list[Probe] = field(default_factory=list)  # those that were drawn, for a typical slack
    violations: list[Probe] = field(default_factory=list)  # those at which the statement is certainly false
    undefined: int = 0  # points at which a side is not defined
    outside: int = 0  # given points that do not meet the conditions

    @property
    def sharpest(self) -> Probe | None:
        """Probe with the largest ratio; the simplest of several."""
        return next(iter(self.sharpest_first(1)), None)

    def sharpest_first(self, count: int) -> list[Probe]:
        """So many probes with the largest ratios; the simplest first where several have the same."""
        ratios = nlargest(count, (probe.ratio for probe in self.probes))
        among = (probe for probe in self.probes if probe.ratio >= ratios[-1])
        return sorted(among, key=lambda probe: (-probe.ratio, size(probe.point)))[:count]

    @property
    def undecided(self) -> int:
        """Points at which 2048 bits did not decide."""
        return sum(probe.holds is None for probe in self.probes)

    def typical_ratio(self) -> float:
        """Median ratio over the points that were drawn (over all, where none was)."""
        return statistics.median(probe.ratio for probe in self.sampled or self.probes)

    def as_control(self, name: str, fault: str, declared: bool) -> ControlResult:
        """Say whether the planted fault of the statement that was gone through was seen."""
        refuted = bool(self.violations)
        statistic = f"{len(self.probes)} points"
        return ControlResult(name=name, fault=fault, at_declared_size=declared, refuted=refuted, statistic=statistic)


def search(
    sampler: Sampler, prober: Prober, begin: Iterable[Values], examples: int, seed: int, *, stop: bool = False
) -> Findings:
    """Probe points to begin with, drawn points, and points uphill from the sharpest."""
    findings = Findings()
    visited: set[int] = set()

    def score(point: Values) -> float | None:
        probe = prober.probe(point)
        if probe is not None and id(probe) not in visited:
            visited.add(id(probe))
            findings.probes.append(probe)
            if probe.holds is False:
                findings.violations.append(probe)
        return None if probe is None else probe.ratio

    def sampled(point: Values) -> float | None:
        before = len(findings.probes)
        ratio = score(point)
        findings.sampled.extend(findings.probes[before:])
        return ratio

    def done() -> bool:
        return stop and bool(findings.violations)

    for point in begin:
        score(point)
        if done():
            return findings
    drive_up(sampler, sampled, examples, seed, done)
    for probe in findings.sharpest_first(STARTS):
        if not done():
            climb(sampler, score, probe.point, max(20, examples // (2 * STARTS)))
    findings.undefined = prober.undefined
    return findings


def beginnings(sampler: Sampler, starts: Iterable[Values], examples: int) -> list[Values]:
    """Given points of the domain, then corners, evenly thinned out where there are more than points to draw."""
    at_corners = list(corners(sampler))
    return [*filter(sampler.in_domain, starts), *at_corners[:: max(1, -(-len(at_corners) // examples))]]


def interior_of(sampler: Sampler) -> Callable[[Values], bool]:
    """Property of points that lie away from every end: integers from 3 on, reals with a margin."""

    def interior(point: Values) -> bool:
        before: Values = {}
        for symbol in sampler.symbols:
            if not _well_inside(sampler.interval(symbol, before), point[symbol]):
                return False
            before[symbol] = point[symbol]
        return True

    return interior


def _well_inside(interval: Interval, value: Fraction) -> bool:
    lo, hi = interval.lo, interval.hi
    if lo is not None and hi is not None and (lo == hi or (interval.integer and hi < INTERIOR_INTEGER)):
        return True  # there is no choice here
    if interval.integer:
        return abs(value) >= INTERIOR_INTEGER
    margin = MARGIN * (hi - lo) if lo is not None and hi is not None else MARGIN
    return (lo is None or value >= lo + margin) and (hi is None or value <= hi - margin)


def largest_violation(sampler: Sampler, prober: Prober, findings: Findings) -> Probe | None:
    """Largest ratio of a search, at a point of few digits: within 1% of it. None where there is no violation."""
    if not findings.violations:
        return None
    largest = max(findings.violations, key=lambda p: p.ratio)

    def wanted(point: Values) -> bool:
        probe = prober.probe(point)
        return probe is not None and probe.holds is False and probe.ratio >= NEARLY * largest.ratio

    if not sampler.admits(largest.point):
        return largest
    return prober.probe(simplify(sampler, wanted, largest.point, LARGEST_TRIES))


def simplest_violation(
    sampler: Sampler, prober: Prober, findings: Findings, examples: int, seed: int, among: Callable[[Values], bool]
) -> Probe | None:
    """Find the simplest counterexample with a property. None where no counterexample with the property was found."""

    def wanted(point: Values) -> bool:
        if not among(point):
            return False
        probe = prober.probe(point)
        return probe is not None and probe.holds is False

    starts = (probe.point for probe in findings.violations if among(probe.point))
    start = min(starts, key=size, default=None)
    simple = [] if start is None else [simplify(sampler, wanted, start)]
    if not simple or max(map(complexity, simple[0].values()), default=0) > LONG or not sampler.admits(simple[0]):
        shrunk = shrink(sampler, wanted, examples, seed)
        if shrunk is not None:
            simple.append(simplify(sampler, wanted, shrunk))
    return prober.probe(min(simple, key=size)) if simple else None
