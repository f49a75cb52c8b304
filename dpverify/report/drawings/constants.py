"""The smallest constant with which a theorem's noise is enough, over epsilon, and the one that is proved for all."""

from __future__ import annotations

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import BLUE, GREEN, EndLabel, canvas, finish, log_scale

SHAPE = Shape(required=("x", "low", "high", "region", "proved"), follows={"region": "region", "proved": "region"})


def draw(data: Data) -> Figure:
    """The figure: the constant lies between ``low`` and ``high``; ``proved`` is enough on the ``region`` of epsilon."""
    axes = canvas(3.2)
    x = data["x"]
    labels = []
    axes.fill_between(x, data["low"], data["high"], color=BLUE, alpha=0.25, lw=0, zorder=2)
    axes.plot(x, data["high"], color=BLUE, lw=1.4, zorder=3)
    axes.plot(x, data["low"], color=BLUE, lw=0.8, zorder=3)
    axes.plot(data["region"], data["proved"], color=GREEN, lw=1.8, zorder=4)
    labels.append(EndLabel(data["high"][-1], "certified", BLUE))
    labels.append(EndLabel(data["low"][-1], "attained", BLUE))
    labels.append(EndLabel(data["proved"][-1], "proved,\nfor this region", GREEN, joined=False))
    log_scale(axes, "x", x[0], x[-1])
    axes.set_ylim(0.0, 1.1 * max(*data["high"], *data["proved"]))
    title = "The constant that is needed", data.parameters
    return finish(axes, title, ("ε", "smallest constant"), labels)


def caption(data: Data) -> str:
    """What the figure shows, and how much the constant grows."""
    return (
        f"Upper and lower bounds on the smallest constant of the noise that is private ({data.parameters}). It is at "
        f"most {show_float(data['high'][0])} at ε = {show_float(data['x'][0])}, and at least "
        f"{show_float(data['low'][-1])} at ε = {show_float(data['x'][-1])}. The constant "
        f"{show_float(data['proved'][0])} is argued to be enough up to ε = {show_float(data['region'][-1])}."
    )
