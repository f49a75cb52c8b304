"""Compare exponents fitted to simulations, and their confidence intervals, with those of a bound. Never refutes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from scipy import special  # scipy.stats takes half a second to load

from dpverify.harness.checks import Check, Context, missed_controls
from dpverify.kernels.typing import Vector
from dpverify.ledger.check_results import CheckResult, ControlResult, Method

LEVEL = 0.99  # confidence level of every interval


def slopes(logs: Vector, log_sizes: Vector) -> Vector:
    """Return the slope of the least-squares line through each row.

    Shapes: ``logs`` (..., sizes), ``log_sizes`` (sizes,), returns (...).
    """
    x = log_sizes - log_sizes.mean()
    slope: Vector = (logs * x).sum(axis=-1) / (x * x).sum()
    return slope


def interval(values: Vector) -> tuple[float, float, float]:
    """Return the mean of ``values``, shape (n,), and the ends of Student's t interval."""
    middle = float(values.mean())
    reach = float(
        special.stdtrit(len(values) - 1, 0.5 + LEVEL / 2)
        * values.std(ddof=1)
        / np.sqrt(len(values))
    )
    return middle, middle - reach, middle + reach


# margin for rounding errors: runs with equal slopes give an interval of width 0
ROUNDING = 1e-9
# quantities whose exponents are fitted
FITTED_QUANTITIES = ("examples", "dimension", "epsilon")


class RunSize(Protocol):
    """Size at which a theorem is simulated."""

    @property
    def examples(self) -> int:
        """Number of examples N."""

    @property
    def dimension(self) -> int:
        """Dimension d."""

    @property
    def epsilon(self) -> float:
        """Requested privacy parameter epsilon."""


SizeT = TypeVar("SizeT", bound=RunSize)
Sweeps = Mapping[str, Sequence[SizeT]]  # sizes for each of ``Simulated.names``


@dataclass(frozen=True)
class FittedExponent:
    """Exponent of one symbol, fitted to runs."""

    # mean of the least-squares slopes of the replications, with its t interval
    middle: float
    low: float
    high: float
    bound: float  # slope of the corrected bound over the same sizes
    unit: float  # slope of the rate over the same sizes


@dataclass(frozen=True)
class Simulated(Generic[SizeT]):
    """A simulated theorem, as functions of the size: the runs and the bounds. All values are in units of G."""

    measure: Callable[[SizeT, int], float]  # mean gradient norm of a seeded run
    seconds: Callable[[SizeT], float]  # declared core seconds of one run
    steps: Callable[[SizeT], int]
    bound: Callable[[SizeT], float]  # corrected bound
    printed: Callable[[SizeT], float] | None  # None if no constant is printed
    unit: Callable[[SizeT], float]  # the claimed rate
    unit_name: str  # name of the claimed rate in messages
    rate: Mapping[str, float]  # exponents of the rate without logarithms
    # text added to the message, from sizes and gradients
    words: Callable[[Sweeps[SizeT], Mapping[str, Vector]], str]
    region: Callable[[Sweeps[SizeT]], str]
    # columns of the figure's parameters
    fixed: Callable[[Sweeps[SizeT]], dict[str, list[float]]]
    figure: str
    leaves_out: str
    # letters of FITTED_QUANTITIES
    names: tuple[str, str, str] = ("N", "d", "epsilon")


@dataclass(frozen=True)
class SlopesCheck(Check, Generic[SizeT]):
    """Estimate exponents of the mean gradient norm in N, d and epsilon from runs."""

    # The test is one-sided and never refutes, because O~ hides
    # constants and logarithms. An exponent passes if the upper end of
    # its interval is below the slope of the corrected bound over the
    # same sizes plus ``room``. Otherwise the result is inconclusive.

    runs: Simulated[SizeT] = field(kw_only=True)
    sweeps: Mapping[str, Sweeps[SizeT]] = field(kw_only=True)  # for each budget
    # runs of each size, for each budget
    replications: Mapping[str, int] = field(kw_only=True)
    room: float = field(kw_only=True)  # difference of exponents that must be detected

    method: ClassVar[Method] = "measurement"

    def cost(self, context: Context) -> float:
        """Return the declared core seconds."""
        runs = self.replications[context.budget.name]
        return sum(runs * self.runs.seconds(size) for _, size in self._places(context))

    def blocks(self, context: Context) -> int:
        """Return the number of sizes, or 0 if their runs do not fit into the budget."""
        return 0 if self.beyond_share(context) else len(self._places(context))

    def run_block(self, context: Context, block: int) -> tuple[str, list[float]]:
        """Execute all runs of one size.

        Return the symbol whose sweep contains the size, and the mean gradient norm of each run.
        """
        name, size = self._places(context)[block]
        seeds = (
            context.rng(block)
            .integers(1 << 62, size=self.replications[context.budget.name])
            .tolist()
        )
        return name, [self.runs.measure(size, seed) for seed in seeds]

    def finish(
        self, context: Context, total: list[tuple[str, list[float]]] | None
    ) -> CheckResult:
        """Fit and test the exponents, and plant faults.

        The status is "not refuted" if all exponents pass and all faults are detected, else "inconclusive".
        """
        sweeps = self.sweeps[context.budget.name]
        if total is None:
            return self._result(
                status="inconclusive", message=self.beyond_share(context)
            )
        values_of = {
            name: np.array([values for of, values in total if of == name]).T
            for name in sweeps
        }
        rows = {
            name: slopes(np.log(values_of[name]), self._log_sizes(name, sizes))
            for name, sizes in sweeps.items()
        }
        fits = {
            name: self._fit(rows[name], name, sizes) for name, sizes in sweeps.items()
        }
        failed = [
            name for name, fit in fits.items() if not self._passes(fit.high, fit.bound)
        ]
        controls = [
            self._planted(name, rows[name], fits[name].bound) for name in sweeps
        ]
        controls += [
            ControlResult(
                name=f"no decay in {name}",
                fault=f"the same gradients, without their trend in {name}",
                at_declared_size=False,
                refuted=not self._passes(
                    interval(rows[name] - rows[name].mean())[2], fits[name].bound
                ),
            )
            for name in sweeps
            if fits[name].bound < 0
        ]
        not_shown = [f"not shown: the decay in {name}" for name in failed]
        missed = missed_controls(controls)
        exponents = "; ".join(
            f"in {name} {fit.middle:.3f} ({fit.low:.3f} to {fit.high:.3f}), bound {fit.bound:.3f}, "
            f"{self.runs.unit_name} {fit.unit:.3f}, without logarithms {self.runs.rate[name]:.3f}"
            for name, fit in fits.items()
        )
        return self._result(
            status="inconclusive" if failed or missed else "not refuted",
            message="; ".join(
                filter(None, [self.runs.words(sweeps, values_of), *not_shown, missed])
            ),
            n=self.replications[context.budget.name],
            detects=f"an exponent {self.room:g} above that of the corrected bound over the same sizes",
            statistic=f"exponents with {LEVEL:.0%} intervals: {exponents}",
            region=self.runs.region(sweeps),
            controls=controls,
            figures={self.runs.figure: self._columns(sweeps, values_of, fits)},
        )

    def _result(self, **fields: Any) -> CheckResult:
        return self.result(leaves_out=self.runs.leaves_out, **fields)

    def _places(self, context: Context) -> list[tuple[str, SizeT]]:
        return [
            (name, size)
            for name, sizes in self.sweeps[context.budget.name].items()
            for size in sizes
        ]

    def _log_sizes(self, name: str, sizes: Sequence[SizeT]) -> Vector:
        quantity = FITTED_QUANTITIES[self.runs.names.index(name)]
        return np.log([float(getattr(size, quantity)) for size in sizes])

    def _fit(self, rows: Vector, name: str, sizes: Sequence[SizeT]) -> FittedExponent:
        log_sizes = self._log_sizes(name, sizes)
        bound = slopes(np.log([self.runs.bound(size) for size in sizes]), log_sizes)
        unit = slopes(np.log([self.runs.unit(size) for size in sizes]), log_sizes)
        return FittedExponent(*interval(rows), float(bound), float(unit))

    def _passes(self, high: float, bound: float) -> bool:
        """Return whether the upper end of an interval is below ``bound + room`` by more than rounding errors."""
        return high < bound + self.room - ROUNDING

    def _planted(self, name: str, rows: Vector, bound: float) -> ControlResult:
        """Move the mean of the measured exponents to ``bound + room``, where the test must fail."""
        shifted = rows - rows.mean() + bound + self.room
        return ControlResult(
            name=f"a slow decay in {name}",
            fault=f"the measured exponents in {name}, moved to a mean of {bound + self.room:.3f}",
            at_declared_size=True,
            refuted=not self._passes(interval(shifted)[2], bound),
        )

    def _columns(
        self,
        sweeps: Sweeps[SizeT],
        values_of: Mapping[str, Vector],
        fits: Mapping[str, FittedExponent],
    ) -> dict[str, list[float]]:
        """Return the columns of the figure: means at each N with intervals, both bounds, and the exponents."""
        runs = self.runs
        first = runs.names[0]
        sizes = sweeps[first]
        means = [interval(values_of[first][:, place]) for place in range(len(sizes))]
        return {
            f"x:{first}": [float(size.examples) for size in sizes],
            "simulated": [mean for mean, _, _ in means],
            "simulated-low": [low for _, low, _ in means],
            "simulated-high": [high for _, _, high in means],
            "corrected": [runs.bound(size) for size in sizes],
            **(
                {}
                if runs.printed is None
                else {"printed": [runs.printed(size) for size in sizes]}
            ),
            "steps": [float(runs.steps(size)) for size in sizes],
            "fit": [fits[name].middle for name in runs.names],
            **{
                f"fit-{end}": [getattr(fits[name], end) for name in runs.names]
                for end in ("low", "high", "bound")
            },
            "fit-rate": [runs.rate[name] for name in runs.names],
            **runs.fixed(sweeps),
        }
