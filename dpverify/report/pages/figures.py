"""Draw figures. The beginning of a figure's name selects the kind of drawing.

To add a kind, write its shape, its drawing function and its caption function in a module of ``drawings``, and add it to
``DRAWINGS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from matplotlib.figure import Figure

from dpverify.report import markdown as md
from dpverify.report.collect import Picture, ReportError
from dpverify.report.drawings import conditions as privacy_conditions
from dpverify.report.drawings import errors, noise, privacy
from dpverify.report.drawings import exponents as run_time
from dpverify.report.drawings.columns import Data, Shape, read
from dpverify.report.drawings.errors import ESTIMATE, MOMENTUM
from dpverify.report.drawings.exponents import SLOPES, SLOPES_OF_ACCURACY
from dpverify.report.drawings.utility import (
    ONSET,
    ONSET_OF_DROP,
    RISK,
    RISK_OVER_N,
    STABILITY,
)
from dpverify.report.style import look, to_svg

Columns = Mapping[str, Sequence[float]]


_IMAGE = re.compile(r"^!\[.*\]\((?:[^()]*/)?([^/()]+)\)$", re.MULTILINE)


class Drawing(Protocol):
    """A kind of figure."""

    @property
    def shape(self) -> Shape:
        """The required and optional columns."""

    def draw(self, data: Data, /) -> Figure:
        """Draw the figure."""

    def caption(self, data: Data, /) -> str:
        """Return a caption that says what the figure shows and what to notice in it."""


@dataclass(frozen=True)
class DrawingFunctions:
    """A kind of figure that consists of functions of a module of ``drawings``."""

    shape: Shape
    draw: Callable[[Data], Figure]
    caption: Callable[[Data], str]


DRAWINGS: Mapping[str, Drawing] = {
    "bought": DrawingFunctions(
        privacy.BOUGHT_SHAPE, privacy.draw_bought, privacy.bought_caption
    ),
    "conditions": DrawingFunctions(
        privacy_conditions.CONDITIONS_SHAPE,
        privacy_conditions.draw_conditions,
        privacy_conditions.conditions_caption,
    ),
    "constants": DrawingFunctions(
        privacy_conditions.CONSTANTS_SHAPE,
        privacy_conditions.draw_constants,
        privacy_conditions.constants_caption,
    ),
    "epsilon": DrawingFunctions(
        privacy.EPSILON_SHAPE, privacy.draw_epsilon, privacy.epsilon_caption
    ),
    "error-parts": MOMENTUM,
    "estimate-error-parts": ESTIMATE,
    "identity-error": DrawingFunctions(
        errors.IDENTITY_SHAPE, errors.draw_identity, errors.identity_caption
    ),
    "noise-beside": DrawingFunctions(
        noise.COMPARISON_SHAPE, noise.draw_comparison, noise.comparison_caption
    ),
    "noise-variance": DrawingFunctions(
        noise.VARIANCE_SHAPE, noise.draw_variance, noise.variance_caption
    ),
    "onset": ONSET,
    "onset-of-drop": ONSET_OF_DROP,
    "pattern": DrawingFunctions(
        privacy_conditions.PATTERN_SHAPE,
        privacy_conditions.draw_pattern,
        privacy_conditions.pattern_caption,
    ),
    "risk": RISK,
    "risk-over-n": RISK_OVER_N,
    "run-time": DrawingFunctions(
        run_time.RUN_TIME_SHAPE, run_time.draw_run_time, run_time.run_time_caption
    ),
    "stability": STABILITY,
    "utility-slopes": SLOPES,
    "accuracy-slopes": SLOPES_OF_ACCURACY,
    "variance-terms": DrawingFunctions(
        noise.TERMS_SHAPE, noise.draw_terms, noise.terms_caption
    ),
}


def drawing(name: str) -> Drawing:
    """Return the drawing with the longest key that is the figure's name, or its beginning before a hyphen."""
    fits = [
        prefix for prefix in DRAWINGS if name == prefix or name.startswith(f"{prefix}-")
    ]
    if not fits:
        raise ReportError(
            f"figure={name!r}: its name must begin with one of {', '.join(sorted(DRAWINGS))}"
        )
    return DRAWINGS[max(fits, key=len)]


def caption(name: str, columns: Columns) -> str:
    """Return the caption of a figure, given its name and its columns."""
    kind = drawing(name)
    return kind.caption(read(name, columns, kind.shape))


def svg(name: str, columns: Columns) -> bytes:
    """Return a figure as SVG: the same bytes for the same numbers."""
    kind = drawing(name)
    data = read(name, columns, kind.shape)
    return to_svg(lambda: kind.draw(data), kind.caption(data))


def draw(name: str, columns: Columns) -> Figure:
    """Return a matplotlib figure, given its name and its columns."""
    kind = drawing(name)
    with look():
        return kind.draw(read(name, columns, kind.shape))


def figure_block(picture: Picture, folder: str) -> str:
    """Return a figure with its caption as markdown; ``folder`` is the path from the page to the figures."""
    text = md.explanation(caption(picture.name, picture.columns))
    return f"![{picture.name}]({folder}/{picture.file})\n\n*{text}*"


def figures_of_claim(
    pictures: Iterable[Picture], folder: str, drawn_files: Container[str]
) -> str:
    """Return the figures of a claim's section as markdown.

    If several figures have the same caption, the first is shown and the others are linked. A figure that the page
    already shows is only linked.
    """
    blocks = []
    captions = dict[str, list[Picture]]()
    for picture in pictures:
        captions.setdefault(caption(picture.name, picture.columns), []).append(picture)
    for same_caption in captions.values():
        first, *later_pictures = sorted(
            same_caption, key=lambda picture: picture.file not in drawn_files
        )
        above = f"The figure {md.code(first.name)} is [shown above](#{figure_place(first)})."
        blocks.append(
            above if first.file in drawn_files else figure_block(first, folder)
        )
        unseen = [
            picture for picture in later_pictures if picture.file not in drawn_files
        ]
        links = [
            md.link(str(number), f"{folder}/{picture.file}")
            for number, picture in enumerate(unseen, start=1)
        ]
        blocks.extend([f"The same of other runs: {', '.join(links)}."] if links else [])
    return "\n\n".join(blocks)


def figure_place(picture: Picture) -> str:
    """Return the anchor of a figure that is shown outside the section of its claim."""
    return f"figure-{picture.file.removesuffix('.svg')}"


def figures_in(text: str) -> set[str]:
    """Return the file names of the figures in a piece of markdown, without their folder."""
    return {*_IMAGE.findall(text)}
