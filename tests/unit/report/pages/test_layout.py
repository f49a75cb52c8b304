from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from dpverify.ledger import load_specs
from dpverify.ledger.results import Run
from dpverify.ledger.specs import Chapter, PaperSpec, Passage
from dpverify.report.collect import claim_id
from dpverify.report.pages import layout, write
from dpverify.report.pages.layout import LIMIT, Places, is_result, lay_out, part_of
from dpverify.report.pages.repository import (
    FrontPage,
    FrontPassage,
    findings_block,
    recorded,
)
from dpverify.report.pages.write import check, regenerate, write_report
from dpverify.report.pages.write import render_report as render
from dpverify.report.words import FIGURE_MARK
from tests.for_each import for_each
from tests.unit.report.rendering import dead_links
from tests.unit.report.sample import PAPER, lemma_12, result, sample_run

ROOT = Path(__file__).parents[4]
HOST = 500_000
"""Bytes of markdown from which GitHub shows the source in place of the page (512 kB)."""


@pytest.fixture(scope="module", autouse=True)
def _no_drawings() -> Iterator[None]:
    """Only pages are looked at here, and two thirds of the time of a report goes into its drawings."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            write, "svg", lambda name, columns: b"<svg/>\n" + FIGURE_MARK.encode()
        )
        yield


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages so short that the sample run is split."""
    monkeypatch.setattr(layout, "LIMIT", 2_500)


@pytest.fixture
def split(short: None, run: Run) -> Mapping[str, str]:
    return {
        name: content.decode()
        for name, content in render({PAPER: run}).items()
        if name.endswith(".md")
    }


@pytest.fixture(scope="module")
def runs() -> Mapping[str, Run]:
    """The recorded runs."""
    return recorded(ROOT / "reports")


@pytest.fixture(scope="module")
def rendered(runs: Mapping[str, Run]) -> Mapping[str, str]:
    """The pages that are made of them."""
    return {
        name: text.decode()
        for name, text in render(runs).items()
        if name.endswith(".md")
    }


def test_a_short_paper_is_one_page(run: Run) -> None:
    assert lay_out(PAPER, run).parts == []


def test_a_long_paper_has_a_page_for_each_part(
    split: Mapping[str, str], run: Run
) -> None:
    judged = [r.claim.partition(":")[2] for r in run.results if r.status != "untested"]
    for claim in judged:
        holding = [
            name for name, text in split.items() if f'<a id="{claim}"></a>' in text
        ]
        assert len(holding) == 1, claim
        assert holding[0].startswith(f"{PAPER}/")
    assert f"{PAPER}/lemma-12.md" in split
    assert "### " not in split[f"{PAPER}.md"], (
        "no claim is told in full on the first page"
    )


def test_every_link_of_a_split_report_leads_somewhere(
    split: Mapping[str, str], run: Run
) -> None:
    files = {*render({PAPER: run}), f"data/{PAPER}.json"}
    assert dead_links(split, files) == []
    below = {f"reports/{name}": text for name, text in split.items()}
    names = [claim_id(claim) for claim in run.results]
    findings = [
        FrontPassage(paper=PAPER, text=f"{{{{ link('{name}', '{name}') }}}}")
        for name in names
    ]
    front = findings_block(FrontPage([], findings), {PAPER: run}, load_specs().papers)
    assert (
        dead_links({**below, "README.md": front}, {f"reports/{name}" for name in files})
        == []
    )


def test_a_dead_link_is_seen() -> None:
    first = "# A b\n[x](#a-b) [y](#b) [z](c/d.md#e) [u](c/d.md#f) [v](gone.md)"
    pages = {"a.md": first, "c/d.md": '<a id="e"></a>[w](../a.md)'}
    assert dead_links(pages, ()) == ["a.md: #b", "a.md: c/d.md#f", "a.md: gone.md"]


def test_a_part_that_is_too_long_is_cut_into_pages_of_about_the_same_length(
    run: Run,
) -> None:
    words = "word " * (LIMIT // 22)
    many = [
        result(f"lemma-1-step-{n}", "Lemma 1", "count", "proved", quote=words)
        for n in range(10)
    ]
    pages = lay_out(PAPER, msgspec.structs.replace(run, results=many)).parts
    assert [page.file for page in pages] == [
        f"{PAPER}/lemma-1{end}.md" for end in ("", "-2", "-3")
    ]
    assert pages[1].title == "Lemma 1, page 2 of 3"
    assert [group[0].claim for page in pages for group in page.groups] == [
        r.claim for r in many
    ]
    assert max(len(page.groups) for page in pages) <= 4


def test_a_claim_that_is_too_long_by_itself_has_a_page_of_its_own(run: Run) -> None:
    words = "word " * LIMIT
    many = [
        result(f"lemma-1-step-{n}", "Lemma 1", "count", "proved", quote=words)
        for n in range(3)
    ]
    pages = lay_out(PAPER, msgspec.structs.replace(run, results=many)).parts
    assert [len(page.groups) for page in pages] == [1, 1, 1]


def test_pages_that_no_longer_belong_are_an_error_and_go_away(
    monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path
) -> None:
    write_report([run], tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(layout, "LIMIT", 2_500)
        regenerate(tmp_path)
        assert (tmp_path / PAPER / "lemma-12.md").is_file()
    assert f"{PAPER}/lemma-12.md" in check(tmp_path)
    regenerate(tmp_path)
    assert check(tmp_path) == []
    assert not (tmp_path / PAPER).exists(), "an empty folder goes with its last page"


def test_figures_are_found_from_a_page_of_a_part(split: Mapping[str, str]) -> None:
    shown = [
        target
        for text in split.values()
        for target in re.findall(r"\]\(([^)]*\.svg)\)", text)
    ]
    assert any(target.startswith("../figures/") for target in shown)


@for_each("limit", [LIMIT, 2_500])
def test_a_figure_that_a_chapter_shows_is_linked_from_its_claim(
    monkeypatch: pytest.MonkeyPatch, run: Run, limit: int
) -> None:
    monkeypatch.setattr(layout, "LIMIT", limit)
    bare = replace(load_specs().papers[PAPER], chapters=())
    text = "See:\n\n{{ figure('lemma-12', 'epsilon') }}"
    chapter = Chapter(title="Noise", part="Lemma 12", passage=[Passage(text=text)])
    page = f"{PAPER}.md" if limit == LIMIT else f"{PAPER}/lemma-12.md"

    def pages_with(paper: PaperSpec) -> dict[str, str]:
        files = render({PAPER: run}, {PAPER: paper})
        return {
            name: content.decode()
            for name, content in files.items()
            if name.endswith(".md")
        }

    def images(text: str) -> list[str]:
        return re.findall(r"!\[.*\]\(.*/([^/)]*-epsilon[^/)]*)\)", text)

    pages = pages_with(replace(bare, chapters=(chapter,)))
    written = pages[page]
    without, with_chapter = images(pages_with(bare)[page]), images(written)
    assert sorted(with_chapter) == sorted(without), (
        "each is shown once, with the chapter or without"
    )
    assert (
        written.count(
            f'<a id="figure-{with_chapter[0].removesuffix(".svg")}"></a>\n\n!['
        )
        == 1
    )
    assert "The figure `epsilon` is [shown above](#figure-" in written
    assert dead_links(pages, {*render({PAPER: run}), f"data/{PAPER}.json"}) == []


def test_places_seen_from_elsewhere() -> None:
    places = Places({"p:lemma-1": "p/lemma-1.md"}, here="p.md")
    one = msgspec.structs.replace(lemma_12("fresh"), claim="p:lemma-1")
    assert places.link(one) == "[`lemma-1`](p/lemma-1.md#lemma-1)"
    assert places.on("p/lemma-1.md").target("p:lemma-1") == "#lemma-1"
    assert places.on("p/theorem-2.md").target("p:lemma-1") == "lemma-1.md#lemma-1"
    assert places.on("p/theorem-2.md").page("README.md") == "../README.md"
    assert (
        Places(places.pages, folder="reports/").target("p:lemma-1")
        == "reports/p/lemma-1.md#lemma-1"
    )


def test_the_recorded_report_has_no_dead_link_and_no_page_too_long_to_be_shown() -> (
    None
):
    paths = [ROOT / "README.md", *(ROOT / "reports").rglob("*.md")]
    pages = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in paths
    }
    assert len(pages) > 20
    there = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*")
        if ".git" not in path.parts
    }
    assert dead_links(pages, there) == []
    assert {
        name: len(text) for name, text in pages.items() if len(text.encode()) > HOST
    } == {}


def test_the_first_page_of_a_recorded_paper_is_two_screens_and_all_of_them_can_be_read(
    rendered: Mapping[str, str],
) -> None:
    # not the page of proofs, which somebody reads who doubts one of them
    words = {
        name: len(text.split())
        for name, text in rendered.items()
        if not name.endswith("/proofs.md")
    }
    assert (
        sum(count for name, count in words.items() if name.startswith(PAPER)) <= 55_000
    )
    assert (
        sum(
            count
            for name, count in words.items()
            if name.startswith(("tran2022", "wang2019", "zhang2021"))
        )
        <= 105_000
    )
    assert words[f"{PAPER}.md"] <= 1_200


def test_every_recorded_paper_has_a_page_for_each_part(
    rendered: Mapping[str, str],
) -> None:
    assert '<a id="theorem-3-4"></a>' in rendered["zhang2021/theorem-3-4.md"]
    for key in ("tran2022", "wang2019", "zhang2021"):
        assert len(rendered[f"{key}.md"].split()) <= 2_500
        assert f"{key}/claims.md" in rendered


def test_the_sample_fits_on_one_page() -> None:
    assert list(render({PAPER: sample_run()}))[:1] == ["README.md"]
    assert not [
        name for name in render({PAPER: sample_run()}) if name.startswith(f"{PAPER}/")
    ]


@for_each(
    ("claim", "result", "part"),
    [
        ("lemma-12", True, "Lemma 12"),
        ("lemma-12-var", False, "Lemma 12"),
        ("lemma-7-var-2", False, "Lemma 7"),
        ("lemma-3-7", True, "Lemma 3.7"),
        ("lemma-b-1", True, "Lemma B.1"),
        ("lemma-b-1-terms", False, "Lemma B.1"),
        ("abstract-rate", True, "Abstract"),
        ("section-4-distance", False, "Section 4"),
        ("section-4", False, "Section 4"),
        ("gaussian-divergence", False, "Gaussian"),
    ],
)
def test_a_claim_is_a_result_or_belongs_to_one(
    claim: str, result: bool, part: str
) -> None:
    assert is_result(claim) is result
    assert part_of(claim) == part


def test_a_reading_is_explained_before_it_is_named_on_every_page_below_the_first_of_a_recorded_paper(
    runs: Mapping[str, Run], rendered: Mapping[str, str]
) -> None:
    texts = {
        line.text
        for run in runs.values()
        for r in run.results
        for line in r.display
        if line.word == "reading"
    }
    pages = {name: text for name, text in rendered.items() if "/" in name}
    explained = 0
    for name, page in pages.items():
        for text in texts:
            if text in page and (
                first := re.search(rf"(?<![\w-]){re.escape(text)}(?![\w-])", page)
            ):
                reading, choice = map(re.escape, text.split(" = "))
                line = re.search(
                    rf"^- {reading} = (?:[\w-]+ or )*{choice}(?: or [\w-]+)*: ",
                    page,
                    re.MULTILINE,
                )
                assert line, f"{name}: {text}"
                assert line.start() <= first.start(), f"{name}: {text}"
                explained += 1
    assert explained > 20
