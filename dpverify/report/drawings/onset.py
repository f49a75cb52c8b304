"""Bounds of a utility theorem over N against the trivial bound, and a table of where each falls below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LINE,
    VERMILLION,
    EndLabel,
    canvas,
    finish,
    log_scale,
    write_below,
)

KINDS = (
    ("printed", VERMILLION, (5, 2), "printed"),
    ("corrected", GREEN, (), "corrected"),
    ("needed", BLUE, (5, 1.5, 1, 1.5), "corrected,\nthe noise needed"),
)


@dataclass(frozen=True)
class Onset:
    """A kind of figure: columns of settings with their heads and places, and then those of the bounds' onsets."""

    settings: Sequence[tuple[str, str, float]]  # places are parts of the width
    bounds: Sequence[tuple[str, float]]  # of KINDS; the last one is the noise needed
    scale: str  # what the bounds scale with, in words
    letter: str = "N"
    units: str = "G = L = R = 1"

    @property
    def cells(self) -> list[str]:
        """Columns of the table: settings, onsets, and the lower bound of the last of them."""
        return [*(name for name, *_ in self.settings), *(f"cell-{name}" for name, _ in self.bounds), "cell-least"]

    @property
    def SHAPE(self) -> Shape:  # noqa: N802  # as of a module of drawings
        """The columns."""
        first, *later_cells = self.cells
        drawn = [name for name, _ in self.bounds]
        follows = {"needed": "needed-x", **dict.fromkeys(later_cells, first), "needed-x": "needed-x", first: first}
        return Shape(required=("x", *drawn[:-1], "needed-x", "needed", first, *later_cells), follows=follows)

    def draw(self, data: Data) -> Figure:
        """The figure.

        ``data``: ``x`` numbers of examples, increasing, with the bounds ``printed`` and ``corrected`` in units of G;
        ``needed`` the corrected bound with less noise, over its own ``needed-x``. The columns ``cell-`` are the table:
        settings, and the N from which each bound is below 1: with the noise needed for an upper and for a lower bound
        of it. Both axes logarithmic, the trivial bound as a black line, the table below.
        """
        rows = list(zip(*(data[name] for name in self.cells), strict=True))
        axes = canvas(3.9 + (len(rows) + 2) * LINE / 72, bottom=0.75 + (len(rows) + 2) * LINE / 72)
        kinds = [kind for kind in KINDS if kind[0] in data]
        values = [value for name, *_ in kinds for value in data[name]]
        low = min(*values, 1.0) / 1.5
        high = max(values) * 1.5
        labels = [EndLabel(1.0, "trivial bound G", BLACK)]
        for name, color, dashes, words in kinds:
            x = data["needed-x"] if name == "needed" else data["x"]
            axes.plot(x, data[name], color=color, lw=1.6, dashes=dashes or (1, 0), zorder=3)
            if x[-1] < data["x"][-1]:
                end = (x[-1], data[name][-1])
                axes.plot(*end, ".", ms=6, color=color, zorder=3)
                axes.annotate(
                    words, end, (-7, 1), textcoords="offset points", color=color, fontsize=8.5, ha="right", va="top"
                )
            else:
                labels.append(EndLabel(data[name][-1], words, color))
        axes.axhline(1.0, color=BLACK, lw=1.0, zorder=2)
        log_scale(axes, "x", data["x"][0], data["x"][-1])
        log_scale(axes, "y", low, high)
        title = f"From which {self.letter} on the theorem says something", data.parameters
        figure = finish(axes, title, (f"{self.letter}, examples", "bound on the gradient / G"), labels)
        self._table(axes, data, rows)
        return figure

    def _table(self, axes: Axes, data: Data, rows: Sequence[Sequence[float]]) -> None:
        """Write the table below the axes; the most common value of a setting is grey."""
        count = len(self.settings)
        heads = {name: words.partition(",\n")[2] or words for name, *_, words in KINDS}
        places = [*(place for *_, place in self.settings), *(place for _, place in self.bounds)]
        names = [*(words for _, words, _ in self.settings), *(heads[name] for name, _ in self.bounds)]
        write_below(axes, [(f"below G from {self.letter} =", places[count] - 0.06, 0, GREY)], down=44, ha="left")
        text = [(word, place, 1, GREY) for word, place in zip(names, places, strict=True)]
        usual = [max(data[name], key=list(data[name]).count) for name in self.cells[:count]]
        for number, row in enumerate(rows):
            cells = [*(_words(value) for value in row[:-2]), _range(row[-1], row[-2])]
            for column, (word, place) in enumerate(zip(cells, places, strict=True)):
                common = column < count and row[column] == usual[column]
                text.append((word, place, number + 2, GREY if common else BLACK))
        write_below(axes, text, down=44)

    def caption(self, data: Data) -> str:
        """What the figure shows, with the onsets of the hardest row."""
        hardest = max(range(len(data["cell-least"])), key=lambda row: data["cell-corrected"][row])
        row = [data[name][hardest] for name in self.cells]
        count = len(self.settings)
        *settings, last = (f"{words} = {show_float(x)}" for (_, words, _), x in zip(self.settings, row, strict=False))
        sizes = [*(_words(value) for value in row[count:-2]), _range(row[-1], row[-2])]
        names = [*(f"the {name} bound" for name, _ in self.bounds[:-1]), "the corrected bound with this noise"]
        starts = [f"{name} from {self.letter} = {size} on" for name, size in zip(names, sizes, strict=True)]
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
    (("cell-d", "d", 0.05), ("cell-epsilon", "ε", 0.18), ("cell-delta", "δ", 0.31), ("cell-drop", "L D/G²", 0.46)),
    (("corrected", 0.66), ("needed", 0.88)),
    "D is a bound on F(w_1) - inf F, and only L D/G² matters",
    "n",
    "G = L D = 1",
)


def _range(low: float, high: float) -> str:
    """One number where both are the same, else both."""
    return _words(high) if low == high else f"{_words(low)} to {_words(high)}"


def _words(value: float) -> str:
    return show_float(float(f"{value:.2g}"))
