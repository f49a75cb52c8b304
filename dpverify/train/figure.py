"""The figure of a training run: loss and gradient norm over the steps."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpverify.algorithms.settings import Settings, options
from dpverify.report import style
from dpverify.report.numbers import show_float
from dpverify.train.records import TrainResult

HEIGHT = 4.6
# margins in inches
LEFT = 0.85
RIGHT = 0.35
TOP = 0.62
BOTTOM = 0.5
GAP = 0.3


GREEK = {"sigma": "σ", "alpha": "α", "eta": "η", "gamma": "γ", "zeta": "ζ", "rho": "ρ"}


def draw(result: TrainResult) -> Figure:
    """Draw loss and gradient norm over the same steps, in two panels."""
    steps = [point.step for point in result.path]
    figure = Figure(figsize=(style.WIDTH, HEIGHT))
    panel = (HEIGHT - TOP - BOTTOM - GAP) / 2
    width = 1 - (LEFT + RIGHT) / style.WIDTH
    upper = figure.add_axes(
        (LEFT / style.WIDTH, (BOTTOM + panel + GAP) / HEIGHT, width, panel / HEIGHT)
    )
    lower = figure.add_axes(
        (LEFT / style.WIDTH, BOTTOM / HEIGHT, width, panel / HEIGHT), sharex=upper
    )
    _line(upper, steps, [point.loss for point in result.path], "loss F(w)", style.BLUE)
    _line(
        lower,
        steps,
        [point.gradient_norm for point in result.path],
        "gradient norm ‖∇F(w)‖",
        style.VERMILLION,
    )
    upper.tick_params(labelbottom=False)
    upper.set_xlim(0, max(steps[-1], 1))
    lower.set_xlabel("step t")
    figure.align_ylabels()
    style.heading(upper, f"{result.algorithm} on {result.data.name}", subtitle(result))
    return figure


def _line(
    axes: Axes, steps: Sequence[int], values: Sequence[float], label: str, color: str
) -> None:
    axes.plot(
        steps,
        values,
        color=color,
        linewidth=1.6,
        marker="o" if len(steps) == 1 else "",
        clip_on=False,
    )
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)


def subtitle(result: TrainResult) -> str:
    """Return a line with the run's settings and its privacy."""
    s = result.settings
    numbers: list[tuple[str, float]] = [("N", result.data.n), ("d", result.data.d)]
    for name, option in options(type(s)).items():
        value = getattr(s, name)
        if name not in options(Settings) and isinstance(value, int | float):
            numbers.append(
                (GREEK.get(option.setting.letter, option.setting.letter), value)
            )
    text = ", ".join(
        f"{letter} = {show_float(float(value), 3)}" for letter, value in numbers
    )
    stopped = (
        f", stopped after {result.path[-1].step} of {s.steps} steps"
        if result.interrupted
        else ""
    )
    privacy = "privacy: not certified"
    if result.epsilon is not None and result.delta is not None:
        privacy = (
            f"ε = {show_float(result.epsilon, 3)}, δ = {show_float(result.delta, 3)}"
        )
    return f"{text}{stopped}; {privacy}"


def svg(result: TrainResult) -> bytes:
    """Return the figure of a run as SVG. The same numbers give the same bytes."""
    return style.to_svg(
        lambda: draw(result),
        f"{result.algorithm} on {result.data.name}: loss and gradient norm",
    )
