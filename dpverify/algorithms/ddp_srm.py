"""DDP-SRM, Algorithm 2 of wang2019: DP-SRM in a multi-party computation.

sigma is the standard deviation of the noise over the sensitivity of the rounded sum. ``dpverify.train.ddp`` has the
accounting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import msgspec

from dpverify.algorithms.algorithm import (
    Observer,
    ProblemSize,
    least_sigma,
    sampled_bounds,
)
from dpverify.algorithms.dp_srm import RecursiveMomentum, SrmSettings
from dpverify.algorithms.settings import SettingInfo, whole
from dpverify.kernels import check
from dpverify.mpc.fixed_point import LEAST_PARTIES, MOST_PARTIES, Noise

if TYPE_CHECKING:
    from dpverify.calibrate.records import CalibrationRequest
    from dpverify.privacy.participation import Bounds
    from dpverify.problems.regression import Regression

DEFAULT_PARTIES = 5


class DdpSettings(SrmSettings, frozen=True, kw_only=True):
    """Settings of DDP-SRM."""

    parties: Annotated[
        int,
        SettingInfo(
            "m",
            "Number of parties, each with a part of the rows.",
            whole(LEAST_PARTIES, MOST_PARTIES),
        ),
    ] = DEFAULT_PARTIES
    noise: Annotated[
        Noise,
        SettingInfo(
            "noise",
            "How the noise is made: shares of the parties, shared random bits, or the ratio of uniforms.",
        ),
    ] = "shares"
    fraction_bits: Annotated[
        int,
        SettingInfo(
            "bits", "Binary digits after the point in the computation.", whole(0, 40)
        ),
    ] = 24


class DdpSrmAlgorithm(RecursiveMomentum[DdpSettings]):
    """Algorithm 2 of wang2019."""

    name = "ddp-srm"
    summary = "DP-SRM in a multi-party computation (Algorithm 2 of wang2019); needs the extra mpc."
    settings = DdpSettings
    most_classes = 2
    noise_note = (
        "noise is drawn in whole units from the system's randomness; batches come from "
        "a seed that one user holds"
    )

    def complete(self, request: Mapping[str, Any], examples: int) -> DdpSettings:
        return self.srm_settings(
            request, examples, request.get("parties", DEFAULT_PARTIES)
        )

    def start(self, problem: Regression, settings: DdpSettings) -> NoReturn:
        raise check.ArgumentError("algorithm", self.name, "has no run in one process")

    def run(
        self,
        problem: Regression,
        settings: DdpSettings,
        stops: Sequence[int],
        moved: Observer,
        stopped: Observer,
    ) -> None:
        """Run each party as a process."""
        from dpverify.train.ddp import run_parties

        stopped(0, problem.start)
        run_parties(problem.x, problem.y, settings, stops, stopped)

    def noise(
        self, problem: Regression, settings: DdpSettings
    ) -> tuple[dict[str, float], dict[str, float]]:
        from dpverify.train.ddp import check_batch, even_split, scales_of

        check_batch(settings, even_split(len(problem.x), settings.parties))
        first, later = (
            scale.deviation / settings.batch
            for scale in scales_of(settings, problem.x.shape[1])
        )
        return {}, {"v^0": first, "v^t": later}

    def epsilon(self, settings: DdpSettings, size: ProblemSize, delta: float) -> float:
        from dpverify.train.ddp import ddp_epsilon, even_split

        return ddp_epsilon(
            settings, even_split(size.examples, settings.parties), size.dimension, delta
        )

    def epsilon_bounds(
        self, settings: DdpSettings, size: ProblemSize, delta: float
    ) -> Bounds:
        """Return bounds on epsilon; for noise made inside the computation, the lower bound is 0."""
        from dpverify.privacy.participation import Bounds
        from dpverify.train.ddp import even_split

        if settings.noise != "shares":
            return Bounds(0.0, self.epsilon(settings, size, delta), exact=False)
        sizes = even_split(size.examples, settings.parties)
        return sampled_bounds(
            settings.batch / len(sizes) / min(sizes),
            settings.sigma,
            settings.steps,
            delta,
        )

    def sigma(
        self, settings: DdpSettings, size: ProblemSize, epsilon: float, delta: float
    ) -> float:
        from dpverify.train.ddp import even_split, with_inside_sigma

        sizes = even_split(size.examples, settings.parties)
        if settings.noise != "shares":
            return with_inside_sigma(
                settings, settings.noise, sizes, size.dimension, epsilon, delta
            ).sigma
        # the largest sampling rate of any party
        return least_sigma(
            settings.batch / (len(sizes) * min(sizes)), settings.steps, epsilon, delta
        )

    def account(
        self,
        settings: DdpSettings,
        size: ProblemSize,
        epsilon: float | None,
        delta: float,
    ) -> tuple[DdpSettings, float]:
        """Return the settings with their sigma, and epsilon; reject a batch that the parties cannot split evenly."""
        from dpverify.train.ddp import check_batch, even_split

        check_batch(settings, even_split(size.examples, settings.parties))
        if epsilon is not None:
            settings = msgspec.structs.replace(
                settings, sigma=self.sigma(settings, size, epsilon, delta)
            )
        return settings, self.epsilon(settings, size, delta)

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.batches import DdpRequest

        return DdpRequest

    def assurance(self, settings: DdpSettings) -> str:
        return f"against any {(settings.parties - 1) // 2} of the parties, certified in real arithmetic"


DDP_SRM = DdpSrmAlgorithm()
