"""Text of every figure stays inside the frame and does not overlap other text, as matplotlib's renderer measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import IO

import pytest
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from dpverify.bench.report.page import recorded_bench, render_bench
from dpverify.compare.experiments.page import EXPERIMENTS_PAGE
from dpverify.compare.page import COMPARISON_PAGE
from dpverify.report.collect import pictures
from dpverify.report.drawings import overview
from dpverify.report.drawings.columns import read
from dpverify.report.pages.figures import drawing
from dpverify.report.pages.write import read_runs, totals
from dpverify.report.style import look
from tests.for_each import for_each

REPORTS = Path(__file__).parents[4] / "reports"
TOUCH = 1.0  # points by which boxes may overlap: a box is higher than the letters in it


def drawn_text(figure: Figure) -> dict[Text, Bbox]:
    """The boxes of the texts that are drawn, in pixels: those of ticks outside the limits are not."""
    canvas = FigureCanvasAgg(figure)
    drawn: list[Text] = []
    draw = Text.draw

    def record(text: Text, renderer: RendererBase) -> None:
        drawn.append(text)
        draw(text, renderer)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Text, "draw", record)
        canvas.draw()  # type: ignore[no-untyped-call]
    shown = (text for text in drawn if text.get_visible() and text.get_text().strip())
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    return {text: Text.get_window_extent(text, renderer) for text in shown}


def misplaced_text(figure: Figure) -> Iterator[str]:
    """Yield what is wrong with the places of a figure's texts."""
    boxes = drawn_text(figure)
    frame = figure.bbox.padded(0.5)
    for text, box in boxes.items():
        if not (frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1)):
            yield f"{text.get_text()!r} leaves the frame"
    touch = TOUCH * figure.dpi / 72
    for (left, left_box), (right, right_box) in combinations(boxes.items(), 2):
        common = Bbox.intersection(left_box, right_box)
        if common is not None and min(common.width, common.height) > touch:
            yield f"{left.get_text()!r} overlaps {right.get_text()!r}"


def recorded_figures() -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yield every figure of verdicts, by the name of its file."""
    runs = dict(sorted(read_runs(REPORTS).items()))
    yield "overview.svg", lambda: overview.draw(totals(runs))
    for run in runs.values():
        for result in run.results:
            for picture in pictures(result):
                kind = drawing(picture.name)
                data = read(picture.name, picture.columns, kind.shape)
                yield picture.file, partial(kind.draw, data)


@cache
def figures() -> dict[str, Callable[[], Figure]]:
    return dict(recorded_figures())


@cache
def other_figures() -> dict[str, Figure]:
    """Every figure of a comparison, an experiment or a benchmark, by the name of its file."""
    saved: list[Figure] = []

    def keep(figure: Figure, out: IO[bytes], **_: object) -> None:
        saved.append(figure)
        out.write(str(len(saved) - 1).encode())

    comparisons = COMPARISON_PAGE.read(REPORTS)
    experiments = EXPERIMENTS_PAGE.read(REPORTS)
    bench = recorded_bench(REPORTS)
    assert comparisons is not None
    assert experiments is not None
    assert bench is not None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Figure, "savefig", keep)
        files = (
            COMPARISON_PAGE.files(comparisons)
            | EXPERIMENTS_PAGE.files(experiments)
            | render_bench(bench)
        )
    svg = {
        Path(path).name: content
        for path, content in files.items()
        if path.endswith(".svg")
    }
    return {name: saved[int(content.split()[0])] for name, content in svg.items()}


def test_every_figure_of_the_report_is_looked_at() -> None:
    assert {*figures(), *other_figures()} == {
        path.name for path in (REPORTS / "figures").iterdir()
    }


@for_each("name", other_figures)
def test_text_of_other_figures_stays_inside_the_frame_and_apart(name: str) -> None:
    with look():
        assert not list(misplaced_text(other_figures()[name]))


@for_each("name", figures)
def test_text_stays_inside_the_frame_and_apart(name: str) -> None:
    with look():
        assert not list(misplaced_text(figures()[name]()))


def test_text_that_overlaps_or_leaves_the_frame_is_seen() -> None:
    figure = Figure(figsize=(2, 1))
    figure.text(0.1, 0.5, "one")
    figure.text(0.12, 0.5, "two")
    figure.text(0.9, 0.1, "a long text")
    found = list(misplaced_text(figure))
    assert found == ["'a long text' leaves the frame", "'one' overlaps 'two'"]
