"""Drawings of noise over the steps: its variance, the terms of the variance, and a comparison of methods.

- The variance of the noise in the released momentum: exact law, simulation, printed and corrected bound.
- The five terms of the variance of the noise in Algorithm 2's momentum, each with its bounds.
- The noise of DP-SRM, which updates its last estimate, and the noise of two forms of DP-SGD.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dpverify.report.drawings.columns import KINDS, Data, Shape, Sheet
from dpverify.report.numbers import show_float
from dpverify.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILLION,
    WIDTH,
    EndLabel,
    canvas,
    finish,
    log_scale,
)

VARIANCE_SHAPE = Shape(
    required=("x", "exact"),
    optional=("simulated-x", "simulated", "low", "high", "printed", "corrected"),
    follows=dict.fromkeys(("simulated", "low", "high"), "simulated-x"),
)

# with more steps, the exact law is drawn as dots,
# because a staircase would look like a black band
MAX_STAIRS = 200


def draw_variance(data: Data) -> Figure:
    """Draw the figure.

    In ``data``, ``x`` has the steps t, and ``exact`` the variance of one coordinate at each step. ``simulated`` is the
    mean over runs, with the confidence band from ``low`` to ``high``, at the steps ``simulated-x`` (default: ``x``).
    ``printed`` and ``corrected`` are the bounds.
    """
    axes = canvas(3.9)
    x = data["x"]
    exact = data["exact"]
    if len(x) <= MAX_STAIRS:
        axes.stairs(
            exact,
            [x[0] - 0.5, *(t + 0.5 for t in x)],
            baseline=None,
            color=BLACK,
            lw=1.4,
            zorder=4,
        )
    else:
        axes.plot(x, exact, ".", ms=2.2, mec="none", mfc=BLACK, zorder=4)
    labels = [EndLabel(exact[-1], "exact law", BLACK)]
    if "simulated" in data:
        labels.extend(_simulated(axes, data))
    for name, color, dashes, text in (
        ("printed", VERMILLION, (5, 2), "printed bound"),
        ("corrected", GREEN, (5, 1.5, 1, 1.5), "corrected bound"),
    ):
        if name in data:
            axes.plot(
                x,
                data[name],
                color=color,
                lw=1.7,
                dashes=dashes,
                drawstyle="steps-mid",
                zorder=3,
            )
            labels.append(EndLabel(data[name][-1], text, color))
    below = _below(data)
    for first, last in stretches(below):
        axes.axvspan(
            first - 0.5, last + 0.5, color=VERMILLION, alpha=0.16, lw=0, zorder=0
        )
    _scales(axes, data)
    shaded = "shaded where the printed bound is false" if below else ""
    title = (
        "Noise in the released momentum, step by step",
        ";  ".join(filter(None, [data.parameters, shaded])),
    )
    return finish(
        axes, title, ("step t", "variance of one coordinate (gradient units²)"), labels
    )


def variance_caption(data: Data) -> str:
    """Return the caption, with the number of steps at which the printed bound is false."""
    below = _below(data)
    words = {
        "exact": "exact law",
        "simulated": "simulated mean with its confidence band",
    }
    words |= {"printed": "printed bound", "corrected": "corrected bound"}
    descriptions = [text for name, text in words.items() if name in data]
    remark = ""
    if "printed" in data:
        steps = f"{len(below)} of {len(data['x'])} steps"
        nowhere = " No step of this run exceeds the printed bound."
        remark = (
            f" The printed bound is below the exact law at {steps}."
            if below
            else nowhere
        )
    return f"Variance of the noise in the released momentum over t: {', '.join(descriptions)}.{remark}"


def _simulated(axes: Axes, data: Data) -> list[EndLabel]:
    at = data["simulated-x" if "simulated-x" in data else "x"]
    mean = data["simulated"]
    if "low" in data and "high" in data:
        axes.vlines(
            at, data["low"], data["high"], color=BLUE, lw=2.6, alpha=0.35, zorder=5
        )
    axes.plot(at, mean, "o", ms=3.6, mfc="white", mec=BLUE, mew=1.1, zorder=6)
    return [
        EndLabel(mean[-1], "simulated mean,\nconfidence band", BLUE, is_joined=False)
    ]


def _below(data: Data) -> list[float]:
    """Return the steps at which the printed bound is below the exact law."""
    if "printed" not in data:
        return []
    triples = zip(data["x"], data["exact"], data["printed"], strict=True)
    return [t for t, exact, printed in triples if printed < exact]


def stretches(steps: Sequence[float]) -> list[tuple[float, float]]:
    """Return the runs of consecutive steps as pairs of first and last step."""
    ranges: list[tuple[float, float]] = []
    for t in steps:
        if ranges and t == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], t)
        else:
            ranges.append((t, t))
    return ranges


def _scales(axes: Axes, data: Data) -> None:
    names = ("exact", "low", "high", "printed", "corrected")
    drawn = [value for name in names if name in data for value in data[name]]
    positive = [value for value in drawn if value > 0]
    x = data["x"]
    axes.set_xlim(x[0] - 0.5, x[-1] + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True))
    if positive and max(positive) > 30 * min(positive):
        log_scale(axes, "y", min(positive) / 1.4, max(positive) * 1.6)
    else:
        axes.set_ylim(0, max(positive, default=1.0) * 1.12)


TERM_PANELS = (  # ending of the columns' names, and title of the panel
    ("1", "1  prefix, G"),
    ("2", "2  first window, G"),
    ("3", "3  windows, γ G"),
    ("4", "4  windows, (1−γ) Δ"),
    ("5", "5  drift, r"),
    ("total", "all five"),
)

TERMS_SHAPE = Shape(
    required=("x", *(f"exact-{part}" for part, _ in TERM_PANELS)),
    optional=tuple(f"{kind}-{part}" for kind, *_ in KINDS for part, _ in TERM_PANELS),
)

TERM_SHEET = Sheet(TERM_PANELS, "exact", height=5.0, top=0.85)


def draw_terms(data: Data) -> Figure:
    """Draw the figure.

    In ``data``, ``x`` has the steps t. For each of the five terms, and for their sum, ``exact-`` is the variance of one
    coordinate at each step, and ``printed-`` and ``corrected-`` are the bounds.
    """
    low, high = _range_of_terms(data)
    words = "variance of one coordinate;  black: exact, red: printed, green: corrected"
    line = ";  ".join(filter(None, [words, data.parameters]))
    return TERM_SHEET.draw(
        data, low, high, "Noise in the momentum of Algorithm 2, term by term", [line]
    )


def terms_caption(data: Data) -> str:
    """Return the caption, with the smallest ratio of printed bound and exact value for each term."""
    ratios = []
    for part, _ in TERM_PANELS:
        if f"printed-{part}" in data:
            pairs = zip(data[f"printed-{part}"], data[f"exact-{part}"], strict=True)
            least = min(
                (bound / exact for bound, exact in pairs if exact > 0), default=0.0
            )
            ratios.append(
                f"{'all five' if part == 'total' else f'term {part}'} {show_float(least)}"
            )
    room = (
        f" Minimum over t of the printed bound divided by the exact value: {', '.join(ratios)}."
        if ratios
        else ""
    )
    return f"Variance of the noise in Algorithm 2's momentum over t, for each of its five terms.{room}"


def _range_of_terms(data: Data) -> tuple[float, float]:
    """Return the range of the y axis: from below the largest value of each term to above all bounds."""
    tops = [max(data[f"exact-{part}"]) for part, _ in TERM_PANELS]
    lowest = min([top for top in tops if top > 0], default=1.0)
    highest = max(
        [
            *tops,
            *(
                max(data[f"{kind}-{part}"])
                for kind, *_ in KINDS
                for part, _ in TERM_PANELS
                if f"{kind}-{part}" in data
            ),
        ]
    )
    return min(lowest / 10, max(tops) / 1000) if highest > 0 else 0.1, max(
        highest, 1e-300
    ) * 2


METHODS = (  # ending of the columns' names, colour, dashes, label
    ("srm", BLUE, (1, 0), "DP-SRM"),
    ("wide", VERMILLION, (5, 2), "DP-SGD, batches of 2b"),
    ("long", ORANGE, (5, 1.5, 1, 1.5), "DP-SGD, twice the steps on b"),
)
COMPARISON_PANELS = (("one", "of one estimate"), ("mean", "of the mean of all so far"))
COMPARISON_SHAPE = Shape(
    required=(
        "x",
        *(f"{panel}-{line}" for panel, _ in COMPARISON_PANELS for line, *_ in METHODS),
    )
)
# inches
HEIGHT = 3.6
LEFT = 0.85
RIGHT = 0.15
BOTTOM = 0.95
TOP = 0.95
GAP = 0.2


def draw_comparison(data: Data) -> Figure:
    """Draw the figure.

    In ``data``, ``x`` has the steps t of DP-SRM. For each method, after the same number of gradients, ``one-`` is the
    noise variance of a coordinate of its last estimate, and ``mean-`` of the mean of all its estimates, both in G^2.
    """
    figure = Figure(figsize=(WIDTH, HEIGHT))
    wide = (WIDTH - LEFT - RIGHT - GAP) / 2
    drawn = [value for name in COMPARISON_SHAPE.required[1:] for value in data[name]]
    for place, (panel, title) in enumerate(COMPARISON_PANELS):
        left = (LEFT + place * (wide + GAP)) / WIDTH
        axes = figure.add_axes(
            (left, BOTTOM / HEIGHT, wide / WIDTH, (HEIGHT - BOTTOM - TOP) / HEIGHT)
        )
        for line, color, dashes, words in METHODS:
            axes.plot(
                data["x"],
                data[f"{panel}-{line}"],
                color=color,
                lw=1.6,
                dashes=dashes,
                label=words,
            )
        axes.set_title(title, fontsize=9, pad=4)
        axes.set_xlabel("step t of DP-SRM")
        log_scale(axes, "x", data["x"][0], data["x"][-1])
        log_scale(axes, "y", min(drawn) / 1.5, max(drawn) * 1.5)
        axes.tick_params(labelleft=place == 0)
        if place == 0:
            axes.set_ylabel("variance of a coordinate (G²)")
            figure.legend(
                *axes.get_legend_handles_labels(),
                loc="lower center",
                ncols=3,
                frameon=False,
                fontsize=8.5,
            )
    x = 0.1 / WIDTH
    title = "Noise at the same number of gradients and the same privacy"
    figure.text(x, 1 - 0.1 / HEIGHT, title, va="top", fontsize=10.5, fontweight="bold")
    figure.text(
        x, 1 - 0.32 / HEIGHT, data.parameters, va="top", fontsize=8.5, color=GREY
    )
    return figure


def comparison_caption(data: Data) -> str:
    """Return the caption, with the ratio of DP-SRM's to DP-SGD's final noise, for one estimate and for the mean."""
    ends = {name: data[name][-1] for name in COMPARISON_SHAPE.required[1:]}
    least = {
        panel: min(ends[f"{panel}-wide"], ends[f"{panel}-long"])
        for panel, _ in COMPARISON_PANELS
    }
    single, mean = (
        show_float(ends[f"{panel}-srm"] / least[panel], 3)
        for panel, _ in COMPARISON_PANELS
    )
    return (
        f"Noise variance of DP-SRM and of two forms of DP-SGD over the steps, each with the least certified noise "
        f"({data.parameters}). After {show_float(data['x'][-1])} steps of DP-SRM, the variance of its last estimate is "
        f"{single} times that of the better DP-SGD. For the mean of all estimates the factor is {mean}."
    )
