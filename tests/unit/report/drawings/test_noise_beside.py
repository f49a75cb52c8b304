"""The figure "noise-beside"."""

from __future__ import annotations

from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE = {
    "x": [1.0, 2.0, 4.0], "one-srm": [8.0, 4.0, 2.0], "one-wide": [5.0] * 3, "one-long": [10.0] * 3,
    "mean-srm": [8.0, 7.0, 6.0], "mean-wide": [5.0, 2.5, 1.25], "mean-long": [5.0, 2.4, 1.2], "at:gamma": [0.01],
}  # fmt: skip


def test_caption_compares_with_the_smaller_noise_of_both() -> None:
    words = caption("noise-beside", FIGURE)
    assert (
        "After 4 steps of DP-SRM, the variance of its last estimate is 0.4 times"
        in words
    )
    assert "For the mean of all estimates the factor is 5." in words


@for_each("column", sorted(FIGURE))
def test_picture_changes_with_each_column(column: str) -> None:
    values = FIGURE[column]
    assert svg(
        "noise-beside", FIGURE | {column: [*values[:-1], values[-1] * 1.5]}
    ) != svg("noise-beside", FIGURE)
