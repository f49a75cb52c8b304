"""The figures "risk" and "stability"."""

from __future__ import annotations

from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE = {
    "x": [1.0, 2.0, 3.0], "exact": [0.5, 0.3, 0.2], "printed": [0.6, 0.35, 0.1], "corrected": [2.0, 1.0, 0.4],
    "anyway": [2.0, 2.0, 1.5], "low": [0.4, 0.2, 0.1], "high": [0.6, 0.4, 0.3], "at:n": [100.0],
}  # fmt: skip


def test_caption_has_the_ratios_at_the_end_and_says_which_bound_falls() -> None:
    text = caption("risk", FIGURE)
    assert (
        "At K = 3, printed bound over exact value: 0.5, corrected bound over exact value: 2."
        in text
    )
    assert "The printed bound is below the exact value at K = 3." in text
    assert "99% confidence intervals" in text
    alone = caption(
        "stability",
        {name: FIGURE[name] for name in ("x", "exact", "anyway")}
        | {"printed": [1.0, 1.0, 1.0]},
    )
    assert "printed bound over exact value: 5." in alone
    assert "below the exact" not in alone
    assert "intervals" not in alone


def test_caption_says_from_where_on_the_corrected_bound_is_of_use() -> None:
    assert "below the trivial bound from K = 2 on" in caption("risk", FIGURE)
    assert "nowhere below" in caption(
        "risk-over-n", FIGURE | {"corrected": [3.0, 3.0, 3.0]}
    )
    assert "trivial bound from n = 3 on" in caption(
        "risk-over-n", FIGURE | {"corrected": [3.0, 3.0, 0.4]}
    )


@for_each("column", sorted(FIGURE))
def test_picture_changes_with_each_column(column: str) -> None:
    values = FIGURE[column]
    assert svg("risk", FIGURE | {column: [*values[:-1], values[-1] * 1.5]}) != svg(
        "risk", FIGURE
    )
