"""A training run in words: what is being run, how it went, and what nobody should conclude from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpverify.report.numbers import show_float
from dpverify.train.result import Point, TrainResult

SHOWN = 11  # points of the path that the summary prints, the first and the last among them


def summary(result: TrainResult) -> str:
    """Tell the run to a person, in several lines."""
    return "\n".join((*_setting(result), "", *_table(result.path), "", *_ending(result)))


def _setting(result: TrainResult) -> Iterator[str]:
    s, c, data = result.settings, result.constants, result.data
    alpha, eta, sigma, lam = (show_float(x) for x in (s.alpha, s.eta, s.sigma, s.lam))
    gamma = f", gamma = {show_float(s.gamma)}" if result.algorithm == "sr-nsgd" else ""
    classes = " and ".join(data.classes)
    yield f"{result.algorithm} on {data.name}: N = {data.n}, d = {data.d}, classes {classes}"
    chosen = f"alpha = {alpha}{gamma}, eta = {eta}, sigma = {sigma}"
    yield f"T = {s.steps} steps, {chosen}, {s.ordering} ordering, seed {s.seed}"
    bounds = f"G = {c.lipschitz:.6g}, L = {c.smoothness:.6g}, F(w_1) - inf F <= {c.gap:.6g}"
    yield f"certified: {bounds} (lam = {lam}, rows: {s.scale})"
    counts = ", ".join(f"{name} = {show_float(value)}" for name, value in c.counts.items())
    deviations = ", ".join(f"{show_float(value)} ({name})" for name, value in c.node_std.items())
    levels = f" for {s.depth} levels" if result.algorithm == "dp-nsgd" else ""
    yield f"deviation of a node's noise: {deviations}"
    yield f"counts of nodes: {counts}, as printed{levels}"


def _table(path: Sequence[Point]) -> Iterator[str]:
    yield f"{'step':>10}  {'loss':>12}  {'gradient norm':>13}"
    last = len(path) - 1
    chosen = sorted({round(i * last / (SHOWN - 1)) for i in range(SHOWN)})
    for point in (path[i] for i in chosen):
        loss = f"{point.loss:.6f}" if point.loss < 1e5 else f"{point.loss:.4e}"
        yield f"{point.step:>10}  {loss:>12}  {point.gradient_norm:>13.6f}"


def _counted(result: TrainResult) -> str:
    number = max(len(result.path) - 1, 1)
    return f"{number} iterate" + ("s" if number > 1 else "")


def _ending(result: TrainResult) -> Iterator[str]:
    done = result.path[-1].step
    if result.interrupted:
        yield f"stopped after {done} of {result.settings.steps} steps"
    last, mean = result.path[-1].gradient_norm, result.mean_gradient_norm
    yield f"gradient norm: {last:.6f} at the last iterate, {mean:.6f} at a random one (mean over {_counted(result)})"
    yield f"{done} steps in {result.seconds:.2f} s, measurements and first compilation included"
    yield f"privacy: {result.privacy}"
    yield from (f"  {note}" for note in result.notes)
