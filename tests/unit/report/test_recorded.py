"""Pages that are a function of a recorded run: written with it, compared with it, and made anew from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.report.collect import ReportError
from dpverify.selftest.pages import MUTANTS_PAGE
from dpverify.selftest.records import MutantsRun

RUN = MutantsRun(commit="c", modules=["a.b"], changes=[])


def test_a_page_is_compared_with_its_run_and_made_anew_from_it(tmp_path: Path) -> None:
    assert (
        MUTANTS_PAGE.read(tmp_path),
        MUTANTS_PAGE.check(tmp_path),
        MUTANTS_PAGE.regenerate(tmp_path),
    ) == (
        None,
        [],
        [],
    )
    assert sorted(MUTANTS_PAGE.write(RUN, tmp_path)) == [
        "data/mutants.json",
        "mutants.md",
    ]
    assert MUTANTS_PAGE.read(tmp_path) == RUN
    page = tmp_path / "mutants.md"
    written = page.read_bytes()
    assert b"1 module without a fault in the catalogue" in written
    assert (MUTANTS_PAGE.check(tmp_path), MUTANTS_PAGE.regenerate(tmp_path)) == ([], [])
    page.write_bytes(written.replace(b"1 module", b"2 modules"))
    assert MUTANTS_PAGE.check(tmp_path) == ["mutants.md"]
    assert MUTANTS_PAGE.regenerate(tmp_path) == ["mutants.md"]
    assert page.read_bytes() == written


def test_data_that_are_damaged_are_named_in_one_line(tmp_path: Path) -> None:
    MUTANTS_PAGE.write(RUN, tmp_path)
    (tmp_path / "data" / "mutants.json").write_text('{"schema": 1,\n')
    with pytest.raises(ReportError, match=r"^data/mutants\.json: [^\n]+$"):
        MUTANTS_PAGE.read(tmp_path)
