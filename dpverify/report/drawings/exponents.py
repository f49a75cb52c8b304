"""Drawings of growth with fitted exponents: simulated gradients over N, and run time over the number of steps.

- The simulated gradient of a utility theorem and its bounds over N, and a table of exponents with intervals.
- The run time of two forms of one algorithm over the number of steps, with their operation counts.
"""

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
    ROW_HEIGHT,
    VERMILLION,
    EndLabel,
    canvas,
    finish,
    log_scale,
    ticks_at,
    write_below,
)

BOUNDS = (
    ("printed", VERMILLION, (5, 2), "printed bound"),
    ("corrected", GREEN, (1, 0), "corrected bound"),
)
FITS = ("fit", "fit-low", "fit-high", "fit-bound", "fit-rate")
# variables of the exponents in the rows of the table, after the number of examples
ROWS = ("d", "ε")

HEADS = (
    "exponent in",
    "simulated, 99% interval",
    "corrected bound, same sizes",
    "rate without logarithms",
)
# positions of the columns of the table, in axes widths
PLACES = (0.07, 0.36, 0.73, 1.1)

COLUMNS = (
    "x",
    "simulated",
    "simulated-low",
    "simulated-high",
    "corrected",
    "steps",
    *FITS,
)
FOLLOWS = {"fit": "fit", **dict.fromkeys(FITS[1:], "fit")}


@dataclass(frozen=True)
class Slopes:
    """A kind of figure that compares simulated gradients with bounds over the number of examples."""

    letter: str  # the number of examples
    multiple: str  # the slope of the loss is a fixed multiple of this
    units: str
    prints: bool = True  # whether there is a printed bound with a constant

    @property
    def shape(self) -> Shape:
        """The columns of the figure."""
        return Shape(
            required=(*COLUMNS, *(("printed",) if self.prints else ())), follows=FOLLOWS
        )

    def draw(self, data: Data) -> Figure:
        """Draw the figure.

        In ``data``, ``x`` has increasing numbers of examples, and ``steps`` their numbers of steps T. The mean
        gradients ``simulated``, their intervals ``-low`` and ``-high``, and the bounds ``corrected`` and ``printed``
        are in units of G. The columns ``fit`` are the table, with a row for each of N, d and epsilon: the exponents of
        the runs with their intervals, of the corrected bound over the same sizes, and of the rate without logarithms.
        """
        tall = (len(ROWS) + 3) * ROW_HEIGHT / 72
        axes = canvas(3.7 + tall, bottom=0.75 + tall)
        x = data["x"]
        labels = [EndLabel(1.0, "trivial bound G", BLACK)]
        values = [1.0, *data["simulated-low"], *data["simulated-high"]]
        for name, color, dashes, words in (kind for kind in BOUNDS if kind[0] in data):
            axes.plot(x, data[name], color=color, lw=1.6, dashes=dashes, zorder=3)
            labels.append(EndLabel(data[name][-1], words, color))
            values += data[name]
        axes.vlines(
            x,
            data["simulated-low"],
            data["simulated-high"],
            color=BLUE,
            lw=2.4,
            alpha=0.5,
            zorder=4,
        )
        axes.plot(x, data["simulated"], "o-", ms=4, lw=1.2, color=BLUE, zorder=5)
        labels.append(
            EndLabel(data["simulated"][-1], "simulated\n(99% intervals)", BLUE)
        )
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
        title = (
            "Simulated gradient and bounds at the theorem's parameters",
            data.parameters,
        )
        figure = finish(axes, title, names, labels)
        self._table(axes, data)
        return figure

    def caption(self, data: Data) -> str:
        """Return the caption, with the exponents in N and the ratios of the corrected bound and the runs."""
        ratios = [
            bound / mean
            for bound, mean in zip(data["corrected"], data["simulated"], strict=True)
        ]
        inside = [
            n
            for n, bound in zip(data["x"], data["corrected"], strict=True)
            if bound < 1
        ]
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
            f"{_slopes_words(data['fit-bound'][0])}."
        )

    def _table(self, axes: Axes, data: Data) -> None:
        """Write the exponents below the axes."""
        text = [
            (head, place, 0, GREY) for head, place in zip(HEADS, PLACES, strict=True)
        ]
        for number, name in enumerate((self.letter, *ROWS)):
            row = (
                name,
                _interval(data, number),
                _slopes_words(data["fit-bound"][number]),
                _slopes_words(data["fit-rate"][number]),
            )
            text += [
                (word, place, number + 1, BLACK)
                for word, place in zip(row, PLACES, strict=True)
            ]
        write_below(axes, text, down=48)


SLOPES = Slopes("N", "sqrt(N/T)", "G = L = R = 1")
SLOPES_OF_ACCURACY = Slopes("n", "the accuracy ζ", "G = L = D = 1", prints=False)


def _interval(data: Data, row: int) -> str:
    middle, low, high = (_slopes_words(data[name][row]) for name in FITS[:3])
    return f"{middle} ({low} to {high})"


def _slopes_words(value: float) -> str:
    return show_float(round(value, 3))


FORMS = (  # columns, colours, markers and labels; the columns of fits have this order
    ("literal", VERMILLION, "o", "Algorithm 4\nas printed"),
    ("stream", BLUE, "D", "the stream"),
)

RUN_TIME_FITS = ("fit", "fit-low", "fit-high")

RUN_TIME_SHAPE = Shape(
    required=("x", "literal", "stream"),
    optional=(
        *(f"{name}-{part}" for name, *_ in FORMS for part in ("low", "high", "adds")),
        *RUN_TIME_FITS,
    ),
    follows={"fit-low": "fit", "fit-high": "fit"},
)


def draw_run_time(data: Data) -> Figure:
    """Draw the figure on logarithmic axes.

    In ``data``, ``x`` has the numbers of steps T. ``literal`` and ``stream`` have the median seconds of a complete run
    over rounds, ``-low`` and ``-high`` the middle 80% of the rounds, and ``-adds`` the numbers of vector additions.
    ``fit``, ``fit-low`` and ``fit-high`` have the fitted exponents in T of both forms with their intervals. Operation
    counts are scaled so that the last one equals the last measured time.
    """
    axes = canvas(4.0, right=1.95)
    x = data["x"]
    labels = []
    values = list[float]()
    for place, (name, color, marker, words) in enumerate(FORMS):
        times = data[name]
        if f"{name}-low" in data and f"{name}-high" in data:
            axes.fill_between(
                x,
                data[f"{name}-low"],
                data[f"{name}-high"],
                color=color,
                alpha=0.18,
                lw=0,
            )
            values += [*data[f"{name}-low"], *data[f"{name}-high"]]
        if f"{name}-adds" in data:
            adds = data[f"{name}-adds"]
            counted = [times[-1] * count / adds[-1] for count in adds]
            axes.plot(x, counted, color=GREY, lw=1.0, dashes=(4, 2), zorder=1)
            values += counted
        axes.plot(
            x,
            times,
            marker=marker,
            ms=4.5,
            mfc="white",
            mec=color,
            color=color,
            lw=1.5,
            zorder=3,
        )
        values += times
        labels.append(EndLabel(times[-1], words + _fit(data, place), color))
    low = min(values) / 1.6
    high = max(values) * 1.6
    log_scale(axes, "x", min(x) / 1.1, max(x) * 1.1)
    ticks_at(axes, x)
    # for a range this long, only powers of ten are labelled
    log_scale(axes, "y", low, high * 300)
    axes.set_ylim(low, high)
    counts = (
        "dashed: operation counts"
        if any(f"{name}-adds" in data for name, *_ in FORMS)
        else ""
    )
    title = (
        "Run time of the reconstruction",
        ";  ".join(filter(None, [data.parameters, counts])),
    )
    return finish(axes, title, ("steps T", "seconds for all T steps, one core"), labels)


def run_time_caption(data: Data) -> str:
    """Return the caption, with the exponents and the ratio of the times at the largest T."""
    ratio = data["literal"][-1] / data["stream"][-1]
    grows = ""
    if "fit" in data:
        literal, stream = (_run_time_interval(data, place) for place in (0, 1))
        grows = f" The literal form grows as T to the power {literal}, the stream as {stream} (medians, 99% intervals)."
    adds = ""
    if "literal-adds" in data and "stream-adds" in data:
        counted = data["literal-adds"][-1] / data["stream-adds"][-1]
        adds = f", {show_float(round(counted, 1))} times in counted additions"
    steps = show_float(data["x"][-1])
    return (
        f"Measured run time of Algorithm 4 at every step, as printed and as a stream, over T.{grows} At T = {steps} "
        f"the printed form takes {show_float(round(ratio, 1))} times as long{adds}."
    )


def _run_time_interval(data: Data, place: int) -> str:
    middle, *ends = (
        show_float(round(data[part][place], 2))
        for part in RUN_TIME_FITS
        if part in data
    )
    return f"{middle} ({' to '.join(ends)})" if ends else middle


def _fit(data: Data, place: int) -> str:
    return (
        f"\nT to the power {show_float(round(data['fit'][place], 2))}"
        if "fit" in data
        else ""
    )
