"""What a judge of simulations is; judges of one number per replication, by an exact mean or a printed bound of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpverify.harness.checks import Context
from dpverify.harness.sides import printed_side
from dpverify.harness.statistics.effects import Effect, MeanEffect, ProportionEffect, Tail, proportion_limits
from dpverify.ledger.results import Number

Sample = NDArray[Any]
Change = Callable[[Context, Sample, np.random.Generator], Sample]


@dataclass(frozen=True)
class PlantedFault:
    """A fault of exactly the declared size, put into a sample of the check's own."""

    name: str  # short name: "scale"
    fault: str  # the fault in words
    change: Change  # turns a sample into a faulty one


@dataclass(frozen=True)
class Judgement:
    """A judge's decision on a sample."""

    # "agrees"; "disagrees" where the kernel does not follow the exact law, which is no verdict on the paper; "refutes"
    # where a confidence limit lies beyond the claim
    outcome: Literal["agrees", "disagrees", "refutes"]
    statistic: str  # estimate, interval and bound, in words and numbers
    lhs: Number | None = None  # confidence limit and bound, where the judge refutes a claim
    rhs: Number | None = None
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # named curves, each of named columns


class Judge(Protocol):
    """Turns samples into sums, which are joined with ``+`` to save memory, and sums into a judgement."""

    def collect(self, context: Context, sample: Any) -> Any:
        """Sum up the sample of one block: a Sample, or, if the check's simulation gives them, Pieces of one."""

    def decide(self, context: Context, statistics: Any, alpha: float) -> Judgement:
        """Judge the sums of all blocks at level alpha."""

    def planted(self, context: Context, effect: Effect) -> Sequence[PlantedFault]:
        """Faults of exactly the declared sizes, at least one."""

    def true_neighbour(self, context: Context, statistics: Any) -> tuple[str, Any] | None:
        """The sums moved to where the claim just holds, and that in words; None for a judge that never refutes."""


@dataclass(frozen=True)
class MeanMoments:
    """Sums over a sample of numbers."""

    n: int  # replications
    mean: float  # their mean
    squares: float  # sum of squared distances from the mean

    def __add__(self, other: MeanMoments) -> MeanMoments:
        """Join two samples (Chan, Golub and LeVeque's update)."""
        n = self.n + other.n
        step = other.mean - self.mean
        squares = self.squares + other.squares + step * step * self.n * other.n / n
        return MeanMoments(n, self.mean + step * other.n / n, squares)

    @property
    def variance(self) -> float:
        """Sample variance with divisor ``n - 1``; 0 for one value."""
        return self.squares / (self.n - 1) if self.n > 1 else 0.0


def _moments(sample: Sample) -> MeanMoments:
    if sample.ndim != 1 or sample.size == 0:
        raise ValueError(f"sample must have shape (n,) with n >= 1, got sample.shape={sample.shape}.")
    values = np.asarray(sample, dtype=np.float64)
    if not np.all(np.isfinite(values)):
        raise ValueError("sample must be finite, got a NaN or an infinity.")
    mean = float(values.mean())
    return MeanMoments(values.size, mean, float(np.square(values - mean).sum()))


def _tail_of(tail: Tail | Callable[[Context], Tail], context: Context) -> Tail:
    return tail(context) if callable(tail) else tail


def _bound(bound: Callable[[Context], float] | None, context: Context) -> float:
    return printed_side(context.statement, context.point) if bound is None else bound(context)


def _mean_effect(effect: Effect) -> MeanEffect:
    if not isinstance(effect, MeanEffect):
        raise TypeError(f"effect must be a MeanEffect, got {type(effect).__name__}.")
    return effect


def _centred_at(target: float) -> Callable[[Context, Sample, np.random.Generator], Sample]:
    return lambda _context, sample, _rng: sample - sample.mean() + target


@dataclass(frozen=True)
class MeanLaw:
    """Judge of samples of shape (n,): is the kernel's mean the exact one? Two-sided."""

    mean: Callable[[Context], float]  # the exact mean, in units of the statistic
    tail: Tail | Callable[[Context], Tail]  # what is known of the statistic's tails

    def collect(self, context: Context, sample: Sample) -> MeanMoments:
        """Sum up one block."""
        return _moments(sample)

    def decide(self, context: Context, statistics: MeanMoments, alpha: float) -> Judgement:
        """Say whether the exact mean lies in the confidence interval."""
        exact = self.mean(context)
        radius = _tail_of(self.tail, context).radius(statistics.n, statistics.variance, alpha / 2.0)
        words = f"mean {statistics.mean:.6g} +- {radius:.3g}, exact {exact:.6g}"
        return Judgement("disagrees" if abs(statistics.mean - exact) > radius else "agrees", words)

    def planted(self, context: Context, effect: Effect) -> Sequence[PlantedFault]:
        """Sample moved to a mean off by exactly the declared shift."""
        shift = _mean_effect(effect).shift
        target = self.mean(context) + shift
        return [PlantedFault("mean", f"the mean off by {shift:.6g}", _centred_at(target))]

    def true_neighbour(self, context: Context, statistics: MeanMoments) -> None:
        """None: a mean that is off is a disagreement of our sources."""


@dataclass(frozen=True)
class MeanBound:
    """Judge of samples of shape (n,): does the mean respect the printed bound? One-sided, a verdict on the paper."""

    tail: Tail | Callable[[Context], Tail]  # what is known of the statistic's tails
    bound: Callable[[Context], float] | None = None  # by default the statement's right side, with its relation

    def collect(self, context: Context, sample: Sample) -> MeanMoments:
        """Sum up one block."""
        return _moments(sample)

    def decide(self, context: Context, statistics: MeanMoments, alpha: float) -> Judgement:
        """Refute where the one-sided confidence limit lies beyond the bound."""
        bound, sign = self._bound(context)
        radius = _tail_of(self.tail, context).radius(statistics.n, statistics.variance, alpha)
        limit = statistics.mean - sign * radius
        side = "lower" if sign > 0 else "upper"
        words = f"mean {statistics.mean:.6g}, {side} confidence limit {limit:.6g}, bound {bound:.6g}"
        if math.isfinite(limit) and sign * (limit - bound) > 0.0:
            return Judgement("refutes", words, Number(float=limit), Number(float=bound))
        return Judgement("agrees", words)

    def planted(self, context: Context, effect: Effect) -> Sequence[PlantedFault]:
        """Sample moved beyond the bound by exactly the declared shift."""
        shift = _mean_effect(effect).shift
        bound, sign = self._bound(context)
        return [PlantedFault("mean", f"a mean beyond the bound by {shift:.6g}", _centred_at(bound + sign * shift))]

    def true_neighbour(self, context: Context, statistics: MeanMoments) -> tuple[str, MeanMoments]:
        """The sample moved to a mean that is equal to the bound."""
        bound, _ = self._bound(context)
        return f"the sample moved to the mean {bound:.6g}", replace(statistics, mean=bound)

    def _bound(self, context: Context) -> tuple[float, float]:
        relation = context.statement.relation
        if relation == "=":
            raise ValueError("relation of a MeanBound must be <= or >=, got an equation: use MeanLaw.")
        return _bound(self.bound, context), -1.0 if relation in {">=", ">"} else 1.0


@dataclass(frozen=True)
class ProportionBound:
    """Judge of samples of zeros and ones: is the probability of a one at most the bound? A verdict on the paper."""

    bound: Callable[[Context], float] | None = None  # the bound; by default the statement's right side at the point

    def collect(self, context: Context, sample: Sample) -> MeanMoments:
        """Sum up one block; it must hold zeros and ones only."""
        values = np.asarray(sample, dtype=np.float64)
        if not np.all((values == 0.0) | (values == 1.0)):
            raise ValueError("sample of a ProportionBound must hold zeros and ones only.")
        return _moments(values)

    def decide(self, context: Context, statistics: MeanMoments, alpha: float) -> Judgement:
        """Refute where the Clopper-Pearson limit lies above the bound."""
        bound = _bound(self.bound, context)
        ones = round(statistics.mean * statistics.n)
        lower, _ = proportion_limits(ones, statistics.n, alpha)
        words = f"{ones} of {statistics.n}, lower confidence limit {lower:.6g}, bound {bound:.6g}"
        if lower > bound:
            return Judgement("refutes", words, Number(float=lower), Number(float=bound))
        return Judgement("agrees", words)

    def planted(self, context: Context, effect: Effect) -> Sequence[PlantedFault]:
        """Coin tosses whose probability is above the bound by exactly the declared shift."""
        if not isinstance(effect, ProportionEffect):
            raise TypeError(f"effect of a ProportionBound must be a ProportionEffect, got {type(effect).__name__}.")
        probability = min(1.0, _bound(self.bound, context) + effect.shift)
        fault = f"a probability of {probability:.6g}"
        return [PlantedFault("probability", fault, lambda _, sample, rng: rng.random(sample.size) < probability)]

    def true_neighbour(self, context: Context, statistics: MeanMoments) -> tuple[str, MeanMoments]:
        """A sample with no more ones than the bound allows."""
        ones = math.floor(_bound(self.bound, context) * statistics.n)
        return f"a sample with {ones} ones", replace(statistics, mean=ones / statistics.n)
