"""The JL method, Algorithm 4 of arora2023: a private algorithm for generalized linear models in k dimensions.

Phi is a public k x d matrix of independent normal numbers of variance 1/k. The base algorithm runs on the rows Phi x,
and the output is Phi^T times the output of the base algorithm. So the inner products <w, x> of the model are computed
in k dimensions.

The paper runs the base algorithm with twice the Lipschitz constant, because rows may become twice as long, and with
delta/2, because rows become longer with a small probability. Here a row longer than 1 is shortened to 1. The guarantee
of the base algorithm then holds for every Phi, with the full delta and without the factor 2. The cost is a larger loss:
about half of the rows of length 1 are shortened, by an order of 1/sqrt(k), and the gradient in k dimensions is Phi
times the gradient in d dimensions only up to an error of this order. Corollary 6.2 is not proved for this variant. Its
population rate also depends on Lemma E.2, which fails (claim `lemma-e-2`). The regularizer of `train` applies to the k
weights.

dpverify train docs/examples/arora2023/arora2023/embedding.py:EMBEDDED --embedding 8 --epsilon 2 --delta 1e-5
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import numpy as np

import dpverify as dv
from dpverify.algorithms import Algorithm, AuditTarget, ProblemSize, SettingInfo
from dpverify.algorithms.registry import algorithm_named
from dpverify.algorithms.settings import Settings, whole
from dpverify.kernels import check
from dpverify.kernels.tape import Seed, generator
from dpverify.kernels.typing import Matrix
from dpverify.privacy.participation import Bounds
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.regression import Regression
from dpverify.problems.rows import scale_rows
from dpverify.problems.stepped_run import LongRun

EMBEDDING_STREAM: Final = 40
DIMENSION: Final = 10


def embedding(k: int, d: int, seed: Seed) -> Matrix:
    """Return a random Phi, shape (k, d), or the identity if k >= d."""
    if k >= d:
        return np.eye(d)
    phi: Matrix = generator(seed, EMBEDDING_STREAM).standard_normal((k, d)) / np.sqrt(k)
    return phi


def embedded_rows(x: Matrix, phi: Matrix) -> Matrix:
    """Return the rows Phi x, shape (n, k), each shortened to length 1 if it is longer."""
    return scale_rows(x @ phi.T, "clip")


class EmbeddedRun(LongRun):
    """A run of the base algorithm in k dimensions, whose iterates are lifted to d dimensions."""

    def __init__(self, inner: LongRun, phi: Matrix, steps: int, examples: int, seed: Seed) -> None:
        super().__init__(steps, examples, np.zeros(phi.shape[1]), seed, keep=False, vectors=len(phi), counters=1)
        self.inner = inner
        self.phi = phi

    def _steps(self, first: int, last: int) -> None:
        self.inner.advance(last - first + 1)
        self._w[:] = self.phi.T @ self.inner.w
        self._done[0] = self.inner.t


class Embedded(Algorithm[Any]):
    """Algorithm 4 with any base algorithm, for two classes and rows of length at most 1."""

    most_classes = 2

    def __init__(self, base: Algorithm[Any]) -> None:
        info = SettingInfo("k", "Dimension of the embedding; none from the dimension of the data on.", whole(1))
        self.base = base
        self.name = f"embedded-{base.name}"
        self.summary = f"{base.name} on rows that are projected to k dimensions (Algorithm 4 of arora2023)."
        self.settings = msgspec.defstruct(
            "EmbeddedSettings",
            [("embedding", Annotated[int, info], DIMENSION)],
            bases=(base.settings,),
            frozen=True,
            kw_only=True,
        )
        self.needs_lipschitz = base.needs_lipschitz

    def inner(self, settings: Any) -> Settings:
        """Return the settings of the base algorithm."""
        fields = self.base.settings.__struct_fields__
        inner: Settings = self.base.settings(**{name: getattr(settings, name) for name in fields})
        return inner

    def complete(self, request: Mapping[str, Any], examples: int) -> Any:
        """Return all settings, with those that the base algorithm fills in."""
        inner = self.base.complete({name: value for name, value in request.items() if name != "embedding"}, examples)
        return self.settings(**msgspec.structs.asdict(inner), embedding=request.get("embedding", DIMENSION))

    def projected(self, problem: Regression, settings: Any) -> tuple[LogisticRegression, Matrix]:
        """Return the problem in k dimensions, and Phi."""
        if not isinstance(problem, LogisticRegression):
            raise check.ArgumentError("data", type(problem).__name__, "must be dense, with two classes")
        phi = embedding(settings.embedding, problem.x.shape[1], settings.seed)
        return LogisticRegression(embedded_rows(problem.x, phi), problem.y, problem.lam, radius=1.0), phi

    def start(self, problem: Regression, settings: Any) -> EmbeddedRun:
        projected, phi = self.projected(problem, settings)
        run = self.base.start(projected, self.inner(settings))
        return EmbeddedRun(run, phi, settings.steps, len(problem.x), settings.seed)

    def notes(self, request: Mapping[str, Any], problem: Regression, settings: Any) -> list[str]:
        return self.base.notes(request, self.projected(problem, settings)[0], self.inner(settings))

    def gradients_per_step(self, settings: Any, examples: int) -> int:
        return self.base.gradients_per_step(self.inner(settings), examples)

    def noise(self, problem: Regression, settings: Any) -> tuple[dict[str, float], dict[str, float]]:
        return self.base.noise(self.projected(problem, settings)[0], self.inner(settings))

    def epsilon(self, settings: Any, size: ProblemSize, delta: float) -> float:
        return self.base.epsilon(self.inner(settings), size, delta)

    def epsilon_bounds(self, settings: Any, size: ProblemSize, delta: float) -> Bounds:
        return self.base.epsilon_bounds(self.inner(settings), size, delta)

    def sigma(self, settings: Any, size: ProblemSize, epsilon: float, delta: float) -> float:
        return self.base.sigma(self.inner(settings), size, epsilon, delta)

    def audit_target(self, delta: float) -> AuditTarget:
        """Return the audit of the base algorithm; an embedding does not affect its worst case."""
        return self.base.audit_target(delta)

    def conformance(self) -> tuple[dv.PrivateOptimizer, dv.Promise]:
        """Return the step of the base algorithm."""
        return self.base.conformance()


EMBEDDED: Final = Embedded(algorithm_named(f"{Path(__file__).with_name('spider_boost.py')}:SPIDER_BOOST"))
