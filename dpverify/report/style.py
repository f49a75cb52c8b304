"""The style of figures, and their conversion to bytes that do not depend on machine, user settings or time.

The colours are those of Okabe and Ito, which are distinguishable with every kind of colour blindness. Lines also differ
in dash and shade, so that figures are readable in grey. matplotlib's global settings are restored after drawing.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from dpverify.report.numbers import show_float
from dpverify.report.words import FIGURE_MARK

BLACK = "#1a1a1a"
BLUE = "#0072B2"
SKY = "#56B4E9"
GREEN = "#009E73"
ORANGE = "#E69F00"
VERMILLION = "#D55E00"
GREY = "#6b6b6b"
LIGHT = "#dcdcdc"

WIDTH = 7.6  # width of a figure in inches (547 points), which fits GitHub's column

_SETTINGS = Path(__file__).with_name("figures.mplstyle")


@contextmanager
def look() -> Iterator[None]:
    """Set matplotlib's settings for our figures in a context; the user's settings are restored afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            mpl.rc_params_from_file(_SETTINGS, use_default_template=False)
        )
        yield


def to_svg(draw: Callable[[], Figure], title: str) -> bytes:
    """Draw a figure and return it as SVG: the same bytes on every call, with letters as outlines."""
    out = io.BytesIO()
    with look():
        figure = draw()
        metadata = {
            "Title": title,
            "Date": None,
            "Creator": None,
            "Format": None,
            "Type": None,
        }
        figure.savefig(out, format="svg", metadata=metadata)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return b"\n".join([*lines, FIGURE_MARK.encode(), b""])


def canvas(
    height: float,
    *,
    left: float = 0.75,
    right: float = 1.75,
    top: float = 0.62,
    bottom: float = 0.55,
) -> Axes:
    """Return axes on a new figure of fixed width; :func:`figure_of` returns their figure."""
    figure = Figure(figsize=(WIDTH, height))
    return figure.add_axes(
        (
            left / WIDTH,
            bottom / height,
            1 - (left + right) / WIDTH,
            1 - (top + bottom) / height,
        )
    )


def figure_of(axes: Axes) -> Figure:
    """Return the figure of axes."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise RuntimeError("axes: must belong to a figure")
    return figure


def heading(axes: Axes, title: str, subtitle: str) -> None:
    """Write a title, and below it a grey line about the data."""
    axes.set_title(title)
    axes.annotate(
        subtitle,
        (0, 1),
        xytext=(0, 7),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8.5,
        color=GREY,
        va="bottom",
    )


def logarithmic(axis: Axis, low: float, high: float) -> None:
    """Set the ticks of a logarithmic axis: 1, 2, 5, 10 for a short range, powers of ten for a long range."""
    steps = (1.0, 2.0, 5.0) if high / low < 300 else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: show_float(value)))


def log_scale(axes: Axes, which: Literal["x", "y"], low: float, high: float) -> None:
    """Make an axis logarithmic from ``low`` to ``high``, with plain numbers at the ticks."""
    axes.set(**{f"{which}scale": "log", f"{which}lim": (low, high)})
    logarithmic(axes.xaxis if which == "x" else axes.yaxis, low, high)


def ticks_at(axes: Axes, x: Sequence[float]) -> None:
    """Put ticks at the given places only."""
    axes.xaxis.set_ticks(x, [show_float(value) for value in x])
    axes.xaxis.set_ticks([], minor=True)


ROW_HEIGHT = 14.0  # height of a row of a table below the axes, in points


@dataclass(frozen=True)
class EndLabel:
    """A label at the right end of a line: its height (data units), text, colour, and whether a thin line joins both."""

    y: float
    text: str
    color: str
    is_joined: bool = True


def finish(
    axes: Axes,
    title: tuple[str, str],
    names: tuple[str, str],
    labels: Sequence[EndLabel],
) -> Figure:
    """Write title and subtitle, the names of both axes and the labels of the lines; return the figure."""
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    heading(axes, *title)
    end_labels(axes, labels)
    return figure_of(axes)


def end_labels(axes: Axes, labels: Sequence[EndLabel]) -> None:
    """Write labels to the right of the axes at the heights of their lines, moved apart if they would overlap."""
    box = axes.get_window_extent()
    tall = box.height / figure_of(axes).dpi * 72
    entries = sorted(labels, key=lambda label: label.y)
    desired_heights = [
        (axes.transData.transform((0, label.y))[1] - box.y0) / box.height * tall
        for label in entries
    ]
    sizes = [11.5 * (label.text.count("\n") + 1) + 2 for label in entries]
    for label, height, desired in zip(
        entries, separated(desired_heights, sizes, tall), desired_heights, strict=True
    ):
        clipped = min(max(desired, 0.0), tall)
        joint = {
            "arrowstyle": "-",
            "color": label.color,
            "lw": 0.6,
            "shrinkA": 1,
            "relpos": (0, 0.5),
        }
        axes.annotate(
            label.text,
            (1, clipped / tall),
            xytext=(14, height - clipped),
            xycoords="axes fraction",
            textcoords="offset points",
            color=label.color,
            fontsize=8.5,
            va="center",
            linespacing=1.15,
            annotation_clip=False,
            arrowprops=joint if label.is_joined else None,
        )


def separated(
    desired: Sequence[float], sizes: Sequence[float], tall: float
) -> list[float]:
    """Return heights near the desired heights, in the same order, so that labels do not overlap or leave the axes."""
    heights = list(desired)
    for _ in range(200):
        moved = 0.0
        for lower in range(len(heights) - 1):
            gap = (sizes[lower] + sizes[lower + 1]) / 2 - (
                heights[lower + 1] - heights[lower]
            )
            if gap > 1e-9:
                heights[lower] -= gap / 2
                heights[lower + 1] += gap / 2
                moved += gap
        heights = [
            min(max(h, size / 2 - 6), tall - size / 2 + 6)
            for h, size in zip(heights, sizes, strict=True)
        ]
        if moved < 1e-6:
            break
    return heights


def write_below(
    axes: Axes,
    words: Iterable[tuple[str, float, int, str]],
    *,
    down: float,
    ha: str = "center",
) -> None:
    """Write a table below the axes. Each entry has a text, an x position in axes widths, a row from 0, and a colour."""
    for word, place, row, color in words:
        axes.annotate(
            word,
            (place, 0),
            xytext=(0, -down - ROW_HEIGHT * row),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8.5,
            color=color,
            ha=ha,
            annotation_clip=False,
        )
