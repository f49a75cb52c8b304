"""Drawings of utility theorems: bounds over N, and exact quantities.

- The bounds of a utility theorem and the trivial bound over N, and a table of the N at which they fall below it.
- An exact quantity over a parameter, with its bounds and simulated values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ROW_HEIGHT,
    VERMILLION,
    EndLabel,
    canvas,
    finish,
    log_scale,
    ticks_at,
    write_below,
)

KINDS = (
    ("printed", VERMILLION, (5, 2), "printed"),
    ("corrected", GREEN, (), "corrected"),
    ("needed", BLUE, (5, 1.5, 1, 1.5), "corrected,\nthe noise needed"),
)


@dataclass(frozen=True)
class Onset:
    """A kind of figure with bounds over N, and with a table of settings and of the onsets of the bounds.

    The onset of a bound is the N from which it is below the trivial bound.
    """

    # column, head, and place in the table in axes widths
    settings: Sequence[tuple[str, str, float]]
    # name in KINDS and place; the last is the bound with the noise needed
    bounds: Sequence[tuple[str, float]]
    scale: str  # scaling of the bounds in words
    letter: str = "N"
    units: str = "G = L = R = 1"

    @property
    def cells(self) -> list[str]:
        """Columns of the table: settings, onsets, and a lower bound on the last onset."""
        return [
            *(name for name, *_ in self.settings),
            *(f"cell-{name}" for name, _ in self.bounds),
            "cell-least",
        ]

    @property
    def shape(self) -> Shape:
        """The columns of the figure."""
        first, *later_cells = self.cells
        drawn = [name for name, _ in self.bounds]
        follows = {
            "needed": "needed-x",
            **dict.fromkeys(later_cells, first),
            "needed-x": "needed-x",
            first: first,
        }
        return Shape(
            required=("x", *drawn[:-1], "needed-x", "needed", first, *later_cells),
            follows=follows,
        )

    def draw(self, data: Data) -> Figure:
        """Draw the figure on logarithmic axes, with the trivial bound as a black line and the table below.

        In ``data``, ``x`` has increasing numbers of examples, and ``printed`` and ``corrected`` have the bounds in
        units of G. ``needed`` is the corrected bound with only the noise that is needed, over ``needed-x``. The columns
        ``cell-`` are the table: settings, and the N from which each bound is below 1. For the noise needed, the table
        has an upper bound (``cell-needed``) and a lower bound (``cell-least``) on this N.
        """
        rows = list(zip(*(data[name] for name in self.cells), strict=True))
        axes = canvas(
            3.9 + (len(rows) + 2) * ROW_HEIGHT / 72,
            bottom=0.75 + (len(rows) + 2) * ROW_HEIGHT / 72,
        )
        kinds = [kind for kind in KINDS if kind[0] in data]
        values = [value for name, *_ in kinds for value in data[name]]
        low = min(*values, 1.0) / 1.5
        high = max(values) * 1.5
        labels = [EndLabel(1.0, "trivial bound G", BLACK)]
        for name, color, dashes, words in kinds:
            x = data["needed-x"] if name == "needed" else data["x"]
            axes.plot(
                x, data[name], color=color, lw=1.6, dashes=dashes or (1, 0), zorder=3
            )
            if x[-1] < data["x"][-1]:
                end = (x[-1], data[name][-1])
                axes.plot(*end, ".", ms=6, color=color, zorder=3)
                axes.annotate(
                    words,
                    end,
                    (-7, 1),
                    textcoords="offset points",
                    color=color,
                    fontsize=8.5,
                    ha="right",
                    va="top",
                )
            else:
                labels.append(EndLabel(data[name][-1], words, color))
        axes.axhline(1.0, color=BLACK, lw=1.0, zorder=2)
        log_scale(axes, "x", data["x"][0], data["x"][-1])
        log_scale(axes, "y", low, high)
        title = (
            f"From which {self.letter} on the theorem says something",
            data.parameters,
        )
        figure = finish(
            axes,
            title,
            (f"{self.letter}, examples", "bound on the gradient / G"),
            labels,
        )
        self._table(axes, data, rows)
        return figure

    def _table(self, axes: Axes, data: Data, rows: Sequence[Sequence[float]]) -> None:
        """Write the table below the axes; the most common value of a setting is grey."""
        count = len(self.settings)
        heads = {name: words.partition(",\n")[2] or words for name, *_, words in KINDS}
        places = [
            *(place for *_, place in self.settings),
            *(place for _, place in self.bounds),
        ]
        names = [
            *(words for _, words, _ in self.settings),
            *(heads[name] for name, _ in self.bounds),
        ]
        write_below(
            axes,
            [(f"below G from {self.letter} =", places[count] - 0.06, 0, GREY)],
            down=44,
            ha="left",
        )
        text = [
            (word, place, 1, GREY) for word, place in zip(names, places, strict=True)
        ]
        usual = [
            max(data[name], key=list(data[name]).count) for name in self.cells[:count]
        ]
        for number, row in enumerate(rows):
            cells = [*(_words(value) for value in row[:-2]), _range(row[-1], row[-2])]
            for column, (word, place) in enumerate(zip(cells, places, strict=True)):
                common = column < count and row[column] == usual[column]
                text.append((word, place, number + 2, GREY if common else BLACK))
        write_below(axes, text, down=44)

    def caption(self, data: Data) -> str:
        """Return the caption, with the onsets of the hardest setting in the table."""
        hardest = max(
            range(len(data["cell-least"])), key=lambda row: data["cell-corrected"][row]
        )
        row = [data[name][hardest] for name in self.cells]
        count = len(self.settings)
        *settings, last = (
            f"{words} = {show_float(x)}"
            for (_, words, _), x in zip(self.settings, row, strict=False)
        )
        sizes = [*(_words(value) for value in row[count:-2]), _range(row[-1], row[-2])]
        names = [
            *(f"the {name} bound" for name, _ in self.bounds[:-1]),
            "the corrected bound with this noise",
        ]
        starts = [
            f"{name} from {self.letter} = {size} on"
            for name, size in zip(names, sizes, strict=True)
        ]
        drawn = ", ".join(name for name, _ in self.bounds[:-1])
        return (
            f"The bound of the theorem divided by G, over {self.letter} ({data.parameters}; {self.units}): {drawn}, "
            f"and corrected with only the noise that the accountant requires. {self.scale}. Each bound falls below the "
            f"trivial bound G at some {self.letter}. In the hardest row of the table "
            f"({', '.join(settings)} and {last}), this is so for {', '.join(starts[:-1])}, and {starts[-1]}."
        )


ONSET = Onset(
    (
        ("cell-d", "d", 0.04),
        ("cell-epsilon", "ε", 0.13),
        ("cell-delta", "δ", 0.23),
        ("cell-L", "L/G", 0.33),
        ("cell-R", "R/G", 0.43),
    ),
    (("printed", 0.57), ("corrected", 0.73), ("needed", 0.91)),
    "The bounds scale with G, L and R together, so that only L/G and R/G matter",
)
ONSET_OF_DROP = Onset(
    (
        ("cell-d", "d", 0.05),
        ("cell-epsilon", "ε", 0.18),
        ("cell-delta", "δ", 0.31),
        ("cell-drop", "L D/G²", 0.46),
    ),
    (("corrected", 0.66), ("needed", 0.88)),
    "D is a bound on F(w_1) - inf F, and only L D/G² matters",
    "n",
    "G = L D = 1",
)


def _range(low: float, high: float) -> str:
    """Return a range in words, or one number if both ends are equal."""
    return _words(high) if low == high else f"{_words(low)} to {_words(high)}"


def _words(value: float) -> str:
    return show_float(float(f"{value:.2g}"))


LINES = (
    ("exact", BLACK, (1, 0), "exact"),
    ("printed", VERMILLION, (5, 2), "printed"),
    ("corrected", GREEN, (1, 0), "corrected"),
    ("anyway", GREY, (1, 2), "holds anyway"),
)


@dataclass(frozen=True)
class AgainstBounds:
    """A kind of figure that shows an exact quantity with its bounds."""

    title: str  # name of the quantity
    over: str = "the number of stages"
    axis: str = "stages K"
    logarithmic: bool = False  # whether the x axis is logarithmic

    shape: ClassVar[Shape] = Shape(
        required=("x", "exact", "printed"),
        optional=("corrected", "anyway", "low", "high"),
    )

    def draw(self, data: Data) -> Figure:
        """Draw ``exact`` over x with its bounds, and with the confidence interval of runs from ``low`` to ``high``."""
        axes = canvas(3.2)
        labels = []
        for name, color, dashes, words in LINES:
            if name in data:
                axes.plot(
                    data["x"], data[name], color=color, lw=1.6, dashes=dashes, zorder=3
                )
                labels.append(EndLabel(data[name][-1], words, color))
        values = [value for name, *_ in LINES for value in data.get(name, ())]
        if "low" in data:
            axes.vlines(
                data["x"],
                data["low"],
                data["high"],
                color=BLUE,
                lw=4.0,
                alpha=0.6,
                zorder=4,
                clip_on=False,
            )
            labels.append(EndLabel(data["high"][-1], "simulated", BLUE))
            values += [*data["low"], *data["high"]]
        if self.logarithmic:
            log_scale(axes, "x", data["x"][0], data["x"][-1])
        else:
            axes.set_xlim(data["x"][0], data["x"][-1])
            ticks_at(axes, data["x"])
        log_scale(axes, "y", min(values) / 1.5, max(values) * 1.5)
        return finish(
            axes,
            (f"{self.title} and its bounds", data.parameters),
            (self.axis, "exact value, bounds"),
            labels,
        )

    def caption(self, data: Data) -> str:
        """Return the caption, with the ratios of bounds and exact value at the largest x."""
        ratios = [
            f"{words} bound over exact value: {show_float(data[name][-1] / data['exact'][-1], 3)}"
            for name, _, _, words in LINES[1:3]
            if name in data
        ]
        falls = "".join(
            self._below(data, name, words)
            for name, _, _, words in LINES[1:3]
            if name in data
        )
        runs = (
            " The intervals are 99% confidence intervals for the mean of runs."
            if "low" in data
            else ""
        )
        what = f"{self.title}, exact values over {self.over} ({data.parameters})"
        last = show_float(data["x"][-1])
        return f"{what}. At {self.axis[-1]} = {last}, {', '.join(ratios)}.{falls}{self._onset(data)}{runs}"

    def _below(self, data: Data, name: str, words: str) -> str:
        """Return a sentence with the largest x at which a bound is below the exact value; empty if there is none."""
        rows = zip(data["x"], data[name], data["exact"], strict=True)
        last = max((x for x, bound, exact in rows if bound < exact), default=None)
        return (
            ""
            if last is None
            else f" The {words} bound is below the exact value at {self.axis[-1]} = {show_float(last)}."
        )

    def _onset(self, data: Data) -> str:
        """Return a sentence on the smallest x at which the corrected bound is below the trivial bound."""
        if not {"corrected", "anyway"} <= data.keys():
            return ""
        rows = zip(data["x"], data["corrected"], data["anyway"], strict=True)
        first = next((x for x, bound, anyway in rows if bound < anyway), None)
        if first is None:
            return " The corrected bound is nowhere below the trivial bound."
        return f" The corrected bound is below the trivial bound from {self.axis[-1]} = {show_float(first)} on."


RISK = AgainstBounds("Excess empirical risk on a quadratic")
RISK_OVER_N = AgainstBounds(
    "Excess empirical risk on a quadratic", "the number of examples", "examples n", True
)
STABILITY = AgainstBounds("Uniform stability on quadratics")
