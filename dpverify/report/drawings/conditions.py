"""Drawings of constants and conditions of privacy theorems, and of the visits of one example.

- The smallest sufficient constant in a theorem's noise, over epsilon, and the constant that is proved on a region.
- The largest sampling rate with which the conditions of a theorem can hold, and settings of experiments.
- The steps at which one example can return in a node of the tree, and the weight of each visit.
"""

from __future__ import annotations

from bisect import bisect_right

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LIGHT,
    VERMILLION,
    EndLabel,
    canvas,
    finish,
    log_scale,
)

CONSTANTS_SHAPE = Shape(
    required=("x", "low", "high", "region", "proved"),
    follows={"region": "region", "proved": "region"},
)


def draw_constants(data: Data) -> Figure:
    """Draw bounds ``low`` and ``high`` on the smallest constant; ``proved`` suffices on the ``region`` of epsilon."""
    axes = canvas(3.2)
    x = data["x"]
    labels = []
    axes.fill_between(
        x, data["low"], data["high"], color=BLUE, alpha=0.25, lw=0, zorder=2
    )
    axes.plot(x, data["high"], color=BLUE, lw=1.4, zorder=3)
    axes.plot(x, data["low"], color=BLUE, lw=0.8, zorder=3)
    axes.plot(data["region"], data["proved"], color=GREEN, lw=1.8, zorder=4)
    labels.append(EndLabel(data["high"][-1], "certified", BLUE))
    labels.append(EndLabel(data["low"][-1], "attained", BLUE))
    labels.append(
        EndLabel(data["proved"][-1], "argued,\nfor this region", GREEN, is_joined=False)
    )
    log_scale(axes, "x", x[0], x[-1])
    axes.set_ylim(0.0, 1.1 * max(*data["high"], *data["proved"]))
    title = "The constant that is needed", data.parameters
    return finish(axes, title, ("ε", "smallest constant"), labels)


def constants_caption(data: Data) -> str:
    """Return the caption, with the constant at both ends of the range of epsilon."""
    return (
        f"Upper and lower bounds on the smallest constant of the noise that is private ({data.parameters}). It is at "
        f"most {show_float(data['high'][0])} at ε = {show_float(data['x'][0])}, and at least "
        f"{show_float(data['low'][-1])} at ε = {show_float(data['x'][-1])}. The constant "
        f"{show_float(data['proved'][0])} is argued to be enough up to ε = {show_float(data['region'][-1])}."
    )


CONDITIONS_SHAPE = Shape(
    required=("x", "most", "settings", "rate"),
    follows={"settings": "settings", "rate": "settings"},
)


def draw_conditions(data: Data) -> Figure:
    """Draw the largest rate ``most`` over epsilon ``x``, and each setting's ``rate`` over its epsilon, on log axes."""
    axes = canvas(3.4)
    axes.plot(data["x"], data["most"], color=BLUE, lw=1.6, zorder=3)
    low = min(*data["most"], *data["rate"]) / 1.5
    axes.fill_between(
        data["x"], data["most"], low, color=BLUE, alpha=0.12, lw=0, zorder=1
    )
    for epsilon, rate, is_admissible in _settings(data):
        axes.plot(
            epsilon,
            rate,
            marker="o",
            ms=4.5,
            mfc="white",
            mec=BLACK if is_admissible else VERMILLION,
            mew=1.3,
            zorder=4,
        )
    log_scale(axes, "x", data["x"][0], data["x"][-1])
    log_scale(axes, "y", low, max(*data["most"], *data["rate"]) * 1.5)
    circles = "circles: settings of the experiments, red where no noise will do"
    title = (
        "Where the conditions can hold, with some noise",
        f"{data.parameters};  {circles}",
    )
    return finish(
        axes,
        title,
        ("ε", "part of the data in a batch"),
        [EndLabel(data["most"][-1], "conditions", BLUE)],
    )


def conditions_caption(data: Data) -> str:
    """Return the caption, with the number of settings above the line."""
    settings = _settings(data)
    outside = sum(not is_admissible for *_, is_admissible in settings)
    return (
        f"Below the line, some noise satisfies the conditions ({data.parameters}). Above it, none does. The circles "
        f"are settings of the paper's experiments, and {outside} of {len(settings)} settings lie above the line. At "
        f"ε = {show_float(data['x'][0])} a batch may contain at most the fraction {show_float(data['most'][0])} of the "
        "data."
    )


def _settings(data: Data) -> list[tuple[float, float, bool]]:
    """Return epsilon and rate of each setting, and whether the line at the last ``x`` up to epsilon is not lower."""
    places = [
        max(bisect_right(data["x"], epsilon) - 1, 0) for epsilon in data["settings"]
    ]
    pairs = zip(data["settings"], data["rate"], places, strict=True)
    return [
        (epsilon, rate, rate <= data["most"][place]) for epsilon, rate, place in pairs
    ]


ROWS = (  # columns, labels and colours, from the lowest row upwards
    ("printed", "as printed", VERMILLION),
    ("once", "one permutation\nfor all epochs", GREEN),
    ("fresh", "a fresh permutation\nin every epoch", BLUE),
)

PATTERN_SHAPE = Shape(
    required=("x", "weight"),
    optional=(
        "epoch-x",
        "epoch",
        *(name for column, *_ in ROWS for name in (f"{column}-x", column)),
    ),
    follows={"epoch": "epoch-x", **{column: f"{column}-x" for column, *_ in ROWS}},
)

STEP = 1.45  # height of a row in units of the weight


def draw_pattern(data: Data) -> Figure:
    """Draw the visits of one example in a node, with a row and a total weight for each pattern of visits.

    In ``data``, ``x`` has the steps of the node, and ``weight`` the weight of a term at each step. ``printed``,
    ``once`` and ``fresh`` have the weights of the visits, and ``printed-x`` etc. their steps. ``epoch-x`` has the first
    steps of epochs in the node, and ``epoch`` the numbers of the epochs.
    """
    axes = canvas(4.3, right=1.95)
    drawn_rows = [row for row in ROWS if row[0] in data]
    x = data["x"]
    labels = []
    for place, (name, words, color) in enumerate(drawn_rows):
        base = place * STEP
        axes.plot(
            x, [base + value for value in data["weight"]], color=LIGHT, lw=1.2, zorder=1
        )
        axes.axhline(base, color=GREY, lw=0.6, zorder=2)
        tops = [base + weight for weight in data[name]]
        axes.vlines(data[f"{name}-x"], base, tops, color=color, lw=2.0, zorder=3)
        axes.plot(
            data[f"{name}-x"],
            tops,
            "o",
            ms=5,
            mfc=color,
            mec="white",
            mew=0.8,
            zorder=4,
        )
        labels.append(
            EndLabel(
                base + 0.5,
                f"{words}:\n{show_float(sum(data[name]))}",
                color,
                is_joined=False,
            )
        )
    axes.set_xlim(x[0] - 0.5, x[-1] + 0.5)
    top = (len(drawn_rows) - 1) * STEP + 1.32
    axes.set_ylim(-0.12, top)
    axes.set_yticks(
        [place * STEP + height for place in range(len(drawn_rows)) for height in (0, 1)]
    )
    axes.set_yticklabels(["0", "1"] * len(drawn_rows))
    axes.grid(visible=False)
    for first, number in zip(
        data.get("epoch-x", ()), data.get("epoch", ()), strict=True
    ):
        axes.axvline(first - 0.5, color=GREY, lw=0.8, dashes=(1.5, 2.5), zorder=0)
        axes.annotate(
            f"epoch {number:g}",
            (first - 0.3, top - 0.02),
            fontsize=7.5,
            color=GREY,
            va="top",
        )
    subtitle = ";  ".join(
        filter(None, [data.parameters, "total weight beside each row"])
    )
    title = f"Where one example can be in the node [{x[0]:g}, {x[-1]:g}]", subtitle
    return finish(axes, title, ("step t", "weight of a visit, (1-α)^(z - t)"), labels)


def pattern_caption(data: Data) -> str:
    """Return the caption, with the total weights."""
    totals = [
        f"{words.replace(chr(10), ' ')} {show_float(sum(data[name]))}"
        for name, words, _ in ROWS
        if name in data
    ]
    first = data["x"][0]
    last = data["x"][-1]
    parameters = f" ({data.parameters})" if data.parameters else ""
    return (
        f"Visits of one example in the node [{first:g}, {last:g}]{parameters}, at the steps with the largest total "
        "weight. This total is the sensitivity of the node divided by that of one term: "
        f"{', '.join(totals)}."
    )
