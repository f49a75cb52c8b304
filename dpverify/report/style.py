"""How figures look, and how they become bytes that do not depend on machine, user settings or time.

Colours are those of Okabe and Ito, told apart under every colour blindness; lines also differ in dash and shade, so
that a print in grey still reads. matplotlib's global settings are put aside while a figure is drawn and restored.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from dpverify.report.numbers import show_float

BLACK = "#1a1a1a"
BLUE = "#0072B2"
SKY = "#56B4E9"
GREEN = "#009E73"
ORANGE = "#E69F00"
VERMILLION = "#D55E00"
GREY = "#6b6b6b"
LIGHT = "#dcdcdc"

WIDTH = 7.6  # width of a figure in inches; 547 points, what GitHub's column holds with room to spare

_SETTINGS = Path(__file__).with_name("figures.mplstyle")


@contextmanager
def look() -> Iterator[None]:
    """The settings under which figures are drawn and written; whatever the user had comes back afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(mpl.rc_params_from_file(_SETTINGS, use_default_template=False))
        yield


def to_svg(draw: Callable[[], Figure], title: str) -> bytes:
    """Draw a figure and give it as SVG: the same bytes on every call, its letters as outlines."""
    out = io.BytesIO()
    with look():
        figure = draw()
        metadata = {"Title": title, "Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(out, format="svg", metadata=metadata)
    return b"\n".join(line.rstrip() for line in out.getvalue().splitlines()) + b"\n"


def canvas(height: float, *, left: float = 0.75, right: float = 1.75, top: float = 0.62, bottom: float = 0.55) -> Axes:
    """Axes on a figure of fixed size. The axes; :func:`root` gives their figure."""
    figure = Figure(figsize=(WIDTH, height))
    return figure.add_axes((left / WIDTH, bottom / height, 1 - (left + right) / WIDTH, 1 - (top + bottom) / height))


def root(axes: Axes) -> Figure:
    """The figure that axes stand on."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise RuntimeError("axes: they stand on no figure")
    return figure


def heading(axes: Axes, title: str, subtitle: str) -> None:
    """A title, and under it one quiet line about the data."""
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
    """Plain numbers on a logarithmic axis: 1, 2, 5, 10 over a short range, powers of ten over a long one."""
    steps = (1.0, 2.0, 5.0) if high / low < 300 else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: show_float(value)))


def log_scale(axes: Axes, which: Literal["x", "y"], low: float, high: float) -> None:
    """A logarithmic axis from ``low`` to ``high``, with plain numbers."""
    axes.set(**{f"{which}scale": "log", f"{which}lim": (low, high)})
    logarithmic(axes.xaxis if which == "x" else axes.yaxis, low, high)


def ticks_at(axes: Axes, x: Sequence[float]) -> None:
    """A tick at each of these places, and nowhere else."""
    axes.xaxis.set_ticks(x, [show_float(value) for value in x])
    axes.xaxis.set_ticks([], minor=True)
