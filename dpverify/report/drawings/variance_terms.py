"""Variance of the noise in Algorithm 2's momentum over the steps, its five terms apart, each beside its bounds."""

from __future__ import annotations

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.drawings.panels import KINDS, Sheet
from dpverify.report.numbers import show_float

PANELS = (  # end of the columns' names, and what stands over the panel
    ("1", "1  prefix, G"),
    ("2", "2  first window, G"),
    ("3", "3  windows, γ G"),
    ("4", "4  windows, (1−γ) Δ"),
    ("5", "5  drift, r"),
    ("total", "all five"),
)

SHAPE = Shape(
    required=("x", *(f"exact-{part}" for part, _ in PANELS)),
    optional=tuple(f"{kind}-{part}" for kind, *_ in KINDS for part, _ in PANELS),
)

SHEET = Sheet(PANELS, "exact", height=5.0, top=0.85)


def draw(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` the steps t; for each of the five terms, and for their sum, ``exact-`` the variance of one
    coordinate at each step, ``printed-`` and ``corrected-`` the bounds.
    """
    low, high = _range(data)
    words = "variance of one coordinate;  black: exact, red: printed, green: corrected"
    line = ";  ".join(filter(None, [words, data.parameters]))
    return SHEET.draw(data, low, high, "Noise in the momentum of Algorithm 2, term by term", [line])


def caption(data: Data) -> str:
    """What the figure shows, with the room that the bounds leave at most."""
    ratios = []
    for part, _ in PANELS:
        if f"printed-{part}" in data:
            pairs = zip(data[f"printed-{part}"], data[f"exact-{part}"], strict=True)
            least = min((bound / exact for bound, exact in pairs if exact > 0), default=0.0)
            ratios.append(f"{'all five' if part == 'total' else f'term {part}'} {show_float(least)}")
    room = f" Minimum over t of the printed bound divided by the exact value: {', '.join(ratios)}." if ratios else ""
    return f"Variance of the noise in Algorithm 2's momentum over t, for each of its five terms.{room}"


def _range(data: Data) -> tuple[float, float]:
    """From a thousandth of the largest exact total, or less where a whole term is smaller, to above all bounds."""
    tops = [max(data[f"exact-{part}"]) for part, _ in PANELS]
    lowest = min([top for top in tops if top > 0], default=1.0)
    highest = max(
        [*tops, *(max(data[f"{kind}-{part}"]) for kind, *_ in KINDS for part, _ in PANELS if f"{kind}-{part}" in data)]
    )
    return min(lowest / 10, max(tops) / 1000) if highest > 0 else 0.1, max(highest, 1e-300) * 2
