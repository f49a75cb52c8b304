"""An optimizer as one object: its settings, run, accountant, audit and conformance test.

Modules that load numba are imported when a run starts, because an accountant does not need them. The accountant for
batches drawn without replacement uses the replace-one neighbouring relation. It loads scipy on first use, so a party of
a multi-party computation does not load it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

from dpverify.algorithms.settings import DEFAULT_EPOCHS, MOST_STEPS, Settings, options
from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.ledger.records import Record
from dpverify.problems.errors import MOST_CLASSES

if TYPE_CHECKING:
    from dpverify.algorithms.audited import AuditTarget
    from dpverify.calibrate.records import CalibrationRequest
    from dpverify.conform import PrivateOptimizer, Promise
    from dpverify.privacy.batches import BatchSteps
    from dpverify.privacy.participation import Bounds
    from dpverify.problems.regression import Regression
    from dpverify.problems.stepped_run import LongRun


SettingsT = TypeVar("SettingsT", bound=Settings)
Observer = Callable[[int, Vector], None]


class NoiseConstants(Record, frozen=True, kw_only=True):
    """Certified constants of the problem, and the noise that follows from them."""

    lipschitz: float  # G, L and R of the problem, rounded up
    smoothness: float
    gap: float
    # V as printed in Algorithm 1, with ``depth`` for R; the two V of Algorithm 2
    counts: dict[str, float]
    # standard deviation of a coordinate of the noise of each kind of node:
    # ``4*alpha*G*sigma*sqrt(V)`` for f
    node_std: dict[str, float]


class ProblemSize(NamedTuple):
    """The facts about a problem that an accountant needs.

    Examples
    --------
    >>> ProblemSize(examples=1000, dimension=10).lipschitz
    1.0
    """

    examples: int
    dimension: int
    lipschitz: float = 1.0
    smoothness: float = 1.0

    @classmethod
    def of(cls, problem: Regression) -> ProblemSize:
        """Return the size of a problem."""
        return cls(
            len(problem.x), problem.x.shape[1], problem.lipschitz, problem.smoothness
        )


class Algorithm(ABC, Generic[SettingsT]):
    """An optimizer. Subclasses define its settings, how a run starts, and the guarantee of its noise.

    Attributes
    ----------
    name : str
        Name on the command line.
    summary : str
        One-sentence description.
    settings : type
        Class of its settings, a subclass of :class:`Settings`.
    most_classes : int
        Largest number of classes that it supports.
    needs_lipschitz : bool
        Whether its noise is based on the Lipschitz constant of the loss instead of
        clipping.
    noise_note : str
        Properties of its noise generation that the accounting ignores.

    Examples
    --------
    >>> from dpverify.algorithms import ALGORITHMS
    >>> ALGORITHMS["dp-srm"].complete({"epochs": 1}, examples=569).batch
    24
    """

    name: str
    summary: str
    settings: type[SettingsT]
    most_classes: int = MOST_CLASSES
    needs_lipschitz: bool = False
    noise_note: str = "not accounted for: noise is drawn as floats, by a generator that is not cryptographic"

    @property
    def is_private(self) -> bool:
        """Whether the algorithm has noise that a user can choose."""
        return "sigma" in options(self.settings)

    def is_noisy(self, settings: SettingsT) -> bool:
        """Test whether a run with these settings adds noise."""
        return settings.sigma > 0.0

    def take(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked settings of a user, without those that are None; ``epochs`` may replace ``steps``.

        Raises
        ------
        ArgumentError
            If the algorithm has no such setting, or a value is out of its domain.
        """
        accepted = options(self.settings)
        checked = {}
        for name, value in request.items():
            if value is None:
                continue
            if name == "epochs":
                checked[name] = check.whole(1, MOST_STEPS, epochs=value)
            elif name in accepted:
                checked[name] = accepted[name].checked(value)
            else:
                raise check.ArgumentError(
                    name, value, f"must be left out, {self.name} has none"
                )
        if {"steps", "epochs"} <= checked.keys():
            values = f"steps={checked['steps']} and epochs={checked['epochs']}"
            raise check.ArgumentError(
                "steps or epochs", values, "must be given, not both"
            )
        return checked

    @abstractmethod
    def complete(self, request: Mapping[str, Any], examples: int) -> SettingsT:
        """Return all settings of a run on this many examples; ``request`` is the result of :meth:`take`."""

    def filled(
        self, request: Mapping[str, Any], defaults: Mapping[str, Any], **fixed: Any
    ) -> SettingsT:
        """Return the requested settings, with ``defaults`` for missing settings; ``fixed`` overrides both."""
        chosen = {name: value for name, value in request.items() if name != "epochs"}
        return self.settings(**{**defaults, **chosen, **fixed})

    @abstractmethod
    def start(self, problem: Regression, settings: SettingsT) -> LongRun:
        """Return the run before its first step."""

    def run(
        self,
        problem: Regression,
        settings: SettingsT,
        stops: Sequence[int],
        moved: Observer,
        stopped: Observer,
    ) -> None:
        """Run to the last stop; call ``stopped(t, w)`` at the start and each stop, ``moved(t, w)`` in between."""
        run = self.start(problem, settings)
        stopped(0, run.w)
        for stop in stops:
            run.advance(stop - run.t, moved)
            stopped(run.t, run.w)

    def noise(
        self, problem: Regression, settings: SettingsT
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return the printed node counts, if the noise is a tree's, and the deviation of each kind of noise."""
        del problem, settings
        return {}, {}

    def constants(self, problem: Regression, settings: SettingsT) -> NoiseConstants:
        """Return the constants of the problem and of the noise."""
        counts, node_std = self.noise(problem, settings)
        names = ("lipschitz", "smoothness", "gap")
        return NoiseConstants(
            **{name: getattr(problem, name) for name in names},
            counts=counts,
            node_std=node_std,
        )

    def gradients_per_step(self, settings: SettingsT, examples: int) -> int:
        """Return the number of example gradients that a step computes."""
        del settings, examples
        return 1

    def notes(
        self, request: Mapping[str, Any], problem: Regression, settings: SettingsT
    ) -> list[str]:
        """Return remarks for the user of the result."""
        del request, problem, settings
        return []

    # Accounting, for replacing one example

    def epsilon(self, settings: SettingsT, size: ProblemSize, delta: float) -> float:
        """Return a certified upper bound on epsilon for the noise of the settings."""
        raise check.ArgumentError(
            "delta", delta, f"must be left out: {self.name} has no accountant"
        )

    def epsilon_bounds(
        self, settings: SettingsT, size: ProblemSize, delta: float
    ) -> Bounds:
        """Return lower and upper bounds on the smallest epsilon for these settings; the upper bound is certified."""
        raise check.ArgumentError(
            "delta", delta, f"must be left out: {self.name} has no accountant"
        )

    def printed_ratio(
        self, examples: int, batch: int, steps: int, epsilon: float, delta: float
    ) -> float:
        """Return the noise deviation of a step over its sensitivity, as section 6.1 of wang2019 chooses it."""
        from dpverify.papers.wang2019.accounting.runs import tracked_ratio

        return tracked_ratio(examples, batch, steps, epsilon, delta)

    def sigma(
        self, settings: SettingsT, size: ProblemSize, epsilon: float, delta: float
    ) -> float:
        """Return the smallest sigma that is certified for (epsilon, delta); the sigma of ``settings`` is ignored."""
        raise check.ArgumentError(
            "epsilon", epsilon, f"must be left out: {self.name} has no accountant"
        )

    def account(
        self,
        settings: SettingsT,
        size: ProblemSize,
        epsilon: float | None,
        delta: float,
    ) -> tuple[SettingsT, float]:
        """Return the settings and their epsilon; if ``epsilon`` is given, sigma is chosen for it."""
        if epsilon is None:
            return settings, self.epsilon(settings, size, delta)
        return msgspec.structs.replace(
            settings, sigma=self.sigma(settings, size, epsilon, delta)
        ), epsilon

    def assurance(self, settings: SettingsT) -> str:
        """Return a phrase that says how the guarantee was obtained."""
        del settings
        return "certified by the accountant in real arithmetic"

    # Objects for other commands

    def calibration(self) -> type[CalibrationRequest]:
        """Return the class of requests to ``dpverify calibrate``; by default they have the algorithm's settings."""
        from dpverify.calibrate.by_name import request_class

        return request_class(self)

    def conformance(self) -> tuple[PrivateOptimizer, Promise]:
        """Return a step as an optimizer, and the promise that its accounting assumes, for ``dpverify conform``."""
        raise check.ArgumentError("algorithm", self.name, "has no step to test")

    def audit_target(self, delta: float) -> AuditTarget:
        """Return the mechanism and a worst-case pair of neighbouring data sets, for ``dpverify audit``."""
        raise check.ArgumentError(
            "delta", delta, f"has no mechanism to audit: {self.name} has no worst pair"
        )


def count_steps(request: Mapping[str, Any], examples: int, gradients: int) -> int:
    """Return T, at least 1: the requested steps, or the steps that make up the epochs with ``gradients`` per step."""
    epochs = request.get("epochs", DEFAULT_EPOCHS)
    return check.whole(
        1,
        MOST_STEPS,
        steps=request.get("steps", max(1, epochs * examples // gradients)),
    )


MOST_NOISE = 1e6  # an epsilon that this sigma does not reach is out of reach


def sampled_epsilon(rate: float, sigma: float, steps: int, delta: float) -> float:
    """Return a certified upper bound on epsilon for steps on a random fraction ``rate`` of the data."""
    from dpverify.privacy.batches import BatchSteps, upper_epsilon

    return upper_epsilon([BatchSteps(rate, sigma, steps)], delta)


def sampled_bounds(rate: float, sigma: float, steps: int, delta: float) -> Bounds:
    """Return lower and upper bounds on epsilon; the lower bound is attained on some data."""
    from dpverify.privacy.batches import BatchSteps, batch_epsilon

    return batch_epsilon([BatchSteps(rate, sigma, steps)], delta)


def least_sigma(rate: float, steps: int, epsilon: float, delta: float) -> float:
    """Return the smallest sigma that is certified for (epsilon, delta)."""
    from dpverify.privacy.batches import BatchSteps, least_factor

    def steps_with(sigma: float) -> list[BatchSteps]:
        return [BatchSteps(rate, sigma, steps)]

    if sampled_epsilon(rate, MOST_NOISE, steps, delta) > epsilon:
        raise check.ArgumentError(
            "epsilon",
            epsilon,
            f"is out of reach at delta={delta!r}: nothing could be certified",
        )
    return least_factor(steps_with, epsilon, delta)
