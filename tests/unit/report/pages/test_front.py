from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.ledger.records import encode
from dpverify.report.collect import ReportError, by_paper
from dpverify.report.pages.front import BEGIN, END, front_block, recorded, with_front_block
from dpverify.report.pages.parts import is_result
from tests.unit.report.sample import sample_run

ROOT = Path(__file__).parents[4]


def test_the_front_page_shows_the_recorded_runs() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert page == with_front_block(page, front_block(recorded(ROOT / "reports"))), "run .ci/generated.py --write"


def test_the_table_has_the_results_that_were_judged_and_no_steps_of_proofs() -> None:
    runs = by_paper([sample_run()])
    rows = [line for line in front_block(runs).splitlines() if line.startswith("| [")]
    judged = [r for r in runs["tran2022"].results if r.status != "untested"]
    main = {r.claim.partition(":")[2] for r in judged if is_result(r.claim.partition(":")[2])}
    assert main
    assert main < {r.claim.partition(":")[2] for r in judged}
    assert {row.split("`")[1] for row in rows} == main
    assert any("**refuted**" in row for row in rows)


def test_no_run_is_said_to_be_none() -> None:
    assert front_block({}) == "No run is recorded yet."


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
