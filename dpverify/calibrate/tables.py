"""Headlines, rows and summaries of calibrations, for terminals, Python prompts, notebooks and data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.calibrate.records import BatchCalibration, Real
from dpverify.papers.zhang2021.accounting.constants import PROVEN
from dpverify.privacy.batches import GAP, WIDE_FRACTION
from dpverify.privacy.gaussian import mu_of
from dpverify.privacy.schedule import RELATIONS
from dpverify.report.numbers import show_float
from dpverify.report.result_tables import Cell, ResultTable

if TYPE_CHECKING:
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


ROWS = {
    "printed": "as the algorithm's box prints it",
    "proof": "as the privacy theorem prints it",
    "constant": f"equation 4 with c_2 = {float(PROVEN['batches'])}",
    "tracked": "as the paper has it",
    "poisson": "certified for Poisson samples",
    "exact": "as the accountant certifies it",
    "fixed": "certified for a known order",
    "shuffled": "certified for shuffled epochs",
    "truncated-poisson": "certified for cut Poisson samples",
    "balls-in-bins": "certified for balls in bins",
    "random-allocation": "certified for random allocation",
}


def batch_summary(result: BatchCalibration) -> str:
    """Return a summary of the calibration in several lines."""
    first = f", first batch {result.batch_0}" if "proof" in result.noise else ""
    shared = f" from {result.parties} parties" if result.parties > 1 else ""
    lines = [
        f"{result.algorithm}: N = {result.n}, T = {result.steps} steps, batches of {result.batch}{shared}{first}",
        requested_line(result.epsilon, result.delta),
        "",
        f"{'':33}{'std':>10}{'first std':>10}{'epsilon >=':>11}{'<=':>11}  ok",
    ]
    for name, row in result.noise.items():
        values = zip((row.std, row.std_0, *row.epsilon), (10, 10, 11, 11), strict=True)
        numbers = "".join(f"{_show(value):>{width}}" for value, width in values)
        lines.append(f"{ROWS[name]:33}{numbers}  {'yes' if row.certified else 'NO'}")
    lines += ["", *(f"warning: {warning}" for warning in result.warnings)]
    if any(
        row.epsilon[0] == 0.0 and row.epsilon[1] != 0.0 for row in result.noise.values()
    ):
        lines.append("epsilon >= 0: only the upper bound of epsilon is known there.")
    if any(
        0.0 < float(row.epsilon[0]) < WIDE_FRACTION * float(row.epsilon[1])
        for row in result.noise.values()
    ):
        lines.append(f"Why the bounds of epsilon differ: {GAP}.")
    lines += [
        "std: standard deviation of the noise of a coordinate; first std: the same in the first step.",
        "epsilon >=, <=: bounds of the smallest epsilon; ok: whether the requested epsilon is certified.",
        "Neighbours differ by replacing one example. Batches are drawn without replacement.",
        "The numbers are for real arithmetic, not for floats.",
    ]
    if "poisson" in result.noise:
        lines.append("With Poisson samples, neighbours have one example more or less.")
    for name in result.noise.keys() & RELATIONS.keys():
        replaced = "replace-one" in RELATIONS[name]
        relation = (
            "differ by replacing one example"
            if replaced
            else "have one example more or less"
        )
        lines.append(f"With sampling {name}, neighbours {relation}.")
        if name == "shuffled":
            lines.append(
                "No amplification is proven for shuffled epochs: the noise is that of a known order."
            )
    return "\n".join([*lines, "", _advice(result)])


def _advice(result: BatchCalibration) -> str:
    """Return a sentence on the noise to implement."""
    row = result.noise["exact"]
    later = (
        f"Gaussian noise with standard deviation {_show(row.std)} to each coordinate of"
    )
    if "proof" not in result.noise:
        length = show_float(result.lipschitz)
        multiplier = _show(float(row.std) * result.batch / result.lipschitz)
        advice = f"Add {later} the mean gradient of each batch, with each example's gradient clipped to norm {length}."
        poisson = result.noise.get("poisson")
        sampled = (
            ""
            if poisson is None
            else f", with Poisson samples {_show(float(poisson.std) * result.batch / result.lipschitz)}"
        )
        for name in result.noise.keys() & RELATIONS.keys():
            practised = _show(
                float(result.noise[name].std) * result.batch / result.lipschitz
            )
            sampled += f", with sampling {name} {practised}"
        return f"{advice}\nOn the sum of the clipped gradients, this is the noise multiplier {multiplier}{sampled}."
    first = f"Gaussian noise with standard deviation {_show(row.std_0)} to each coordinate of the first estimate"
    return f"Add {first}, and {later} each later estimate, with clipped gradients and gradient changes."


def _show(value: Real) -> str:
    return value if isinstance(value, str) else show_float(value, 5)
