"""Lines of an output are wrapped where they are prose, and only there."""

from __future__ import annotations

import pytest

from dpverify.report.text.paragraphs import prose_wrapped


def test_prose_is_wrapped_and_rows_of_tables_stay_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    row = "sigma  1.25  0.3333333  0.4444444  yes"
    label = "  dp-gd  not certified: the columns were standardised"
    note = "warning: the printed sigma is not enough for this epsilon"
    assert prose_wrapped("\n".join([row, label, "", note])).splitlines() == [
        row,
        "  dp-gd  not certified: the",
        "         columns were",
        "         standardised",
        "",
        "warning: the printed sigma is",
        "  not enough for this epsilon",
    ]
