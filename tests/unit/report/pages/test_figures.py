from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import pytest

from dpverify.ledger import load_specs
from dpverify.ledger.load import bundled
from dpverify.ledger.records import encode
from dpverify.ledger.results import Run, decode
from dpverify.report.collect import ReportError, pictures
from dpverify.report.drawings import noise, overview
from dpverify.report.pages.figures import DRAWINGS, caption, drawing, svg
from dpverify.report.style import separated, to_svg
from dpverify.report.words import outcomes
from tests.for_each import for_each
from tests.unit.report.sample import epsilon_figure, noise_figure

Figure = dict[str, list[float]]


def test_every_kind_is_drawn_by_the_beginning_of_its_name() -> None:
    assert drawing("noise-variance-n64") is DRAWINGS["noise-variance"]
    assert drawing("epsilon") is DRAWINGS["epsilon"]
    kinds = ", ".join(sorted(DRAWINGS))
    with pytest.raises(
        ReportError, match=f"figure='epsilons': its name must begin with one of {kinds}"
    ):
        drawing("epsilons")


@for_each(
    ("change", "rule"),
    [
        ({"exact": []}, "column 'exact' is missing or empty"),
        ({"printed": [1.0]}, "column 'printed' has 1 values where 63 are needed"),
        ({"low": [1.0] * 63}, "column 'low' has 63 values where 21 are needed"),
        ({"bound": [1.0] * 63}, "column 'bound' is none of x, exact"),
        ({"at:N": [1.0, 2.0]}, "column 'at:N' has 2 values where 1 are needed"),
        (
            {"exact": [1.0] * 62 + [float("nan")]},
            "column 'exact', value 62: nan is not finite",
        ),
    ],
)
def test_columns_that_cannot_be_drawn_are_refused(change: Figure, rule: str) -> None:
    with pytest.raises(ReportError, match=rule):
        svg("noise-variance", noise_figure() | change)


def test_captions_count_what_the_picture_shows() -> None:
    figure = noise_figure()
    false = sum(p < e for p, e in zip(figure["printed"], figure["exact"], strict=True))
    assert f"is below the exact law at {false} of 63 steps" in caption(
        "noise-variance", figure
    )
    figure["printed"] = [1.0] * 63
    assert "No step of this run exceeds the printed bound." in caption(
        "noise-variance", figure
    )
    assert (
        "Epsilon of 3 runs: the printed value is 4 to 4 times the exact one"
        in caption("epsilon", epsilon_figure())
    )


@for_each("name", ["noise-variance", "epsilon"])
def test_picture_changes_with_any_column_and_any_parameter(name: str) -> None:
    figure = noise_figure() if name == "noise-variance" else epsilon_figure()
    plain = svg(name, figure)
    for column, values in figure.items():
        assert (
            svg(name, figure | {column: [*values[:-1], values[-1] * 1.5]}) != plain
        ), column


def test_optional_columns_may_be_left_out() -> None:
    bare = {"x": [1.0, 2.0], "exact": [0.5, 0.25]}
    assert svg("noise-variance", bare).startswith(b"<?xml")
    assert svg("noise-variance", {"x": [1.0], "exact": [0.0]}).startswith(b"<?xml")


def test_long_trajectory_is_drawn_as_dots_and_stays_small() -> None:
    steps = [float(t) for t in range(1, 1024)]
    false = [0.0 if t % 2 else 2.0 for t in range(1, 1024)]
    dots = svg("noise-variance", {"x": steps, "exact": [1.0] * 1023, "printed": false})
    assert dots.count(b"<use ") > 1023
    assert len(dots) < 500_000


def test_shaded_steps_that_follow_on_one_another_are_one_stretch() -> None:
    assert noise.stretches([1.0, 2.0, 3.0, 7.0, 9.0, 10.0]) == [
        (1.0, 3.0),
        (7.0, 7.0),
        (9.0, 10.0),
    ]
    assert noise.stretches([]) == []


def test_svg_has_no_date_no_creator_no_fonts_and_a_title(
    files: Mapping[str, bytes],
) -> None:
    pictures = {
        name: content.decode()
        for name, content in files.items()
        if name.endswith(".svg")
    }
    assert len(pictures) == 4
    for name, text in pictures.items():
        assert "<title>" in text, name
        for word in (
            "<dc:date>",
            "<dc:creator>",
            "Matplotlib v",
            "<text",
            "font-family",
            "/home",
            "/work",
        ):
            assert word not in text, (name, word)


def test_svg_is_the_same_twice_and_whatever_the_user_has_set(
    run: Run, files: Mapping[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "reports" / "data").mkdir(parents=True)
    (tmp_path / "reports" / "data" / "tran2022.json").write_bytes(encode(run))
    (tmp_path / "matplotlibrc").write_text(
        "font.size: 20\naxes.grid: False\nsvg.fonttype: none\nlines.linewidth: 7\n"
    )
    script = (
        "import sys, pathlib; from dpverify.report.pages.write import regenerate; "
        "regenerate(pathlib.Path(sys.argv[1]))"
    )
    root = str(Path(__file__).parents[4])
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "7",
        "MATPLOTLIBRC": str(tmp_path),
        "PYTHONPATH": root,
        "LC_ALL": "C",
    }
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "reports")],
        check=True,
        env=environment,
        cwd=tmp_path,
    )
    for name, content in files.items():
        assert (tmp_path / "reports" / name).read_bytes() == content, name


def test_drawing_leaves_no_trace_in_matplotlib() -> None:
    before = dict(mpl.rcParams)
    with mpl.rc_context(
        {"axes.grid": False, "font.size": 31.0, "axes.facecolor": "red"}
    ):
        assert svg("epsilon", epsilon_figure()) == svg("epsilon", epsilon_figure())
        assert mpl.rcParams["font.size"] == 31.0
        inside = svg("epsilon", epsilon_figure())
    assert inside == svg("epsilon", epsilon_figure())
    assert dict(mpl.rcParams) == before


def test_overview_tells_its_numbers_in_words_and_draws_any_number_of_papers(
    run: Run,
) -> None:
    totals = {
        "a": outcomes(run.results),
        "b": outcomes(run.results[-1:]),
        "c": outcomes([]),
    }
    told = overview.caption(totals)
    assert (
        "a: 2 proved, 2 not refuted, 2 inconclusive, 4 untested, 3 refuted; b: 1 untested; c: none"
        in told
    )
    assert to_svg(lambda: overview.draw(totals), told).count(b"</svg>") == 1
    assert (
        to_svg(lambda: overview.draw({"c": outcomes([])}), told).count(b"</svg>") == 1
    )


def test_labels_are_moved_apart_in_their_order_and_stay_inside() -> None:
    heights = separated([50.0, 50.0, 52.0, 199.0], [12.0, 24.0, 12.0, 12.0], 200.0)
    gaps = [upper - lower for lower, upper in pairwise(heights)]
    needed = [18.0, 18.0, 12.0]
    assert all(gap >= need - 1e-6 for gap, need in zip(gaps, needed, strict=True))
    assert heights[-1] <= 200.0
    assert separated([10.0, 100.0], [12.0, 12.0], 200.0) == [10.0, 100.0], (
        "what does not touch is not moved"
    )


def test_no_caption_says_of_a_refuted_claim_that_what_is_printed_holds() -> None:
    data = [
        bundled("reports") / "data" / f"{paper}.json" for paper in load_specs().papers
    ]
    results = [
        result
        for file in data
        if file.is_file()
        for result in decode(file.read_bytes()).results
    ]
    captions = {
        caption(picture.name, picture.columns): result.claim
        for result in results
        if result.status == "refuted"
        for picture in pictures(result)
    }
    assert captions
    assert [
        text
        for text in captions
        if re.search(r"printed (bound|value|statement|sigma) (holds|is true)", text)
    ] == []
