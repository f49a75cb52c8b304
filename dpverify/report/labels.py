"""Labels at the ends of lines, instead of a legend that the eye has to travel to, and tables below the axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpverify.report.style import heading, root

LINE = 14.0  # height of a row of a table below the axes, in points


@dataclass(frozen=True)
class EndLabel:
    """A label at the right end of a line: its height (data units), text, colour, and whether a thin line joins them."""

    y: float
    text: str
    color: str
    joined: bool = True


def finish(axes: Axes, title: tuple[str, str], names: tuple[str, str], labels: Sequence[EndLabel]) -> Figure:
    """Write title and subtitle, the names of both axes and the labels of the lines. The figure, done."""
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    heading(axes, *title)
    end_labels(axes, labels)
    return root(axes)


def end_labels(axes: Axes, labels: Sequence[EndLabel], *, line_points: float = 11.5) -> None:
    """Write labels to the right of the axes, at their lines' height, moved apart where they would touch."""
    box = axes.get_window_extent()
    tall = box.height / root(axes).dpi * 72
    entries = sorted(labels, key=lambda label: label.y)
    wanted = [(axes.transData.transform((0, label.y))[1] - box.y0) / box.height * tall for label in entries]
    sizes = [line_points * (label.text.count("\n") + 1) + 2 for label in entries]
    for label, height, wish in zip(entries, apart(wanted, sizes, tall), wanted, strict=True):
        held = min(max(wish, 0.0), tall)
        joint = {"arrowstyle": "-", "color": label.color, "lw": 0.6, "shrinkA": 1, "relpos": (0, 0.5)}
        axes.annotate(
            label.text,
            (1, held / tall),
            xytext=(14, height - held),
            xycoords="axes fraction",
            textcoords="offset points",
            color=label.color,
            fontsize=8.5,
            va="center",
            linespacing=1.15,
            annotation_clip=False,
            arrowprops=joint if label.joined else None,
        )


def apart(wanted: Sequence[float], sizes: Sequence[float], tall: float) -> list[float]:
    """Heights near the wanted ones, in the same order, that leave each label its size and stay in the axes."""
    heights = list(wanted)
    for _ in range(200):
        moved = 0.0
        for lower in range(len(heights) - 1):
            gap = (sizes[lower] + sizes[lower + 1]) / 2 - (heights[lower + 1] - heights[lower])
            if gap > 1e-9:
                heights[lower] -= gap / 2
                heights[lower + 1] += gap / 2
                moved += gap
        heights = [min(max(h, size / 2 - 6), tall - size / 2 + 6) for h, size in zip(heights, sizes, strict=True)]
        if moved < 1e-6:
            break
    return heights


def write_below(axes: Axes, words: Iterable[tuple[str, float, int, str]], *, down: float, ha: str = "center") -> None:
    """Write a table below the axes: each text, how far right as a part of the width, its row from 0, its colour."""
    for word, place, row, color in words:
        axes.annotate(
            word,
            (place, 0),
            xytext=(0, -down - LINE * row),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8.5,
            color=color,
            ha=ha,
            annotation_clip=False,
        )
