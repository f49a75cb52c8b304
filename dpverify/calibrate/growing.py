"""The privacy budget of DP-AGD: by the conversion in its paper, and the largest that is certified."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from dpverify.algorithms.settings import SettingInfo, whole
from dpverify.calibrate.records import CalibrationRequest, Real, real
from dpverify.calibrate.tables import requested_line
from dpverify.kernels import check
from dpverify.ledger.records import Record
from dpverify.papers.wang2019.accounting.runs import agd_parameters, spends
from dpverify.privacy.batches import MOST_STEPS, check_delta, check_epsilon
from dpverify.privacy.growing_budget import shared_epsilon
from dpverify.report.numbers import show_float
from dpverify.shown import ShownAsTable


class GrowingRequest(CalibrationRequest, frozen=True, kw_only=True):
    """A request for DP-AGD; each choice of a step size spends epsilon/(2 ``parts``)."""

    steps: Annotated[
        int, SettingInfo("T", "Largest number of steps.", whole(1, MOST_STEPS))
    ] = 100
    parts: Annotated[
        float,
        SettingInfo(
            "parts",
            "Each choice of a step size spends epsilon/(2 PARTS).",
            check.positive,
        ),
    ] = 8.0
    lipschitz: Annotated[
        float, SettingInfo("C", "Clip length of gradients.", check.positive)
    ] = 1.0
    loss_clip: Annotated[
        float, SettingInfo("C'", "Clip length of the loss.", check.positive)
    ] = 3.0

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        super().__post_init__()

    def answer(self) -> GrowingCalibration:
        """Return the calibration."""
        return calibrate_budget(self)


class BudgetRow(Record, frozen=True, kw_only=True):
    """A budget and the epsilon that it gives."""

    rho: Real
    # lower and upper bound on the smallest epsilon; the upper bound is the guarantee
    epsilon: tuple[Real, Real]
    certified: bool  # whether the upper bound is at most the requested epsilon
    # largest number of choices that the budget can pay, each with a first direction
    choices: int


class GrowingCalibration(ShownAsTable, Record, frozen=True, kw_only=True):
    """The result of a calibration of DP-AGD."""

    shown_by: ClassVar[str] = "dpverify.calibrate.tables:growing_calibration_table"

    schema: Literal[1] = 1
    algorithm: str
    epsilon: float
    delta: float
    n: int
    steps: int
    # standard deviation of a coordinate of the noise of a first direction
    direction_std: Real
    choice_scale: Real  # scale of the Laplace noise of each loss
    budget: dict[str, BudgetRow]  # "printed", and "exact", the largest certified budget


ROWS = {
    "printed": "as its paper converts it",
    "exact": "as the accountant certifies it",
}


def calibrate_budget(request: GrowingRequest) -> GrowingCalibration:
    """Calibrate the budget of DP-AGD to (epsilon, delta), for replace-one neighbours."""
    n = request.n
    steps = request.steps
    ready = {
        name: agd_parameters(
            request.epsilon,
            request.delta,
            request.parts,
            steps,
            request.lipschitz,
            printed=name == "printed",
        )
        for name in ROWS
    }
    rows = {}
    first = ready["exact"]
    for name, p in ready.items():
        ends = shared_epsilon(spends(p, n), request.delta)
        rows[name] = BudgetRow(
            rho=real(p.rho),
            epsilon=(real(ends.lower), real(ends.upper)),
            certified=ends.upper <= request.epsilon,
            choices=int(p.rho / (p.rho_choice + p.rho_direction)),
        )
    return GrowingCalibration(
        algorithm=request.algorithm,
        epsilon=request.epsilon,
        delta=request.delta,
        n=n,
        steps=steps,
        direction_std=real(
            2.0 * request.lipschitz / (n * math.sqrt(2.0 * first.rho_direction))
        ),
        choice_scale=real(
            2.0 * request.loss_clip / (n * math.sqrt(2.0 * first.rho_choice))
        ),
        budget=rows,
    )


def budget_summary(result: GrowingCalibration) -> str:
    """Return a summary of the calibration in several lines."""
    lines = [
        f"{result.algorithm}: N = {result.n}, at most T = {result.steps} steps, full gradients",
        requested_line(result.epsilon, result.delta),
        "",
        f"{'':31}{'rho':>11}{'epsilon >=':>12}{'<=':>10}{'choices':>9}  ok",
    ]
    for name, row in result.budget.items():
        numbers = "".join(
            f"{_show(v):>{w}}"
            for v, w in zip((row.rho, *row.epsilon), (11, 12, 10), strict=True)
        )
        lines.append(
            f"{ROWS[name]:31}{numbers}{row.choices:>9}  {'yes' if row.certified else 'NO'}"
        )
    lines += [
        "",
        "epsilon >=, <=: bounds of the smallest epsilon; ok: the noise is certified.",
        f"The noise of a first direction has standard deviation {_show(result.direction_std)} in each coordinate.",
        f"The noise of a choice has scale {_show(result.choice_scale)}.",
        "The budget is counted in zero-concentrated DP.",
        "The lower bound is for all releases on one data set, where choices reveal less than their budget allows.",
        "Neighbours differ by replacing one example. Real arithmetic, not floats.",
    ]
    return "\n".join(lines)


def _show(value: Real) -> str:
    return value if isinstance(value, str) else show_float(value, 6)
