"""Search a statement's domain for a counterexample and for its sharpest point, and simplify points.

A simple point has few digits and small numbers. To simplify a point, one symbol is changed alone, together with another
symbol, or together with all later symbols in the sampler's order, which may have to follow it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from heapq import nlargest

from dpverify.harness.search.candidates import (
    Interval,
    Values,
    complexity,
    simplest,
    value_at,
)
from dpverify.harness.search.domain import Sampler
from dpverify.harness.search.explore import climb, corners, drive_up, shrink
from dpverify.harness.sides import Probe, Prober
from dpverify.ledger.check_results import ControlResult

TRIES = 3000  # largest number of points that are tried
SIMPLER = 48  # number of the simplest values of a symbol that are tried
# the same for each of two symbols, and for a symbol that others follow
SIMPLER_OF_TWO = 8
# Relative distances from a real number within which a simpler number is looked for.
ROOMS = (
    Fraction(1),
    Fraction(1, 4),
    Fraction(1, 16),
    Fraction(1, 64),
    Fraction(1, 256),
)


def size(point: Mapping[str, Fraction]) -> tuple[int, ...]:
    """Return the length of a point in bits. Ties go to the smaller denominators, then to the smaller numerators."""
    values = [point[symbol] for symbol in sorted(point)]
    bits = sum(complexity(v) for v in values)
    return bits, *(v.denominator for v in values), *(abs(v.numerator) for v in values)


def simplify(
    sampler: Sampler,
    has_property: Callable[[Values], bool],
    start: Values,
    tries: int = TRIES,
) -> Values:
    """Replace values by simpler ones as long as the point keeps its property."""
    best, length = start, size(start)
    tried: set[tuple[Fraction, ...]] = set()

    def move_to_first(points: Iterable[Values]) -> bool:
        """Move to the first of the points that is simpler and has the property."""
        nonlocal best, length
        for point in points:
            # Most changes make the point longer,
            # which the number of bits already shows.
            if (
                sum(map(complexity, point.values())) > length[0]
                or (shorter := size(point)) >= length
            ):
                continue
            if (values := tuple(point[symbol] for symbol in sampler.symbols)) in tried:
                continue
            if len(tried) >= tries:
                return False
            tried.add(values)
            if sampler.admits(point) and has_property(point):
                best = point
                length = shorter
                return True
        return False

    # A sum instead of any(): every symbol is tried in each round, even if an earlier
    # symbol was changed.
    while sum(
        move_to_first(with_simpler_symbol(sampler, best, symbol))
        for symbol in sampler.symbols
    ) or move_to_first(with_two_simplest(sampler, best)):
        pass
    return best


def with_simpler_symbol(
    sampler: Sampler, point: Values, symbol: str
) -> Iterator[Values]:
    """Yield points with a simpler symbol: changed alone, with another symbol, or with all later symbols made to fit."""
    interval = sampler.interval(symbol, point)
    value = point[symbol]
    members = _simplest_members(interval)
    smaller = tuple(_smaller(interval, value))
    for simpler in (*members, *smaller):
        yield {**point, symbol: simpler}
    for simpler in smaller:
        for partner, partner_value in point.items():
            if partner != symbol:
                yield {
                    **point,
                    symbol: simpler,
                    partner: partner_value + simpler - value,
                }
                if simpler and value:
                    yield {
                        **point,
                        symbol: simpler,
                        partner: partner_value * value / simpler,
                    }
                    yield {
                        **point,
                        symbol: simpler,
                        partner: partner_value * simpler / value,
                    }
    for simpler in dict.fromkeys((*members[:SIMPLER_OF_TWO], *smaller)):
        if (
            simpler != value
            and (fitted := _fitted(sampler, point, symbol, simpler)) is not None
        ):
            yield fitted


def with_two_simplest(sampler: Sampler, point: Values) -> Iterator[Values]:
    """Yield points in which two symbols have one of their simplest values, and all later symbols are made to fit."""
    bits = sum(map(complexity, point.values()))
    for place, first in enumerate(sampler.symbols):
        for value in _simplest_members(sampler.interval(first, point))[:SIMPLER_OF_TWO]:
            fitted = (
                _fitted(sampler, point, first, value) if value != point[first] else None
            )
            if fitted is None:
                continue
            before = sum(
                complexity(fitted[symbol]) for symbol in sampler.symbols[: place + 1]
            )
            for second in sampler.symbols[place + 1 :]:
                for second_value in _simplest_members(sampler.interval(second, fitted))[
                    :SIMPLER_OF_TWO
                ]:
                    if (
                        second_value != fitted[second]
                        and before + complexity(second_value) <= bits
                    ):
                        point_of_two = _fitted(sampler, fitted, second, second_value)
                        if point_of_two is not None:
                            yield point_of_two
                before += complexity(fitted[second])


def _fitted(
    sampler: Sampler, point: Values, symbol: str, value: Fraction
) -> Values | None:
    """Set a symbol. Later symbols keep their values if possible, and otherwise get the simplest value."""
    fitted = {**point, symbol: value}
    changed = {symbol}
    for name in sampler.symbols[sampler.symbols.index(symbol) + 1 :]:
        if changed.isdisjoint(sampler.reads[name]):
            continue
        interval = sampler.interval(name, fitted)
        if fitted[name] not in interval:
            simplest_value = value_at(interval, 0, 0, ())
            if simplest_value is None:
                return None
            fitted[name] = simplest_value
            changed.add(name)
    return fitted


@lru_cache(maxsize=1024)
def _simplest_members(interval: Interval) -> tuple[Fraction, ...]:
    members = (value_at(interval, 0, payload, ()) for payload in range(SIMPLER))
    return tuple(dict.fromkeys(member for member in members if member is not None))


def _smaller(interval: Interval, value: Fraction) -> Iterator[Fraction]:
    """Yield values near a value that are shorter, or smaller by a power of two."""
    if not interval.integer:
        for room in ROOMS:
            for end in (value * (1 + room), value * (1 - room)):
                near = simplest(Interval(min(value, end), max(value, end)))
                if near is not None:
                    yield near
        steps = (1 << k for k in reversed(range(value.denominator.bit_length() - 1)))
        yield from (
            Fraction(value.numerator, value.denominator - step) for step in steps
        )
    yield from (value - (1 << k) for k in reversed(range(value.numerator.bit_length())))


STARTS = 3  # number of the sharpest points from which the search climbs
# distance of an interior point from the ends, as a share of the width of the interval
MARGIN = Fraction(1, 20)
INTERIOR_INTEGER = 3
# largest number of points that are tried to shorten the point with the largest ratio
LARGEST_TRIES = 300
# if a number of a counterexample has more bits,
# Hypothesis looks for another counterexample
LONG = 12
NEARLY = 0.99  # share of the largest ratio that the simplified point must keep


@dataclass
class Findings:
    """The results of a search."""

    # points where both sides have a value, in order
    probes: list[Probe] = field(default_factory=list)
    # the points that were drawn, for the typical slack
    sampled: list[Probe] = field(default_factory=list)
    # the points at which the statement is certainly false
    violations: list[Probe] = field(default_factory=list)
    undefined: int = 0  # number of points at which a side is undefined
    outside: int = 0  # number of given points that do not meet the conditions

    @property
    def sharpest(self) -> Probe | None:
        """The probe with the largest ratio; the simplest if there are several."""
        return next(iter(self.sharpest_first(1)), None)

    def sharpest_first(self, count: int) -> list[Probe]:
        """Return the probes with the ``count`` largest ratios, the simplest first among equal ratios."""
        ratios = nlargest(count, (probe.ratio for probe in self.probes))
        among = (probe for probe in self.probes if probe.ratio >= ratios[-1])
        return sorted(among, key=lambda probe: (-probe.ratio, size(probe.point)))[
            :count
        ]

    @property
    def undecided(self) -> int:
        """Number of points that 2048 bits did not decide."""
        return sum(probe.holds is None for probe in self.probes)

    def typical_ratio(self) -> float:
        """Return the median ratio of the drawn points, or of all points if none was drawn."""
        return statistics.median(probe.ratio for probe in self.sampled or self.probes)

    def as_control(self, name: str, fault: str, declared: bool) -> ControlResult:
        """Return whether the search detected a planted fault, as the result of a control."""
        refuted = bool(self.violations)
        statistic = f"{len(self.probes)} points"
        return ControlResult(
            name=name,
            fault=fault,
            at_declared_size=declared,
            refuted=refuted,
            statistic=statistic,
        )


def search(
    sampler: Sampler,
    prober: Prober,
    begin: Iterable[Values],
    examples: int,
    seed: int,
    *,
    stop: bool = False,
) -> Findings:
    """Probe initial points, drawn points, and points uphill from the sharpest points."""
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

    def sample_score(point: Values) -> float | None:
        probe_count = len(findings.probes)
        ratio = score(point)
        findings.sampled.extend(findings.probes[probe_count:])
        return ratio

    def is_done() -> bool:
        return stop and bool(findings.violations)

    for point in begin:
        score(point)
        if is_done():
            return findings
    drive_up(sampler, sample_score, examples, seed, is_done)
    for probe in findings.sharpest_first(STARTS):
        if not is_done():
            climb(sampler, score, probe.point, max(20, examples // (2 * STARTS)))
    findings.undefined = prober.undefined
    return findings


def beginnings(
    sampler: Sampler, starts: Iterable[Values], examples: int
) -> list[Values]:
    """Return the given points of the domain, then corners, thinned out evenly if there are more than ``examples``."""
    at_corners = list(corners(sampler))
    return [
        *filter(sampler.in_domain, starts),
        *at_corners[:: max(1, -(-len(at_corners) // examples))],
    ]


def interior_of(sampler: Sampler) -> Callable[[Values], bool]:
    """Return a test for points away from every end: integers of at least 3, reals with a margin."""

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
    if (
        lo is not None
        and hi is not None
        and (lo == hi or (interval.integer and hi < INTERIOR_INTEGER))
    ):
        return True  # the interval leaves no choice
    if interval.integer:
        return abs(value) >= INTERIOR_INTEGER
    margin = MARGIN * (hi - lo) if lo is not None and hi is not None else MARGIN
    return (lo is None or value >= lo + margin) and (hi is None or value <= hi - margin)


def largest_violation(
    sampler: Sampler, prober: Prober, findings: Findings
) -> Probe | None:
    """Return the violation with the largest ratio, simplified within 1% of it; None if there is no violation."""
    if not findings.violations:
        return None
    largest = max(findings.violations, key=lambda p: p.ratio)

    def is_wanted(point: Values) -> bool:
        probe = prober.probe(point)
        return (
            probe is not None
            and probe.holds is False
            and probe.ratio >= NEARLY * largest.ratio
        )

    if not sampler.admits(largest.point):
        return largest
    return prober.probe(simplify(sampler, is_wanted, largest.point, LARGEST_TRIES))


def simplest_violation(
    sampler: Sampler,
    prober: Prober,
    findings: Findings,
    examples: int,
    seed: int,
    among: Callable[[Values], bool],
) -> Probe | None:
    """Return the simplest counterexample with a property, or None if none was found."""

    def is_wanted(point: Values) -> bool:
        if not among(point):
            return False
        probe = prober.probe(point)
        return probe is not None and probe.holds is False

    starts = (probe.point for probe in findings.violations if among(probe.point))
    start = min(starts, key=size, default=None)
    simple = [] if start is None else [simplify(sampler, is_wanted, start)]
    if (
        not simple
        or max(map(complexity, simple[0].values()), default=0) > LONG
        or not sampler.admits(simple[0])
    ):
        shrunk = shrink(sampler, is_wanted, examples, seed)
        if shrunk is not None:
            simple.append(simplify(sampler, is_wanted, shrunk))
    return prober.probe(min(simple, key=size)) if simple else None
