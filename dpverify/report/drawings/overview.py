"""The claims of each paper as one bar: claims that hold in blue, refuted claims by severity."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dpverify.report.style import (
    BLACK,
    BLUE,
    GREY,
    LIGHT,
    ORANGE,
    SKY,
    VERMILLION,
    WIDTH,
    canvas,
    figure_of,
)
from dpverify.report.words import OUTCOMES, Outcome, outcome_label

# fill, hatch (to distinguish fills in grey), colour of the number
FILLS: Mapping[Outcome, tuple[str, str, str]] = {
    "proved": (BLUE, "", "white"),
    "proved given": (BLUE, "....", "white"),
    "argued": (SKY, "....", BLACK),
    "not refuted": (SKY, "", BLACK),
    "not refuted on witnesses": (SKY, "////", BLACK),
    "inconclusive": (LIGHT, "----", BLACK),
    "untested": (LIGHT, "", BLACK),
    "misprint": ("#fff3d6", "", BLACK),
    "proof": ("#f9dfa5", "", BLACK),
    "boundary": ("#f3c766", "", BLACK),
    "constant": (ORANGE, "", BLACK),
    "utility": ("#e8813a", "", BLACK),
    "privacy": ("#9c2f00", "", "white"),
    "refuted": (VERMILLION, "////", BLACK),
}
# heights in inches
ROW = 0.55
LEGEND_ROW = 0.2
COLUMNS = 5  # of the legend


def draw(totals: Mapping[str, Mapping[Outcome, int]]) -> Figure:
    """Draw the figure. Its height depends on the numbers of papers and outcomes."""
    present = [
        outcome
        for outcome in OUTCOMES
        if any(counts.get(outcome, 0) for counts in totals.values())
    ]
    top = 0.45 + LEGEND_ROW * -(-len(present) // COLUMNS)
    axes = canvas(
        top + 0.12 + ROW * len(totals), left=1.15, right=0.6, top=top, bottom=0.12
    )
    longest = max((sum(counts.values()) for counts in totals.values()), default=1) or 1
    axes.set_xlim(0, longest * 1.01)
    axes.set_ylim(len(totals) - 0.5, -0.5)
    for row, counts in enumerate(totals.values()):
        _bar(axes, row, counts, longest)
    axes.set_yticks(range(len(totals)), list(totals))
    axes.tick_params(length=0)
    axes.xaxis.set_visible(False)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    _legend(axes, present)
    return figure_of(axes)


def caption(totals: Mapping[str, Mapping[Outcome, int]]) -> str:
    """Return the numbers of the bars in words, for readers who cannot see the figure."""
    papers = []
    for key, counts in totals.items():
        counts_text = ", ".join(
            f"{counts[outcome]} {outcome}"
            for outcome in OUTCOMES
            if counts.get(outcome, 0)
        )
        papers.append(f"{key}: {counts_text or 'none'}")
    return f"Claims of each paper, by status; refuted ones by severity. {'; '.join(papers)}."


def _bar(axes: Axes, row: int, counts: Mapping[Outcome, int], longest: int) -> None:
    start = 0
    lifted = False  # whether the previous number is written above the bar
    for outcome in OUTCOMES:
        number = counts.get(outcome, 0)
        if not number:
            continue
        fill, hatch, ink = FILLS[outcome]
        axes.barh(
            row,
            number,
            left=start,
            height=0.56,
            color=fill,
            hatch=hatch,
            edgecolor="white",
            lw=1.0,
        )
        has_room = number / longest > 0.017 * len(str(number)) + 0.004
        lifted = not has_room and not lifted
        above = row - 0.4 if lifted else row + 0.4
        axes.text(
            start + number / 2,
            row if has_room else above,
            str(number),
            color=ink if has_room else BLACK,
            ha="center",
            va="center",
            bbox={"boxstyle": "round,pad=0.16", "fc": fill, "ec": "none"}
            if hatch and has_room
            else None,
            fontsize=9.0 if has_room else 7.0,
        )
        start += number
    axes.text(
        start + longest * 0.012,
        row,
        str(start),
        color=GREY,
        ha="left",
        va="center",
        fontsize=8.5,
    )


def _legend(axes: Axes, present: list[Outcome]) -> None:
    handles = [
        Patch(
            facecolor=FILLS[outcome][0],
            hatch=FILLS[outcome][1],
            edgecolor=GREY,
            lw=0.4,
            label=outcome_label(outcome),
        )
        for outcome in present
    ]
    figure = figure_of(axes)
    figure.suptitle(
        "Claims of each paper, by status; refuted ones by severity",
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
        ncols=COLUMNS,
        frameon=False,
        fontsize=8.0,
        handlelength=1.4,
        columnspacing=1.2,
        labelspacing=0.3,
    )
