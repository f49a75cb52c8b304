"""Records of the tests: an optimizer, the release of a step, and the results of the tests.

Besides its vector, a step may release its clip length and noised statistics. The promise of an optimizer is in
``promise``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from dpverify.shown import ShownAsTable


@dataclass(frozen=True)
class Release:
    """Release of a step that releases more than a vector.

    Parameters
    ----------
    vector : array
        The released vector.
    clip_length : float, optional
        Clip length of this step, if ``Promise.adaptive_clip`` is set. It may depend on
        earlier releases only.
    statistic : array
        The noised numbers that ``Promise.statistic`` describes, such as the noised
        fraction of gradients that are not clipped.
    """

    vector: Any
    clip_length: float | None = None
    statistic: Any = ()


Step: TypeAlias = Callable[
    [Any, "np.ndarray[Any, Any]", np.random.Generator], tuple[Any, Any]
]
Batches: TypeAlias = Callable[
    [int, int, np.random.Generator], Iterable["np.ndarray[Any, Any]"]
]


def no_state() -> None:
    """Start without a state."""


@dataclass(frozen=True)
class PrivateOptimizer:
    """The parts of an optimizer that matter for privacy.

    Parameters
    ----------
    step : callable
        ``step(state, gradients, rng) -> (state, released)``: ``gradients`` is a ``(batch, dimension)`` array of
        float64, one row per example of the drawn batch, before clipping; ``released`` is the released noisy vector or a
        :class:`Release`. All noise must come from ``rng``, a numpy Generator. ``copy.deepcopy`` must be able to copy a
        state.
    start : callable
        ``start() -> state`` returns the state before the first step; by default the
        state is None.
    batches : callable, optional
        ``batches(examples, steps, rng)`` returns or yields the indices of the batch of
        each step. Without it, sampling is not tested.
    at_clip : callable, optional
        ``at_clip(length)`` builds the same optimizer with another clip length. With it,
        sensitivity and noise are also tested at a second clip length. This detects a
        clip length that is not passed on, and noise that is scaled by the square of the
        clip length.

    Examples
    --------
    >>> import dpverify as dv
    >>> import numpy as np
    >>> def step(state, gradients, rng):
    ...     norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    ...     total = (gradients * np.minimum(1, 0.7 / np.maximum(norms, 1e-12))).sum(axis=0)
    ...     return state, (total + 2.0 * 0.7 * rng.standard_normal(total.shape)) / 8
    >>> bool(dv.conformance(dv.PrivateOptimizer(step), dv.Promise(sigma=2.0, clip=0.7, divisor=8)))
    True
    """

    step: Step
    start: Callable[[], Any] = no_state
    batches: Batches | None = None
    at_clip: Callable[[float], PrivateOptimizer] | None = None


Status: TypeAlias = Literal["ok", "fault", "not tested"]


@dataclass(frozen=True)
class ConformanceTest:
    """One test and its result."""

    name: str
    passed: bool
    found: str  # the finding, with numbers
    sees: str  # the smallest fault that the test detects, or what it cannot detect
    # upper bound on the false-alarm probability; 0
    # if the result does not depend on random draws
    alpha: float = 0.0
    # subject of another test whose fault makes this one fail; "" if there is none
    because: str = ""
    error: str = ""  # message of a call that did not return
    # the number that `found` compares with its limit, if any
    measured: float | None = None
    # the relative size of the fault that `sees` names, if any
    detects: float | None = None
    is_tested: bool = True  # if False, ``found`` is the reason, and ``passed`` is False

    @property
    def status(self) -> Status:
        """Status of the test: passed ("ok"), failed ("fault") or could not be run ("not tested")."""
        if not self.is_tested:
            return "not tested"
        return "ok" if self.passed else "fault"

    def __str__(self) -> str:
        label = "FAULT" if self.status == "fault" else self.status
        return f"{label:<10}  {self.name}: {self.found}. It detects: {self.sees}."


def worst_test(results: Iterable[ConformanceTest]) -> ConformanceTest:
    """Return the first fault; without a fault, the first test that could not be run; otherwise the first result."""
    order: list[Status] = ["fault", "not tested", "ok"]
    return min(results, key=lambda result: order.index(result.status))


def untested_result(name: str, reason: str) -> ConformanceTest:
    """Return the result of a test that could not be run."""
    return ConformanceTest(name, False, reason, "nothing", is_tested=False)


@dataclass(frozen=True, repr=False)
class Conformance(ShownAsTable):
    """Results of all tests; true if every test was run and passed."""

    shown_by: ClassVar[str] = "dpverify.conform.report:conformance_table"

    tests: list[ConformanceTest] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.tests) and all(test.passed for test in self.tests)

    @property
    def failed(self) -> list[ConformanceTest]:
        """The tests that found a fault."""
        return [test for test in self.tests if test.status == "fault"]

    @property
    def not_tested(self) -> list[ConformanceTest]:
        """The tests that could not be run."""
        return [test for test in self.tests if test.status == "not tested"]

    @property
    def alpha(self) -> float:
        """Upper bound on the probability that a correct optimizer fails any test."""
        return sum(test.alpha for test in self.tests)

    def text(self, *, verbose: bool = False, width: int = 100) -> str:
        """Return a report, faults first and each cause once; ``verbose`` adds every test and what it detects."""
        from dpverify.conform.report import report_lines

        return "\n".join(
            line.text
            for line in report_lines(self.tests, self.alpha, width, verbose=verbose)
        )

    def __str__(self) -> str:
        return self.text()
