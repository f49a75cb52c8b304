"""Error of the reconstructed momentum under fresh permutations over the cross-batch weight gamma, for several alpha."""

from __future__ import annotations

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import BLACK, GREEN, VERMILLION, EndLabel, canvas, finish, log_scale

SHAPE = Shape(required=("x", "alpha", "fixed"), optional=("moving", "estimate"))

KINDS = (
    ("moving", VERMILLION, (5, 2), "m̂ − m, gradients flip\nbetween epochs"),
    ("fixed", BLACK, (), "m̂ − m,\ngradients stay"),
    ("estimate", GREEN, (5, 1.5, 1, 1.5), "m̂ − full gradient,\ngradients stay"),
)


def draw(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` values of gamma, positive, repeated for each ``alpha``; ``fixed`` the root mean square of m_hat - m
    with gradients that do not change, ``moving`` with gradients that go back and forth, ``estimate`` that of m_hat
    minus the momentum of full gradients, all in units of G and with the noise off.
    """
    axes = canvas(4.3, right=2.1)
    alphas = sorted(set(data["alpha"]))
    labels = []
    for name, color, dashes, words in KINDS:
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
    values = [value for name, *_ in KINDS if name in data for value in data[name] if value > 0]
    low = min(values, default=0.5) / 1.5
    high = max(values, default=1.0) * 1.5
    log_scale(axes, "x", min(data["x"]), max(data["x"]))
    log_scale(axes, "y", low, high)
    axes.set_xlim(max(data["x"]) * 1.1, min(data["x"]) / 1.1)
    names = "γ (cross-batch weight), falling to the right", "root mean square error (in units of G)"
    return finish(axes, ("Algorithm 4 under fresh permutations, noise off", data.parameters), names, labels)


def caption(data: Data) -> str:
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
