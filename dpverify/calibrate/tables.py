"""Headlines and rows of calibrations, for Python prompts, notebooks and data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.calibrate.records import Real
from dpverify.privacy.gaussian import mu_of
from dpverify.report.notebook.table import Cell, ResultTable
from dpverify.report.numbers import show_float

if TYPE_CHECKING:
    from dpverify.calibrate.batches import BatchCalibration
    from dpverify.calibrate.by_name import SettingsCalibration
    from dpverify.calibrate.growing import GrowingCalibration
    from dpverify.calibrate.records import Calibration


def requested_line(epsilon: float, delta: float) -> str:
    """Return a line with the requested epsilon and delta, and the mu of the Gaussian mechanism that has them."""
    numbers = f"epsilon = {show_float(epsilon)}, delta = {show_float(delta)}"
    return f"requested: {numbers} (Gaussian DP: mu = {show_float(mu_of(epsilon, delta), 4)})"


def calibration_table(result: Calibration) -> ResultTable:
    """Return the table for Algorithms 1 and 2 of tran2022: rows for the printed, the proved and the certified sigma."""
    rows: list[dict[str, Cell]] = []
    for name in ("printed", "proof", "exact"):
        deviations = {
            f"deviation_{node}": float(getattr(trio, name))
            for node, trio in result.node_std.items()
        }
        rows.append(
            {
                "source": name,
                "sigma": float(getattr(result.sigma, name)),
                **deviations,
                "epsilon": float(getattr(result.bought, name)),
                "certified": result.certified[name],
            }
        )
    certified = f"sigma {show_float(float(result.sigma.exact))} is certified"
    printed = f"the paper prints {show_float(float(result.sigma.printed))}"
    run = f"N = {result.run.n}, T = {result.run.steps}"
    return ResultTable(f"{_request(result)}, {run}: {certified}; {printed}", rows)


def batch_calibration_table(result: BatchCalibration) -> ResultTable:
    """Return the table for methods on batches: a row for each noise."""
    rows: list[dict[str, Cell]] = [
        {
            "source": name,
            "deviation": float(row.std),
            "deviation_of_first": float(row.std_0),
            **_epsilon(row.epsilon),
            "certified": row.certified,
        }
        for name, row in result.noise.items()
    ]
    certified = f"deviation {show_float(float(result.noise['exact'].std))} is certified"
    run = f"N = {result.n}, T = {result.steps}, batches of {result.batch}"
    return ResultTable(f"{_request(result)}, {run}: {certified}", rows)


def growing_calibration_table(result: GrowingCalibration) -> ResultTable:
    """Return the table for DP-AGD: a row for each budget."""
    rows: list[dict[str, Cell]] = [
        {
            "source": name,
            "rho": float(row.rho),
            **_epsilon(row.epsilon),
            "choices": row.choices,
            "certified": row.certified,
        }
        for name, row in result.budget.items()
    ]
    certified = (
        f"budget rho = {show_float(float(result.budget['exact'].rho))} is certified"
    )
    return ResultTable(
        f"{_request(result)}, N = {result.n}, at most T = {result.steps}: {certified}",
        rows,
    )


def settings_calibration_table(result: SettingsCalibration) -> ResultTable:
    """Return the table for any other algorithm: one row."""
    rows: list[dict[str, Cell]] = [
        {"sigma": result.sigma, "epsilon_at_most": float(result.epsilon_at_most)}
    ]
    run = f"N = {result.n}, T = {result.settings['steps']}"
    return ResultTable(
        f"{_request(result)}, {run}: sigma {show_float(result.sigma)} is certified",
        rows,
    )


def _request(
    result: Calibration | BatchCalibration | GrowingCalibration | SettingsCalibration,
) -> str:
    return f"{result.algorithm}, epsilon = {show_float(result.epsilon)}, delta = {show_float(result.delta)}"


def _epsilon(ends: tuple[Real, Real]) -> dict[str, Cell]:
    """Return the bounds on the smallest epsilon as cells."""
    return {"epsilon_at_least": float(ends[0]), "epsilon_at_most": float(ends[1])}
