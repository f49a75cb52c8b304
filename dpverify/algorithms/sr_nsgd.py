"""SR-NSGD, Algorithm 2 of tran2022: normalized momentum of a recursive estimator, with tree-aggregated noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from dpverify.algorithms.dp_nsgd import NormalizedMomentum, NsgdSettings
from dpverify.algorithms.settings import SettingInfo
from dpverify.kernels import check
from dpverify.papers.tran2022.algorithms.scales import Scales, printed_scales

if TYPE_CHECKING:
    from dpverify.calibrate.records import CalibrationRequest
    from dpverify.papers.tran2022.algorithms.parameters import SrParameters
    from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
    from dpverify.papers.tran2022.algorithms.sr_nsgd.sparse import SparseSrNsgd
    from dpverify.problems.regression import Regression


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
