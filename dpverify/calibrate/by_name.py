"""Calibration of any bundled optimizer by its name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec

from dpverify.algorithms.algorithm import Algorithm, ProblemSize
from dpverify.algorithms.registry import ALGORITHMS, algorithm_named
from dpverify.algorithms.settings import SettingInfo, Settings, options, whole
from dpverify.calibrate.growing import GrowingCalibration
from dpverify.calibrate.records import (
    BatchCalibration,
    Calibration,
    CalibrationRequest,
    Real,
    real,
)
from dpverify.calibrate.tables import requested_line
from dpverify.kernels import check
from dpverify.ledger.records import Record
from dpverify.report.numbers import show_float
from dpverify.shown import ShownAsTable

RUN_SETTINGS = {*options(Settings), "sigma"} - {"steps"}
"""Settings that no accountant reads."""


class SettingsRequest(CalibrationRequest, frozen=True, kw_only=True):
    """A request with the size of a problem; subclasses add the settings of an algorithm."""

    d: Annotated[int, SettingInfo("d", "Dimension.", whole(1))] = 1
    epochs: Annotated[
        int | None,
        SettingInfo(
            "T/N", "Number of passes over the data, instead of steps.", whole(1)
        ),
    ] = None
    lipschitz: Annotated[
        float, SettingInfo("G", "Lipschitz constant of the loss.", check.positive)
    ] = 1.0
    smoothness: Annotated[
        float, SettingInfo("L", "Smoothness constant of the loss.", check.not_negative)
    ] = 1.0

    method: ClassVar[Algorithm[Any]]

    def answer(self) -> SettingsCalibration:
        """Return the calibration."""
        names = {*options(self.method.settings), "epochs"} - RUN_SETTINGS
        chosen = self.method.take({name: getattr(self, name) for name in names})
        size = ProblemSize(self.n, self.d, self.lipschitz, self.smoothness)
        settings = self.method.complete(chosen, self.n)
        settings, upper = self.method.account(settings, size, self.epsilon, self.delta)
        return SettingsCalibration(
            algorithm=self.algorithm,
            epsilon=self.epsilon,
            delta=self.delta,
            n=self.n,
            sigma=settings.sigma,
            epsilon_at_most=real(upper),
            settings=msgspec.structs.asdict(settings),
        )


@cache
def request_class(algorithm: Algorithm[Any]) -> type[SettingsRequest]:
    """Return the request class of an algorithm; all of its settings are optional."""
    if not algorithm.is_private:
        raise check.ArgumentError(
            "algorithm", algorithm.name, "has no noise to calibrate"
        )
    fields = [
        (name, Annotated[option.type | None, option.setting], None)
        for name, option in options(algorithm.settings).items()
        if name not in RUN_SETTINGS
    ]
    bases = (SettingsRequest,)
    request_type: Any = msgspec.defstruct(
        "SettingsRequest", fields, bases=bases, frozen=True, kw_only=True
    )
    request_type.method = algorithm
    question: type[SettingsRequest] = request_type
    return question


class SettingsCalibration(ShownAsTable, Record, frozen=True, kw_only=True):
    """The smallest certified noise of an algorithm."""

    shown_by: ClassVar[str] = "dpverify.calibrate.tables:settings_calibration_table"

    schema: Literal[1] = 1
    algorithm: str
    epsilon: float
    delta: float
    n: int
    sigma: float
    epsilon_at_most: Real
    settings: dict[str, float | str]


def settings_summary(result: SettingsCalibration) -> str:
    """Return a summary of the calibration in several lines."""
    return "\n".join(
        (
            f"{result.algorithm}: N = {result.n}, T = {result.settings['steps']} steps",
            requested_line(result.epsilon, result.delta),
            f"sigma = {show_float(result.sigma, 6)} is certified for epsilon <= {result.epsilon_at_most}",
            "Neighbours differ by replacing one example. Real arithmetic, not floats.",
        )
    )


AnyCalibration: TypeAlias = (
    Calibration | BatchCalibration | GrowingCalibration | SettingsCalibration
)


def calibration(algorithm: str | None = None, **run: Any) -> AnyCalibration:
    """Return the noise with which a bundled optimizer is (epsilon, delta)-DP: as printed, as proved, as certified.

    Parameters
    ----------
    algorithm : str
        Name of an optimizer in :data:`dpverify.algorithms.ALGORITHMS`, or
        ``file.py:NAME`` for one of your own. Default: the first one.
    **run
        ``n``, ``epsilon`` and ``delta``, and other settings of the run: the options of
        ``dpverify calibrate``.

    Returns
    -------
    Calibration, BatchCalibration, GrowingCalibration or SettingsCalibration
        For Algorithms 1 and 2, ``sigma.exact`` is the certified noise, and
        ``epsilon_bounds`` are the bounds on epsilon for it. For methods on batches,
        ``noise["exact"]`` is the certified noise. For DP-AGD, ``budget`` has the
        budgets. For other algorithms, ``sigma`` is the certified noise.

    Raises
    ------
    ValueError
        If an argument is missing, does not belong to the algorithm, or is out of its
        range.

    Examples
    --------
    >>> import dpverify as dv
    >>> result = dv.calibration("dp-nsgd", n=1000, d=10, epochs=1, epsilon=1.0, delta=1e-6)
    >>> result.epsilon_bounds[0] <= result.epsilon_bounds[1] <= 1.0
    True
    """
    result: AnyCalibration = request_for(algorithm, run).answer()  # type: ignore[assignment]  # each class has one of these
    return result


def request_for(algorithm: str | None, run: Mapping[str, Any]) -> CalibrationRequest:
    """Return the request for a run.

    Raises ArgumentError with the names of all missing arguments, or of one that is not a setting of the algorithm.
    """
    method = algorithm_named(algorithm or next(iter(ALGORITHMS)))
    request_type = method.calibration()
    accepted = options(request_type)
    values = {name: value for name, value in run.items() if value is not None}
    unknown = sorted(values.keys() - accepted.keys())
    if unknown:
        raise check.ArgumentError(
            unknown[0], values[unknown[0]], f"does not belong to {method.name}"
        )
    missing = [
        name
        for name, option in accepted.items()
        if option.is_required and name not in values
    ]
    if missing:
        raise check.ArgumentError(
            " and ".join(missing), None, f"must be given for {method.name}"
        )
    return request_type(algorithm=method.name, **values)
