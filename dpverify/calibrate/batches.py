"""Which noise do DP-SRM, its baselines and DPageEM need? As printed, and as accounted from both sides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from dpverify.calibrate.records import Real, real
from dpverify.kernels import check
from dpverify.ledger.records import Record
from dpverify.papers.wang2019.accounting.runs import (
    RECURSIVE,
    BatchRun,
    Bought,
    Method,
    bought,
    lemma_condition,
    needed,
    printed_noise,
    printed_order,
    tracked_ratio,
)
from dpverify.papers.zhang2021.accounting.constants import PROVEN
from dpverify.privacy.batches import GAP, MOST_STEPS, WIDE, check_delta, check_epsilon
from dpverify.report.numbers import show_float
from dpverify.shown import ShownAsTable

Algorithm: TypeAlias = Method | Literal["dpageem"]

METHODS: Final = (*get_args(Method), "dpageem")


@dataclass(frozen=True)
class BatchRequest:
    """Arguments of a calibration."""

    algorithm: Algorithm
    n: int
    epsilon: float
    delta: float
    steps: int | None = None  # T, of DPageEM T^0; or passes over the data: DP-SRM reads each batch at two points
    epochs: int | None = None
    batch: int | None = None  # b, and b_0, by default b; DP-GD has n, RRPSGD 1
    batch_0: int | None = None
    gamma: float | None = None  # of DP-SRM
    zeta: float | None = None
    lipschitz: float = 1.0
    beta: float = 0.5  # part of epsilon that the printed noise gives to Renyi's divergence
    parties: int | None = None  # of DDP-SRM
    stages: int | None = None  # K, of DPageEM

    def run(self) -> BatchRun:
        """Give the run, or an ArgumentError that names what is missing, superfluous or out of range."""
        n, recursive = check.whole(1, MOST_STEPS, n=self.n), self.algorithm in RECURSIVE
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check.positive(beta=self.beta)
        if not self.beta < 1.0:
            raise check.ArgumentError("beta", self.beta, "must be above 0 and below 1")
        fixed = {"dp-gd": n, "rrpsgd": 1}.get(self.algorithm)
        batch = self._wanted("batch", fixed is None) or fixed
        assert batch is not None
        gamma, zeta = self._wanted("gamma", recursive), self._wanted("zeta", recursive)
        if gamma is not None:
            check.weight(gamma=gamma)
        parties = self._wanted("parties", self.algorithm == "ddp-srm")
        first = self.batch_0 if self.batch_0 is not None and recursive else self._wanted("batch_0", False) or batch
        if (self.steps is None) == (self.epochs is None):
            raise check.ArgumentError("steps or epochs", self.steps, "must be given, and not both")
        steps, stages = self.steps, self._wanted("stages", self.algorithm == "dpageem")
        if stages is not None:
            if steps is None:
                raise check.ArgumentError("steps", steps, "must be given for dpageem, the steps T^0")
            K = check.whole(1, MOST_STEPS.bit_length(), stages=stages)
            steps = check.whole(1, MOST_STEPS, steps=steps) * ((2 << K) - 2)
        if steps is None:
            check.whole(1, n, batch=batch)
            passes = check.whole(1, MOST_STEPS, epochs=self.epochs)
            steps = max(1, round(passes * n / (2 * batch if recursive else batch)))
        method: Method = "dp-sgd" if self.algorithm == "dpageem" else self.algorithm
        return BatchRun(
            method, n, steps, int(batch), int(first), 1.0 if gamma is None else gamma,
            1.0 if zeta is None else zeta, self.lipschitz, 1 if parties is None else int(parties),
        )  # fmt: skip

    def _wanted(self, name: str, wanted: bool) -> float | None:
        value: float | None = getattr(self, name)
        if (value is None) == wanted:
            rule = "must be given for" if wanted else "does not belong to"
            raise check.ArgumentError(name, value, f"{rule} {self.algorithm}")
        return value


class NoiseRow(Record, frozen=True, kw_only=True):
    """One noise, and what it buys."""

    noise: Real  # over the sensitivity of a mean over all data
    std_0: Real  # deviation of a coordinate of the noise of the first estimate, and of the others
    std: Real
    epsilon: tuple[Real, Real]  # bounds of the smallest epsilon; the upper one is the guarantee
    certified: bool


class BatchCalibration(ShownAsTable, Record, frozen=True, kw_only=True):
    """An answer to: which noise?"""

    shown_by: ClassVar[str] = "dpverify.calibrate.tables:batch_calibration_table"

    schema: Literal[1] = 1
    algorithm: str
    epsilon: float
    delta: float
    n: int
    steps: int
    batch: int
    batch_0: int
    rate: float  # largest chance of an example to be in a later batch
    parties: int
    # "exact" is the least that is certified; for DP-SRM also "printed" and "proof", for its baselines "tracked", as
    # section 6.1 or their own papers have it, for DPageEM "constant"
    noise: dict[str, NoiseRow]
    warnings: list[str] = []  # conditions of the printed theorem that fail


def calibrate_batches(request: BatchRequest) -> BatchCalibration:
    """Calibrate the noise of a run to (epsilon, delta), for replacing one example."""
    run, epsilon, delta = request.run(), request.epsilon, request.delta
    rows: dict[str, Bought] = {}
    if run.method in RECURSIVE:
        for name, box in (("printed", True), ("proof", False)):
            rows[name] = bought(run, printed_noise(run, epsilon, delta, request.beta, box=box), delta)
    elif request.algorithm != "dpageem":
        tracked = tracked_ratio(run.method, run.examples, run.batch, run.steps, epsilon, delta)
        rows["tracked"] = bought(run, tracked * run.examples / run.batch, delta)
    else:
        rows["constant"] = bought(
            run, float(PROVEN["batches"]) * math.sqrt(-run.steps * math.log(delta)) / epsilon / 2, delta
        )
    rows["exact"] = needed(run, epsilon, delta)
    return BatchCalibration(
        algorithm=request.algorithm,
        epsilon=epsilon,
        delta=delta,
        n=run.examples,
        steps=run.steps,
        batch=run.batch,
        batch_0=run.batch_0,
        rate=run.rate(run.batch),
        parties=run.parties,
        noise={name: _row(run, found, epsilon) for name, found in rows.items()},
        warnings=list(_warnings(run, request, rows)),
    )


def _row(run: BatchRun, found: Bought, epsilon: float) -> NoiseRow:
    first, later = run.deviations(found.noise)
    ends = real(found.epsilon.lower), real(found.epsilon.upper)
    certified = found.epsilon.upper <= epsilon
    return NoiseRow(noise=real(found.noise), std_0=real(first), std=real(later), epsilon=ends, certified=certified)


def _warnings(run: BatchRun, request: BatchRequest, rows: dict[str, Bought]) -> Iterator[str]:
    """Conditions of Lemma 3.7, on which the printed noise rests, at each kind of step; and of the constant's region."""
    most = min(run.rate(run.batch) ** 2 * run.steps, -math.log(request.delta))
    if "constant" in rows and not request.epsilon < most:
        yield f"the constant of equation 4 is for epsilon below {most:.4g} here, (B/n)^2 T and log(1/delta)"
    order = printed_order(request.epsilon, request.delta, request.beta)
    for name, words in list(ROWS.items())[:2]:
        if name not in rows:
            continue
        for batch in sorted({run.batch_0, run.batch}):
            found = lemma_condition(run, batch, rows[name].noise, order)
            if not found.holds:
                shown = (
                    f"sigma'^2 = {found.ratio:.4g} and alpha - 1 = {found.order:.4g}, at most {found.most:.4g} by it"
                )
                yield f"Lemma 3.7 may not be used for the noise {words} at batches of {batch}: {shown}"


ROWS = {
    "printed": "as the algorithm's box prints it",
    "proof": "as the privacy theorem prints it",
    "constant": f"equation 4 with c_2 = {float(PROVEN['batches'])}",
    "tracked": "as the paper has it",
    "exact": "as the accountant certifies it",
}


def batch_summary(result: BatchCalibration) -> str:
    """Tell a calibration to a person, in several lines."""
    first = f", first batch {result.batch_0}" if result.algorithm in RECURSIVE else ""
    shared = f" from {result.parties} parties" if result.parties > 1 else ""
    lines = [
        f"{result.algorithm}: N = {result.n}, T = {result.steps} steps, batches of {result.batch}{shared}{first}",
        f"asked for: epsilon = {show_float(result.epsilon)}, delta = {show_float(result.delta)}",
        "",
        f"{'':34}{'deviation':>14}{'first':>14}{'epsilon at least':>18}{'and at most':>14}  certified",
    ]
    for name, row in result.noise.items():
        numbers = (
            f"{_show(v):>{w}}" for v, w in zip((row.std, row.std_0, *row.epsilon), (14, 14, 18, 14), strict=True)
        )
        lines.append(f"{ROWS[name]:34}{''.join(numbers)}  {'yes' if row.certified else 'NO'}")
    lines += ["", *(f"warning: {warning}" for warning in result.warnings)]
    if any(row.epsilon[0] == 0.0 and row.epsilon[1] != 0.0 for row in result.noise.values()):
        lines.append("at least 0: only the upper bound of epsilon is known there.")
    if any(0.0 < float(row.epsilon[0]) < WIDE * float(row.epsilon[1]) for row in result.noise.values()):
        lines.append(f"Between the two columns of epsilon: {GAP}.")
    lines.append("Replacing one example; batches drawn without replacement; real arithmetic, not floats.")
    return "\n".join(lines)


def _show(value: Real) -> str:
    return value if isinstance(value, str) else show_float(value, 6)
