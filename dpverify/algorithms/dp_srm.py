"""DP-SRM, Algorithm 1 of wang2019. Gradients are clipped at C_1 = 1, and their changes at C_2.

sigma is the standard deviation of the noise over the sensitivity of an estimate. The sensitivity is 2/b for the first
estimate and 2(gamma + (1 - gamma) C_2)/b for later estimates; b_0 = b.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from dpverify.algorithms.algorithm import (
    Algorithm,
    ProblemSize,
    count_steps,
    least_sigma,
    sampled_bounds,
    sampled_epsilon,
)
from dpverify.algorithms.audited import AuditTarget, batch_target
from dpverify.algorithms.settings import NoisySettings, SettingInfo, whole
from dpverify.kernels import check

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
