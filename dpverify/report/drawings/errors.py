"""Drawings of errors: of an estimate over the steps in parts, and of the reconstructed momentum.

- The parts of an estimate's error, each on the worst problem known for it and with its bounds.
- Error of the reconstructed momentum under fresh permutations over the cross-batch weight gamma, for several alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import KINDS, Data, Shape, Sheet
from dpverify.report.numbers import show_float
from dpverify.report.style import BLACK, GREEN, VERMILLION, EndLabel, canvas, finish, log_scale

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
    def shape(self) -> Shape:
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


IDENTITY_SHAPE = Shape(required=("x", "alpha", "fixed"), optional=("moving", "estimate"))

IDENTITY_KINDS = (
    ("moving", VERMILLION, (5, 2), "m̂ − m, gradients flip\nbetween epochs"),
    ("fixed", BLACK, (), "m̂ − m,\ngradients stay"),
    ("estimate", GREEN, (5, 1.5, 1, 1.5), "m̂ − full gradient,\ngradients stay"),
)


def draw_identity(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` values of gamma, positive, repeated for each ``alpha``; ``fixed`` the root mean square of m_hat - m
    with gradients that do not change, ``moving`` with gradients that go back and forth, ``estimate`` that of m_hat
    minus the momentum of full gradients, all in units of G and with the noise off.
    """
    axes = canvas(4.3, right=2.1)
    alphas = sorted(set(data["alpha"]))
    labels = []
    for name, color, dashes, words in IDENTITY_KINDS:
        for alpha in alphas if name in data else ():
            line = [
                (x, y) for x, a, y in zip(data["x"], data["alpha"], data[name], strict=True) if a == alpha and y > 0
            ]
            if not line:
                continue
            line.sort(reverse=True)
            axes.plot(
                *zip(*line, strict=True), color=color, lw=0.9 + 0.5 * alphas.index(alpha), dashes=dashes or (1, 0)
            )
            text = f"α = {show_float(alpha)}"
            labels.append(EndLabel(line[-1][1], f"{words}, {text}" if alpha == alphas[-1] else text, color))
    values = [value for name, *_ in IDENTITY_KINDS if name in data for value in data[name] if value > 0]
    low = min(values, default=0.5) / 1.5
    high = max(values, default=1.0) * 1.5
    log_scale(axes, "x", min(data["x"]), max(data["x"]))
    log_scale(axes, "y", low, high)
    axes.set_xlim(max(data["x"]) * 1.1, min(data["x"]) / 1.1)
    names = "γ (cross-batch weight), falling to the right", "root mean square error (in units of G)"
    return finish(axes, ("Algorithm 4 under fresh permutations, noise off", data.parameters), names, labels)


def identity_caption(data: Data) -> str:
    """What the figure shows, with what a reader should see in it."""
    alpha = max(data["alpha"])
    smallest = min(x for x, a in zip(data["x"], data["alpha"], strict=True) if a == alpha)

    def at_end(name: str) -> float:
        return next(
            y for x, a, y in zip(data["x"], data["alpha"], data[name], strict=True) if a == alpha and x == smallest
        )

    errors = f"with gradients that stay as they are {show_float(at_end('fixed'))} G"
    if "moving" in data:
        errors += f", with gradients that flip between epochs {show_float(at_end('moving'))} G"
    if "estimate" in data:
        errors += (
            f"; as an estimate of the full gradient the reconstruction is off by {show_float(at_end('estimate'))} G"
        )
    where = f"α = {show_float(alpha)} and γ = {show_float(smallest)}"
    what = "Root mean square of the reconstructed momentum minus the momentum over γ, without noise."
    return f"{what} At {where}: {errors}."
