from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import pytest

from dpverify.ledger.check_results import Slack
from dpverify.ledger.load import load_specs
from dpverify.ledger.records import encode
from dpverify.ledger.results import Result, Run, decode
from dpverify.ledger.specs import Chapter, Passage
from dpverify.report.collect import ReportError, by_paper
from dpverify.report.pages import write
from dpverify.report.pages.figures import Columns, svg
from dpverify.report.pages.write import check, regenerate, write_report
from dpverify.report.pages.write import render_report as render
from dpverify.report.words import FIGURE_MARK, GENERATED
from tests.for_each import for_each
from tests.unit.report.sample import (
    PAPER,
    about,
    epsilon_figure,
    lemma_12,
    noise_law,
    sample_run,
)


@cache
def drawn(name: str, columns: tuple[tuple[str, tuple[float, ...]], ...]) -> bytes:
    return svg(name, dict(columns))


@pytest.fixture(autouse=True)
def _drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the figures of the sample run once; that the same numbers give the same bytes is seen in test_figures."""

    def once(name: str, columns: Columns) -> bytes:
        return drawn(
            name, tuple((column, tuple(values)) for column, values in columns.items())
        )

    monkeypatch.setattr(write, "svg", once)


def renamed(run: Run, key: str) -> Run:
    """The same run as if it were on another paper."""
    results = [
        msgspec.structs.replace(r, claim=r.claim.replace(PAPER, key))
        for r in run.results
    ]
    return msgspec.structs.replace(run, papers={}, results=results)


@pytest.fixture
def reports(run: Run, tmp_path: Path) -> Path:
    write_report([run], tmp_path)
    return tmp_path


def test_folder_holds_data_pages_and_figures(
    reports: Path, files: Mapping[str, bytes]
) -> None:
    found = {
        path.relative_to(reports).as_posix()
        for path in reports.rglob("*")
        if path.is_file()
    }
    assert found == {*files, f"data/{PAPER}.json"}
    assert all(
        (reports / name).read_bytes() == content for name, content in files.items()
    )


def test_chapters_are_those_of_the_specs_that_are_given_and_else_the_bundled_ones(
    run: Run,
) -> None:
    bundled = load_specs().papers[PAPER]
    passage = Passage(text="These words stand in one folder only.")
    ours = replace(bundled, chapters=(Chapter(title="Ours", passage=[passage]),))
    bare = replace(bundled, chapters=())
    given = {
        "none": None,
        "other": {"zhang2021": ours},
        "ours": {PAPER: ours},
        "bare": {PAPER: bare},
    }
    pages = {
        name: render({PAPER: run}, papers)[f"{PAPER}.md"].decode()
        for name, papers in given.items()
    }
    assert passage.text in pages["ours"]
    titles = [f"# {chapter.title}" for chapter in bundled.chapters]
    assert any(title in pages["none"] for title in titles)
    assert not any(title in pages["ours"] + pages["bare"] for title in titles)
    assert pages["other"] == pages["none"]


def test_data_come_back_as_they_were(reports: Path, run: Run) -> None:
    assert decode((reports / "data" / f"{PAPER}.json").read_bytes()) == run


def test_second_time_nothing_changes(reports: Path, run: Run) -> None:
    assert check(reports) == []
    assert regenerate(reports) == []
    assert write_report([run], reports) == []


def test_every_file_ends_with_one_newline_and_names_no_machine_path(
    reports: Path,
) -> None:
    for path in reports.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert text.endswith("\n"), path
        assert not text.endswith("\n\n"), path
        assert str(reports) not in text
        assert str(Path.home()) not in text


def test_what_was_edited_lost_or_left_over_is_found_and_repaired(reports: Path) -> None:
    (reports / "README.md").write_text(f"{GENERATED}\nedited")
    (reports / "figures" / "overview.svg").unlink()
    (reports / "figures" / "old.svg").write_text(FIGURE_MARK)
    (reports / "gone2001.md").write_bytes((reports / f"{PAPER}.md").read_bytes())
    differing = ["README.md", "figures/old.svg", "figures/overview.svg", "gone2001.md"]
    assert check(reports) == differing
    assert regenerate(reports) == differing
    assert check(reports) == []


def test_files_of_others_are_left_alone(reports: Path, run: Run) -> None:
    (reports / "benchmarks.md").write_text("# Benchmarks\n")
    (reports / "figures" / "note.txt").write_text("mine\n")
    assert check(reports) == []
    write_report([run], reports)
    assert (reports / "benchmarks.md").read_text() == "# Benchmarks\n"
    assert (reports / "figures" / "note.txt").exists()


def test_recording_one_paper_keeps_the_others(reports: Path, run: Run) -> None:
    write_report([renamed(run, "wang2019")], reports)
    index = (reports / "README.md").read_text(encoding="utf-8")
    assert "`tran2022`" in index
    assert "`wang2019`" in index
    assert "| claims | 13 | 13 | 26 |" in index
    assert "| refuted | 3 | 3 | 6 |" in index


def test_run_of_two_papers_is_the_same_as_two_runs(run: Run, tmp_path: Path) -> None:
    other = renamed(run, "wang2019")
    both = msgspec.structs.replace(run, results=[*other.results, *run.results])
    one, two = tmp_path / "one", tmp_path / "two"
    write_report([both], one)
    write_report([run, other], two)
    assert (one / f"{PAPER}.md").read_bytes() == (two / f"{PAPER}.md").read_bytes()
    assert (one / "README.md").read_bytes() == (two / "README.md").read_bytes()


def test_rendering_does_not_touch_the_run(run: Run) -> None:
    before = encode(run)
    first = render({PAPER: run})
    assert encode(run) == before
    assert render({PAPER: run}) == first


def test_paper_in_two_runs_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(
        ReportError, match="paper='tran2022': a report takes one run per paper, got two"
    ):
        write_report([run, run], tmp_path)
    assert not list(tmp_path.iterdir()), "nothing is written when anything is wrong"


@for_each("claim", ["../x:lemma-1", "lemma-1", "a:b:c", "A:b", "a:", ":b"])
def test_id_that_is_no_file_name_is_refused(claim: str) -> None:
    bad = msgspec.structs.replace(lemma_12("fresh"), claim=claim)
    with pytest.raises(ReportError, match="must be PAPER:CLAIM"):
        by_paper([msgspec.structs.replace(sample_run(), results=[bad])])


@for_each(
    ("content", "rule"),
    [
        (b"{", "data/tran2022.json: Input data was truncated"),
        (b'{"schema": 1}', "data/tran2022.json: Object missing required field"),
        (b"\xff\xfe", "data/tran2022.json: "),
    ],
)
def test_damaged_data_give_one_line(reports: Path, content: bytes, rule: str) -> None:
    (reports / "data" / f"{PAPER}.json").write_bytes(content)
    before = (reports / "README.md").read_bytes()
    with pytest.raises(ReportError, match=rule) as caught:
        regenerate(reports)
    assert "\n" not in str(caught.value)
    assert (reports / "README.md").read_bytes() == before


def test_data_that_cannot_be_told_from_those_of_somebody_else_are_not_overwritten(
    reports: Path, run: Run
) -> None:
    file = reports / "data" / f"{PAPER}.json"
    file.write_bytes(b"{")
    with pytest.raises(ReportError, match="was not written by dpverify; move it away"):
        write_report([run], reports)
    file.unlink()
    assert write_report([run], reports) == [f"data/{PAPER}.json"]


def test_data_of_a_version_with_other_fields_can_be_recorded_anew(
    reports: Path, run: Run
) -> None:
    file = reports / "data" / f"{PAPER}.json"
    versions = {"dpverify": "0.0.1"}
    file.write_bytes(
        msgspec.json.encode(
            {"schema": 1, "run": {"versions": versions, "x": 1}, "results": [{}]}
        )
    )
    assert write_report([run], reports) == [f"data/{PAPER}.json"]


def test_number_that_cannot_be_read_back_is_not_recorded(tmp_path: Path) -> None:
    bad = msgspec.structs.replace(
        lemma_12("fresh"), slack=Slack(min=about(float("nan")), typical=about(1.0))
    )
    with pytest.raises(
        ReportError, match=r"data/tran2022\.json: Expected `float | str`, got `null`"
    ):
        write_report([msgspec.structs.replace(sample_run(), results=[bad])], tmp_path)
    assert not list(tmp_path.iterdir())


def test_data_of_another_schema_or_paper_are_refused(reports: Path, run: Run) -> None:
    path = reports / "data" / f"{PAPER}.json"
    path.write_bytes(encode(msgspec.structs.replace(run, schema=2)))
    with pytest.raises(ReportError, match="schema=2: this version reads schema 1"):
        check(reports)
    path.write_bytes(encode(renamed(run, "wang2019")))
    with pytest.raises(ReportError, match="another paper than 'tran2022'"):
        check(reports)


def test_figure_nobody_can_draw_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    bad = msgspec.structs.replace(lemma_12("fresh"), figures={"pie": {"x": [1.0]}})
    with pytest.raises(ReportError, match="figure='pie'"):
        write_report([msgspec.structs.replace(sample_run(), results=[bad])], tmp_path)
    assert not list(tmp_path.iterdir())


def test_figure_with_nan_is_refused_with_its_name(tmp_path: Path) -> None:
    figures = {"epsilon": {**epsilon_figure(), "exact": [float("nan")] * 3}}
    bad = msgspec.structs.replace(lemma_12("fresh"), figures=figures, checks=[])
    with pytest.raises(
        ReportError,
        match=r"figure='epsilon': column 'exact', value 0: nan is not finite",
    ):
        write_report([msgspec.structs.replace(sample_run(), results=[bad])], tmp_path)


def test_figure_of_result_and_check_is_drawn_once(run: Run) -> None:
    made: Result = noise_law()
    twice = msgspec.structs.replace(made, figures=made.checks[0].figures)
    files = render({PAPER: msgspec.structs.replace(run, results=[twice])})
    assert sorted(name for name in files if name.endswith(".svg")) == [
        "figures/overview.svg",
        "figures/tran2022-algorithm-1-noise-law-noise-variance.svg",
    ]


def test_figures_of_one_name_with_other_numbers_are_both_drawn(run: Run) -> None:
    made = noise_law()
    other = {"noise-variance": {"x": [1.0], "exact": [1.0]}}
    files = render(
        {
            PAPER: msgspec.structs.replace(
                run, results=[msgspec.structs.replace(made, figures=other)]
            )
        }
    )
    assert "figures/tran2022-algorithm-1-noise-law-noise-variance-whitened.svg" in files


def test_empty_folder_gives_an_empty_index(tmp_path: Path) -> None:
    assert regenerate(tmp_path) == ["README.md"]
    assert "No run is recorded yet." in (tmp_path / "README.md").read_text(
        encoding="utf-8"
    )
