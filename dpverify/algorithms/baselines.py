"""The baselines of wang2019: DP-GD, RRPSGD, DP-AGD, and STORM, which has no noise. Gradients are clipped at C = 1."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from dpverify.algorithms.algorithm import (
    Algorithm,
    ProblemSize,
    count_steps,
    least_sigma,
    sampled_bounds,
    sampled_epsilon,
)
from dpverify.algorithms.settings import NoisySettings, SettingInfo, Settings, whole
from dpverify.kernels import check
from dpverify.kernels.typing import Vector

if TYPE_CHECKING:
    from dpverify.calibrate.records import CalibrationRequest
    from dpverify.conform import PrivateOptimizer, Promise
    from dpverify.papers.wang2019.algorithms.baselines import (
        AgdParameters,
        DpAgd,
        Storm,
    )
    from dpverify.privacy.participation import Bounds
    from dpverify.problems.example_gradients import BatchMean
    from dpverify.problems.regression import Regression
    from dpverify.problems.sampled_run import NoisyDescent

CLIP: Final = 1.0
CANDIDATES: Final = 20  # step lengths that DP-AGD chooses from, besides 0
AGD_STEPS: Final = 100


class BaselineSettings(NoisySettings, frozen=True, kw_only=True):
    """Settings of noisy descent."""

    clip: Annotated[
        float, SettingInfo("C", "Clip length of gradients.", is_option=False)
    ] = CLIP
    eta: Annotated[float, SettingInfo("eta", "Step size.", check.positive)] = 1.0


class NoisyBaseline(Algorithm[BaselineSettings]):
    """DP-GD, which reads all examples in a step, or RRPSGD, which reads one example."""

    settings = BaselineSettings

    @abstractmethod
    def descent(self) -> Callable[..., NoisyDescent]:
        """Return the function that makes a run."""

    @abstractmethod
    def batch(self, examples: int) -> int:
        """Return the number of examples that a step reads."""

    def start(self, problem: Regression, settings: BaselineSettings) -> NoisyDescent:
        from dpverify.problems.regression import batch_gradient

        return self.start_on(
            batch_gradient(problem, settings.clip),
            len(problem.x),
            problem.start,
            settings,
        )

    def start_on(
        self,
        oracle: BatchMean,
        examples: int,
        start: Vector,
        settings: BaselineSettings,
    ) -> NoisyDescent:
        """Return a run on an oracle of clipped gradients."""
        s = settings
        return self.descent()(
            oracle,
            examples,
            start,
            s.steps,
            s.eta,
            self.deviation(s, examples),
            seed=s.seed,
        )

    def deviation(self, settings: BaselineSettings, examples: int) -> float:
        """Return the standard deviation of each coordinate of the noise on a batch mean."""
        return 2.0 * settings.clip / self.batch(examples) * settings.sigma

    def conformance(self) -> tuple[PrivateOptimizer, Promise]:
        from dpverify.algorithms.tested import EXAMPLES, descent_optimizer, promise_of

        settings = self.settings(steps=2, sigma=2.0)
        batch = self.batch(EXAMPLES)
        return descent_optimizer(self, settings, batch), promise_of(
            settings.sigma, settings.clip, batch
        )

    def complete(self, request: Mapping[str, Any], examples: int) -> BaselineSettings:
        return self.filled(
            request, {}, steps=count_steps(request, examples, self.batch(examples))
        )

    def gradients_per_step(self, settings: BaselineSettings, examples: int) -> int:
        return self.batch(examples)

    def noise(
        self, problem: Regression, settings: BaselineSettings
    ) -> tuple[dict[str, float], dict[str, float]]:
        return {}, {"gradient": self.deviation(settings, len(problem.x))}

    def epsilon(
        self, settings: BaselineSettings, size: ProblemSize, delta: float
    ) -> float:
        rate = self.batch(size.examples) / size.examples
        return sampled_epsilon(rate, settings.sigma, settings.steps, delta)

    def epsilon_bounds(
        self, settings: BaselineSettings, size: ProblemSize, delta: float
    ) -> Bounds:
        return sampled_bounds(
            self.batch(size.examples) / size.examples,
            settings.sigma,
            settings.steps,
            delta,
        )

    def sigma(
        self,
        settings: BaselineSettings,
        size: ProblemSize,
        epsilon: float,
        delta: float,
    ) -> float:
        return least_sigma(
            self.batch(size.examples) / size.examples, settings.steps, epsilon, delta
        )


class DpGdAlgorithm(NoisyBaseline):
    """DP-GD of Wang, Ye and Xu 2017."""

    name = "dp-gd"
    summary = "Descent with clipped gradients of all examples (Wang, Ye and Xu 2017)."

    def descent(self) -> Callable[..., NoisyDescent]:
        from dpverify.papers.wang2019.algorithms.baselines import dp_gd

        return dp_gd

    def batch(self, examples: int) -> int:
        return examples

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.batches import FullBatchRequest

        return FullBatchRequest


class RrpsgdAlgorithm(NoisyBaseline):
    """RRPSGD of Zhang, Zheng, Mou and Wang 2017."""

    name = "rrpsgd"
    summary = "Descent with clipped gradients of single examples (Zhang, Zheng, Mou and Wang 2017)."

    def descent(self) -> Callable[..., NoisyDescent]:
        from dpverify.papers.wang2019.algorithms.baselines import rrpsgd

        return rrpsgd

    def batch(self, examples: int) -> int:
        del examples
        return 1

    def printed_ratio(
        self, examples: int, batch: int, steps: int, epsilon: float, delta: float
    ) -> float:
        """Return the ratio of Bassily et al. 2014, on which the paper of RRPSGD builds."""
        from dpverify.papers.wang2019.accounting.runs import single_ratio

        del batch
        return single_ratio(examples, steps, epsilon, delta)

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.batches import SingleExampleRequest

        return SingleExampleRequest


class StormSettings(Settings, frozen=True, kw_only=True):
    """Settings of STORM."""

    batch: Annotated[
        int, SettingInfo("b", "Batch size.", whole(1), default="the root of N, rounded")
    ]
    k: Annotated[float, SettingInfo("k", "Scale of the steps.", check.positive)] = 1.0


class StormAlgorithm(Algorithm[StormSettings]):
    """STORM of Cutkosky and Orabona 2019."""

    name = "storm"
    summary = "Recursive momentum without noise (Cutkosky and Orabona 2019)."
    settings = StormSettings

    def complete(self, request: Mapping[str, Any], examples: int) -> StormSettings:
        batch = check.whole(
            1, examples, batch=request.get("batch", max(1, round(math.sqrt(examples))))
        )
        return self.filled(
            request, {"batch": batch}, steps=count_steps(request, examples, 2 * batch)
        )

    def start(self, problem: Regression, settings: StormSettings) -> Storm:
        from dpverify.papers.wang2019.algorithms.baselines import Storm, StormParameters
        from dpverify.problems.regression import recursive_gradient

        s = settings
        oracle = recursive_gradient(problem, None, math.inf)
        L = problem.smoothness
        # the first step is at most 1/L
        numbers = StormParameters(s.steps, s.batch, s.k, (s.k * L) ** 3, L * L)
        return Storm(oracle, len(problem.x), problem.start, numbers, seed=s.seed)

    def gradients_per_step(self, settings: StormSettings, examples: int) -> int:
        return 2 * settings.batch


class AgdSettings(Settings, frozen=True, kw_only=True):
    """Settings of DP-AGD. The budgets follow from epsilon."""

    clip: Annotated[
        float, SettingInfo("C", "Clip length of gradients.", is_option=False)
    ] = CLIP
    loss_clip: Annotated[
        float, SettingInfo("C'", "Clip length of losses.", check.positive)
    ] = 3.0
    parts: Annotated[
        float,
        SettingInfo("parts", "Each choice spends epsilon/(2 PARTS).", check.positive),
    ] = 8.0
    rho: Annotated[
        float, SettingInfo("rho", "Budget in zero-concentrated DP.", is_option=False)
    ] = 0.0
    rho_direction: Annotated[
        float, SettingInfo("rho_nmax", "Of a first direction.", is_option=False)
    ] = 0.0
    rho_choice: Annotated[
        float, SettingInfo("rho_ng", "Of a choice.", is_option=False)
    ] = 0.0


class DpAgdAlgorithm(Algorithm[AgdSettings]):
    """DP-AGD of Lee and Kifer 2018, which has a privacy budget instead of a sigma."""

    name = "dp-agd"
    summary = "Full-batch gradient descent that chooses its step length privately (Lee and Kifer 2018)."
    settings = AgdSettings
    most_classes = 2

    @property
    def is_private(self) -> bool:
        """True: epsilon determines the noise."""
        return True

    def is_noisy(self, settings: AgdSettings) -> bool:
        """Return True: the algorithm cannot run without noise."""
        del settings
        return True

    def complete(self, request: Mapping[str, Any], examples: int) -> AgdSettings:
        """Return the settings with T, by default 100 steps. The run may end earlier, when its budget is spent."""
        chosen = request.keys() & {"steps", "epochs"}
        cost = examples * (CANDIDATES + 2)
        return self.filled(
            request,
            {},
            steps=count_steps(request, examples, cost) if chosen else AGD_STEPS,
        )

    def gradients_per_step(self, settings: AgdSettings, examples: int) -> int:
        """Return the count of one pass for the gradient and one for the loss at each step length, including 0."""
        del settings
        return examples * (CANDIDATES + 2)

    def budgeted(
        self,
        settings: AgdSettings,
        epsilon: float,
        delta: float,
        parts: float,
        *,
        printed: bool,
    ) -> AgdSettings:
        """Return the settings with the budgets for epsilon, either printed or certified."""
        from dpverify.papers.wang2019.accounting.runs import agd_parameters

        p = agd_parameters(
            epsilon, delta, parts, settings.steps, settings.clip, printed=printed
        )
        budgets = {
            "rho": p.rho,
            "rho_direction": p.rho_direction,
            "rho_choice": p.rho_choice,
        }
        return msgspec.structs.replace(settings, parts=parts, **budgets)

    def parameters(self, settings: AgdSettings) -> AgdParameters:
        """Return the parameters of a run."""
        from dpverify.papers.wang2019.algorithms.baselines import AgdParameters

        if settings.rho == 0.0:
            raise check.ArgumentError(
                "epsilon",
                None,
                f"must be given with delta: {self.name} has no noise without",
            )
        names = ("steps", "rho", "rho_direction", "rho_choice", "clip", "loss_clip")
        return AgdParameters(**{name: getattr(settings, name) for name in names})

    def start(self, problem: Regression, settings: AgdSettings) -> DpAgd:
        from dpverify.papers.wang2019.algorithms.baselines import DpAgd
        from dpverify.problems.logistic import LogisticRegression, line_losses
        from dpverify.problems.regression import recursive_gradient
        from dpverify.problems.sparse.logistic import SparseLogistic, sparse_line_losses

        s = settings
        if isinstance(problem, SparseLogistic):
            losses = partial(sparse_line_losses, problem, s.loss_clip)
        elif isinstance(problem, LogisticRegression):
            losses = partial(line_losses, problem, s.loss_clip)
        else:
            raise check.ArgumentError(
                "data", type(problem).__name__, f"must have two classes for {self.name}"
            )
        oracle = recursive_gradient(problem, s.clip, math.inf)
        return DpAgd(
            oracle,
            losses,
            len(problem.x),
            problem.start,
            self.parameters(s),
            seed=s.seed,
        )

    def noise(
        self, problem: Regression, settings: AgdSettings
    ) -> tuple[dict[str, float], dict[str, float]]:
        p = self.parameters(settings)
        n = len(problem.x)
        direction = 2.0 * p.clip / (n * math.sqrt(2.0 * p.rho_direction))
        return {}, {
            "first direction": direction,
            "choice": 2.0 * p.loss_clip / (n * math.sqrt(2.0 * p.rho_choice)),
        }

    def epsilon(self, settings: AgdSettings, size: ProblemSize, delta: float) -> float:
        return self.epsilon_bounds(settings, size, delta).upper

    def epsilon_bounds(
        self, settings: AgdSettings, size: ProblemSize, delta: float
    ) -> Bounds:
        from dpverify.papers.wang2019.accounting.runs import spends
        from dpverify.privacy.growing_budget import shared_epsilon

        return shared_epsilon(spends(self.parameters(settings), size.examples), delta)

    def account(
        self,
        settings: AgdSettings,
        size: ProblemSize,
        epsilon: float | None,
        delta: float,
    ) -> tuple[AgdSettings, float]:
        """Return the settings with the budgets for epsilon, and the epsilon that is certified for them."""
        if epsilon is not None:
            settings = self.budgeted(
                settings, epsilon, delta, settings.parts, printed=False
            )
        return settings, self.epsilon(settings, size, delta)

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.growing import GrowingRequest

        return GrowingRequest


DP_GD: Final = DpGdAlgorithm()
RRPSGD: Final = RrpsgdAlgorithm()
DP_AGD: Final = DpAgdAlgorithm()
STORM: Final = StormAlgorithm()
