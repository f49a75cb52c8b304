"""Recorded figures are drawn again of the recorded numbers, to the byte: nothing else looks at margins and places."""

from __future__ import annotations

from pathlib import Path

from dpverify.report.collect import Picture, pictures
from dpverify.report.drawings import overview
from dpverify.report.pages.figures import svg
from dpverify.report.pages.write import OVERVIEW, read_runs, totals
from dpverify.report.style import to_svg
from tests.for_each import for_each

REPORTS = Path(__file__).parents[4] / "reports"
RUNS = read_runs(REPORTS)


@for_each("name", ["bought", "constants", "estimate-error-parts"])
def test_a_recorded_figure_is_drawn_again(name: str) -> None:
    found: list[Picture] = [
        each
        for run in RUNS.values()
        for result in run.results
        for each in pictures(result)
    ]
    (picture,) = [each for each in found if each.name == name]
    assert (
        svg(name, picture.columns) == (REPORTS / "figures" / picture.file).read_bytes()
    )


def test_the_overview_is_drawn_again() -> None:
    found = totals(dict(sorted(RUNS.items())))
    drawn = to_svg(lambda: overview.draw(found), overview.caption(found))
    assert drawn == (REPORTS / "figures" / OVERVIEW).read_bytes()
