"""The figure "constants"."""

from __future__ import annotations

from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE = {
    "x": [0.1, 1.0, 50.0], "low": [0.9, 1.1, 2.5], "high": [1.0, 1.2, 3.0], "region": [0.1, 11.5], "proved": [2.3, 2.3],
    "at:q": [0.1],
}  # fmt: skip


def test_caption_has_both_ends_and_the_region() -> None:
    text = caption("constants", FIGURE)
    assert "at most 1 at ε = 0.1, and at least 2.5 at ε = 50" in text
    assert "2.3 is argued to be enough up to ε = 11.5" in text


@for_each("column", sorted(FIGURE))
def test_picture_changes_with_each_column(column: str) -> None:
    values = FIGURE[column]
    assert svg("constants", FIGURE | {column: [*values[:-1], values[-1] * 1.5]}) != svg(
        "constants", FIGURE
    )
