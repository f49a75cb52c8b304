"""A sweep of the benchmarks: time or memory of each form over the size, both axes logarithmic, with fitted powers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dpverify.report.bench.words import show_bound, show_value
from dpverify.report.labels import EndLabel, end_labels
from dpverify.report.numbers import show_float
from dpverify.report.style import BLUE, GREEN, GREY, ORANGE, SKY, VERMILLION, canvas, heading, logarithmic, root

DECADE = 10**0.5

LOOKS = ((GREY, "s"), (BLUE, "D"), (VERMILLION, "o"), (GREEN, "^"), (ORANGE, "v"), (SKY, "P"), (GREY, "X"))
"""Colour and marker of each line, the limit first."""


@dataclass(frozen=True)
class Line:
    """One form over the sizes."""

    label: str  # its name, and its fitted power
    sizes: Sequence[float]  # positive
    values: Sequence[float]
    low: Sequence[float]  # smallest and largest pass at each size
    high: Sequence[float]


def draw(title: str, subtitle: str, over: str, kind: str, unit: str, lines: Sequence[Line]) -> Figure:
    """The figure."""
    subtitle = "; ".join(filter(None, [subtitle, "median of the passes, and all of them"]))
    axes = canvas(3.6, left=0.95, right=2.0)
    labels = []
    for line, (color, marker) in zip(lines, LOOKS * (len(lines) // len(LOOKS) + 1), strict=False):
        axes.fill_between(line.sizes, line.low, line.high, color=color, alpha=0.18, lw=0)
        axes.plot(line.sizes, line.values, marker=marker, ms=4.5, mfc="white", mec=color, color=color, lw=1.5)
        labels.append(EndLabel(line.values[-1], line.label, color))
    sizes = sorted({size for line in lines for size in line.sizes})
    values = [value for line in lines for value in (*line.low, *line.high)]
    middle = (min(values) * max(values)) ** 0.5  # a decade or more is shown: what is flat shall look flat
    low, high = min(min(values) / 1.6, middle / DECADE), max(max(values) * 1.6, middle * DECADE)
    axes.set(xscale="log", yscale="log", xlabel=over, ylabel=unit)
    logarithmic(axes.yaxis, low, high)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: show_bound(value, kind)))
    axes.xaxis.set_ticks(_apart(sizes), [show_float(size) for size in _apart(sizes)])
    axes.xaxis.set_ticks([], minor=True)
    axes.set_xlim(sizes[0] / 1.1, sizes[-1] * 1.1)
    axes.set_ylim(low, high)
    heading(axes, title, subtitle)
    end_labels(axes, labels)
    return root(axes)


def _apart(sizes: Sequence[float]) -> list[float]:
    """Sizes far enough from each other that their labels do not touch."""
    step = (sizes[-1] / sizes[0]) ** (1 / 9)
    kept = [sizes[0]]
    for size in sizes[1:]:
        if size >= kept[-1] * step * 0.999:
            kept.append(size)
    return kept


def caption(title: str, over: str, unit: str, fits: Mapping[str, tuple[float, float, float]]) -> str:
    """What the figure shows, with the fitted powers."""
    grown = "; ".join(f"{form} grows as the power {_power(*values)}" for form, values in fits.items())
    return f"{title}: {unit} over {over}." + (f" In {over}, {grown}." if grown else "")


def _power(middle: float, low: float, high: float) -> str:
    return f"{show_value(middle, 'exponent')} ({show_value(low, 'exponent')} to {show_value(high, 'exponent')})"
