"""Panels in two rows with the same axes: something over the steps, part by part, as points beside its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dpverify.report.drawings.columns import Data
from dpverify.report.style import BLACK, GREEN, GREY, VERMILLION, WIDTH, logarithmic

KINDS = (("printed", VERMILLION, (5, 2)), ("corrected", GREEN, (5, 1.5, 1, 1.5)))  # columns, colour, dashes

# inches
LEFT = 0.7
RIGHT = 0.15
BOTTOM = 0.5
GAP_X = 0.16
GAP_Y = 0.42


@dataclass(frozen=True)
class Sheet:
    """What is drawn and how large."""

    parts: Sequence[tuple[str, str]]  # the end of the columns' names, and what stands over the panel
    points: str  # the beginning of the names of the columns that are drawn as points
    height: float  # of the figure, and of the words above the panels; inches
    top: float
    across: int = 3  # panels of a row

    def draw(self, data: Data, low: float, high: float, title: str, lines: Sequence[str]) -> Figure:
        """Draw the figure. Two rows of panels."""
        figure = Figure(figsize=(WIDTH, self.height))
        wide = (WIDTH - LEFT - RIGHT - (self.across - 1) * GAP_X) / self.across
        tall = (self.height - self.top - BOTTOM - GAP_Y) / 2
        for place, (part, name) in enumerate(self.parts):
            column = place % self.across
            row = place // self.across
            left = LEFT + column * (wide + GAP_X)
            bottom = BOTTOM + (1 - row) * (tall + GAP_Y)
            axes = figure.add_axes((left / WIDTH, bottom / self.height, wide / WIDTH, tall / self.height))
            self._panel(axes, data, part)
            axes.set_title(name, fontsize=9, pad=4)
            axes.set_ylim(low, high)
            axes.set_yscale("log")
            logarithmic(axes.yaxis, low, high)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
            axes.tick_params(labelleft=column == 0, labelbottom=row == 1)
            if row == 1:
                axes.set_xlabel("step t")
        x = 0.1 / WIDTH
        figure.text(x, 1 - 0.1 / self.height, title, va="top", fontsize=10.5, fontweight="bold")
        for number, line in enumerate(lines):
            figure.text(x, 1 - (0.32 + 0.18 * number) / self.height, line, va="top", fontsize=8.5, color=GREY)
        return figure

    def _panel(self, axes: Axes, data: Data, part: str) -> None:
        x = data["x"]
        values = data[f"{self.points}-{part}"]
        positive = [(t, value) for t, value in zip(x, values, strict=True) if value > 0]
        if positive:
            axes.plot(*zip(*positive, strict=True), ".", ms=2.4, mec="none", mfc=BLACK, zorder=4)
        for kind, color, dashes in KINDS:
            if (name := f"{kind}-{part}") in data:
                axes.plot(x, data[name], color=color, lw=1.5, dashes=dashes, zorder=3)
        axes.set_xlim(x[0] - 0.5, x[-1] + 0.5)
