"""Exponents of Theorems 6 and 9 in N, d and epsilon from simulation, with intervals, beside those of the bounds.

Runs at G = L = R = 1 on identical examples, slope s = c sqrt(N/T) down to the distance D with s D + s^2/2 = 1. The mean
gradient is largest where noise lets about half of the runs through: c = 2.5 for Algorithm 1, about 24 for Algorithm 2,
whose runs differ much there, so that 8 is taken (NOTES_utility_simulation.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from dpverify.harness import Check, Context, PaperChecks
from dpverify.harness.checks import missed_controls
from dpverify.harness.simulation.exponents import LEVEL, Values, interval, slopes
from dpverify.kernels.tape import Seed
from dpverify.ledger.results import CheckResult, ControlResult, Method
from dpverify.papers.tran2022.accounting.onset import Cell, Theorem, corrected_parts, printed_bound, steps_of
from dpverify.papers.tran2022.accounting.theorem_parameters import theorem_6, theorem_9
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.slopes.reduced_runs import reduced_slope_run
from dpverify.papers.tran2022.algorithms.slopes.runs import slope_run
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.scales import proof_scales
from dpverify.problems.worst_slope import Slope

DELTA: Final = 1e-6  # The delta of a Cell, if nothing else is said.

STEEPNESS: Final[Mapping[Theorem, float]] = {"theorem-6": 2.5, "theorem-9": 8.0}  # c.


@dataclass(frozen=True)
class Size:
    """Where a theorem is simulated; delta = 10^-6."""

    examples: int  # N
    dimension: int = 1  # d
    epsilon: float = 10.0  # privacy asked for

    @property
    def cell(self) -> Cell:
        """The same without N."""
        return Cell(self.dimension, self.epsilon)

    def steps(self, theorem: Theorem) -> int:
        """Printed T, rounded down."""
        return steps_of(theorem, self.examples, self.cell)

    def unit(self, theorem: Theorem) -> float:
        """``sqrt(N/T)``: the rate that is claimed, with its logarithms."""
        return math.sqrt(self.examples / self.steps(theorem))

    def bound(self, theorem: Theorem) -> float:
        """Right side of the corrected theorem at G = L = R = 1."""
        return sum(corrected_parts(theorem, self.examples, self.cell))


def worst_slope(theorem: Theorem, size: Size) -> Slope:
    """Make the problem of a size. With G at most 1, L = 1 and R = 1."""
    slope = STEEPNESS[theorem] * size.unit(theorem)
    if slope > 1.0:
        raise ValueError(f"slope must be at most G = 1, got slope={slope:.3g} at {size}.")
    return Slope(size.examples, size.dimension, slope, (1.0 - slope**2 / 2.0) / slope, 1.0)


def mean_gradient(theorem: Theorem, size: Size, seed: Seed) -> float:
    """Run the theorem's algorithm on the worst slope; Algorithm 2 has the noise of the proof's sensitivities."""
    N, steps, root = size.examples, size.steps(theorem), math.sqrt(math.log(1.0 / DELTA))
    problem = worst_slope(theorem, size)
    if theorem == "theorem-6":
        p = theorem_6(N, size.dimension, size.epsilon, DELTA, steps)
        sigma = 2.0 * root / size.epsilon
        return slope_run(problem, Parameters(steps, min(1.0, p.alpha), p.eta, sigma, 1.0), seed).gradient
    p = theorem_9(N, size.dimension, size.epsilon, DELTA, steps)
    scales = proof_scales(N, steps, eta=p.eta, lipschitz=1.0, smoothness=1.0)
    sigma = 4.0 * root / size.epsilon
    parameters = SrParameters(steps, min(1.0, p.alpha), p.gamma, p.eta, sigma, 1.0, "fresh", scales)
    return reduced_slope_run(problem, parameters, seed).gradient


def seconds(theorem: Theorem, size: Size) -> float:
    """Core seconds of one run: measured, and a fifth more."""
    each = 12.0 + 5.0 * size.dimension if theorem == "theorem-6" else 600.0 + 30.0 * size.dimension
    return 1e-9 * each * size.steps(theorem)


CHECKS = PaperChecks("tran2022", __name__)

ROUNDING = 1e-9  # Runs that never leave their slope give intervals without width.

ASYMPTOTIC: Mapping[Theorem, Mapping[str, float]] = {
    "theorem-6": {"N": -1 / 2, "d": 1 / 4, "epsilon": -1 / 2},
    "theorem-9": {"N": -2 / 3, "d": 1 / 3, "epsilon": -2 / 3},
}
"""Exponents of the first term of the rates; the second, 1/sqrt(N), is smaller at all sizes here."""


@dataclass(frozen=True)
class FittedExponent:
    """The power of one symbol, fitted to runs."""

    middle: float  # mean over the replications of the least-squares slope, and its t interval
    low: float
    high: float
    bound: float  # slopes of the corrected bound and of sqrt(N/T) over the same sizes
    unit: float


@dataclass(frozen=True)
class SlopesCheck(Check):
    """Read exponents of the mean gradient in N, d and epsilon from runs on a slope that is steep for each size."""

    # One-sided, and never a refutation: an O~ hides constants and logarithms. Where an interval's upper end is below
    # the corrected bound's slope over the same sizes plus ``room``, the gradient falls as the bound does; else it is
    # inconclusive.

    theorem: Theorem = field(kw_only=True)
    # by budget, for each of "N", "d" and "epsilon" the sizes
    sweeps: Mapping[str, Mapping[str, Sequence[Size]]] = field(kw_only=True)
    replications: Mapping[str, int] = field(kw_only=True)  # runs of each size, by budget
    room: float = field(kw_only=True)  # difference of exponents that must be seen

    method: ClassVar[Method] = "measurement"

    def cost(self, context: Context) -> float:
        """Declared core seconds."""
        runs = self.replications[context.budget.name]
        return sum(runs * seconds(self.theorem, size) for _, size in self._places(context))

    def blocks(self, context: Context) -> int:
        """One for each size; none where they do not fit into the budget."""
        return 0 if self.beyond_share(context) else len(self._places(context))

    def run_block(self, context: Context, block: int) -> tuple[str, list[float]]:
        """Do all runs of one size. What the size belongs to, and the mean gradient of each run."""
        name, size = self._places(context)[block]
        seeds = context.rng(block).integers(1 << 62, size=self.replications[context.budget.name]).tolist()
        return name, [mean_gradient(self.theorem, size, seed) for seed in seeds]

    def finish(self, context: Context, total: list[tuple[str, list[float]]] | None) -> CheckResult:
        """Fit, test, and plant faults in the fits: "not refuted" where all exponents pass, else "inconclusive"."""
        sweeps = self.sweeps[context.budget.name]
        if total is None:
            return self._result(status="inconclusive", message=self.beyond_share(context))
        found = {name: np.array([values for of, values in total if of == name]).T for name in sweeps}
        rows = {name: slopes(np.log(found[name]), self._along(name, sizes)) for name, sizes in sweeps.items()}
        fits = {name: self._fit(rows[name], name, sizes) for name, sizes in sweeps.items()}
        failed = [name for name, fit in fits.items() if not self._passes(fit.high, fit.bound)]
        controls = [self._planted(name, rows[name], fits[name].bound) for name in sweeps]
        controls += [
            ControlResult(
                name=f"no decay in {name}",
                fault=f"the same gradients, without their trend in {name}",
                at_declared_size=False,
                refuted=not self._passes(interval(rows[name] - rows[name].mean())[2], fits[name].bound),
            )
            for name in sweeps
            if fits[name].bound < 0
        ]
        missed = missed_controls(controls)
        told = "; ".join(
            f"in {name} {fit.middle:.3f} ({fit.low:.3f} to {fit.high:.3f}), bound {fit.bound:.3f}, sqrt(N/T) "
            f"{fit.unit:.3f}, without logarithms {ASYMPTOTIC[self.theorem][name]:.3f}"
            for name, fit in fits.items()
        )
        return self._result(
            status="inconclusive" if failed or missed else "not refuted",
            message="; ".join(
                filter(None, [self._terms(sweeps, found), *(f"not shown: the decay in {n}" for n in failed), missed])
            ),
            n=self.replications[context.budget.name],
            detects=f"an exponent {self.room:g} above that of the corrected bound over the same sizes",
            statistic=f"exponents with {LEVEL:.0%} intervals: {told}",
            region=_region(self.theorem, sweeps),
            controls=controls,
            figures={f"utility-slopes-{self.theorem}": self._columns(sweeps, found, fits)},
        )

    def _result(self, **found: Any) -> CheckResult:
        return self.result(
            leaves_out="other problems and sizes: the regime in which 1/sqrt(N) is the larger term is not reached, and "
            "logarithms are part of every exponent",
            **found,
        )

    def _places(self, context: Context) -> list[tuple[str, Size]]:
        return [(name, size) for name, sizes in self.sweeps[context.budget.name].items() for size in sizes]

    def _along(self, name: str, sizes: Sequence[Size]) -> Values:
        place = {"N": "examples", "d": "dimension", "epsilon": "epsilon"}[name]
        return np.log([float(getattr(size, place)) for size in sizes])

    def _fit(self, rows: Values, name: str, sizes: Sequence[Size]) -> FittedExponent:
        along = self._along(name, sizes)
        bound = slopes(np.log([size.bound(self.theorem) for size in sizes]), along)
        unit = slopes(np.log([size.unit(self.theorem) for size in sizes]), along)
        return FittedExponent(*interval(rows), float(bound), float(unit))

    def _passes(self, high: float, bound: float) -> bool:
        """Whether the end of an interval lies below what is tested, by more than rounding."""
        return high < bound + self.room - ROUNDING

    def _planted(self, name: str, rows: Values, bound: float) -> ControlResult:
        """Move the exponents to what is tested; they must not pass."""
        moved = rows - rows.mean() + bound + self.room
        return ControlResult(
            name=f"a slow decay in {name}",
            fault=f"the measured exponents in {name}, moved to a mean of {bound + self.room:.3f}",
            at_declared_size=True,
            refuted=not self._passes(interval(moved)[2], bound),
        )

    def _terms(self, sweeps: Mapping[str, Sequence[Size]], found: Mapping[str, Values]) -> str:
        """Say which term of the bound dominates at the largest N, and how far the bound is above the runs."""
        largest = sweeps["N"][-1]
        rest, noise = corrected_parts(self.theorem, largest.examples, largest.cell)
        last = 2.0 / np.sqrt(2 * largest.examples - 1) if self.theorem == "theorem-6" else 0.0
        ratios = [size.bound(self.theorem) / found["N"][:, place].mean() for place, size in enumerate(sweeps["N"])]
        vacuous = sum(size.bound(self.theorem) >= 1.0 for size in sweeps["N"])
        trivial = f", and above the trivial bound G at {vacuous} of {len(ratios)} sizes" if vacuous else ""
        kept = [
            bool((found[name][:, place] >= (1.0 - ROUNDING) * worst_slope(self.theorem, size).slope).all())
            for name, sizes in sweeps.items()
            for place, size in enumerate(sizes)
        ]
        stays = f"; at {sum(kept)} of {len(kept)} sizes no run leaves its slope, a multiple of sqrt(N/T)" * any(kept)
        sampling = f", the term 1/sqrt(N) {last / (rest + noise):.0%}" if last else ""
        return (
            f"at N = {largest.examples} (T = {largest.steps(self.theorem)}) the noise is {noise / (rest + noise):.0%} "
            f"of the corrected bound{sampling}: the exponents are those of the noise and of the way, sqrt(N/T); the "
            f"bound is {min(ratios):.3g} to {max(ratios):.3g} times the simulated gradient{trivial}{stays}"
        )

    def _columns(
        self, sweeps: Mapping[str, Sequence[Size]], found: Mapping[str, Values], fits: Mapping[str, FittedExponent]
    ) -> dict[str, list[float]]:
        """Columns of the figure: means over N with intervals, both bounds, and the table of exponents."""
        sizes, names = sweeps["N"], ("N", "d", "epsilon")
        means = [interval(found["N"][:, place]) for place in range(len(sizes))]
        return {
            "x:N": [float(size.examples) for size in sizes],
            "simulated": [mean for mean, _, _ in means],
            "simulated-low": [low for _, low, _ in means],
            "simulated-high": [high for _, _, high in means],
            "corrected": [size.bound(self.theorem) for size in sizes],
            "printed": [printed_bound(self.theorem, size.examples, size.cell) for size in sizes],
            "steps": [float(size.steps(self.theorem)) for size in sizes],
            "fit": [fits[name].middle for name in names],
            **{f"fit-{end}": [getattr(fits[name], end) for name in names] for end in ("low", "high", "bound")},
            "fit-rate": [ASYMPTOTIC[self.theorem][name] for name in names],
            "at:d": [float(sizes[0].dimension)],
            "at:epsilon": [sizes[0].epsilon],
            "at:delta": [DELTA],
        }


def _region(theorem: Theorem, sweeps: Mapping[str, Sequence[Size]]) -> str:
    n, d, epsilon = sweeps["N"], sweeps["d"], sweeps["epsilon"]
    return (
        f"G = L = R = 1, delta = 10^-6, the printed T (up to {max(size.steps(theorem) for size in n)}); N from "
        f"{n[0].examples} to {n[-1].examples} at d = {n[0].dimension} and epsilon = {n[0].epsilon:g}; d from "
        f"{d[0].dimension} to {d[-1].dimension} and epsilon from {epsilon[0].epsilon:g} to {epsilon[-1].epsilon:g} at "
        f"N = {d[0].examples}"
    )


SWEEPS_6: dict[str, dict[str, Sequence[Size]]] = {
    "smoke": {
        "N": [Size(n) for n in (500, 1000, 2000, 4000)],
        "d": [Size(1000, d) for d in (1, 4, 16)],
        "epsilon": [Size(1000, 1, epsilon) for epsilon in (5.0, 10.0, 20.0)],
    },
    "standard": {
        "N": [Size(n) for n in (500, 1000, 2000, 4000, 8000, 16000)],
        "d": [Size(2000, d) for d in (1, 4, 16, 64)],
        "epsilon": [Size(2000, 1, epsilon) for epsilon in (2.0, 5.0, 10.0, 20.0, 40.0)],
    },
}
SWEEPS_9: dict[str, dict[str, Sequence[Size]]] = {
    "standard": {
        "N": [Size(n) for n in (40, 55, 75, 100)],
        "d": [Size(80, d) for d in (1, 2, 4)],
        "epsilon": [Size(60, 1, epsilon) for epsilon in (7.0, 12.0, 20.0)],
    },
}

CHECKS.add(
    SlopesCheck(
        "theorem-6-rate",
        "slopes",
        theorem="theorem-6",
        sweeps={**SWEEPS_6, "full": SWEEPS_6["standard"]},
        replications={"smoke": 8, "standard": 12, "full": 40},
        room=0.1,
        variants=("amended",),
    ),
    SlopesCheck(
        "theorem-9-rate",
        "slopes",
        theorem="theorem-9",
        sweeps={**SWEEPS_9, "full": SWEEPS_9["standard"]},
        replications={"standard": 6, "full": 40},
        least_budget="standard",
        room=0.25,
    ),
)
