"""The algorithms of tran2022, DP-NSGD and SR-NSGD: normalized momentum with tree-aggregated noise.

DP-NSGD is Algorithm 1 of the paper. SR-NSGD is Algorithm 2, whose momentum is that of a recursive estimator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from dpverify.algorithms.algorithm import Algorithm, ProblemSize, count_steps
from dpverify.algorithms.audited import AuditTarget, gaussian_target
from dpverify.algorithms.settings import NoisySettings, SettingInfo
from dpverify.kernels import check
from dpverify.papers.tran2022.algorithms.scales import Scales, printed_scales, printed_v
from dpverify.shared_types import Ordering

if TYPE_CHECKING:
    from dpverify.calibrate.records import CalibrationRequest
    from dpverify.papers.tran2022.accounting.noise import UnitNoise
    from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import DpNsgd
    from dpverify.papers.tran2022.algorithms.dp_nsgd.sparse import SparseDpNsgd
    from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
    from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
    from dpverify.papers.tran2022.algorithms.sr_nsgd.sparse import SparseSrNsgd
    from dpverify.privacy.participation import Bounds
    from dpverify.problems.regression import Regression


class NsgdSettings(NoisySettings, frozen=True, kw_only=True):
    """Settings of both algorithms of tran2022."""

    alpha: Annotated[
        float,
        SettingInfo(
            "alpha",
            "Momentum weight of the new gradient, at least 1/N.",
            check.weight,
            default="1/N",
        ),
    ]
    eta: Annotated[
        float,
        SettingInfo("eta", "Length of a step.", check.positive, default="1/sqrt(N T)"),
    ]
    ordering: Annotated[
        Ordering,
        SettingInfo(
            "ordering",
            "Order of the examples: a fresh permutation in every epoch, or one for all.",
        ),
    ] = "fresh"


class DpNsgdSettings(NsgdSettings, frozen=True, kw_only=True):
    """Settings of Algorithm 1."""

    # ``floor(log2 T) + 1``: the paper's R, read as the number of levels (``b =
    # 0..R-1``); fewer levels do not have all nodes of COMPOSE(1, t), t <= T
    depth: Annotated[int, SettingInfo("R", "Levels of the tree.", is_option=False)]


NsgdT = TypeVar("NsgdT", bound=NsgdSettings)


class NormalizedMomentum(Algorithm[NsgdT]):
    """Both algorithms of tran2022."""

    needs_lipschitz = True

    def nsgd_defaults(
        self, request: Mapping[str, Any], examples: int
    ) -> dict[str, Any]:
        """Return T, alpha, and the default eta of Theorems 6 and 9; with noise, alpha must be at least 1/N."""
        steps = count_steps(request, examples, 1)
        alpha = request.get("alpha", 1 / examples)
        if request.get("sigma", 1.0) > 0 and alpha < 1 / examples:
            rule = f"must be at least 1/N = {1 / examples:.6g}, on which the noise 4*alpha*G*sigma*sqrt(V) rests"
            raise check.ArgumentError("alpha", alpha, rule)
        return {"steps": steps, "alpha": alpha, "eta": 1 / math.sqrt(examples * steps)}

    def unit_noise(self, settings: NsgdT, size: ProblemSize) -> UnitNoise:
        """Return the accountant's result for a run with sigma = 1."""
        from dpverify.papers.tran2022.accounting.noise import AccountedRun, unit_noise

        names = ("steps", "alpha", "eta", "ordering")
        run = AccountedRun(
            examples=size.examples,
            gamma=getattr(settings, "gamma", 1.0),
            lipschitz=size.lipschitz,
            smoothness=size.smoothness,
            **{name: getattr(settings, name) for name in names},
        )
        return unit_noise(self.name, run)

    def epsilon(self, settings: NsgdT, size: ProblemSize, delta: float) -> float:
        from dpverify.papers.tran2022.accounting.noise import epsilon_for

        return epsilon_for(self.unit_noise(settings, size), settings.sigma, delta)

    def epsilon_bounds(
        self, settings: NsgdT, size: ProblemSize, delta: float
    ) -> Bounds:
        """Return bounds on epsilon. For Algorithm 2, the lower bound takes each node at its largest effect."""
        from dpverify.papers.tran2022.accounting.noise import noise_bounds

        return noise_bounds(self.unit_noise(settings, size), settings.sigma, delta)

    def sigma(
        self, settings: NsgdT, size: ProblemSize, epsilon: float, delta: float
    ) -> float:
        from dpverify.papers.tran2022.accounting.noise import sigma_for

        return sigma_for(self.unit_noise(settings, size), epsilon, delta)

    def audit_target(self, delta: float) -> AuditTarget:
        from dpverify.papers.tran2022.accounting.audit import describe, kernel_mechanism

        kernel = kernel_mechanism(self.name)
        return gaussian_target(
            describe(self.name),
            kernel.mechanism,
            kernel.datasets,
            kernel.mu.upper,
            delta,
        )


class DpNsgdAlgorithm(NormalizedMomentum[DpNsgdSettings]):
    """Algorithm 1 of tran2022."""

    name = "dp-nsgd"
    summary = "Normalized gradient descent with momentum and the noise of a tree (Algorithm 1 of tran2022)."
    settings = DpNsgdSettings

    def complete(self, request: Mapping[str, Any], examples: int) -> DpNsgdSettings:
        defaults = self.nsgd_defaults(request, examples)
        return self.filled(request, defaults, depth=defaults["steps"].bit_length())

    def start(
        self, problem: Regression, settings: DpNsgdSettings
    ) -> DpNsgd | SparseDpNsgd:
        from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import DpNsgd
        from dpverify.papers.tran2022.algorithms.dp_nsgd.sparse import SparseDpNsgd
        from dpverify.problems.sparse.logistic import SparseLogistic

        numbers = self._parameters(problem, settings)
        if isinstance(problem, SparseLogistic):
            return SparseDpNsgd(problem, numbers, seed=settings.seed)
        return DpNsgd(
            problem.example_gradient,
            problem.x,
            problem.y,
            problem.start,
            numbers,
            seed=settings.seed,
        )

    def noise(
        self, problem: Regression, settings: DpNsgdSettings
    ) -> tuple[dict[str, float], dict[str, float]]:
        n = len(problem.x)
        counts = {"V": float(printed_v(n, settings.steps, settings.depth))}
        return counts, {"f": self._parameters(problem, settings).node_deviation(n)}

    def notes(
        self, request: Mapping[str, Any], problem: Regression, settings: DpNsgdSettings
    ) -> list[str]:
        n = len(problem.x)
        if settings.sigma == 0 or settings.steps % n == 0:
            return []
        visits = f"T/N = {settings.steps / n:.4g} visits of an example, up to {-(-settings.steps // n)} occur"
        return [f"V as printed counts {visits}"]

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.records import CalibrateRequest

        return CalibrateRequest

    @staticmethod
    def _parameters(problem: Regression, s: DpNsgdSettings) -> Parameters:
        from dpverify.papers.tran2022.algorithms.parameters import Parameters

        return Parameters(
            steps=s.steps,
            alpha=s.alpha,
            eta=s.eta,
            sigma=s.sigma,
            ordering=s.ordering,
            lipschitz=problem.lipschitz,
            depth=s.depth,
        )


DP_NSGD = DpNsgdAlgorithm()


class SrNsgdSettings(NsgdSettings, frozen=True, kw_only=True):
    """Settings of Algorithm 2."""

    gamma: Annotated[
        float,
        SettingInfo(
            "gamma", "Cross-batch weight.", check.proportion, default="eta N, at most 1"
        ),
    ]


class SrNsgdAlgorithm(NormalizedMomentum[SrNsgdSettings]):
    """Algorithm 2 of tran2022."""

    name = "sr-nsgd"
    summary = "Normalized gradient descent with a recursive estimator and the noise of trees (Algorithm 2 of tran2022)."
    settings = SrNsgdSettings

    def complete(self, request: Mapping[str, Any], examples: int) -> SrNsgdSettings:
        defaults = self.nsgd_defaults(request, examples)
        eta = request.get("eta", defaults["eta"])
        return self.filled(request, defaults | {"gamma": min(1.0, eta * examples)})

    def start(
        self, problem: Regression, settings: SrNsgdSettings
    ) -> SrNsgd | SparseSrNsgd:
        from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
        from dpverify.papers.tran2022.algorithms.sr_nsgd.sparse import SparseSrNsgd
        from dpverify.problems.sparse.logistic import SparseLogistic

        numbers = self._parameters(problem, settings)
        if isinstance(problem, SparseLogistic):
            return SparseSrNsgd(problem, numbers, seed=settings.seed)
        return SrNsgd(
            problem.example_gradient,
            problem.x,
            problem.y,
            problem.start,
            numbers,
            seed=settings.seed,
        )

    def noise(
        self, problem: Regression, settings: SrNsgdSettings
    ) -> tuple[dict[str, float], dict[str, float]]:
        from dpverify.papers.tran2022.accounting.noise import SR_NODES

        scales = _scales(problem, settings)
        deviations = (
            self._parameters(problem, settings).deviations(len(problem.x)).tolist()
        )
        return {"V_<=2N": scales.v_first, "V_>2N": scales.v_later}, dict(
            zip(SR_NODES, deviations, strict=True)
        )

    def notes(
        self, request: Mapping[str, Any], problem: Regression, settings: SrNsgdSettings
    ) -> list[str]:
        if settings.sigma == 0:
            return []
        notes = ["delta_Delta and delta_r as printed lack the factor L"]
        if len(problem.x) == 1:
            notes.append("N = 1: both V as printed are 0, so no noise was added")
        return notes

    def calibration(self) -> type[CalibrationRequest]:
        from dpverify.calibrate.records import SrCalibrateRequest

        return SrCalibrateRequest

    @staticmethod
    def _parameters(problem: Regression, s: SrNsgdSettings) -> SrParameters:
        from dpverify.papers.tran2022.algorithms.parameters import SrParameters

        return SrParameters(
            steps=s.steps,
            alpha=s.alpha,
            eta=s.eta,
            sigma=s.sigma,
            ordering=s.ordering,
            lipschitz=problem.lipschitz,
            gamma=s.gamma,
            scales=_scales(problem, s),
        )


def _scales(problem: Regression, s: SrNsgdSettings) -> Scales:
    return printed_scales(
        len(problem.x), s.steps, eta=s.eta, lipschitz=problem.lipschitz
    )


SR_NSGD = SrNsgdAlgorithm()
