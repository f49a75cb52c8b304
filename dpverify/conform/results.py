"""What the tests found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dpverify.shown import ShownAsTable


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

    def __str__(self) -> str:
        return f"{'ok   ' if self.passed else 'FAULT'}  {self.name}: {self.found}. It sees: {self.sees}."


@dataclass(frozen=True, repr=False)
class Conformance(ShownAsTable):
    """All that was found; it is true where every test passed."""

    shown_by: ClassVar[str] = "dpverify.conform.tables:conformance_table"

    tests: list[ConformanceTest] = field(default_factory=list)

    def __bool__(self) -> bool:
        return all(test.passed for test in self.tests)

    @property
    def failed(self) -> list[ConformanceTest]:
        """The tests that found a fault."""
        return [test for test in self.tests if not test.passed]

    @property
    def alpha(self) -> float:
        """Most that the chance is that a correct optimizer fails any test."""
        return sum(test.alpha for test in self.tests)

    def text(self, *, verbose: bool = False, width: int = 100) -> str:
        """Return a report: faults first, each cause once; ``verbose`` adds every test with what it detects."""
        from dpverify.conform.causes import report

        return "\n".join(line.text for line in report(self.tests, self.alpha, width, verbose=verbose))

    def __str__(self) -> str:
        return self.text()
