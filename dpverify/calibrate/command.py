"""The work of ``dpverify calibrate``: takes plain arguments, writes text or JSON, and returns an exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Literal

from dpverify.algorithms.registry import ALGORITHMS
from dpverify.calibrate.by_name import (
    AnyCalibration,
    SettingsCalibration,
    calibration,
    settings_summary,
)
from dpverify.calibrate.growing import GrowingCalibration, budget_summary
from dpverify.calibrate.guarantee import epsilon
from dpverify.calibrate.records import BatchCalibration, Calibration, Real, real
from dpverify.calibrate.tables import batch_summary, requested_line
from dpverify.kernels.check import ArgumentError
from dpverify.ledger.records import Record, encode
from dpverify.report.files import STDOUT, answer, write_json
from dpverify.report.numbers import show_float
from dpverify.report.text.paragraphs import prose_wrapped


def run_calibrate(
    algorithm: str | None = None, *, json: str | None = None, **run: Any
) -> int:
    """Calibrate an algorithm, write text or JSON (``-``: to stdout), and return the exit code.

    With ``sigma`` instead of ``epsilon``, the command bounds the epsilon of that noise.
    """

    def work() -> bool:
        sigma = run.pop("sigma", None)
        result = (
            calibration(algorithm, **run)
            if sigma is None
            else noise_epsilon(algorithm, sigma, **run)
        )
        if json != STDOUT:
            sys.stdout.write(prose_wrapped(_text(result)) + "\n")
        if json is not None:
            write_json("json", json, encode(result))
        if json not in (None, STDOUT):
            sys.stdout.write(f"wrote {json}\n")
        return False

    return answer(work, json)


def _text(result: AnyCalibration | NoiseEpsilon) -> str:
    match result:
        case BatchCalibration():
            return batch_summary(result)
        case GrowingCalibration():
            return budget_summary(result)
        case SettingsCalibration():
            return settings_summary(result)
        case NoiseEpsilon():
            return epsilon_summary(result)
        case Calibration():
            return summary(result)


class NoiseEpsilon(Record, frozen=True, kw_only=True):
    """Bounds on the epsilon of a run with a given noise."""

    schema: Literal[1] = 1
    algorithm: str
    sigma: float
    delta: float
    epsilon: tuple[Real, Real]


def noise_epsilon(
    algorithm: str | None, sigma: float, *, delta: float | None = None, **run: Any
) -> NoiseEpsilon:
    """Bound the epsilon of a run with this noise, as ``dv.epsilon`` does."""
    name = algorithm or next(iter(ALGORITHMS))
    if "epsilon" in run:
        raise ArgumentError("sigma", sigma, "must be left out where epsilon is given")
    if delta is None:
        raise ArgumentError("delta", delta, "must be given with sigma")
    bounds = epsilon(sigma, delta, algorithm=name, **run)
    return NoiseEpsilon(
        algorithm=name,
        sigma=sigma,
        delta=delta,
        epsilon=(real(bounds.lower), real(bounds.upper)),
    )


def epsilon_summary(result: NoiseEpsilon) -> str:
    """Return a summary of the epsilon of a noise."""
    low, high = map(_show, result.epsilon)
    settings = f"sigma = {_show(result.sigma)}, delta = {_show(result.delta)}"
    return (
        f"{result.algorithm} with {settings}: the smallest epsilon is at least {low} and at most {high}.\n{UNIT}\n"
        "The upper bound is certified. Neighbours differ by replacing one example. Real arithmetic, not floats."
    )


UNIT = (
    "Here sigma means what --help says of --sigma. With sampled batches it is the standard deviation of the noise of "
    "the mean gradient, which is the noise multiplier times the clip length, divided by the batch size."
)
ROUNDING = 1e-9  # relative distance up to which two bounds are printed as one number

ROWS = {"printed": "as printed", "proof": "proof supports", "exact": "certified"}


def summary(result: Calibration) -> str:
    """Return a summary of the calibration in several lines."""
    return "\n".join((*_run(result), "", *_table(result), "", *_ending(result)))


def _run(result: Calibration) -> Iterator[str]:
    r = result.run
    epochs = show_float(r.steps / r.n)
    yield f"{result.algorithm}: N = {r.n}, d = {r.d}, T = {r.steps} steps ({epochs} epochs), {r.ordering} ordering"
    gamma = f", gamma = {_show(r.gamma)}" if len(result.node_std) > 1 else ""
    weights = f"alpha = {_show(r.alpha)}{gamma}, eta = {_show(r.eta)}"
    yield f"{weights}, G = {show_float(r.lipschitz)}, L = {show_float(r.smoothness)}"
    yield requested_line(result.epsilon, result.delta)


def _table(result: Calibration) -> Iterator[str]:
    nodes = list(result.node_std)
    header = ["", "sigma", *nodes, "epsilon", "ok"]
    rows = [header]
    for name, words in ROWS.items():
        deviations = [_show(getattr(result.node_std[node], name)) for node in nodes]
        buys = _show(getattr(result.bought, name))
        yes = "yes" if result.certified[name] else "NO"
        rows.append([words, _show(getattr(result.sigma, name)), *deviations, buys, yes])
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        yield "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )


def _ending(result: Calibration) -> Iterator[str]:
    theorem = result.theorem
    name = theorem.claim.partition(":")[2].replace("-", " ").capitalize()
    alpha = _show(theorem.alpha)
    yield f"{name} prints T = {theorem.steps:.6g}, and for the T above alpha = {alpha}, eta = {_show(theorem.eta)}."
    nodes = ", ".join(result.node_std)
    yield f"sigma: noise multiplier; {nodes}: standard deviation of a node's noise; ok: whether sigma is certified."
    for warning in result.warnings:
        yield f"warning: {warning}."
    if not result.certified["printed"]:
        at = f"at epsilon = {show_float(result.epsilon)} delta is {result.delta_bought:.4g}"
        yield f"warning: the printed sigma is NOT enough: {at}."
    yield from _gap(result)
    noises = ", ".join(
        f"{_show(trio.exact)} ({node})" for node, trio in result.node_std.items()
    )
    sigma = _show(result.sigma.exact)
    yield f"Run {result.algorithm} with sigma = {sigma}: standard deviation of a node's noise {noises}."
    yield "Neighbours differ by replacing one example. Gradients have norm at most G. Real arithmetic, not floats."


def _gap(result: Calibration) -> Iterator[str]:
    """Yield sentences on how far the certified sigma may be from the smallest sufficient one."""
    least, sigma = result.sigma_bounds
    low, high = (f"{value:.6g}" for value in result.epsilon_bounds)
    certified = f"The accountant certifies epsilon <= {high} at sigma = {sigma:.6g}"
    if sigma <= least * (1.0 + ROUNDING):
        yield f"{certified}; its lower bound is the same: no smaller sigma suffices."
    else:
        saved = f"{100.0 * (1.0 - least / sigma):.2g}%"
        yield f"{certified}; its lower bound there is {low}."
        yield f"A tighter accountant could save at most {saved} of this noise: sigma cannot be below {least:.6g}."
    if len(result.node_std) > 1:
        yield f"Both bounds assume the largest change of each node of {result.algorithm}; a run may reveal less."


def _show(value: Real) -> str:
    return value if isinstance(value, str) else show_float(value, 6)
