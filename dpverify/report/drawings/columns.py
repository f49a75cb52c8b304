"""Common parts of drawings: the columns of a figure with their parameters, and sheets of panels.

Columns are checked against the shape of the drawing. Some columns are parameters of the run. A sheet has two rows of
panels with the same axes. A panel shows one part of a quantity over the steps as points, with its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dpverify.report.collect import ReportError
from dpverify.report.numbers import show_float
from dpverify.report.style import BLACK, GREEN, GREY, VERMILLION, WIDTH, logarithmic

PARAMETER = "at:"  # a column ``at:N`` has one number, the parameter N of the run
NAMED_X = "x:"  # a column ``x:T`` is the column ``x``

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "eta": "η",
    "rho": "ρ",
    "sigma": "σ",
    "zeta": "ζ",
}


class Data(dict[str, Sequence[float]]):
    """The input of a drawing: its columns, whose values are all finite."""

    parameters: str  # the fixed parameters in words: ``N = 64, α = 0.25``


@dataclass(frozen=True)
class Shape:
    """The names of the columns of a drawing."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    # column to a column of equal length (default: the first)
    follows: Mapping[str, str] = field(default_factory=dict)


def read(name: str, columns: Mapping[str, Sequence[float]], shape: Shape) -> Data:
    """Check the columns of a figure, and separate the parameters from the data."""
    renamed = {
        "x" if column.startswith(NAMED_X) else column: values
        for column, values in columns.items()
    }
    fixed = {
        column: values
        for column, values in renamed.items()
        if column.startswith(PARAMETER)
    }
    drawn = {
        column: values for column, values in renamed.items() if column not in fixed
    }
    allowed = [*shape.required, *shape.optional]
    for column in shape.required:
        if not drawn.get(column):
            raise ReportError(f"figure={name!r}: column {column!r} is missing or empty")
    for column, values in renamed.items():
        if column not in allowed and column not in fixed:
            raise ReportError(
                f"figure={name!r}: column {column!r} is none of {', '.join(allowed)}, at:NAME"
            )
        model = drawn.get(shape.follows.get(column, ""), drawn[shape.required[0]])
        length = 1 if column in fixed else len(model)
        if column not in shape.follows.values() and len(values) != length:
            raise ReportError(
                f"figure={name!r}: column {column!r} has {len(values)} values where {length} are needed"
            )
        bad = next(
            (place for place, value in enumerate(values) if not math.isfinite(value)),
            None,
        )
        if bad is not None:
            raise ReportError(
                f"figure={name!r}: column {column!r}, value {bad}: {values[bad]} is not finite"
            )
    data = Data(drawn)
    data.parameters = _words(fixed)
    return data


def symbol(name: str) -> str:
    """Return the symbol for a name of our API: α for ``alpha``."""
    return GREEK.get(name, name)


def _words(fixed: Mapping[str, Sequence[float]]) -> str:
    named = {
        column.removeprefix(PARAMETER): values[0] for column, values in fixed.items()
    }
    theorem = named.pop("theorem", None)  # the number of a theorem, not a parameter
    words = [] if theorem is None else [f"Theorem {theorem:.0f}"]
    words += [
        f"{symbol(name)} = {show_float(value)}" for name, value in sorted(named.items())
    ]
    return ",  ".join(words)


# columns, colour, dashes
KINDS = (("printed", VERMILLION, (5, 2)), ("corrected", GREEN, (5, 1.5, 1, 1.5)))

# inches
LEFT = 0.7
RIGHT = 0.15
BOTTOM = 0.5
GAP_X = 0.16
GAP_Y = 0.42


@dataclass(frozen=True)
class Sheet:
    """The panels of a sheet and its size."""

    # ending of the columns' names, and title of the panel
    parts: Sequence[tuple[str, str]]
    points: str  # beginning of the names of the columns that are drawn as points
    height: float  # of the figure in inches
    top: float  # height of the text above the panels in inches
    across: int = 3  # panels per row

    def draw(
        self, data: Data, low: float, high: float, title: str, lines: Sequence[str]
    ) -> Figure:
        """Draw two rows of panels."""
        figure = Figure(figsize=(WIDTH, self.height))
        wide = (WIDTH - LEFT - RIGHT - (self.across - 1) * GAP_X) / self.across
        tall = (self.height - self.top - BOTTOM - GAP_Y) / 2
        for place, (part, name) in enumerate(self.parts):
            column = place % self.across
            row = place // self.across
            left = LEFT + column * (wide + GAP_X)
            bottom = BOTTOM + (1 - row) * (tall + GAP_Y)
            axes = figure.add_axes(
                (left / WIDTH, bottom / self.height, wide / WIDTH, tall / self.height)
            )
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
        figure.text(
            x, 1 - 0.1 / self.height, title, va="top", fontsize=10.5, fontweight="bold"
        )
        for number, line in enumerate(lines):
            figure.text(
                x,
                1 - (0.32 + 0.18 * number) / self.height,
                line,
                va="top",
                fontsize=8.5,
                color=GREY,
            )
        return figure

    def _panel(self, axes: Axes, data: Data, part: str) -> None:
        x = data["x"]
        values = data[f"{self.points}-{part}"]
        positive = [(t, value) for t, value in zip(x, values, strict=True) if value > 0]
        if positive:
            axes.plot(
                *zip(*positive, strict=True),
                ".",
                ms=2.4,
                mec="none",
                mfc=BLACK,
                zorder=4,
            )
        for kind, color, dashes in KINDS:
            if (name := f"{kind}-{part}") in data:
                axes.plot(x, data[name], color=color, lw=1.5, dashes=dashes, zorder=3)
        axes.set_xlim(x[0] - 0.5, x[-1] + 0.5)
