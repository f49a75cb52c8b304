"""Drawings of errors: the parts of an estimate's error, and the error of the reconstructed momentum.

- The parts of an estimate's error over the steps, each on the worst problem known for it and with its bounds.
- The error of the reconstructed momentum under fresh permutations, over the cross-batch weight gamma, for each alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import KINDS, Data, Shape, Sheet
from dpverify.report.numbers import show_float
from dpverify.report.style import (
    BLACK,
    GREEN,
    VERMILLION,
    EndLabel,
    canvas,
    finish,
    log_scale,
)

PANELS = (  # ending of the columns' names, and title of the panel
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
MAX_AXIS_RATIO = 500.0  # ratio of the largest to the smallest value on the axes


@dataclass(frozen=True)
class ErrorParts:
    """A kind of figure that shows the parts of an error in panels."""

    panels: Sequence[tuple[str, str]]
    whose: str  # name of the estimate
    squared: str  # the parts that are root mean squares, in words
    across: int = 3
    prints: bool = True  # whether the paper prints bounds of the parts

    @property
    def shape(self) -> Shape:
        """The columns of the figure."""
        needed = (
            f"{kind}-{part}"
            for part, _ in self.panels
            for kind in ("attained", "corrected")
        )
        return Shape(
            required=("x", *needed),
            optional=tuple(f"printed-{part}" for part, _ in self.panels),
        )

    def draw(self, data: Data) -> Figure:
        """Draw the figure.

        The columns of ``data`` are the steps ``x``, and for each part, in units of G, its size on the worst known
        problem (``attained-``) and its bounds (``corrected-`` and ``printed-``).
        """
        parts = [part for part, _ in self.panels]
        high = 2 * max(
            max(data.get(f"{kind}-{part}", ()), default=0.0)
            for kind, *_ in KINDS
            for part in parts
        )
        high = high if high > 0 else 1.0
        bounds = (
            "red: printed bound, green: corrected"
            if self.prints
            else "green: our bound"
        )
        lines = f"in units of G;  black: attained, {bounds}", data.parameters
        sheet = Sheet(self.panels, "attained", height=5.15, top=1.0, across=self.across)
        return sheet.draw(
            data,
            high / MAX_AXIS_RATIO,
            high,
            f"Error of {self.whose}, part by part",
            lines,
        )

    def caption(self, data: Data) -> str:
        """Return the caption, with the smallest ratio of bound and error, and the parts without a printed bound."""
        ratios = []
        for part, title in self.panels:
            pairs = zip(
                data[f"corrected-{part}"], data[f"attained-{part}"], strict=True
            )
            ratios.append(
                f"{title} {show_float(min((b / a for b, a in pairs if a > 0), default=0.0), 3)}"
            )
        missing = [
            title for part, title in self.panels if f"printed-{part}" not in data
        ]
        without = (
            f" The paper prints no bound for {' and '.join(missing)}."
            if missing and self.prints
            else ""
        )
        return (
            f"Parts of the error of {self.whose} over t: exact values on the worst known problem ({self.squared}). "
            f"{'Corrected' if self.prints else 'Our'} bound divided "
            f"by the largest part: {', '.join(ratios)}.{without}"
        )


MOMENTUM = ErrorParts(
    PANELS, "the momentum", "sampling and reconstruction as root mean squares"
)
ESTIMATE = ErrorParts(
    RECURSIVE_PANELS, "the estimate", "root mean squares", across=2, prints=False
)


IDENTITY_SHAPE = Shape(
    required=("x", "alpha", "fixed"), optional=("moving", "estimate")
)

IDENTITY_KINDS = (
    ("moving", VERMILLION, (5, 2), "m̂ − m, gradients flip\nbetween epochs"),
    ("fixed", BLACK, (), "m̂ − m,\ngradients stay"),
    ("estimate", GREEN, (5, 1.5, 1, 1.5), "m̂ − full gradient,\ngradients stay"),
)


def draw_identity(data: Data) -> Figure:
    """Draw the figure.

    In ``data``, ``x`` has positive values of gamma, repeated for each ``alpha``. ``fixed`` is the root mean square of
    m_hat - m with constant gradients, and ``moving`` with gradients that flip between epochs. ``estimate`` is that of
    m_hat minus the momentum of full gradients, with constant gradients. All are in units of G, without noise.
    """
    axes = canvas(4.3, right=2.1)
    alphas = sorted(set(data["alpha"]))
    labels = []
    for name, color, dashes, words in IDENTITY_KINDS:
        for alpha in alphas if name in data else ():
            line = [
                (x, y)
                for x, a, y in zip(data["x"], data["alpha"], data[name], strict=True)
                if a == alpha and y > 0
            ]
            if not line:
                continue
            line.sort(reverse=True)
            axes.plot(
                *zip(*line, strict=True),
                color=color,
                lw=0.9 + 0.5 * alphas.index(alpha),
                dashes=dashes or (1, 0),
            )
            text = f"α = {show_float(alpha)}"
            labels.append(
                EndLabel(
                    line[-1][1],
                    f"{words}, {text}" if alpha == alphas[-1] else text,
                    color,
                )
            )
    values = [
        value
        for name, *_ in IDENTITY_KINDS
        if name in data
        for value in data[name]
        if value > 0
    ]
    low = min(values, default=0.5) / 1.5
    high = max(values, default=1.0) * 1.5
    log_scale(axes, "x", min(data["x"]), max(data["x"]))
    log_scale(axes, "y", low, high)
    axes.set_xlim(max(data["x"]) * 1.1, min(data["x"]) / 1.1)
    names = (
        "γ (cross-batch weight), falling to the right",
        "root mean square error (in units of G)",
    )
    return finish(
        axes,
        ("Algorithm 4 under fresh permutations, noise off", data.parameters),
        names,
        labels,
    )


def identity_caption(data: Data) -> str:
    """Return the caption, with the errors at the largest alpha and the smallest gamma."""
    alpha = max(data["alpha"])
    smallest = min(
        x for x, a in zip(data["x"], data["alpha"], strict=True) if a == alpha
    )

    def at_end(name: str) -> float:
        return next(
            y
            for x, a, y in zip(data["x"], data["alpha"], data[name], strict=True)
            if a == alpha and x == smallest
        )

    errors = f"with gradients that stay as they are {show_float(at_end('fixed'))} G"
    if "moving" in data:
        errors += f", with gradients that flip between epochs {show_float(at_end('moving'))} G"
    if "estimate" in data:
        errors += (
            "; as an estimate of the full gradient the reconstruction is off by "
            f"{show_float(at_end('estimate'))} G"
        )
    where = f"α = {show_float(alpha)} and γ = {show_float(smallest)}"
    what = "Root mean square of the reconstructed momentum minus the momentum over γ, without noise."
    return f"{what} At {where}: {errors}."
