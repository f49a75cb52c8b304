"""A result as one line, as text, as HTML and as a data frame."""

from __future__ import annotations

import builtins
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dpverify.report.result_tables import MAX_HEADLINE, MAX_ROWS, ResultTable

TWO = ResultTable(
    "Two rows",
    [{"claim": "a", "slack": 1.23456, "why": "long"}, {"claim": "b", "slack": None}],
)


def test_repr_is_one_short_line() -> None:
    assert ResultTable("a\nb", []).short("Run") == "<Run: a b>"
    assert len(ResultTable("x" * 9999, []).short("Run")) == MAX_HEADLINE + len(
        "<Run: >"
    )


def test_a_single_row_is_a_list_of_the_cells_that_say_something() -> None:
    row: dict[str, str | float | bool | None] = {
        "claim": "a",
        "empty": "",
        "none": None,
        "certified": True,
    }
    assert ResultTable("One", [row]).text() == "One\n  claim: a\n  certified: yes"


def test_several_rows_are_columns() -> None:
    assert TWO.text() == "Two rows\n  claim  slack  why\n  a      1.235  long\n  b"


def test_only_the_brief_columns_are_shown() -> None:
    assert "long" not in ResultTable(TWO.headline, TWO.rows, ("claim", "slack")).text()


def test_everything_in_html_is_escaped() -> None:
    bad = "<script>alert('1')</script>"
    for rows in ([{bad: bad}], [{bad: bad}, {bad: bad}]):
        html = ResultTable(bad, rows).html()
        assert "<script>" not in html
        assert (
            html.count("&lt;script&gt;")
            == html.count("&lt;/script&gt;")
            == 1 + len(rows) + 1 * (len(rows) > 0)
        )


def test_text_and_html_say_how_many_rows_they_leave_out() -> None:
    table = ResultTable("Many", [{"number": i} for i in range(MAX_ROWS + 5)])
    assert "5 more rows" in table.text()
    assert "5 more rows" in table.html()
    assert table.html().count("<tr>") == MAX_ROWS + 1


def test_without_pandas_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def without_pandas(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match="pip install pandas"):
        TWO.frame()


def test_a_data_frame_has_all_rows_and_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    assert TWO.frame() == [dict(row) for row in TWO.rows]
