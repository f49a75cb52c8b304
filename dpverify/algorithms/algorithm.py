"""An optimizer as one object: its settings, its run, its accountant, its audit, its conformance.

Modules of runs, which load numba, are imported where a run starts: its accountant needs none. The accountant of
optimizers on batches drawn without replacement is that of replacing one example. It loads scipy when something is
accounted: a party of a computation does without.
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
    """Certified constants of the problem, and the noise that follows."""

    lipschitz: float  # G, L and R of the problem, rounded up
    smoothness: float
    gap: float
    counts: dict[str, float]  # V as Algorithm 1 prints it, with ``depth`` for its R; both V of Algorithm 2
    # standard deviation of a coordinate of the noise of each kind of node: ``4*alpha*G*sigma*sqrt(V)`` for f
    node_std: dict[str, float]


class ProblemSize(NamedTuple):
    """What an accountant needs to know of a problem.

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
        return cls(len(problem.x), problem.x.shape[1], problem.lipschitz, problem.smoothness)


class Algorithm(ABC, Generic[SettingsT]):
    """An optimizer. Subclasses have its settings and say how it starts and what its noise guarantees.

    Attributes
    ----------
    name : str
        Name on the command line.
    summary : str
        One sentence that says what it is.
    settings : type
        Its settings, a subclass of :class:`Settings`.
    most_classes : int
        Number of classes that it can tell apart.
    needs_lipschitz : bool
        Whether its noise rests on the Lipschitz constant of the loss, rather than on clipping.
    noise_note : str
        What the accounting leaves out of how its noise is drawn.

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
        """Whether it has noise that a user can choose."""
        return "sigma" in options(self.settings)

    def is_noisy(self, settings: SettingsT) -> bool:
        """Whether a run with these settings adds noise."""
        return settings.sigma > 0.0

    def take(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Check the settings that a user chose, with ``epochs`` in place of ``steps`` if he likes; drop those at None.

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
                raise check.ArgumentError(name, value, f"must be left out, {self.name} has none")
        if {"steps", "epochs"} <= checked.keys():
            values = f"steps={checked['steps']} and epochs={checked['epochs']}"
            raise check.ArgumentError("steps or epochs", values, "must be given, not both")
        return checked

    @abstractmethod
    def complete(self, request: Mapping[str, Any], examples: int) -> SettingsT:
        """Fill in the settings that follow from the number of examples; ``request`` is what :meth:`take` returns."""

    def filled(self, request: Mapping[str, Any], defaults: Mapping[str, Any], **fixed: Any) -> SettingsT:
        """Return the settings that were chosen, with ``defaults`` for the others; ``fixed`` replaces both."""
        chosen = {name: value for name, value in request.items() if name != "epochs"}
        return self.settings(**{**defaults, **chosen, **fixed})

    @abstractmethod
    def start(self, problem: Regression, settings: SettingsT) -> LongRun:
        """Return the run before its first step."""

    def run(
        self, problem: Regression, settings: SettingsT, stops: Sequence[int], moved: Observer, stopped: Observer
    ) -> None:
        """Run to the last stop: ``stopped(t, w)`` sees the start and each stop, ``moved(t, w)`` steps in between."""
        run = self.start(problem, settings)
        stopped(0, run.w)
        for stop in stops:
            run.advance(stop - run.t, moved)
            stopped(run.t, run.w)

    def noise(self, problem: Regression, settings: SettingsT) -> tuple[dict[str, float], dict[str, float]]:
        """Return the printed counts of nodes, if it has nodes, and the deviation of each kind of noise."""
        del problem, settings
        return {}, {}

    def constants(self, problem: Regression, settings: SettingsT) -> NoiseConstants:
        """Return the constants of the problem with the noise."""
        counts, node_std = self.noise(problem, settings)
        names = ("lipschitz", "smoothness", "gap")
        return NoiseConstants(**{name: getattr(problem, name) for name in names}, counts=counts, node_std=node_std)

    def gradients_per_step(self, settings: SettingsT, examples: int) -> int:
        """Return how many gradients of examples a step takes."""
        del settings, examples
        return 1

    def notes(self, request: Mapping[str, Any], problem: Regression, settings: SettingsT) -> list[str]:
        """Say what a user of the result should know."""
        del request, problem, settings
        return []

    # Accounting, for replacing one example

    def epsilon(self, settings: SettingsT, size: ProblemSize, delta: float) -> float:
        """Return the certified upper bound of epsilon at the noise of the settings."""
        raise check.ArgumentError("delta", delta, f"must be left out: {self.name} has no accountant")

    def epsilon_bounds(self, settings: SettingsT, size: ProblemSize, delta: float) -> Bounds:
        """Return both bounds of the smallest epsilon at the noise of the settings; the upper one is certified."""
        raise check.ArgumentError("delta", delta, f"must be left out: {self.name} has no accountant")

    def printed_ratio(self, examples: int, batch: int, steps: int, epsilon: float, delta: float) -> float:
        """Return a step's deviation over its sensitivity as section 6.1 of wang2019 chooses it for all methods."""
        from dpverify.papers.wang2019.accounting.runs import tracked_ratio

        return tracked_ratio(examples, batch, steps, epsilon, delta)

    def sigma(self, settings: SettingsT, size: ProblemSize, epsilon: float, delta: float) -> float:
        """Return the smallest sigma that is certified for (epsilon, delta); the sigma of ``settings`` is ignored."""
        raise check.ArgumentError("epsilon", epsilon, f"must be left out: {self.name} has no accountant")

    def account(
        self, settings: SettingsT, size: ProblemSize, epsilon: float | None, delta: float
    ) -> tuple[SettingsT, float]:
        """Return the settings with the sigma that ``epsilon`` needs, if it is given, and the epsilon they guarantee."""
        if epsilon is None:
            return settings, self.epsilon(settings, size, delta)
        return msgspec.structs.replace(settings, sigma=self.sigma(settings, size, epsilon, delta)), epsilon

    def assurance(self, settings: SettingsT) -> str:
        """Say how the guarantee is known."""
        del settings
        return "certified by the accountant in real arithmetic"

    # What other tools run

    def calibration(self) -> type[CalibrationRequest]:
        """Return the class of its questions to ``dpverify calibrate``; by default they have its settings."""
        from dpverify.calibrate.by_name import request_class

        return request_class(self)

    def conformance(self) -> tuple[PrivateOptimizer, Promise]:
        """Return its step as an optimizer, and what its accounting presumes, for ``dpverify conform``."""
        raise check.ArgumentError("algorithm", self.name, "has no step to test")

    def audit_target(self, delta: float) -> AuditTarget:
        """Return its mechanism on its worst pair of neighbours, for ``dpverify audit``."""
        raise check.ArgumentError("delta", delta, f"has no mechanism to audit: {self.name} has no worst pair")


def count_steps(request: Mapping[str, Any], examples: int, gradients: int) -> int:
    """Return T: as requested, or so many that ``gradients`` a step make up the epochs; at least 1."""
    epochs = request.get("epochs", DEFAULT_EPOCHS)
    return check.whole(1, MOST_STEPS, steps=request.get("steps", max(1, epochs * examples // gradients)))


MOST_NOISE = 1e6  # if this sigma does not reach an epsilon, nothing is searched for


def sampled_epsilon(rate: float, sigma: float, steps: int, delta: float) -> float:
    """Return the certified upper bound of epsilon of steps on a part ``rate`` of the data."""
    from dpverify.privacy.batches import BatchSteps, upper_epsilon

    return upper_epsilon([BatchSteps(rate, sigma, steps)], delta)


def sampled_bounds(rate: float, sigma: float, steps: int, delta: float) -> Bounds:
    """Return both bounds of epsilon; the lower one is attained on some data."""
    from dpverify.privacy.batches import BatchSteps, batch_epsilon

    return batch_epsilon([BatchSteps(rate, sigma, steps)], delta)


def least_sigma(rate: float, steps: int, epsilon: float, delta: float) -> float:
    """Return the smallest sigma that is certified for (epsilon, delta)."""
    from dpverify.privacy.batches import BatchSteps, least_factor

    def steps_with(sigma: float) -> list[BatchSteps]:
        return [BatchSteps(rate, sigma, steps)]

    if sampled_epsilon(rate, MOST_NOISE, steps, delta) > epsilon:
        raise check.ArgumentError("epsilon", epsilon, f"is out of reach at delta={delta!r}: nothing could be certified")
    return least_factor(steps_with, epsilon, delta)
