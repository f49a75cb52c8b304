"""The page that says how a check is written: its example runs, and it names all that the harness exports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dpverify import harness

PAGE = Path(__file__).parents[3] / "docs" / "writing-a-check.md"


def test_the_example_runs() -> None:
    (code,) = re.findall(
        r"^```python\n(.*?)^```",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(code, str(PAGE), "exec"), names)
    result = names["result"]
    assert result.status == "not refuted"
    assert {"half of it"} < {control.name for control in result.controls}
    assert all(control.refuted for control in result.controls)


def test_the_page_names_all_that_the_harness_exports_and_is_short() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert set(harness.__all__) == set(re.findall(r"`(\w+)`", text)) & set(
        dir(harness)
    ) - {"harness"}
    assert len(text.splitlines()) <= 70
