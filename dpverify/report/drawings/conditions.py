"""The largest part of the data in a batch with which the conditions of a theorem can hold, and settings in use."""

from __future__ import annotations

from bisect import bisect_right

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import BLACK, BLUE, VERMILLION, EndLabel, canvas, finish, log_scale

SHAPE = Shape(required=("x", "most", "settings", "rate"), follows={"settings": "settings", "rate": "settings"})


def draw(data: Data) -> Figure:
    """The figure: ``most`` over epsilon, and ``rate`` of each setting over its epsilon; both axes logarithmic."""
    axes = canvas(3.4)
    axes.plot(data["x"], data["most"], color=BLUE, lw=1.6, zorder=3)
    low = min(*data["most"], *data["rate"]) / 1.5
    axes.fill_between(data["x"], data["most"], low, color=BLUE, alpha=0.12, lw=0, zorder=1)
    for epsilon, rate, inside in _settings(data):
        axes.plot(
            epsilon, rate, marker="o", ms=4.5, mfc="white", mec=BLACK if inside else VERMILLION, mew=1.3, zorder=4
        )
    log_scale(axes, "x", data["x"][0], data["x"][-1])
    log_scale(axes, "y", low, max(*data["most"], *data["rate"]) * 1.5)
    circles = "circles: settings of the experiments, red where no noise will do"
    title = "Where the conditions can hold, with some noise", f"{data.parameters};  {circles}"
    return finish(axes, title, ("ε", "part of the data in a batch"), [EndLabel(data["most"][-1], "conditions", BLUE)])


def caption(data: Data) -> str:
    """What the figure shows, and how many settings lie outside."""
    settings = _settings(data)
    outside = sum(not inside for *_, inside in settings)
    return (
        f"Below the line, some noise satisfies the conditions ({data.parameters}). Above it, none does. The circles "
        f"are settings of the paper's experiments, and {outside} of {len(settings)} settings lie above the line. At "
        f"ε = {show_float(data['x'][0])} a batch may contain at most the fraction {show_float(data['most'][0])} of the "
        "data."
    )


def _settings(data: Data) -> list[tuple[float, float, bool]]:
    """Epsilon, part of the data, and whether it is below the line at the nearest smaller epsilon."""
    places = [max(bisect_right(data["x"], epsilon) - 1, 0) for epsilon in data["settings"]]
    pairs = zip(data["settings"], data["rate"], places, strict=True)
    return [(epsilon, rate, rate <= data["most"][place]) for epsilon, rate, place in pairs]
