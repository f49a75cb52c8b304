"""Results of conformance tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from dpverify.shown import ShownAsTable

Status: TypeAlias = Literal["ok", "fault", "not tested"]


@dataclass(frozen=True)
class ConformanceTest:
    """One test and its result."""

    name: str
    passed: bool
    found: str  # the finding, with numbers
    sees: str  # the smallest fault that the test detects, or what it cannot detect
    # upper bound on the false-alarm probability; 0 if the result does not depend on
    # random draws
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


def worst(results: Iterable[ConformanceTest]) -> ConformanceTest:
    """Return the first fault; without a fault, the first test that could not be run; otherwise the first result."""
    order: list[Status] = ["fault", "not tested", "ok"]
    return min(results, key=lambda result: order.index(result.status))


def not_tested(name: str, reason: str) -> ConformanceTest:
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
        from dpverify.conform.report import report

        return "\n".join(
            line.text for line in report(self.tests, self.alpha, width, verbose=verbose)
        )

    def __str__(self) -> str:
        return self.text()
