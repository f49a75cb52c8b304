"""DPageEM of zhang2021 and the methods that its section 4.1 compares: private descent in one or several stages.

Gradients are clipped at 1. sigma is the standard deviation of the noise divided by 2/b, the sensitivity of a batch mean
to the replacement of one example. Stage k has 2^k T^0 steps of size eta/2^k; all stages together have
(2^(K+1) - 2) T^0 steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from dpverify.algorithms.algorithm import (
    Algorithm,
    ProblemSize,
    count_steps,
    least_sigma,
    sampled_bounds,
    sampled_epsilon,
)
from dpverify.algorithms.audited import AuditTarget, batch_target
from dpverify.algorithms.settings import NoisySettings, SettingInfo, momentum, whole
from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.papers.zhang2021.algorithms.stages import (
    Decay,
    HandOn,
    Stage,
    StageSchedule,
    stagewise,
)

if TYPE_CHECKING:
    from dpverify.calibrate.records import CalibrationRequest
    from dpverify.conform import PrivateOptimizer, Promise
    from dpverify.papers.zhang2021.algorithms.dpageem import StagedDescent
    from dpverify.privacy.participation import Bounds
    from dpverify.problems.example_gradients import BatchMean
    from dpverify.problems.regression import Regression

CLIP: Final = 1.0
DEFAULT_STAGES: Final = 3
DEFAULT_RHO: Final = 0.9


Rho: TypeAlias = Annotated[float, SettingInfo("rho", "Momentum weight.", momentum)]
AllSteps: TypeAlias = Annotated[
    int, SettingInfo("t_Mon", "Steps with momentum.", is_option=False)
]
EarlySteps: TypeAlias = Annotated[
    int,
    SettingInfo(
        "t_Mon",
        "Steps with momentum in the first stage.",
        whole(0),
        default="half of its steps",
    ),
]


class DescentSettings(NoisySettings, frozen=True, kw_only=True):
    """Settings of all methods of the family."""

    batch: Annotated[
        int, SettingInfo("b", "Batch size.", whole(1), default="the root of N, rounded")
    ]
    clip: Annotated[
        float, SettingInfo("C", "Clip length of gradients.", is_option=False)
    ] = CLIP
    eta: Annotated[
        float,
        SettingInfo(
            "eta", "Step size; stage k has eta/2^k.", check.positive, default="1 - rho"
        ),
    ]
    hand_on: Annotated[
        HandOn,
        SettingInfo(
            "output",
            "Iterate with which the next stage starts: one at random or the last.",
        ),
    ] = "uniform"


class DescentMomentum(DescentSettings, frozen=True, kw_only=True):
    """Settings of methods with momentum in all steps."""

    rho: Rho = DEFAULT_RHO
    momentum_steps: AllSteps


class DescentEarlyMomentum(DescentMomentum, frozen=True, kw_only=True):
    """Settings of methods with momentum in the first steps only."""

    momentum_steps: EarlySteps


class StageSettings(DescentSettings, frozen=True, kw_only=True):
    """Settings of methods in stages."""

    stages: Annotated[int, SettingInfo("K", "Number of stages.", whole(1, 60))] = (
        DEFAULT_STAGES
    )
    stage_steps: Annotated[
        int,
        SettingInfo(
            "T^0", "Steps, of which stage k has 2^k times as many.", is_option=False
        ),
    ]


class StageMomentum(StageSettings, frozen=True, kw_only=True):
    """Settings of methods in stages with momentum in all steps."""

    rho: Rho = DEFAULT_RHO
    momentum_steps: AllSteps


class StageEarlyMomentum(StageMomentum, frozen=True, kw_only=True):
    """Settings of methods in stages with momentum in the first steps of each stage."""

    momentum_steps: EarlySteps


class StagesWithoutNoise(StageSettings, frozen=True, kw_only=True):
    """Settings of methods in stages without noise."""

    sigma: float = 0.0


WITH_MOMENTUM: Final = (DescentMomentum, StageMomentum)
EARLY: Final = (DescentEarlyMomentum, StageEarlyMomentum)


class StagedAlgorithm(Algorithm[DescentSettings]):
    """A method in one or several stages, with or without momentum; early momentum lasts half a stage by default."""

    def __init__(
        self,
        name: str,
        summary: str,
        settings: type[DescentSettings],
        decay: Decay = "none",
    ) -> None:
        self.name = name
        self.summary = summary
        self.settings = settings
        self.decay = decay
        self.has_stages = issubclass(settings, StageSettings)
        self.has_momentum = issubclass(settings, WITH_MOMENTUM)

    def momentum_steps(self, steps: int) -> int:
        """Return the default number of steps with momentum in a stage."""
        if issubclass(self.settings, EARLY):
            return steps // 2
        return steps if self.has_momentum else 0

    def complete(self, request: Mapping[str, Any], examples: int) -> DescentSettings:
        """Return all settings; the number of steps is rounded down so that it fills the stages."""
        batch = check.whole(
            1, examples, batch=request.get("batch", max(1, round(math.sqrt(examples))))
        )
        steps = count_steps(request, examples, batch)
        parts = 1
        fixed: dict[str, Any] = {}
        if self.has_stages:
            stages = request.get("stages", DEFAULT_STAGES)
            parts = (1 << (stages + 1)) - 2
            if steps < parts:
                rule = f"must be at least 2^(K+1) - 2 = {parts} for K = {stages} stages of 2 T^0, ..., 2^K T^0 steps"
                raise check.ArgumentError("steps", steps, rule)
            fixed["stage_steps"] = steps // parts
        stage_steps = steps // parts
        rho = 0.0
        if self.has_momentum:
            rho = request.get("rho", DEFAULT_RHO)
            momentum_steps = request.get(
                "momentum_steps", self.momentum_steps(stage_steps)
            )
            fixed["momentum_steps"] = check.whole(
                0, stage_steps, momentum_steps=momentum_steps
            )
        return self.filled(
            request,
            {"batch": batch, "eta": 1.0 - rho},
            steps=stage_steps * parts,
            **fixed,
        )

    def schedule(self, s: DescentSettings) -> StageSchedule:
        """Return the stages, the batch size and the noise of a run."""
        momentum_steps = s.momentum_steps if isinstance(s, WITH_MOMENTUM) else 0
        stages: tuple[Stage, ...] = (Stage(s.steps, momentum_steps, s.eta, self.decay),)
        if isinstance(s, StageSettings):
            stages = stagewise(s.stages, s.stage_steps, momentum_steps, s.eta)
        return StageSchedule(
            stages, s.batch, rho_of(s), 2.0 * s.clip / s.batch * s.sigma, s.hand_on
        )

    def start(self, problem: Regression, settings: DescentSettings) -> StagedDescent:
        from dpverify.problems.regression import batch_gradient

        n = check.whole(1, examples=len(problem.x))
        return self.start_on(
            batch_gradient(problem, settings.clip), n, problem.start, settings
        )

    def start_on(
        self, oracle: BatchMean, examples: int, start: Vector, settings: DescentSettings
    ) -> StagedDescent:
        """Return a run on an oracle of clipped gradients."""
        from dpverify.papers.zhang2021.algorithms.dpageem import StagedDescent

        return StagedDescent(
            oracle, examples, start, self.schedule(settings), seed=settings.seed
        )

    def conformance(self) -> tuple[PrivateOptimizer, Promise]:
        from dpverify.algorithms.tested import EXAMPLES, descent_optimizer, promise_of

        if not self.is_private:
            return super().conformance()
        settings = self.complete(
            {"steps": 30, "batch": 8, "sigma": 2.0, "eta": 1.0}, EXAMPLES
        )
        return descent_optimizer(self, settings, 8), promise_of(
            settings.sigma, settings.clip, 8
        )

    def noise(
        self, problem: Regression, settings: DescentSettings
    ) -> tuple[dict[str, float], dict[str, float]]:
        return {}, {"gradient": self.schedule(settings).std}

    def gradients_per_step(self, settings: DescentSettings, examples: int) -> int:
        return settings.batch

    def notes(
        self, request: Mapping[str, Any], problem: Regression, settings: DescentSettings
    ) -> list[str]:
        if not isinstance(settings, StageSettings):
            return []
        notes = []
        steps = request.get("steps", settings.steps)
        if steps != settings.steps:
            stages = (
                f"those of K = {settings.stages} stages of 2 T^0, ..., 2^K T^0 steps"
            )
            notes.append(f"{settings.steps} of {steps} steps: {stages}")
        limit = min((1.0 - rho_of(settings)) ** 2 / (2.0 * problem.smoothness), 1.0)
        if settings.eta > limit:
            first = f"eta^0 = {settings.eta:.4g} is above min(theta (1 - rho)^2/(2 beta), 1)"
            notes.append(
                f"{first} = {limit:.4g} at theta = 1, the limit of Theorem 3.2"
            )
        return notes

    def epsilon(
        self, settings: DescentSettings, size: ProblemSize, delta: float
    ) -> float:
        return sampled_epsilon(
            settings.batch / size.examples, settings.sigma, settings.steps, delta
        )

    def epsilon_bounds(
        self, settings: DescentSettings, size: ProblemSize, delta: float
    ) -> Bounds:
        return sampled_bounds(
            settings.batch / size.examples, settings.sigma, settings.steps, delta
        )

    def sigma(
        self, settings: DescentSettings, size: ProblemSize, epsilon: float, delta: float
    ) -> float:
        return least_sigma(
            settings.batch / size.examples, settings.steps, epsilon, delta
        )


class DpSgdAlgorithm(StagedAlgorithm):
    """DP-SGD."""

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.batches import SampledRequest

        return SampledRequest


class Dpageem(StagedAlgorithm):
    """Algorithm 1 of zhang2021."""

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.batches import StageRequest

        return StageRequest

    def audit_target(self, delta: float) -> AuditTarget:
        from dpverify.papers.zhang2021.accounting import audit_kernel

        return batch_target(audit_kernel, delta)


def rho_of(s: DescentSettings) -> float:
    """Return the momentum weight, or 0 for settings without momentum."""
    return s.rho if isinstance(s, WITH_MOMENTUM) else 0.0


DPAGEEM: Final = Dpageem(
    "dpageem",
    "Descent in stages with momentum early in each stage (Algorithm 1 of zhang2021).",
    StageEarlyMomentum,
)
DPAGES: Final = StagedAlgorithm("dpages", "DPageEM without momentum.", StageSettings)
DPAGEM: Final = StagedAlgorithm(
    "dpagem", "DPageEM with momentum in all steps.", StageMomentum
)
SGD_STAGES: Final = StagedAlgorithm(
    "sgd-stages", "Descent in stages without noise.", StagesWithoutNoise
)
DP_SGD: Final = DpSgdAlgorithm(
    "dp-sgd", "Descent with clipped gradients of sampled batches.", DescentSettings
)
DP_SGD_LINEAR: Final = StagedAlgorithm(
    "dp-sgd-linear", "DP-SGD with steps of size eta/t.", DescentSettings, decay="linear"
)
DP_SGD_ROOT: Final = StagedAlgorithm(
    "dp-sgd-root",
    "DP-SGD with steps of size eta/sqrt(t).",
    DescentSettings,
    decay="root",
)
DP_SGDM: Final = StagedAlgorithm("dp-sgdm", "DP-SGD with momentum.", DescentMomentum)
DP_SGDEM: Final = StagedAlgorithm(
    "dp-sgdem",
    "DP-SGD with momentum in the first half of the steps.",
    DescentEarlyMomentum,
)
FAMILY: Final = (
    DPAGEEM,
    DPAGES,
    DPAGEM,
    SGD_STAGES,
    DP_SGD,
    DP_SGD_LINEAR,
    DP_SGD_ROOT,
    DP_SGDM,
    DP_SGDEM,
)
