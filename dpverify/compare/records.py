"""The checked request of a comparison, the records of its results, and confidence intervals of means over seeds."""

from __future__ import annotations

import hashlib
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from scipy.special import stdtrit

from dpverify.algorithms.registry import algorithm_named
from dpverify.kernels import check
from dpverify.ledger.records import Record
from dpverify.problems.data import is_bundled
from dpverify.problems.rows import RowScaling
from dpverify.train.records import DataInfo, Request

LEVEL = 0.95


class MeanInterval(Record, frozen=True, kw_only=True):
    """A mean over seeds and its two-sided t-interval; ``low`` and ``high`` are None for a single seed."""

    mean: float
    low: float | None
    high: float | None

    @property
    def seen(self) -> Literal["higher", "lower", "no difference seen"]:
        """Direction of a difference if its interval excludes 0."""
        if self.low is not None and self.low > 0:
            return "higher"
        return (
            "lower" if self.high is not None and self.high < 0 else "no difference seen"
        )

    def shown(self, sign: str = "") -> str:
        """Return ``mean [low, high]`` with four decimals, or ``mean [no interval]`` for a single seed."""
        if self.low is None or self.high is None:
            return f"{self.mean:{sign}.4f} [no interval]"
        return f"{self.mean:{sign}.4f} [{self.low:{sign}.4f}, {self.high:{sign}.4f}]"


def interval(
    values: Sequence[float],
    level: float = LEVEL,
    lower: float = -math.inf,
    upper: float = math.inf,
) -> MeanInterval:
    """Return the mean and its t-interval ``mean -+ t s/sqrt(S)``, clipped to [lower, upper]."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return MeanInterval(mean=mean, low=None, high=None)
    deviation = math.sqrt(
        math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    )
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * deviation / math.sqrt(count)
    return MeanInterval(
        mean=mean, low=max(mean - half, lower), high=min(mean + half, upper)
    )


def corrected_level(count: int) -> float:
    """Return the level of each of ``count`` intervals such that all hold together with 95% (Bonferroni)."""
    return 1.0 - (1.0 - LEVEL) / count


# larger values are useless, and exceed the float range of the accountants
MAX_EPSILON = 1e6


@dataclass(frozen=True)
class CompareRequest:
    """Arguments of a comparison.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of every private method, for replacing one example.
    data, n, steps, epochs, eta, lam, scale, standardise
        As in ``Request``. ``eta`` and ``steps`` are those of the normalized methods;
        the other methods evaluate as many example gradients. ``scale`` is ``unit`` or
        ``clip``. Epochs are passes over the training part.
    batch : int or None
        Batch size of the methods that draw batches; by default the rounded square root
        of N.
    test_part : float
        Fraction of the data that is held out, above 0 and below 1.
    seeds, seed : int
        Number of seeds S and first seed: the seeds are seed, .., seed + S - 1. Each
        seed has its own split, which all methods share.
    also : tuple of str
        Further algorithms, as names or ``file.py:NAME``. They use their own defaults
        and as many example gradients.

    Raises
    ------
    ArgumentError
        If an argument is out of its domain, or if two arguments exclude each other.
    """

    epsilon: float
    delta: float
    data: Path | None = None
    n: int | None = None
    steps: int | None = None
    epochs: int | None = None
    batch: int | None = None
    eta: float | None = None
    lam: float = 0.001
    scale: RowScaling = "unit"
    standardise: bool | None = None
    test_part: float = 0.2
    seeds: int = 20
    seed: int = 0
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.scale not in ("unit", "clip"):
            raise check.ArgumentError(
                "scale",
                self.scale,
                "must be one of unit, clip: G may not depend on the data",
            )
        if not check.positive(test_part=self.test_part) < 1.0:
            raise check.ArgumentError(
                "test_part", self.test_part, "must be above 0 and below 1"
            )
        if check.positive(epsilon=self.epsilon) > MAX_EPSILON:
            raise check.ArgumentError(
                "epsilon", self.epsilon, f"must be at most {MAX_EPSILON:.0e}"
            )
        check.whole(2, seeds=self.seeds)
        if self.batch is not None:
            check.whole(1, batch=self.batch)
        check.positive(delta=self.delta)
        for name in self.also:
            algorithm_named(name)
        self.shared()

    def shared(self) -> Request:
        """Return the settings that all methods share, as a checked request to train."""
        names = (
            "epsilon",
            "delta",
            "data",
            "n",
            "steps",
            "epochs",
            "eta",
            "lam",
            "scale",
            "standardise",
            "seed",
        )
        return Request(**{name: getattr(self, name) for name in names})

    @property
    def command(self) -> str:
        """The request as a command line without default values."""
        words = ["dpverify", "compare"]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "seeds" and value == field.default:
                continue
            option = f"--{field.name.replace('_', '-')}"
            if isinstance(value, bool):
                words.append(option if value else f"--no-{field.name}")
            elif isinstance(value, tuple):
                words += [word for item in value for word in (option, item)]
            else:
                words += [
                    option,
                    value.name if isinstance(value, Path) else show_word(value),
                ]
        return shlex.join(words)


def show_word(value: object) -> str:
    """Return a value as text, floats with six significant digits if these are exact."""
    is_exact = isinstance(value, float) and float(f"{value:g}") == value
    return f"{value:g}" if is_exact else str(value)


def source_of(data: Path | None) -> str:
    """Return the origin of the data; for a file, its SHA-256."""
    if data is None or is_bundled(data):
        return "comes with scikit-learn"
    return f"file {data.name}, SHA-256 {hashlib.sha256(data.read_bytes()).hexdigest()}"


MEASURES = ("gradient_norm", "mean_gradient_norm", "loss", "test_error")


class SeedOutcome(Record, frozen=True, kw_only=True):
    """The results of one seed."""

    seed: int
    # norm of the gradient on the training part, at the last iterate
    gradient_norm: float
    # mean of the norm over at most 50 evenly spaced iterates
    # of w_1, .., w_T: approximates the expected norm at an
    # iterate drawn at random, which Theorems 6 and 9 bound
    mean_gradient_norm: float
    loss: float  # objective on the training part, at the last iterate
    # fraction of the test part that is misclassified, at the last iterate
    test_error: float


class MethodResult(Record, frozen=True, kw_only=True):
    """One method over all seeds."""

    name: str  # as in ``METHODS``
    steps: int  # T
    batch: int  # examples per step
    # length of a step (nsgd) or step size (gd, sgd); 0 for an algorithm without one
    eta: float
    sigma: float | None = None  # noise multiplier of Algorithms 1 and 2
    # standard deviation of one coordinate, by kind of noise
    noise_std: dict[str, float]
    # the guarantee for replacing one example, if one is certified
    epsilon: float | None = None
    delta: float | None = None
    privacy: str  # the guarantee in words, or the reason why there is none
    outcomes: list[SeedOutcome]  # one per seed
    means: dict[str, MeanInterval]  # measure -> mean
    # measure -> mean difference to dp-nsgd over seeds
    minus_dp_nsgd: dict[str, MeanInterval]


class CompareResult(Record, frozen=True, kw_only=True):
    """A comparison, whole or interrupted; ``data.n`` examples were trained on, ``tested`` were held out."""

    schema: Literal[1] = 1
    data: DataInfo
    tested: int
    epsilon: float
    delta: float
    lipschitz: float
    smoothness: float
    lam: float
    scale: str
    seeds: int  # requested; ``done`` of them were finished by all methods
    done: int
    interrupted: bool
    seconds: float
    methods: list[MethodResult]
    notes: list[str]


def intervals(outcomes: Sequence[SeedOutcome]) -> dict[str, MeanInterval]:
    """Return the interval of each measure, clipped to values of at least 0 and test errors of at most 1."""
    return {
        measure: interval(
            [getattr(outcome, measure) for outcome in outcomes],
            lower=0.0,
            upper=1.0 if measure == "test_error" else math.inf,
        )
        for measure in MEASURES
    }


def differences(
    outcomes: Sequence[SeedOutcome], base: Sequence[SeedOutcome], level: float = LEVEL
) -> dict[str, MeanInterval]:
    """Return the interval of the mean difference to ``base`` for each measure; seeds are paired, with equal splits."""
    pairs = list(zip(outcomes, base, strict=True))
    return {
        m: interval([getattr(a, m) - getattr(b, m) for a, b in pairs], level)
        for m in MEASURES
    }


class Repeatable(Record, frozen=True, kw_only=True):
    """Information for reproducing a result."""

    command: str  # the command line, with file names instead of paths
    versions: dict[str, str] = {}  # versions of the libraries
    machine: dict[str, str] = {}
    commit: str = ""  # of the checkout, if there is one


class RecordedComparison(Repeatable, frozen=True, kw_only=True):
    """A comparison and how to reproduce it."""

    source: str  # origin of the data; for a file, its SHA-256
    result: CompareResult  # result of the comparison


class Comparisons(Record, frozen=True, kw_only=True):
    """All of ``data/comparison.json``."""

    schema: Literal[1] = 1
    comparisons: list[RecordedComparison]
