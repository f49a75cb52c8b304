from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from dpverify.ledger import load_specs
from dpverify.ledger.records import encode
from dpverify.report.collect import ReportError, by_paper
from dpverify.report.pages.paper import paper_pages
from dpverify.report.pages.repository import (
    EXAMPLE_LINES,
    FrontPage,
    FrontPaper,
    FrontPassage,
    example_block,
    example_command,
    findings_block,
    papers_block,
    read_front_page,
    recorded,
    with_block,
)
from dpverify.report.pages.write import index_page, totals
from tests.for_each import for_each
from tests.unit.report.sample import PAPER, sample_run

ROOT = Path(__file__).parents[4]
PAPERS = load_specs(ROOT / "specs").papers
BEGIN = "<!-- part:begin -->"
END = "<!-- part:end -->"


def page(
    text: str = "", rests_on: tuple[str, ...] = (), paper: str = PAPER
) -> FrontPage:
    """A front page with one paper and one finding of the same text."""
    summary = FrontPaper(
        paper=paper,
        url="https://example.org",
        year=2022,
        rests_on=[*rests_on],
        text=text,
    )
    return FrontPage(
        [summary], [FrontPassage(paper=paper, rests_on=[*rests_on], text=text)]
    )


def test_the_front_page_shows_the_recorded_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    front = read_front_page(ROOT / "specs")
    runs = recorded(ROOT / "reports")
    expected = with_block(text, "papers", papers_block(front, runs, PAPERS))
    expected = with_block(expected, "findings", findings_block(front, runs, PAPERS))
    assert text == expected, "run .ci/generated.py --write"


def test_a_paper_has_its_link_and_its_refuted_claims_once_each_by_severity() -> None:
    runs = by_paper([sample_run()])
    results = runs[PAPER].results
    refuted = [result for result in results if result.status == "refuted"]
    twice = replace(refuted[0], reading={"depth": "height"})
    runs = {PAPER: replace(runs[PAPER], results=[*results, twice])}
    block = papers_block(page("It is short."), runs, PAPERS)
    assert (
        "**[Momentum Aggregation for Private Non-convex ERM](https://example.org)**"
        in block
    )
    assert "(Hoang Tran, Ashok Cutkosky; NeurIPS 2022). It is short." in block
    claims = {result.claim for result in results}
    counted = len({result.claim for result in refuted})
    assert f"[Refuted: {counted} of {len(claims)} claims" in block
    assert block == papers_block(page("It is short."), by_paper([sample_run()]), PAPERS)


def test_our_notes_are_counted_apart_from_the_claims() -> None:
    run = sample_run()
    note = replace(
        run.results[-1],
        claim=f"{PAPER}:note-1",
        kind="note",
        status="refuted",
        severity="privacy",
    )
    runs = by_paper([replace(run, results=[*run.results, note])])
    before = by_paper([run])
    block = papers_block(page(), runs, PAPERS)
    assert block.replace("Our 1 note ", "Our 0 notes ") == papers_block(
        page(), before, PAPERS
    )
    assert totals(runs) == totals(before)
    index = index_page(runs)
    assert "| our notes | 1 |" in index
    pages = "\n".join(paper_pages(PAPER, runs[PAPER]).values())
    assert "(our note, no claim of the paper)" in pages
    assert "## Our own notes" in pages
    assert "**Our own notes (not claims of the paper)**" in index


def test_a_text_links_to_claims_and_takes_statuses_from_the_run() -> None:
    runs = by_paper([sample_run()])
    block = findings_block(
        page("See {{ link('lemma-12', 'Lemma 12') }}:\n{{ status('lemma-5') }}."),
        runs,
        PAPERS,
    )
    assert block == f"- See [Lemma 12](reports/{PAPER}.md#lemma-12): · untested."


@for_each(
    ("text", "rests_on", "message"),
    [
        (
            "",
            ("lemma-5 proved",),
            "`lemma-5` is untested in this run, and it rests on proved",
        ),
        (
            "",
            ("lemma-99 proved",),
            "`lemma-99` must be a claim that the run has judged",
        ),
        ("", ("lemma-5",), "it is a claim and a status"),
        ("{{ link('lemma-99', 'Lemma 99') }}", (), "`lemma-99` must be a claim"),
        (
            "{{ corrected_words('lemma-5') }}",
            (),
            "must have one status of its amendment",
        ),
        ("{{ unknown('lemma-5') }}", (), "'unknown' is undefined"),
    ],
)
def test_a_text_that_the_run_does_not_bear_out_is_refused(
    text: str, rests_on: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ReportError, match=message):
        findings_block(page(text, rests_on), by_paper([sample_run()]), PAPERS)


def test_a_paper_without_a_recorded_run_is_named() -> None:
    with pytest.raises(
        ReportError, match="nobody2020 must be a paper with a recorded run"
    ):
        papers_block(page(paper="nobody2020"), by_paper([sample_run()]), PAPERS)


@for_each("text", [None, "finding = 3", "paper = []", "finding = ["])
def test_texts_that_cannot_be_read_are_named(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "findings.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ReportError, match=r"findings\.toml"):
        read_front_page(tmp_path)


def test_texts_are_read(tmp_path: Path) -> None:
    text = f'[[paper]]\npaper = "{PAPER}"\nurl = "https://example.org"\nyear = 2022\ntext = "A."\n'
    text += f'[[finding]]\npaper = "{PAPER}"\ntext = "A."\n'
    (tmp_path / "findings.toml").write_text(text, encoding="utf-8")
    assert read_front_page(tmp_path) == page("A.")


def test_the_example_is_cut_after_some_lines() -> None:
    lines = [f"line {number}  " for number in range(EXAMPLE_LINES + 1)]
    block = example_block("dpverify list", "\n".join(lines)).splitlines()
    assert block[:3] == ["```console", "$ dpverify list", "line 0"]
    assert block[-2:] == ["...", "```"]
    assert len(block) == EXAMPLE_LINES + 2
    assert (
        example_block("dpverify list", "short\n\n")
        == "```console\n$ dpverify list\nshort\n```"
    )


def test_the_example_ends_with_a_paragraph() -> None:
    lines = ["first", "", "second", "second", "", *(["third"] * EXAMPLE_LINES)]
    block = example_block("dpverify list", "\n".join(lines)).splitlines()
    assert block == [
        "```console",
        "$ dpverify list",
        "first",
        "",
        "second",
        "second",
        "...",
        "```",
    ]


def test_the_command_of_the_example_is_read_from_the_page() -> None:
    block = with_block(
        "<!-- example:begin --><!-- example:end -->",
        "example",
        example_block("dpverify list", "a"),
    )
    assert example_command(block) == "dpverify list"
    with pytest.raises(ReportError, match="example:begin"):
        example_command("```console\n$ dpverify list\n```")


def test_the_block_is_replaced_and_the_remaining_text_stays() -> None:
    text = f"before\n{BEGIN}\nold\nlines\n{END}\nafter\n"
    assert with_block(text, "part", "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    assert with_block(with_block(text, "part", "new"), "part", "new") == with_block(
        text, "part", "new"
    )


@for_each(
    "text", ["", BEGIN, END + BEGIN, BEGIN + END + BEGIN + END, BEGIN + BEGIN + END]
)
def test_a_page_without_its_markers_is_refused(text: str) -> None:
    with pytest.raises(ReportError, match="each once"):
        with_block(text, "part", "new")


def test_recorded_runs_are_read_back_and_damage_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tran2022.json").write_bytes(encode(sample_run()))
    assert list(recorded(tmp_path)) == ["tran2022"]
    (tmp_path / "data" / "x.json").write_bytes(b'{"schema": 1')
    with pytest.raises(ReportError, match=r"data/x\.json: "):
        recorded(tmp_path)
