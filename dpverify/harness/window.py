"""How far a search went, in words: between which values its points lie, and which it could not evaluate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from dpverify.harness.context import Point
from dpverify.harness.search.search import Findings
from dpverify.harness.sides import PRECISIONS, Prober
from dpverify.symbolic.exact.evaluate import to_number

DIGITS = 4  # of a value that is not an integer


def window_words(found: Findings, prober: Prober) -> str:
    """Between which values of each symbol the statement was decided, and what is not covered."""
    points = [probe.point for probe in found.probes]
    reached = ", ".join(_extents(points))
    parts = [f"{len(points)} points, {reached}" if reached else f"{len(points)} points"]
    return "; ".join([*parts, *unevaluated(found, prober)])


def unevaluated(found: Findings, prober: Prober) -> Iterator[str]:
    """What of the domain has no value, or none that was computed."""
    undefined = prober.undefined - prober.too_wide
    if prober.open_points:
        yield undefined_words(prober.open_points, [probe.point for probe in found.probes], undefined)
    if prober.too_wide:
        yield f"{prober.too_wide} points not decided: their sides need more than {PRECISIONS[-1]} bits"
    if prober.too_long:
        yield f"{prober.too_long} larger points not evaluated: they exceed this check's share of the work"


def undefined_words(open_points: Sequence[tuple[Point, str]], defined: Sequence[Point], count: int) -> str:
    """Say where a side has no value: by a condition on a symbol that tells these points apart, or at one of them."""
    point, reason = open_points[0]
    where = next(_conditions([each for each, _ in open_points], defined), "")
    shown = ", ".join(f"{name} = {value_words(value)}" for name, value in sorted(point.items()))
    part = f"for {where}" if where else f"at {count} points" + (f", such as {shown}" if shown else "")
    example = f" at {shown}" if where and where != shown and shown else ""
    return f"a side is undefined {part} ({reason.rstrip('.')}{example})"


def _conditions(without: Sequence[Point], defined: Sequence[Point]) -> Iterator[str]:
    """Conditions on one symbol that hold at all points without a value and at no other point."""
    for name in sorted(without[0]):
        low, high = _ends(name, without)
        if not defined:
            continue
        least, most = _ends(name, defined)
        if low == high and all(point[name] != low for point in defined):
            yield f"{name} = {value_words(low)}"
        elif high < 0 <= least:
            yield f"{name} < 0"
        elif high < least:
            yield f"{name} <= {value_words(high)}"
        elif low > most:
            yield f"{name} >= {value_words(low)}"


def _ends(name: str, points: Iterable[Point]) -> tuple[Fraction, Fraction]:
    values = [point[name] for point in points]
    return min(values), max(values)


def _extents(points: Sequence[Mapping[str, Fraction]]) -> Iterator[str]:
    for name in sorted(points[0]) if points else ():
        low, high = _ends(name, points)
        yield (
            f"{name} = {value_words(low)}" if low == high else f"{name} from {value_words(low)} to {value_words(high)}"
        )


def value_words(value: Fraction) -> str:
    """A value with few digits."""
    if value.denominator == 1 and abs(value) < 10**9:
        return str(value)
    number = to_number(value).float
    return number if isinstance(number, str) else f"{number:.{DIGITS}g}"
