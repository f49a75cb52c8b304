from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dpverify.report.collect import ReportError
from dpverify.report.words import GENERATED
from dpverify.selftest.check_pages import SEARCH_PAGE, search_page
from dpverify.selftest.check_pages import search_summary as summary
from dpverify.selftest.records import SearchedInequality, SearchRun, Trial

SEEN, MISSED = (
    Trial(seed=0, points=60, found={"N": "127"}, bits=8),
    Trial(seed=1, points=61),
)


def hunted(name: str, kind: str, *trials: Trial) -> SearchedInequality:
    return SearchedInequality(
        name=name,
        kind=kind,
        says=f"{name} <= 1",
        requires=["N >= 9"],
        bits=7,
        trials={"smoke": [*trials]},
    )


RUN = SearchRun(
    kinds={"whole": "false only for some", "far": "false far out"},
    seconds={"smoke": 0.2},
    inequalities=[
        hunted("a", "whole", SEEN, SEEN),
        hunted("b", "whole", SEEN, MISSED),
        hunted("c", "far", MISSED, MISSED),
        hunted("e", "", MISSED, MISSED),
    ],
)


def test_the_page_counts_what_is_found_always_sometimes_and_never() -> None:
    page = search_page(RUN)
    assert "of 3 false inequalities 1 are always refuted, 1 sometimes, 1 never." in page
    assert "Of 1 true inequalities, 0 refuted." in page
    assert "| false only for some | 1 | 1 | 0 |" in page
    assert "| b | `b <= 1 for N >= 9` | 1 of 2 | 8 | 7 | N = 127 |" in page
    assert "- b: `b <= 1 for N >= 9`" in page
    assert "- c: `c <= 1 for N >= 9`" in page
    assert "- a: " not in page
    assert "| c | `c <= 1 for N >= 9` | ✗ 0 of 2 |  | 7 |  |" in page


def test_a_true_one_that_is_refuted_is_counted() -> None:
    bad = msgspec.structs.replace(
        RUN, inequalities=[*RUN.inequalities, hunted("f", "", SEEN, MISSED)]
    )
    assert [each.name for each in bad.wrong] == ["f"]
    assert list(summary(bad))[-1] == "Of 2 true inequalities, 1 refuted."


def test_page_and_data_belong_together(tmp_path: Path) -> None:
    assert SEARCH_PAGE.check(tmp_path) == []
    assert SEARCH_PAGE.write(RUN, tmp_path) == ["data/search.json", "search.md"]
    assert SEARCH_PAGE.check(tmp_path) == []
    (tmp_path / "search.md").write_text(f"{GENERATED}\nedited", encoding="utf-8")
    assert SEARCH_PAGE.check(tmp_path) == ["search.md"]
    assert SEARCH_PAGE.regenerate(tmp_path) == ["search.md"]
    (tmp_path / "data" / "search.json").write_text("{", encoding="utf-8")
    with pytest.raises(ReportError, match=r"data/search\.json"):
        SEARCH_PAGE.check(tmp_path)
