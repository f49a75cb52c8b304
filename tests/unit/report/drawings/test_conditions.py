"""The figure "conditions"."""

from __future__ import annotations

from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE = {
    "x": [0.1, 1.0, 10.0], "most": [1e-4, 1e-2, 0.5], "settings": [0.2, 2.0, 5.0], "rate": [2e-4, 5e-3, 0.02],
    "at:delta": [1e-5],
}  # fmt: skip


def test_caption_counts_what_lies_outside() -> None:
    assert "2 of 3 settings" in caption("conditions", FIGURE)
    assert "a batch may contain at most the fraction 0.0001 of the data" in caption(
        "conditions", FIGURE
    )


@for_each("column", sorted(FIGURE))
def test_picture_changes_with_each_column(column: str) -> None:
    values = FIGURE[column]
    assert svg(
        "conditions", FIGURE | {column: [*values[:-1], values[-1] * 1.5]}
    ) != svg("conditions", FIGURE)
