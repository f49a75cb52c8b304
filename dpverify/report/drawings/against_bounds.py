"""One exact quantity over a parameter beside what bounds it, and what runs gave for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import BLACK, BLUE, GREEN, GREY, VERMILLION, EndLabel, canvas, finish, log_scale, ticks_at

LINES = (
    ("exact", BLACK, (1, 0), "exact"),
    ("printed", VERMILLION, (5, 2), "printed"),
    ("corrected", GREEN, (1, 0), "corrected"),
    ("anyway", GREY, (1, 2), "holds anyway"),
)


@dataclass(frozen=True)
class AgainstBounds:
    """A kind of figure, of the quantity that its title names."""

    title: str
    over: str = "the number of stages"
    axis: str = "stages K"
    logarithmic: bool = False  # the axis of x

    SHAPE: ClassVar[Shape] = Shape(required=("x", "exact", "printed"), optional=("corrected", "anyway", "low", "high"))

    def draw(self, data: Data) -> Figure:
        """The figure: ``exact`` over x, its bounds, and the interval from ``low`` to ``high`` that runs gave."""
        axes = canvas(3.2)
        labels = []
        for name, color, dashes, words in LINES:
            if name in data:
                axes.plot(data["x"], data[name], color=color, lw=1.6, dashes=dashes, zorder=3)
                labels.append(EndLabel(data[name][-1], words, color))
        values = [value for name, *_ in LINES for value in data.get(name, ())]
        if "low" in data:
            axes.vlines(data["x"], data["low"], data["high"], color=BLUE, lw=4.0, alpha=0.6, zorder=4, clip_on=False)
            labels.append(EndLabel(data["high"][-1], "simulated", BLUE))
            values += [*data["low"], *data["high"]]
        if self.logarithmic:
            log_scale(axes, "x", data["x"][0], data["x"][-1])
        else:
            axes.set_xlim(data["x"][0], data["x"][-1])
            ticks_at(axes, data["x"])
        log_scale(axes, "y", min(values) / 1.5, max(values) * 1.5)
        return finish(
            axes, (f"{self.title} and its bounds", data.parameters), (self.axis, "exact value, bounds"), labels
        )

    def caption(self, data: Data) -> str:
        """What the figure shows, with the ratios at its end."""
        ratios = [
            f"{words} bound over exact value: {show_float(data[name][-1] / data['exact'][-1], 3)}"
            for name, _, _, words in LINES[1:3]
            if name in data
        ]
        falls = "".join(self._below(data, name, words) for name, _, _, words in LINES[1:3] if name in data)
        runs = " The intervals are 99% confidence intervals for the mean of runs." if "low" in data else ""
        what = f"{self.title}, exact values over {self.over} ({data.parameters})"
        last = show_float(data["x"][-1])
        return f"{what}. At {self.axis[-1]} = {last}, {', '.join(ratios)}.{falls}{self._onset(data)}{runs}"

    def _below(self, data: Data, name: str, words: str) -> str:
        """Say the largest x at which a bound is below what is exact."""
        rows = zip(data["x"], data[name], data["exact"], strict=True)
        last = max((x for x, bound, exact in rows if bound < exact), default=None)
        return (
            ""
            if last is None
            else f" The {words} bound is below the exact value at {self.axis[-1]} = {show_float(last)}."
        )

    def _onset(self, data: Data) -> str:
        """From where on the corrected bound is below the trivial bound."""
        if not {"corrected", "anyway"} <= data.keys():
            return ""
        rows = zip(data["x"], data["corrected"], data["anyway"], strict=True)
        first = next((x for x, bound, anyway in rows if bound < anyway), None)
        if first is None:
            return " The corrected bound is nowhere below the trivial bound."
        return f" The corrected bound is below the trivial bound from {self.axis[-1]} = {show_float(first)} on."


RISK = AgainstBounds("Excess empirical risk on a quadratic")
RISK_OVER_N = AgainstBounds("Excess empirical risk on a quadratic", "the number of examples", "examples n", True)
STABILITY = AgainstBounds("Uniform stability on quadratics")
