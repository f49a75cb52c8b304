"""Runs of one problem, what they say of a bound, and the same runs moved to another mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dpverify.papers.tran2022.utility.checks.utility_simulation_cases import Case, Fault


class Stream(NamedTuple):
    """Runs of one problem, right or with a fault."""

    name: str
    case: Case
    fault: Fault
    n: int


@dataclass(frozen=True)
class Verdict:
    """Runs of one problem against the bound."""

    n: int  # runs
    mean: float  # mean of the runs, its one-sided lower confidence limit, and the bound; in units of the gradient
    limit: float
    bound: float

    @property
    def refutes(self) -> bool:
        """Whether the limit is beyond the bound."""
        return self.limit > self.bound

    @property
    def words(self) -> str:
        """Mean, limit and bound."""
        return f"mean {self.mean:.4g} over {self.n} runs, lower limit {self.limit:.4g}, bound {self.bound:.4g}"


def moved(values: Sequence[float], target: float) -> list[float]:
    """Move values in [0, 1] towards 1, or towards 0, in proportion, until their mean is the target."""
    mean = sum(values) / len(values)
    if mean < target:
        return [1.0 - (1.0 - value) * (1.0 - target) / (1.0 - mean) for value in values]
    return [value * target / mean for value in values]
