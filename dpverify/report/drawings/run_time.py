"""Run time of two forms of one algorithm over the number of steps, with their operation counts."""

from __future__ import annotations

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import (
    BLUE,
    GREY,
    VERMILLION,
    EndLabel,
    canvas,
    finish,
    log_scale,
    ticks_at,
)

FORMS = (  # columns, colours, markers and labels; the columns of fits have this order
    ("literal", VERMILLION, "o", "Algorithm 4\nas printed"),
    ("stream", BLUE, "D", "the stream"),
)

FITS = ("fit", "fit-low", "fit-high")

SHAPE = Shape(
    required=("x", "literal", "stream"),
    optional=(
        *(f"{name}-{part}" for name, *_ in FORMS for part in ("low", "high", "adds")),
        *FITS,
    ),
    follows={"fit-low": "fit", "fit-high": "fit"},
)


def draw(data: Data) -> Figure:
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


def caption(data: Data) -> str:
    """Return the caption, with the exponents and the ratio of the times at the largest T."""
    ratio = data["literal"][-1] / data["stream"][-1]
    grows = ""
    if "fit" in data:
        literal, stream = (_interval(data, place) for place in (0, 1))
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


def _interval(data: Data, place: int) -> str:
    middle, *ends = (
        show_float(round(data[part][place], 2)) for part in FITS if part in data
    )
    return f"{middle} ({' to '.join(ends)})" if ends else middle


def _fit(data: Data, place: int) -> str:
    return (
        f"\nT to the power {show_float(round(data['fit'][place], 2))}"
        if "fit" in data
        else ""
    )
