"""The request for a training run, its result, and the guarantee of its noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dpverify.algorithms.algorithm import Algorithm, NoiseConstants, ProblemSize
from dpverify.algorithms.settings import MOST_STEPS, Settings, fraction
from dpverify.kernels import check
from dpverify.ledger.records import Record
from dpverify.problems.data import Dataset
from dpverify.problems.regression import Regression


@dataclass(frozen=True, init=False)
class Request:
    """A request for a training run. Nothing is read before the run starts.

    Parameters
    ----------
    algorithm : str or Algorithm or None
        One of ``ALGORITHMS``, by default the first one, or an object of your own.
    data : Path or None
        LIBSVM or CSV file, or ``iris``, ``wine`` or ``digits`` of scikit-learn; None is
        ``breast_cancer``. Data with more than two classes use softmax regression.
    n : int or None
        Number of examples to draw from the data with the seed; None uses all examples.
    epsilon, delta : float or None
        Requested privacy, for which the smallest certified sigma is chosen. If sigma
        and delta are given instead, the result has the epsilon of this sigma.
    standardise : bool or None
        Whether to give columns mean 0 and deviation 1; None does so for the bundled
        data only.
    points : int or None
        Number of measurements of loss and gradient norm after the start. None: up to
        100, as long as they take at most about a fifth of the time.
    **settings
        Settings of the algorithm; ``epochs`` may replace ``steps``. A setting that is
        missing or None has its default.

    Raises
    ------
    ArgumentError
        If an argument is out of its domain, two arguments exclude each other, or the
        algorithm has no such setting.

    Examples
    --------
    >>> Request("dp-srm", epochs=2, gamma=0.1).settle(569).steps
    23
    """

    algorithm: Algorithm[Any]
    data: Path | None
    n: int | None
    epsilon: float | None
    delta: float | None
    standardise: bool | None
    points: int | None
    settings: Mapping[str, Any] = field(hash=False)

    def __init__(
        self,
        algorithm: str | Algorithm[Any] | None = None,
        *,
        data: Path | None = None,
        n: int | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        standardise: bool | None = None,
        points: int | None = None,
        **settings: Any,
    ) -> None:
        method = algorithm if isinstance(algorithm, Algorithm) else _named(algorithm)
        checked = method.take(settings)
        if epsilon is not None:
            if not method.is_private:
                raise check.ArgumentError(
                    "epsilon", epsilon, f"must be left out, {method.name} has no noise"
                )
            check.positive(epsilon=epsilon)
            if delta is None:
                raise check.ArgumentError("delta", delta, "must be given with epsilon")
            if "sigma" in checked:
                rule = f"must be left out where epsilon={epsilon} is asked for"
                raise check.ArgumentError("sigma", checked["sigma"], rule)
        if delta is not None:
            fraction(delta=delta)
        for name, value in (("n", n), ("points", points)):
            if value is not None:
                check.whole(1, MOST_STEPS, **{name: value})
        values = {
            "data": data,
            "n": n,
            "epsilon": epsilon,
            "delta": delta,
            "standardise": standardise,
        }
        vars(self).update(values, algorithm=method, points=points, settings=checked)

    def changed(self, **changes: Any) -> Request:
        """Return the request with some arguments and settings replaced."""
        arguments = {
            name: value for name, value in vars(self).items() if name != "settings"
        }
        return Request(**{**arguments, **self.settings, **changes})

    def settle(self, n_examples: int) -> Settings:
        """Return the settings of a run on this many examples."""
        settings: Settings = self.algorithm.complete(self.settings, n_examples)
        return settings


def _named(name: str | None) -> Algorithm[Any]:
    """Return an algorithm by name. The registry is loaded only here, so that requests with an object do not load it."""
    from dpverify.algorithms.registry import ALGORITHMS, algorithm_named

    return algorithm_named(next(iter(ALGORITHMS)) if name is None else name)


NOT_CERTIFIED = "not certified"


class DataInfo(Record, frozen=True, kw_only=True):
    """The data set: its name, size (n examples, d weights) and classes, and whether its columns were standardised."""

    name: str
    n: int
    d: int
    classes: tuple[str, ...]
    standardised: bool

    @property
    def called(self) -> str:
        """The classes as an enumeration."""
        return f"{', '.join(self.classes[:-1])} and {self.classes[-1]}"


class Point(Record, frozen=True, kw_only=True):
    """Loss F(w) and norm of its gradient after ``step`` steps, computed from the data without noise."""

    step: int
    loss: float
    gradient_norm: float


class TrainResult(Record, frozen=True, kw_only=True):
    """Result of a training run, complete or interrupted."""

    schema: Literal[2] = 2  # 2: only the settings of the algorithm
    algorithm: str
    # the guarantee for replacing one example, or why there is none
    privacy: str = NOT_CERTIFIED
    epsilon: float | None = None
    delta: float | None = None
    data: DataInfo
    settings: Settings
    constants: NoiseConstants
    path: list[Point]  # from step 0 to the last step done
    # mean over the path without its last point, for an iterate drawn from w_1, .., w_T
    # as in Theorems 6 and 9
    mean_gradient_norm: float
    w: list[float]  # the last iterate
    interrupted: bool  # whether it ended before its last step
    seconds: float  # time of the steps and the measurements
    notes: list[str] = []  # remarks for the user of the result


class PartyResult(Record, frozen=True, kw_only=True):
    """The public results of one party of ddp-srm."""

    schema: Literal[2] = 2
    privacy: str
    settings: Settings
    w: list[float]  # the last iterate
    output: list[float]  # an earlier iterate, drawn with the seed


def mean_gradient_norm(path: Sequence[Point]) -> float:
    """Return the mean gradient norm over the measured points among w_1, .., w_T, or at w_{T+1} if there is no other."""
    counted = path[:-1] or path
    return math.fsum(point.gradient_norm for point in counted) / len(counted)


@dataclass(frozen=True)
class Guarantee:
    """A guarantee, or the reason why there is none."""

    words: str  # the guarantee, or ``not certified`` and the reason
    epsilon: float | None = None  # the guarantee, if there is one
    delta: float | None = None


def account(
    request: Request, settings: Settings, dataset: Dataset, problem: Regression
) -> tuple[Settings, Guarantee]:
    """Return the settings, with sigma chosen if epsilon is requested, and the guarantee of the accountant."""
    algorithm = request.algorithm
    delta = request.delta
    if delta is None:
        return settings, Guarantee(
            f"{NOT_CERTIFIED}: give epsilon and delta, or delta with sigma"
        )
    if not algorithm.is_noisy(settings):
        return settings, Guarantee(f"{NOT_CERTIFIED}: there is no noise")
    accounted, epsilon = algorithm.account(
        settings, ProblemSize.of(problem), request.epsilon, delta
    )
    if (
        algorithm.needs_lipschitz
        and settings.scale == "none"
        and not dataset.standardised
    ):
        numbers = f"epsilon = {epsilon:.6g}, delta = {delta:.6g}"
        return accounted, Guarantee(
            f"{NOT_CERTIFIED}: {numbers} would hold if G were known without looking at the data"
        )
    return accounted, guarantee(epsilon, delta, dataset, algorithm.assurance(accounted))


def guarantee(epsilon: float, delta: float, dataset: Dataset, how: str) -> Guarantee:
    """Return the guarantee; ``how`` says how it was obtained. Nothing is certified if the columns were standardised."""
    numbers = f"epsilon = {epsilon:.6g}, delta = {delta:.6g}"
    if dataset.standardised:
        return Guarantee(
            f"{NOT_CERTIFIED}: {numbers} would hold had the columns not been standardised"
        )
    if not math.isfinite(epsilon):
        return Guarantee(
            f"{NOT_CERTIFIED}: no epsilon can be certified for this sigma at delta = {delta:.6g}"
        )
    return Guarantee(f"{numbers}, for replacing one example, {how}", epsilon, delta)
