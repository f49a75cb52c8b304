"""Simulated gradient of a utility theorem and its bounds over N, and a table of exponents with intervals."""

from __future__ import annotations

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
    ticks_at,
    write_below,
)

BOUNDS = (("printed", VERMILLION, (5, 2), "printed bound"), ("corrected", GREEN, (1, 0), "corrected bound"))
FITS = ("fit", "fit-low", "fit-high", "fit-bound", "fit-rate")
ROWS = ("d", "ε")  # what the rows of the table are exponents of, besides the number of examples

HEADS = ("exponent in", "simulated, 99% interval", "corrected bound, same sizes", "rate without logarithms")
PLACES = (0.07, 0.36, 0.73, 1.1)  # where the columns of the table stand, as parts of the axes' width

COLUMNS = ("x", "simulated", "simulated-low", "simulated-high", "corrected", "steps", *FITS)
FOLLOWS = {"fit": "fit", **dict.fromkeys(FITS[1:], "fit")}


@dataclass(frozen=True)
class Slopes:
    """A kind of figure: the letter of the number of examples, what the slope is a multiple of, and the units."""

    letter: str
    multiple: str
    units: str
    prints: bool = True  # whether there is a printed bound with a constant

    @property
    def SHAPE(self) -> Shape:  # noqa: N802  # as of a module of drawings
        """The columns."""
        return Shape(required=(*COLUMNS, *(("printed",) if self.prints else ())), follows=FOLLOWS)

    def draw(self, data: Data) -> Figure:
        """The figure.

        ``data``: ``x`` numbers of examples, increasing, with the mean gradients ``simulated``, their intervals ``-low``
        and ``-high``, the bounds ``corrected`` and ``printed``, all in units of G, and ``steps`` the T of each. The
        columns ``fit`` are the table, one row for each of N, d and epsilon: exponents of the runs with their intervals,
        of the corrected bound over the same sizes, and of the rate without logarithms.
        """
        tall = (len(ROWS) + 3) * LINE / 72
        axes = canvas(3.7 + tall, bottom=0.75 + tall)
        x = data["x"]
        labels = [EndLabel(1.0, "trivial bound G", BLACK)]
        values = [1.0, *data["simulated-low"], *data["simulated-high"]]
        for name, color, dashes, words in (kind for kind in BOUNDS if kind[0] in data):
            axes.plot(x, data[name], color=color, lw=1.6, dashes=dashes, zorder=3)
            labels.append(EndLabel(data[name][-1], words, color))
            values += data[name]
        axes.vlines(x, data["simulated-low"], data["simulated-high"], color=BLUE, lw=2.4, alpha=0.5, zorder=4)
        axes.plot(x, data["simulated"], "o-", ms=4, lw=1.2, color=BLUE, zorder=5)
        labels.append(EndLabel(data["simulated"][-1], "simulated\n(99% intervals)", BLUE))
        axes.axhline(1.0, color=BLACK, lw=1.0, zorder=2)
        positive = [value for value in values if value > 0]
        low = min(positive) / 1.6
        high = max(positive) * 1.6
        log_scale(axes, "x", x[0] / 1.1, x[-1] * 1.1)
        log_scale(axes, "y", low, high)
        ticks_at(axes, x)
        names = (
            f"{self.letter}, examples (the largest run has T = {show_float(max(data['steps']))} steps)",
            "mean gradient / G",
        )
        title = "Simulated gradient and bounds at the theorem's parameters", data.parameters
        figure = finish(axes, title, names, labels)
        self._table(axes, data)
        return figure

    def caption(self, data: Data) -> str:
        """What the figure shows, with the exponents in N and how far the corrected bound is above the runs."""
        ratios = [bound / mean for bound, mean in zip(data["corrected"], data["simulated"], strict=True)]
        inside = [n for n, bound in zip(data["x"], data["corrected"], strict=True) if bound < 1]
        comparison = (
            f"is below the trivial bound from {self.letter} = {show_float(inside[0])} on"
            if inside
            else "is vacuous at all of them"
        )
        return (
            "Mean gradient norm of runs with the parameters of the theorem, and the bounds of the theorem, over "
            f"{self.letter} ({data.parameters}; {self.units}). The loss has a slope that is a fixed multiple of "
            f"{self.multiple}. The corrected bound is {show_float(min(ratios), 3)} to "
            f"{show_float(max(ratios), 3)} times the simulated gradient at these sizes and {comparison}. As powers of "
            f"{self.letter}, the runs have the exponent {_interval(data, 0)} and the bound has "
            f"{_words(data['fit-bound'][0])}."
        )

    def _table(self, axes: Axes, data: Data) -> None:
        """Write the exponents below the axes."""
        text = [(head, place, 0, GREY) for head, place in zip(HEADS, PLACES, strict=True)]
        for number, name in enumerate((self.letter, *ROWS)):
            row = (name, _interval(data, number), _words(data["fit-bound"][number]), _words(data["fit-rate"][number]))
            text += [(word, place, number + 1, BLACK) for word, place in zip(row, PLACES, strict=True)]
        write_below(axes, text, down=48)


SLOPES = Slopes("N", "sqrt(N/T)", "G = L = R = 1")
SLOPES_OF_ACCURACY = Slopes("n", "the accuracy ζ", "G = L = D = 1", prints=False)


def _interval(data: Data, row: int) -> str:
    middle, low, high = (_words(data[name][row]) for name in FITS[:3])
    return f"{middle} ({low} to {high})"


def _words(value: float) -> str:
    return show_float(round(value, 3))
