"""The verdicts of each paper as one bar, in the order of the status words."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dpverify.ledger.records import Status
from dpverify.report.style import BLACK, BLUE, GREY, LIGHT, ORANGE, SKY, VERMILLION, WIDTH, canvas, root
from dpverify.report.words import MARKS, STATUSES

FILLS: Mapping[Status, tuple[str, str, str]] = {  # fill, hatch (tells them apart in grey), colour of the number
    "proved": (BLUE, "", "white"),
    "proved given": (BLUE, "....", "white"),
    "derived": (BLUE, "////", "white"),
    "argued": (SKY, "....", BLACK),
    "not refuted": (SKY, "", BLACK),
    "inconclusive": (ORANGE, "----", BLACK),
    "refuted": (VERMILLION, "////", BLACK),
    "untested": (LIGHT, "", BLACK),
}


def draw(totals: Mapping[str, Mapping[Status, int]]) -> Figure:
    """The figure. As wide as every figure, and as high as the number of papers asks."""
    axes = canvas(1.05 + 0.42 * len(totals), left=1.15, right=0.3, top=0.62, bottom=0.12)
    longest = max((sum(found.values()) for found in totals.values()), default=1) or 1
    for row, found in enumerate(totals.values()):
        _bar(axes, row, found, longest)
    axes.set_xlim(0, longest * 1.06)
    axes.set_ylim(len(totals) - 0.5, -0.5)
    axes.set_yticks(range(len(totals)), list(totals))
    axes.tick_params(length=0)
    axes.xaxis.set_visible(False)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    _legend(axes, totals)
    return root(axes)


def caption(totals: Mapping[str, Mapping[Status, int]]) -> str:
    """The numbers behind the bars, for those who do not see them."""
    papers = []
    for key, found in totals.items():
        told = ", ".join(f"{number} {status}" for status, number in found.items() if number)
        papers.append(f"{key}: {told or 'none'}")
    return f"Verdicts on the papers' claims by status. {'; '.join(papers)}."


def _bar(axes: Axes, row: int, found: Mapping[Status, int], longest: int) -> None:
    start = 0
    for status in STATUSES:
        number = found.get(status, 0)
        if not number:
            continue
        fill, hatch, ink = FILLS[status]
        axes.barh(row, number, left=start, height=0.62, color=fill, hatch=hatch, edgecolor="white", lw=1.2)
        room = number / longest > 0.024 * len(str(number))
        plain = {"boxstyle": "round,pad=0.16", "fc": fill, "ec": "none"} if hatch and room else None
        height, size, color = (row, 9.0, ink) if room else (row - 0.44, 7.5, BLACK)
        axes.text(
            start + number / 2, height, str(number), color=color, ha="center", va="center", bbox=plain, fontsize=size
        )
        start += number
    axes.text(start + longest * 0.012, row, str(start), color=GREY, ha="left", va="center", fontsize=8.5)


def _legend(axes: Axes, totals: Mapping[str, Mapping[Status, int]]) -> None:
    present = [status for status in STATUSES if any(found.get(status, 0) for found in totals.values())]
    handles = [
        Patch(facecolor=FILLS[status][0], hatch=FILLS[status][1], edgecolor="white", label=f"{MARKS[status]} {status}")
        for status in present
    ]
    figure = root(axes)
    figure.suptitle(
        "Verdicts on the papers' claims by status",
        x=0.1 / WIDTH,
        y=1 - 0.1 / figure.get_figheight(),
        ha="left",
        va="top",
        fontsize=10.5,
        fontweight="bold",
    )
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.0, 1 - 0.3 / figure.get_figheight()),
        ncols=len(handles),
        frameon=False,
        fontsize=8.5,
        handlelength=1.4,
        columnspacing=1.6,
    )
