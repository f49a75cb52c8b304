"""Error of the momentum over the steps in parts, each on the worst problem known for it and beside its bounds."""

from __future__ import annotations

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.drawings.panels import KINDS, Sheet
from dpverify.report.numbers import show_float

PANELS = (  # end of the columns' names, and what stands over the panel
    ("start-up", "start-up bias"),
    ("sampling", "sampling noise"),
    ("drift", "drift from anchors"),
    ("lag", "lag of the momentum"),
    ("reconstruction", "reconstruction bias"),
    ("noise", "privacy noise"),
)

SHAPE = Shape(
    required=("x", *(f"{kind}-{part}" for part, _ in PANELS for kind in ("attained", "corrected"))),
    optional=tuple(f"printed-{part}" for part, _ in PANELS),
)

SHEET = Sheet(PANELS, "attained", height=5.15, top=1.0)

DEEP = 500.0  # how far the axes go down below the largest bound


def draw(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` the steps t; for each part, in units of the gradient, ``attained-`` its size on that problem, and
    ``corrected-`` and ``printed-`` its bounds.
    """
    high = 2 * max(max(data.get(f"{kind}-{part}", ()), default=0.0) for kind, *_ in KINDS for part, _ in PANELS)
    high = high if high > 0 else 1.0
    lines = "in units of G;  black: attained, red: printed bound, green: corrected", data.parameters
    return SHEET.draw(data, high / DEEP, high, "Error of the momentum, part by part", lines)


def caption(data: Data) -> str:
    """What the figure shows, with the room that the corrected bounds leave at least, and a part without a print."""
    told = []
    for part, title in PANELS:
        pairs = zip(data[f"corrected-{part}"], data[f"attained-{part}"], strict=True)
        told.append(f"{title} {show_float(min((b / a for b, a in pairs if a > 0), default=0.0), 3)}")
    missing = [title for part, title in PANELS if f"printed-{part}" not in data]
    without = f" No bound is printed for {' and '.join(missing)}." if missing else ""
    return (
        f"Error of the momentum over t, each part exactly on the worst problem known for it (sampling and "
        "reconstruction as root mean squares). Corrected bound divided "
        f"by the largest part: {', '.join(told)}.{without}"
    )
