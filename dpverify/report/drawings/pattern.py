"""Where one example can come back inside a node of the tree, and how much each visit weighs."""

from __future__ import annotations

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import BLUE, GREEN, GREY, LIGHT, VERMILLION, EndLabel, canvas, finish

ROWS = (  # columns, words and colours, from the lowest row up
    ("printed", "as printed", VERMILLION),
    ("once", "one permutation\nfor all epochs", GREEN),
    ("fresh", "a fresh permutation\nin every epoch", BLUE),
)

SHAPE = Shape(
    required=("x", "weight"),
    optional=("epoch-x", "epoch", *(name for column, *_ in ROWS for name in (f"{column}-x", column))),
    follows={"epoch": "epoch-x", **{column: f"{column}-x" for column, *_ in ROWS}},
)

STEP = 1.45  # height of a row in units of the weight


def draw(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` the steps of the node, ``weight`` the weight of a term at each; for each of ``printed``, ``once``
    and ``fresh`` the steps of the visits, in ``printed-x`` and so on, and their weights; ``epoch-x`` the first steps of
    epochs inside the node, and ``epoch`` their numbers. Fixed in size; a row per pattern, its total beside it.
    """
    axes = canvas(4.3, right=1.95)
    drawn_rows = [row for row in ROWS if row[0] in data]
    x = data["x"]
    labels = []
    for place, (name, words, color) in enumerate(drawn_rows):
        base = place * STEP
        axes.plot(x, [base + value for value in data["weight"]], color=LIGHT, lw=1.2, zorder=1)
        axes.axhline(base, color=GREY, lw=0.6, zorder=2)
        tops = [base + weight for weight in data[name]]
        axes.vlines(data[f"{name}-x"], base, tops, color=color, lw=2.0, zorder=3)
        axes.plot(data[f"{name}-x"], tops, "o", ms=5, mfc=color, mec="white", mew=0.8, zorder=4)
        labels.append(EndLabel(base + 0.5, f"{words}:\n{show_float(sum(data[name]))}", color, joined=False))
    axes.set_xlim(x[0] - 0.5, x[-1] + 0.5)
    top = (len(drawn_rows) - 1) * STEP + 1.32
    axes.set_ylim(-0.12, top)
    axes.set_yticks([place * STEP + height for place in range(len(drawn_rows)) for height in (0, 1)])
    axes.set_yticklabels(["0", "1"] * len(drawn_rows))
    axes.grid(visible=False)
    for first, number in zip(data.get("epoch-x", ()), data.get("epoch", ()), strict=True):
        axes.axvline(first - 0.5, color=GREY, lw=0.8, dashes=(1.5, 2.5), zorder=0)
        axes.annotate(f"epoch {number:g}", (first - 0.3, top - 0.02), fontsize=7.5, color=GREY, va="top")
    subtitle = ";  ".join(filter(None, [data.parameters, "total weight beside each row"]))
    title = f"Where one example can be in the node [{x[0]:g}, {x[-1]:g}]", subtitle
    return finish(axes, title, ("step t", "weight of a visit, (1-α)^(z - t)"), labels)


def caption(data: Data) -> str:
    """What the figure shows, with the totals."""
    totals = [f"{words.replace(chr(10), ' ')} {show_float(sum(data[name]))}" for name, words, _ in ROWS if name in data]
    first = data["x"][0]
    last = data["x"][-1]
    parameters = f" ({data.parameters})" if data.parameters else ""
    return (
        f"Visits of one example in the node [{first:g}, {last:g}]{parameters}, at the steps with the largest total "
        "weight. This total is the sensitivity of the node divided by that of one term: "
        f"{', '.join(totals)}."
    )
