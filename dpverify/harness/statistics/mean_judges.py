"""The interface of judges of simulations, and judges of a mean by its exact value or by a printed bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpverify.harness.checks import Context
from dpverify.harness.sides import printed_side
from dpverify.harness.statistics.effects import (
    Effect,
    MeanEffect,
    ProportionEffect,
    Tail,
    proportion_limits,
)
from dpverify.ledger.check_results import Number

Sample = NDArray[Any]
Change = Callable[[Context, Sample, np.random.Generator], Sample]


@dataclass(frozen=True)
class PlantedFault:
    """A fault of exactly the declared size, put into a sample of the check's own kernel."""

    name: str  # short name: "scale"
    fault: str  # description of the fault
    change: Change  # returns a faulty copy of a sample


@dataclass(frozen=True)
class Judgement:
    """The decision of a judge on a sample."""

    # "agrees"; "disagrees" if the kernel does not follow the exact law, which is no
    # verdict on the paper; "refutes" if a confidence limit violates the claim
    outcome: Literal["agrees", "disagrees", "refutes"]
    statistic: str  # description of estimate, interval and bound
    lhs: Number | None = None  # confidence limit and bound, if the judge refutes
    rhs: Number | None = None
    # named curves, each with named columns
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)


class Judge(Protocol):
    """Converts samples to sums, which are joined with ``+`` to save memory, and sums to a judgement."""

    def collect(self, context: Context, sample: Any) -> Any:
        """Return the sums of one block, given as a Sample or as Pieces."""

    def decide(self, context: Context, statistics: Any, alpha: float) -> Judgement:
        """Judge the sums of all blocks at level alpha."""

    def planted(self, context: Context, effect: Effect) -> Sequence[PlantedFault]:
        """Return the faults of exactly the declared sizes, at least one."""

    def true_neighbour(
        self, context: Context, statistics: Any
    ) -> tuple[str, Any] | None:
        """Return a description of the sums moved to where the claim just holds, and these sums.

        None for a judge that never refutes.
        """


@dataclass(frozen=True)
class MeanMoments:
    """Sums over a sample of numbers."""

    n: int  # replications
    mean: float  # mean of the values
    squares: float  # sum of squared deviations from the mean

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
        raise ValueError(
            f"sample must have shape (n,) with n >= 1, got sample.shape={sample.shape}."
        )
    values = np.asarray(sample, dtype=np.float64)
    if not np.all(np.isfinite(values)):
        raise ValueError("sample must be finite, got a NaN or an infinity.")
    mean = float(values.mean())
    return MeanMoments(values.size, mean, float(np.square(values - mean).sum()))


def _tail_of(tail: Tail | Callable[[Context], Tail], context: Context) -> Tail:
    return tail(context) if callable(tail) else tail


def _bound(bound: Callable[[Context], float] | None, context: Context) -> float:
    return (
        printed_side(context.statement, context.point)
        if bound is None
        else bound(context)
    )


def _mean_effect(effect: Effect) -> MeanEffect:
    if not isinstance(effect, MeanEffect):
        raise TypeError(f"effect must be a MeanEffect, got {type(effect).__name__}.")
    return effect


def _centred_at(
    target: float,
) -> Callable[[Context, Sample, np.random.Generator], Sample]:
    return lambda _context, sample, _rng: sample - sample.mean() + target


@dataclass(frozen=True)
class MeanLaw:
    """Judge samples of shape (n,): test in both directions whether the kernel's mean is the exact mean."""

    mean: Callable[[Context], float]  # the exact mean, in units of the statistic
    tail: Tail | Callable[[Context], Tail]  # bound on the tails of the statistic

    def collect(self, context: Context, sample: Sample) -> MeanMoments:
        """Return the sums of one block."""
        return _moments(sample)

    def decide(
        self, context: Context, statistics: MeanMoments, alpha: float
    ) -> Judgement:
        """Decide whether the exact mean lies in the confidence interval."""
        exact = self.mean(context)
        radius = _tail_of(self.tail, context).radius(
            statistics.n, statistics.variance, alpha / 2.0
        )
        words = f"mean {statistics.mean:.6g} +- {radius:.3g}, exact {exact:.6g}"
        return Judgement(
            "disagrees" if abs(statistics.mean - exact) > radius else "agrees", words
        )

    def planted(self, context: Context, effect: Effect) -> Sequence[PlantedFault]:
        """Return the fault of a mean that is off by exactly the declared shift."""
        shift = _mean_effect(effect).shift
        target = self.mean(context) + shift
        return [
            PlantedFault("mean", f"the mean off by {shift:.6g}", _centred_at(target))
        ]

    def true_neighbour(self, context: Context, statistics: MeanMoments) -> None:
        """Return None: a wrong mean is a disagreement of our sources."""


@dataclass(frozen=True)
class MeanBound:
    """Judge samples of shape (n,): test whether the mean respects the printed bound, as a verdict on the paper."""

    tail: Tail | Callable[[Context], Tail]  # bound on the tails of the statistic
    # default: the statement's right side, with its relation
    bound: Callable[[Context], float] | None = None

    def collect(self, context: Context, sample: Sample) -> MeanMoments:
        """Return the sums of one block."""
        return _moments(sample)

    def decide(
        self, context: Context, statistics: MeanMoments, alpha: float
    ) -> Judgement:
        """Refute if the one-sided confidence limit violates the bound."""
        bound, sign = self._bound(context)
        radius = _tail_of(self.tail, context).radius(
            statistics.n, statistics.variance, alpha
        )
        limit = statistics.mean - sign * radius
        side = "lower" if sign > 0 else "upper"
        words = f"mean {statistics.mean:.6g}, {side} confidence limit {limit:.6g}, bound {bound:.6g}"
        if math.isfinite(limit) and sign * (limit - bound) > 0.0:
            return Judgement("refutes", words, Number(float=limit), Number(float=bound))
        return Judgement("agrees", words)

    def planted(self, context: Context, effect: Effect) -> Sequence[PlantedFault]:
        """Return the fault of a mean that is beyond the bound by exactly the declared shift."""
        shift = _mean_effect(effect).shift
        bound, sign = self._bound(context)
        return [
            PlantedFault(
                "mean",
                f"a mean beyond the bound by {shift:.6g}",
                _centred_at(bound + sign * shift),
            )
        ]

    def true_neighbour(
        self, context: Context, statistics: MeanMoments
    ) -> tuple[str, MeanMoments]:
        """Return the sums of a sample with a mean equal to the bound."""
        bound, _ = self._bound(context)
        return f"the sample moved to the mean {bound:.6g}", replace(
            statistics, mean=bound
        )

    def _bound(self, context: Context) -> tuple[float, float]:
        relation = context.statement.relation
        if relation == "=":
            raise ValueError(
                "relation of a MeanBound must be <= or >=, got an equation: use MeanLaw."
            )
        return _bound(self.bound, context), -1.0 if relation in {">=", ">"} else 1.0


@dataclass(frozen=True)
class ProportionBound:
    """Judge samples of zeros and ones: test whether the probability of a one is at most the bound.

    A violation is a verdict on the paper.
    """

    # default: the statement's right side at the point
    bound: Callable[[Context], float] | None = None

    def collect(self, context: Context, sample: Sample) -> MeanMoments:
        """Return the sums of one block, which must contain only zeros and ones."""
        values = np.asarray(sample, dtype=np.float64)
        if not np.all((values == 0.0) | (values == 1.0)):
            raise ValueError(
                "sample of a ProportionBound must hold zeros and ones only."
            )
        return _moments(values)

    def decide(
        self, context: Context, statistics: MeanMoments, alpha: float
    ) -> Judgement:
        """Refute if the Clopper-Pearson limit is above the bound."""
        bound = _bound(self.bound, context)
        successes = round(statistics.mean * statistics.n)
        lower, _ = proportion_limits(successes, statistics.n, alpha)
        words = f"{successes} of {statistics.n}, lower confidence limit {lower:.6g}, bound {bound:.6g}"
        if lower > bound:
            return Judgement("refutes", words, Number(float=lower), Number(float=bound))
        return Judgement("agrees", words)

    def planted(self, context: Context, effect: Effect) -> Sequence[PlantedFault]:
        """Return the fault of coin tosses with a probability above the bound by exactly the declared shift."""
        if not isinstance(effect, ProportionEffect):
            raise TypeError(
                f"effect of a ProportionBound must be a ProportionEffect, got {type(effect).__name__}."
            )
        probability = min(1.0, _bound(self.bound, context) + effect.shift)
        fault = f"a probability of {probability:.6g}"
        return [
            PlantedFault(
                "probability",
                fault,
                lambda _, sample, rng: rng.random(sample.size) < probability,
            )
        ]

    def true_neighbour(
        self, context: Context, statistics: MeanMoments
    ) -> tuple[str, MeanMoments]:
        """Return the sums of a sample with no more ones than the bound allows."""
        successes = math.floor(_bound(self.bound, context) * statistics.n)
        return f"a sample with {successes} ones", replace(
            statistics, mean=successes / statistics.n
        )
