"""What the tests found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from dpverify.shown import ShownAsTable

Status: TypeAlias = Literal["ok", "fault", "not tested"]


@dataclass(frozen=True)
class ConformanceTest:
    """One test, and what it found."""

    name: str
    passed: bool
    found: str  # with numbers
    sees: str  # the smallest fault that it would have seen, or what it cannot see
    alpha: float = 0.0  # most that the chance of a false alarm is; 0 where nothing is drawn or a draw decides nothing
    because: str = ""  # what another test is about whose fault makes this one fail; "" where none is known to
    error: str = ""  # of a call that ended without a value
    measured: float | None = None  # the number that the text of `found` compares with its limit, where a test has one
    detects: float | None = None  # the relative size of the fault that the text of `sees` names, where it names one
    is_tested: bool = True  # otherwise ``found`` is the reason, and the test did not pass

    @property
    def status(self) -> Status:
        """Whether the test passed, found a fault, or could not be run."""
        if not self.is_tested:
            return "not tested"
        return "ok" if self.passed else "fault"

    def __str__(self) -> str:
        label = "FAULT" if self.status == "fault" else self.status
        return f"{label:<10}  {self.name}: {self.found}. It sees: {self.sees}."


def worst(results: Iterable[ConformanceTest]) -> ConformanceTest:
    """Return the first fault, or else the first test that could not be run, or else the first one."""
    order: list[Status] = ["fault", "not tested", "ok"]
    return min(results, key=lambda result: order.index(result.status))


def not_tested(name: str, reason: str) -> ConformanceTest:
    """Return the result of a test that could not be run."""
    return ConformanceTest(name, False, reason, "nothing", is_tested=False)


@dataclass(frozen=True, repr=False)
class Conformance(ShownAsTable):
    """All that was found; it is true if every test was run and passed."""

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
        """Most that the chance is that a correct optimizer fails any test."""
        return sum(test.alpha for test in self.tests)

    def text(self, *, verbose: bool = False, width: int = 100) -> str:
        """Return a report: faults first, each cause once; ``verbose`` adds every test with what it detects."""
        from dpverify.conform.report import report

        return "\n".join(line.text for line in report(self.tests, self.alpha, width, verbose=verbose))

    def __str__(self) -> str:
        return self.text()
