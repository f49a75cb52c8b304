"""An estimate's error over the steps in parts, each on the worst problem known for it and beside its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
RECURSIVE_PANELS = (
    ("start", "start (first batch)"),
    ("sampling", "sampling (gradients of batches)"),
    ("drift", "drift (changes of gradients)"),
    ("noise", "privacy noise"),
)
DEEP = 500.0  # how far the axes go down below the largest bound


@dataclass(frozen=True)
class ErrorParts:
    """A kind of figure: panels, and whose error it is."""

    panels: Sequence[tuple[str, str]]
    whose: str
    squared: str  # which parts are root mean squares, in words
    across: int = 3
    prints: bool = True  # whether the paper prints bounds of parts

    @property
    def SHAPE(self) -> Shape:  # noqa: N802  # as of a module of drawings
        """The columns."""
        needed = (f"{kind}-{part}" for part, _ in self.panels for kind in ("attained", "corrected"))
        return Shape(required=("x", *needed), optional=tuple(f"printed-{part}" for part, _ in self.panels))

    def draw(self, data: Data) -> Figure:
        """The figure.

        ``data``: ``x`` the steps t; for each part, in units of the gradient, ``attained-`` its size on that problem,
        and ``corrected-`` and ``printed-`` its bounds.
        """
        parts = [part for part, _ in self.panels]
        high = 2 * max(max(data.get(f"{kind}-{part}", ()), default=0.0) for kind, *_ in KINDS for part in parts)
        high = high if high > 0 else 1.0
        bounds = "red: printed bound, green: corrected" if self.prints else "green: our bound"
        lines = f"in units of G;  black: attained, {bounds}", data.parameters
        sheet = Sheet(self.panels, "attained", height=5.15, top=1.0, across=self.across)
        return sheet.draw(data, high / DEEP, high, f"Error of {self.whose}, part by part", lines)

    def caption(self, data: Data) -> str:
        """What the figure shows, with the room that the bounds leave at least, and a part without a print."""
        ratios = []
        for part, title in self.panels:
            pairs = zip(data[f"corrected-{part}"], data[f"attained-{part}"], strict=True)
            ratios.append(f"{title} {show_float(min((b / a for b, a in pairs if a > 0), default=0.0), 3)}")
        missing = [title for part, title in self.panels if f"printed-{part}" not in data]
        without = f" The paper prints no bound for {' and '.join(missing)}." if missing and self.prints else ""
        return (
            f"Parts of the error of {self.whose} over t: exact values on the worst known problem ({self.squared}). "
            f"{'Corrected' if self.prints else 'Our'} bound divided "
            f"by the largest part: {', '.join(ratios)}.{without}"
        )


MOMENTUM = ErrorParts(PANELS, "the momentum", "sampling and reconstruction as root mean squares")
ESTIMATE = ErrorParts(RECURSIVE_PANELS, "the estimate", "root mean squares", across=2, prints=False)
