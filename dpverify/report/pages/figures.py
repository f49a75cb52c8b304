"""Which figure is drawn how: the beginning of a figure's name chooses the drawing.

To add a kind, write a module in ``drawings`` with ``SHAPE``, ``draw`` and ``caption`` and add a line here.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Protocol

from matplotlib.figure import Figure

from dpverify.report import markdown as md
from dpverify.report.collect import Picture, ReportError
from dpverify.report.drawings import (
    bought,
    conditions,
    constants,
    epsilon,
    identity_error,
    noise_beside,
    noise_variance,
    pattern,
    run_time,
    variance_terms,
)
from dpverify.report.drawings.against_bounds import RISK, RISK_OVER_N, STABILITY
from dpverify.report.drawings.columns import Data, Shape, read
from dpverify.report.drawings.error_parts import ESTIMATE, MOMENTUM
from dpverify.report.drawings.onset import ONSET, ONSET_OF_DROP
from dpverify.report.drawings.utility_slopes import SLOPES, SLOPES_OF_ACCURACY
from dpverify.report.style import look, to_svg

Columns = Mapping[str, Sequence[float]]


_IMAGE = re.compile(r"^!\[.*\]\((?:[^()]*/)?([^/()]+)\)$", re.MULTILINE)


class Drawing(Protocol):
    """A kind of figure: a module of ``drawings``."""

    @property
    def SHAPE(self) -> Shape:  # noqa: N802  # a constant of the module
        """The columns that it knows."""

    def draw(self, data: Data, /) -> Figure:
        """Make the figure."""

    def caption(self, data: Data, /) -> str:
        """Say in a sentence what the figure shows and what is to be seen in it."""


DRAWINGS: Mapping[str, Drawing] = {
    "bought": bought,
    "conditions": conditions,
    "constants": constants,
    "epsilon": epsilon,
    "error-parts": MOMENTUM,
    "estimate-error-parts": ESTIMATE,
    "identity-error": identity_error,
    "noise-beside": noise_beside,
    "noise-variance": noise_variance,
    "onset": ONSET,
    "onset-of-drop": ONSET_OF_DROP,
    "pattern": pattern,
    "risk": RISK,
    "risk-over-n": RISK_OVER_N,
    "run-time": run_time,
    "stability": STABILITY,
    "utility-slopes": SLOPES,
    "accuracy-slopes": SLOPES_OF_ACCURACY,
    "variance-terms": variance_terms,
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
    return kind.caption(read(name, columns, kind.SHAPE))


def svg(name: str, columns: Columns) -> bytes:
    """A figure as SVG: the same bytes for the same numbers."""
    kind = drawing(name)
    data = read(name, columns, kind.SHAPE)
    return to_svg(lambda: kind.draw(data), kind.caption(data))


def draw(name: str, columns: Columns) -> Figure:
    """A figure as matplotlib has it; see :func:`svg` for the parameters."""
    kind = drawing(name)
    with look():
        return kind.draw(read(name, columns, kind.SHAPE))


def figure_block(picture: Picture, folder: str) -> str:
    """A figure with its caption under it; ``folder`` is that of the figures, seen from the page."""
    text = md.explanation(caption(picture.name, picture.columns))
    return f"![{picture.name}]({folder}/{picture.file})\n\n*{text}*"


def figures_of_claim(pictures: Iterable[Picture], folder: str, drawn_files: Container[str]) -> str:
    """The figures of a claim's section: of those said alike one, and links to the others; none that the page has."""
    blocks = []
    captions = dict[str, list[Picture]]()
    for picture in pictures:
        captions.setdefault(caption(picture.name, picture.columns), []).append(picture)
    for same_caption in captions.values():
        first, *later_pictures = sorted(same_caption, key=lambda picture: picture.file not in drawn_files)
        above = f"The figure {md.code(first.name)} is [shown above](#{figure_place(first)})."
        blocks.append(above if first.file in drawn_files else figure_block(first, folder))
        unseen = [picture for picture in later_pictures if picture.file not in drawn_files]
        links = [md.link(str(number), f"{folder}/{picture.file}") for number, picture in enumerate(unseen, start=1)]
        blocks.extend([f"The same of other runs: {', '.join(links)}."] if links else [])
    return "\n\n".join(blocks)


def figure_place(picture: Picture) -> str:
    """The anchor of a figure that stands apart from its claim."""
    return f"figure-{picture.file.removesuffix('.svg')}"


def figures_in(text: str) -> set[str]:
    """Files of the figures that a piece of markdown shows, without their folder."""
    return {*_IMAGE.findall(text)}
