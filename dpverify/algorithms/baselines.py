"""The baselines of wang2019: DP-GD, RRPSGD, DP-AGD, and STORM, which has no noise. Gradients are clipped at C = 1."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from dpverify.algorithms.algorithm import Algorithm, ProblemSize, count_steps
from dpverify.algorithms.sampled import least_sigma, sampled_epsilon
from dpverify.algorithms.settings import NoisySettings, SettingInfo, Settings, whole
from dpverify.kernels import check
from dpverify.papers.wang2019.algorithms.descent import dp_gd, rrpsgd
from dpverify.papers.wang2019.algorithms.storm import Storm, StormParameters
from dpverify.problems.regression import Regression, batch_gradient, recursive_gradient
from dpverify.problems.sampled_run import NoisyDescent

if TYPE_CHECKING:
    from dpverify.calibrate.records import CalibrationRequest

CLIP: Final = 1.0


class BaselineSettings(NoisySettings, frozen=True, kw_only=True):
    """Settings of noisy descent."""

    clip: Annotated[float, SettingInfo("C", "Clip length of gradients.", is_option=False)] = CLIP
    eta: Annotated[float, SettingInfo("eta", "Step size.", check.positive)] = 1.0


class NoisyBaseline(Algorithm[BaselineSettings]):
    """DP-GD and RRPSGD, which read all examples in a step, or one."""

    settings = BaselineSettings
    descend: Callable[..., NoisyDescent]

    @abstractmethod
    def batch(self, examples: int) -> int:
        """Return how many examples a step reads."""

    def start(self, problem: Regression, settings: BaselineSettings) -> NoisyDescent:
        s = settings
        _, noise = self.noise(problem, s)
        oracle = batch_gradient(problem, s.clip)
        return self.descend(oracle, len(problem.x), problem.start, s.steps, s.eta, noise["gradient"], seed=s.seed)

    def complete(self, request: Mapping[str, Any], examples: int) -> BaselineSettings:
        return self.filled(request, {}, steps=count_steps(request, examples, self.batch(examples)))

    def gradients_per_step(self, settings: BaselineSettings, examples: int) -> int:
        return self.batch(examples)

    def noise(self, problem: Regression, settings: BaselineSettings) -> tuple[dict[str, float], dict[str, float]]:
        return {}, {"gradient": 2.0 * settings.clip / self.batch(len(problem.x)) * settings.sigma}

    def epsilon(self, settings: BaselineSettings, size: ProblemSize, delta: float) -> float:
        rate = self.batch(size.examples) / size.examples
        return sampled_epsilon(rate, settings.sigma, settings.steps, delta)

    def sigma(self, settings: BaselineSettings, size: ProblemSize, epsilon: float, delta: float) -> float:
        return least_sigma(self.batch(size.examples) / size.examples, settings.steps, epsilon, delta)


class DpGdAlgorithm(NoisyBaseline):
    """DP-GD of Wang, Ye and Xu 2017."""

    name = "dp-gd"
    summary = "Descent with clipped gradients of all examples (Wang, Ye and Xu 2017)."
    descend = staticmethod(dp_gd)

    def batch(self, examples: int) -> int:
        return examples

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.batches import FullBatchRequest

        return FullBatchRequest


class RrpsgdAlgorithm(NoisyBaseline):
    """RRPSGD of Zhang, Zheng, Mou and Wang 2017."""

    name = "rrpsgd"
    summary = "Descent with clipped gradients of single examples (Zhang, Zheng, Mou and Wang 2017)."
    descend = staticmethod(rrpsgd)

    def batch(self, examples: int) -> int:
        del examples
        return 1

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.batches import SingleExampleRequest

        return SingleExampleRequest


class StormSettings(Settings, frozen=True, kw_only=True):
    """Settings of STORM."""

    batch: Annotated[int, SettingInfo("b", "Batch size.", whole(1), default="the root of N, rounded")]
    k: Annotated[float, SettingInfo("k", "Scale of the steps.", check.positive)] = 1.0


class StormAlgorithm(Algorithm[StormSettings]):
    """STORM of Cutkosky and Orabona 2019."""

    name = "storm"
    summary = "Recursive momentum without noise (Cutkosky and Orabona 2019)."
    settings = StormSettings

    def complete(self, request: Mapping[str, Any], examples: int) -> StormSettings:
        batch = check.whole(1, examples, batch=request.get("batch", max(1, round(math.sqrt(examples)))))
        return self.filled(request, {"batch": batch}, steps=count_steps(request, examples, 2 * batch))

    def start(self, problem: Regression, settings: StormSettings) -> Storm:
        s = settings
        oracle = recursive_gradient(problem, None, math.inf)
        L = problem.smoothness
        numbers = StormParameters(s.steps, s.batch, s.k, (s.k * L) ** 3, L * L)  # a first step of at most 1/L
        return Storm(oracle, len(problem.x), problem.start, numbers, seed=s.seed)

    def gradients_per_step(self, settings: StormSettings, examples: int) -> int:
        return 2 * settings.batch


class DpAgdAlgorithm(Algorithm[Settings]):
    """DP-AGD of Lee and Kifer 2018, which has a budget in place of a sigma."""

    name = "dp-agd"
    summary = "Full-batch gradient descent that chooses its step length privately (Lee and Kifer 2018)."
    settings = Settings
    is_trainable = False

    def complete(self, request: Mapping[str, Any], examples: int) -> Settings:
        raise check.ArgumentError("algorithm", self.name, "cannot be trained yet: its budget is not a noise multiplier")

    def start(self, problem: Regression, settings: Settings) -> Any:
        raise check.ArgumentError("algorithm", self.name, "cannot be trained yet: its budget is not a noise multiplier")

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.growing import GrowingRequest

        return GrowingRequest


DP_GD: Final = DpGdAlgorithm()
RRPSGD: Final = RrpsgdAlgorithm()
DP_AGD: Final = DpAgdAlgorithm()
STORM: Final = StormAlgorithm()
