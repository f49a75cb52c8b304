from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from dpverify.ledger.records import encode
from dpverify.report.collect import ReportError, by_paper
from dpverify.report.pages.front import BEGIN, END, front_block, read_findings, recorded, with_front_block
from dpverify.report.pages.index import index_page, totals
from dpverify.report.pages.paper import paper_pages
from tests.unit.report.sample import sample_run

ROOT = Path(__file__).parents[4]


def test_the_front_page_shows_the_recorded_runs() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    block = front_block(recorded(ROOT / "reports"), read_findings(ROOT / "specs"))
    assert page == with_front_block(page, block), "run .ci/generated.py --write"


def test_the_table_has_the_findings_in_their_order_and_the_block_the_totals() -> None:
    runs = by_paper([sample_run()])
    results = runs["tran2022"].results
    refuted = list(dict.fromkeys(result.claim for result in results if result.status == "refuted"))
    chosen = [*reversed(refuted), next(result.claim for result in results if result.status == "proved")]
    block = front_block(runs, chosen)
    rows = [line for line in block.splitlines() if line.startswith("| [")]
    assert [f"tran2022:{row.split('`')[1]}" for row in rows] == chosen
    assert all("**refuted**" in row for row in rows[:-1])
    assert f"{len({result.claim for result in results})} claims: " in block


def test_our_notes_are_counted_apart_from_the_claims() -> None:
    run = sample_run()
    note = replace(run.results[-1], claim="tran2022:note-1", kind="note", status="refuted", severity="privacy")
    runs = by_paper([replace(run, results=[*run.results, note])])
    claims = {result.claim for result in run.results}
    block = front_block(runs, [run.results[0].claim])
    assert f"1 paper: {len(claims)} claims: " in block
    assert "Our own notes, counted separately: 1 note: 1 refuted (1 privacy)." in block
    before = by_paper([run])
    assert totals(runs) == totals(before)
    index = index_page(runs)
    assert next(line for line in index.splitlines() if line.startswith("| [`tran2022`]")).endswith(" | 1 |")
    page = "\n".join(paper_pages("tran2022", runs["tran2022"]).values())
    assert "(our note, no claim of the paper)" in page
    assert "## Our own notes" in page
    assert "**Our own notes, which are no claims of the paper**" in index


def test_the_reading_that_is_refuted_is_shown_and_the_one_that_stands_instead() -> None:
    run = sample_run()
    last = run.results[-1]
    mixed = [
        replace(last, claim="tran2022:mixed", reading={"depth": depth}, status=status, reason="First. Second.")
        for depth, status in (("levels", "proved"), ("height", "refuted"))
    ]
    block = front_block(by_paper([replace(run, results=[*run.results, *mixed])]), ["tran2022:mixed"])
    (row,) = [line for line in block.splitlines() if line.startswith("| [")]
    claim, *_, instead = row.strip("| ").split(" | ")
    assert "depth = height" in claim
    assert "levels" not in claim
    assert "levels" in instead
    assert "proved" in instead
    assert "First." in row
    assert "Second" not in row


@pytest.mark.parametrize("claim", ["tran2022:nowhere", "nobody2020:lemma-1", "lemma-12"])
def test_a_finding_that_no_run_has_judged_is_named(claim: str) -> None:
    with pytest.raises(ReportError, match=f"{claim} must be a claim"):
        front_block(by_paper([sample_run()]), [claim])


def test_no_run_is_said_to_be_none() -> None:
    assert front_block({}, ["tran2022:lemma-12"]) == "No run is recorded yet."


@pytest.mark.parametrize("text", [None, "findings = 3", "finding = []", "findings = ["])
def test_a_list_of_findings_that_cannot_be_read_is_named(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "findings.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ReportError, match=r"findings\.toml"):
        read_findings(tmp_path)


def test_the_block_is_replaced_and_the_rest_stays() -> None:
    page = f"before\n{BEGIN}\nold\nlines\n{END}\nafter\n"
    assert with_front_block(page, "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    assert with_front_block(with_front_block(page, "new"), "new") == with_front_block(page, "new")


@pytest.mark.parametrize("page", ["", BEGIN, END + BEGIN, BEGIN + END + BEGIN + END, BEGIN + BEGIN + END])
def test_a_page_without_its_markers_is_refused(page: str) -> None:
    with pytest.raises(ReportError, match="each once"):
        with_front_block(page, "new")


def test_recorded_runs_are_read_back_and_damage_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tran2022.json").write_bytes(encode(sample_run()))
    assert list(recorded(tmp_path)) == ["tran2022"]
    (tmp_path / "data" / "x.json").write_bytes(b'{"schema": 1')
    with pytest.raises(ReportError, match=r"data/x\.json: "):
        recorded(tmp_path)
