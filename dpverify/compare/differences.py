"""Differences between methods, seed by seed, with intervals that hold all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from dpverify.compare.methods import METHODS
from dpverify.compare.result import LEVEL, MEASURES, CompareResult, MeanInterval, interval

PAIRS = tuple((second, first) for first, second in combinations(METHODS, 2))
"""Every pair of methods, the later one first: ``dp-nsgd`` minus ``nsgd``."""

Seen = Literal["higher", "lower", "no difference seen"]


@dataclass(frozen=True)
class Difference:
    """The mean over seeds of one method minus another, on the same splits."""

    first: str  # the methods: first minus second
    second: str
    measure: str
    interval: MeanInterval  # corrected for all that are judged together

    @property
    def seen(self) -> Seen:
        """What the interval says: it leaves 0 out, or it does not."""
        if self.interval.low is not None and self.interval.low > 0:
            return "higher"
        if self.interval.high is not None and self.interval.high < 0:
            return "lower"
        return "no difference seen"


def family(results: Sequence[CompareResult]) -> int:
    """How many differences are judged together: every pair and measure of every comparison."""
    return len(PAIRS) * len(MEASURES) * len(results)


def corrected_level(count: int) -> float:
    """Level of each of ``count`` intervals for all of them to hold at 95% (Bonferroni)."""
    return 1.0 - (1.0 - LEVEL) / count


def differences(result: CompareResult, level: float) -> dict[tuple[str, str, str], Difference]:
    """Every difference of a comparison, by first method, second method and measure."""
    outcomes = {method.name: method.outcomes for method in result.methods}
    found = {}
    for first, second in PAIRS:
        for measure in MEASURES:
            pairs = zip(outcomes[first], outcomes[second], strict=True)
            values = [float(getattr(a, measure)) - float(getattr(b, measure)) for a, b in pairs]
            found[first, second, measure] = Difference(first, second, measure, interval(values, level))
    return found
