"""Make a counterexample simple: few digits, small numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from dpverify.harness.search.domain import Sampler
from dpverify.harness.search.rationals import complexity
from dpverify.harness.search.simpler import by_one, by_two

Values = dict[str, Fraction]
TRIES = 3000
"""How many points are tried at most."""


def size(point: Mapping[str, Fraction]) -> tuple[int, ...]:
    """How long a point is to write down; ties go to the smaller denominators, then to the smaller numerators."""
    values = [point[symbol] for symbol in sorted(point)]
    bits = sum(complexity(v) for v in values)
    return bits, *(v.denominator for v in values), *(abs(v.numerator) for v in values)


def simplify(sampler: Sampler, wanted: Callable[[Values], bool], start: Values, tries: int = TRIES) -> Values:
    """Replace values by simpler ones as long as the point keeps its property.

    A point with the property that none of the moves makes simpler, or the simplest that was reached.
    """
    best, length = start, size(start)
    tried: set[tuple[Fraction, ...]] = set()

    def moved(points: Iterable[Values]) -> bool:
        """Go to the first of the points that is simpler and has the property."""
        nonlocal best, length
        for point in points:
            # Most moves make the point longer: its bits alone say so.
            if sum(map(complexity, point.values())) > length[0] or (shorter := size(point)) >= length:
                continue
            if (values := tuple(point[symbol] for symbol in sampler.symbols)) in tried:
                continue
            if len(tried) >= tries:
                return False
            tried.add(values)
            if sampler.admits(point) and wanted(point):
                best, length = point, shorter
                return True
        return False

    # A sum, not any: each symbol has its turn in every round, whether the one before it was moved or not.
    while sum(moved(by_one(sampler, best, symbol)) for symbol in sampler.symbols) or moved(by_two(sampler, best)):
        pass
    return best
