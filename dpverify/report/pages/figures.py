"""Which figure is drawn how: the beginning of a figure's name chooses the drawing.

A check puts ``figures["noise-variance"]`` or ``figures["noise-variance-n64"]`` into its result, a mapping from column
to numbers; the drawing ``noise-variance`` of the registry below makes the picture. To add a kind, write a module in
``drawings`` with ``SHAPE``, ``draw`` and ``caption`` and add a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from dpverify.report.collect import ReportError
from dpverify.report.drawings import (
    epsilon,
    error_parts,
    identity_error,
    noise_variance,
    onset,
    pattern,
    run_time,
    slack,
    utility_slopes,
    variance_terms,
)
from dpverify.report.drawings.columns import Data, Shape, read
from dpverify.report.style import to_svg

Columns = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Drawing:
    """A kind of figure."""

    shape: Shape  # the columns that it takes
    draw: Callable[[Data], Figure]  # makes the figure
    caption: Callable[[Data], str]  # says in a sentence what the figure shows and what is to be seen in it


DRAWINGS: Mapping[str, Drawing] = {
    "epsilon": Drawing(epsilon.SHAPE, epsilon.draw, epsilon.caption),
    "error-parts": Drawing(error_parts.SHAPE, error_parts.draw, error_parts.caption),
    "identity-error": Drawing(identity_error.SHAPE, identity_error.draw, identity_error.caption),
    "noise-variance": Drawing(noise_variance.SHAPE, noise_variance.draw, noise_variance.caption),
    "onset": Drawing(onset.SHAPE, onset.draw, onset.caption),
    "pattern": Drawing(pattern.SHAPE, pattern.draw, pattern.caption),
    "run-time": Drawing(run_time.SHAPE, run_time.draw, run_time.caption),
    "slack": Drawing(slack.SHAPE, slack.draw, slack.caption),
    "utility-slopes": Drawing(utility_slopes.SHAPE, utility_slopes.draw, utility_slopes.caption),
    "variance-terms": Drawing(variance_terms.SHAPE, variance_terms.draw, variance_terms.caption),
}


def drawing(name: str) -> Drawing:
    """The drawing for a figure's name: the longest one that is the name, or its beginning before a hyphen."""
    fits = [prefix for prefix in DRAWINGS if name == prefix or name.startswith(f"{prefix}-")]
    if not fits:
        raise ReportError(f"figure={name!r}: its name must begin with one of {', '.join(sorted(DRAWINGS))}")
    return DRAWINGS[max(fits, key=len)]


def caption(name: str, columns: Columns) -> str:
    """One sentence about a figure; see :func:`svg` for the parameters."""
    kind = drawing(name)
    return kind.caption(read(name, columns, kind.shape))


def svg(name: str, columns: Columns) -> bytes:
    """A figure as SVG.

    ``columns``: its columns; ``at:NAME`` is a parameter held fixed (one number), ``x:NAME`` a column ``x`` with a name.
    The same bytes for the same numbers.
    """
    kind = drawing(name)
    data = read(name, columns, kind.shape)
    return to_svg(lambda: kind.draw(data), kind.caption(data))
