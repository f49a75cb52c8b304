"""The algorithms of wang2019, DP-SRM and DDP-SRM. Gradients are clipped at C_1 = 1, and their changes at C_2.

DP-SRM is Algorithm 1 of the paper. Its sigma is the standard deviation of the noise
over the sensitivity of an estimate. The sensitivity is 2/b for the first estimate and
2(gamma + (1 - gamma) C_2)/b for later estimates; b_0 = b.

DDP-SRM is Algorithm 2, which runs DP-SRM in a multi-party computation. Its sigma is the standard deviation of the noise
over the sensitivity of the rounded sum. ``dpverify.train.ddp`` has the accounting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeVar

import msgspec

from dpverify.algorithms.algorithm import (
    Algorithm,
    Observer,
    ProblemSize,
    count_steps,
    least_sigma,
    sampled_bounds,
    sampled_epsilon,
)
from dpverify.algorithms.audited import AuditTarget, batch_target
from dpverify.algorithms.settings import NoisySettings, SettingInfo, whole
from dpverify.kernels import check
from dpverify.mpc.fixed_point import LEAST_PARTIES, MOST_PARTIES, Noise

if TYPE_CHECKING:
    from dpverify.calibrate.records import CalibrationRequest
    from dpverify.conform import PrivateOptimizer, Promise
    from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
    from dpverify.privacy.participation import Bounds
    from dpverify.problems.regression import Regression


CLIP: Final = 1.0
DEFAULT_CHANGE_CLIP: Final = 0.01  # C_2 in section 6.1


class SrmSettings(NoisySettings, frozen=True, kw_only=True):
    """Settings of DP-SRM."""

    batch: Annotated[
        int, SettingInfo("b", "Batch size.", whole(1), default="the root of N, rounded")
    ]
    clip: Annotated[
        float, SettingInfo("C_1", "Clip length of gradients.", is_option=False)
    ] = CLIP
    change_clip: Annotated[
        float, SettingInfo("C_2", "Clip length of gradient changes.", check.positive)
    ] = DEFAULT_CHANGE_CLIP
    gamma: Annotated[
        float,
        SettingInfo(
            "gamma",
            "Weight of the new gradient in the estimate.",
            check.weight,
            default="C_2",
        ),
    ]
    eta: Annotated[
        float,
        SettingInfo(
            "zeta",
            "The accuracy zeta: L times the longest step.",
            check.positive,
            default="C_2",
        ),
    ]


SrmT = TypeVar("SrmT", bound=SrmSettings)


class RecursiveMomentum(Algorithm[SrmT]):
    """The common part of both algorithms of wang2019."""

    def srm_settings(
        self, request: Mapping[str, Any], examples: int, parties: int, **fixed: Any
    ) -> SrmT:
        """Return all settings. The default batch has equally many examples of each party; n/(2b) steps are an epoch."""
        usual = parties * max(1, round(math.sqrt(examples) / parties))
        batch = check.whole(1, examples, batch=request.get("batch", usual))
        clip = request.get("change_clip", DEFAULT_CHANGE_CLIP)
        defaults = {"batch": batch, "gamma": min(1.0, clip), "eta": clip}
        return self.filled(
            request, defaults, steps=count_steps(request, examples, 2 * batch), **fixed
        )

    def gradients_per_step(self, settings: SrmT, examples: int) -> int:
        return 2 * settings.batch


class DpSrmAlgorithm(RecursiveMomentum[SrmSettings]):
    """Algorithm 1 of wang2019."""

    name = "dp-srm"
    summary = "Stochastic recursive momentum with clipped gradients and changes (Algorithm 1 of wang2019)."
    settings = SrmSettings

    def complete(self, request: Mapping[str, Any], examples: int) -> SrmSettings:
        return self.srm_settings(request, examples, 1)

    def start(self, problem: Regression, settings: SrmSettings) -> DpSrm:
        from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm
        from dpverify.problems.regression import recursive_gradient

        oracle = recursive_gradient(problem, settings.clip, settings.change_clip)
        numbers = self.parameters(settings, problem.smoothness)
        return DpSrm(oracle, len(problem.x), problem.start, numbers, seed=settings.seed)

    def parameters(self, settings: SrmSettings, smoothness: float) -> SrmParameters:
        """Return the parameters of a run."""
        from dpverify.papers.wang2019.algorithms.dp_srm import SrmParameters

        s = settings
        first, later = (move / s.batch * s.sigma for move in sum_moves(s))
        return SrmParameters(
            s.steps, s.batch, s.batch, s.gamma, s.eta, smoothness, first, later
        )

    def noise(
        self, problem: Regression, settings: SrmSettings
    ) -> tuple[dict[str, float], dict[str, float]]:
        p = self.parameters(settings, problem.smoothness)
        return {}, {"v^0": p.std_0, "v^t": p.std}

    def conformance(self) -> tuple[PrivateOptimizer, Promise]:
        from dpverify.algorithms.tested import EXAMPLES, estimate_optimizer, promise_of

        settings = self.complete(
            {"steps": 2, "batch": 8, "sigma": 2.0, "gamma": 0.3, "change_clip": 0.4},
            EXAMPLES,
        )
        _, move = sum_moves(settings)
        return estimate_optimizer(self, settings), promise_of(
            settings.sigma, move / 2.0, 8
        )

    def epsilon(self, settings: SrmSettings, size: ProblemSize, delta: float) -> float:
        return sampled_epsilon(
            settings.batch / size.examples, settings.sigma, settings.steps, delta
        )

    def epsilon_bounds(
        self, settings: SrmSettings, size: ProblemSize, delta: float
    ) -> Bounds:
        return sampled_bounds(
            settings.batch / size.examples, settings.sigma, settings.steps, delta
        )

    def sigma(
        self, settings: SrmSettings, size: ProblemSize, epsilon: float, delta: float
    ) -> float:
        return least_sigma(
            settings.batch / size.examples, settings.steps, epsilon, delta
        )

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.batches import SrmRequest

        return SrmRequest

    def audit_target(self, delta: float) -> AuditTarget:
        from dpverify.papers.wang2019.accounting import audit_kernel

        return batch_target(audit_kernel, delta)


def sum_moves(s: SrmSettings) -> tuple[float, float]:
    """Return the sensitivities of the sum over the first batch and over each later batch, for replacing one example."""
    return 2.0 * s.clip, 2.0 * (s.gamma * s.clip + (1.0 - s.gamma) * s.change_clip)


DP_SRM = DpSrmAlgorithm()

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
