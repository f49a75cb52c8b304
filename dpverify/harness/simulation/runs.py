"""Runs of an optimizer on one problem: properties of the problem, faulty optimizers, and judgements of the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from dpverify.harness.checks import Check, Context, Point
from dpverify.harness.exact_results import numbers
from dpverify.ledger.check_results import CheckResult, Counterexample, Method, Number
from dpverify.ledger.statements import Statement

ALPHA = 1e-6  # level of a whole check


class SimulatedCase(Protocol):
    """A problem and the size of a run on it."""

    @property
    def name(self) -> str:
        """Short name: "ramp"."""

    @property
    def words(self) -> str:
        """Description of the problem for a report."""

    @property
    def all_words(self) -> str:
        """Description with every parameter."""

    @property
    def point(self) -> Point:
        """Values of the claim's symbols."""


CaseT = TypeVar("CaseT", bound=SimulatedCase)


@dataclass(frozen=True)
class OptimizerFault:
    """A faulty optimizer."""

    name: str  # short name, and a description of the fault
    text: str
    direction: float = 1.0  # factor of every step
    noise: float = 1.0  # factor of sigma
    weight: float = 1.0  # factor of the momentum weight


NO_FAULT = OptimizerFault("", "")
UPHILL = OptimizerFault("uphill", "every step goes the other way", direction=-1.0)

Measure: TypeAlias = Callable[[Statement, CaseT, int, OptimizerFault], float]
"""Maps a statement, problem, seed and fault to the mean over one run that the claim bounds, in units of the gradient.

NaN if the run left the region in which the problem's constants hold. It then counts as
0, in favour of the claim."""

# statement and problem to a number in units of the gradient
Side: TypeAlias = Callable[[Statement, CaseT], float]


@dataclass(frozen=True)
class MeanAgainstBound:
    """Result of the runs of one problem for the bound on their mean, in units of the gradient."""

    n: int  # number of runs
    mean: float
    limit: float  # one-sided lower confidence limit of the mean
    bound: float

    @property
    def refutes(self) -> bool:
        """Whether the limit exceeds the bound."""
        return self.limit > self.bound

    @property
    def ratio(self) -> float:
        """The ratio of limit to bound."""
        return self.limit / self.bound

    @property
    def words(self) -> str:
        """Description of mean, limit and bound."""
        return f"mean {self.mean:.4g} over {self.n} runs, lower limit {self.limit:.4g}, bound {self.bound:.4g}"


class PlannedRuns(NamedTuple, Generic[CaseT]):
    """Runs of one problem, correct or with a fault, and their number."""

    name: str
    case: CaseT
    fault: OptimizerFault
    n: int


def with_mean(values: Sequence[float], target: float) -> list[float]:
    """Move values in [0, 1] proportionally towards 1 or 0 until their mean is the target."""
    mean = sum(values) / len(values)
    if mean < target:
        return [1.0 - (1.0 - value) * (1.0 - target) / (1.0 - mean) for value in values]
    return [value * target / mean for value in values]


@dataclass(frozen=True)
class RunsBoundCheck(Check, Generic[CaseT]):
    """Compare the mean of a norm over whole runs with a bound, in a one-sided test.

    The value of each run is cut off at ``top``. It then lies in [0, top], and its expectation does not increase, so
    that the confidence limit is exact for every distribution.
    """

    measure: Measure[CaseT] = field(kw_only=True)  # executes one run
    # The bound of the claim, and the largest value that counts. If the bound is not
    # below that value, nothing can be refuted.
    bound: Side[CaseT] = field(kw_only=True)
    top: Side[CaseT] = field(kw_only=True)
    region: str = field(kw_only=True)  # description of the range of problems

    method: ClassVar[Method] = "monte-carlo"

    def alpha(self, context: Context) -> float:
        """Return the probability of a false alarm of this check."""
        return ALPHA

    def result(self, **fields: Any) -> CheckResult:
        """Return a result of this check, with its level and its region."""
        return super().result(alpha=ALPHA, region=self.region, **fields)

    def _counterexample(
        self, case: CaseT, limit: float, bound: float, note: str
    ) -> Counterexample:
        return Counterexample(
            kind="interior",
            parameters=numbers(case.point),
            lhs=Number(float=limit),
            rhs=Number(float=bound),
            note=f"statistical: the left side is a one-sided confidence limit {note}; {case.words}",
        )
