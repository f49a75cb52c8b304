"""Calibration of any algorithm that has an accountant, by the settings that it is trained with."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from dpverify.algorithms.algorithm import Algorithm, ProblemSize
from dpverify.algorithms.settings import SettingInfo, Settings, options, whole
from dpverify.calibrate.records import CalibrationRequest, Real, real
from dpverify.calibrate.tables import requested_line
from dpverify.kernels import check
from dpverify.ledger.records import Record
from dpverify.report.numbers import show_float
from dpverify.shown import ShownAsTable

OF_A_RUN = {*options(Settings), "sigma"} - {"steps"}
"""Settings that no accountant reads."""


class SettingsRequest(CalibrationRequest, frozen=True, kw_only=True):
    """The size of a problem; subclasses have the settings of an algorithm too."""

    d: Annotated[int, SettingInfo("d", "Dimension.", whole(1))] = 1
    epochs: Annotated[int | None, SettingInfo("T/N", "Number of passes over the data, instead of steps.", whole(1))] = (
        None
    )
    lipschitz: Annotated[float, SettingInfo("G", "Lipschitz constant of the loss.", check.positive)] = 1.0
    smoothness: Annotated[float, SettingInfo("L", "Smoothness constant of the loss.", check.not_negative)] = 1.0

    method: ClassVar[Algorithm[Any]]

    def answer(self) -> SettingsCalibration:
        """Calibrate."""
        names = {*options(self.method.settings), "epochs"} - OF_A_RUN
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
    """Make the class of the questions for an algorithm: its settings, each of which may be left out."""
    if not algorithm.is_private:
        raise check.ArgumentError("algorithm", algorithm.name, "has no noise to calibrate")
    fields = [
        (name, Annotated[option.type | None, option.setting], None)
        for name, option in options(algorithm.settings).items()
        if name not in OF_A_RUN
    ]
    bases = (SettingsRequest,)
    made: Any = msgspec.defstruct("SettingsRequest", fields, bases=bases, frozen=True, kw_only=True)
    made.method = algorithm
    question: type[SettingsRequest] = made
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
    """Tell a calibration to a person, in several lines."""
    return "\n".join(
        (
            f"{result.algorithm}: N = {result.n}, T = {result.settings['steps']} steps",
            requested_line(result.epsilon, result.delta),
            f"sigma = {show_float(result.sigma, 6)} is certified for epsilon <= {result.epsilon_at_most}",
            "Neighbours differ by replacing one example. Real arithmetic, not floats.",
        )
    )
