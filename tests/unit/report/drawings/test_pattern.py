"""The figure "pattern"."""

from __future__ import annotations

from collections.abc import Callable

from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE: dict[str, list[float]] = {
    "x": [5.0, 6.0, 7.0, 8.0],
    "weight": [0.125, 0.25, 0.5, 1.0],
    "fresh-x": [6.0, 7.0],
    "fresh": [0.25, 0.5],
    "once-x": [8.0],
    "once": [1.0],
    "epoch-x": [7.0],
    "epoch": [3.0],
    "at:alpha": [0.5],
}


def test_caption_has_the_node_and_the_totals_of_the_patterns_that_are_there() -> None:
    told = caption("pattern", FIGURE)
    assert "in the node [5, 8]" in told
    assert (
        "one permutation for all epochs 1, a fresh permutation in every epoch 0.75."
        in told
    )
    assert "as printed" not in told


@for_each("column", sorted(FIGURE))
def test_picture_changes_with_every_column(
    column: str, plain: Callable[[str], bytes]
) -> None:
    values = FIGURE[column]
    assert svg("pattern", FIGURE | {column: [*values[:-1], values[-1] * 0.9]}) != plain(
        "pattern"
    )


def test_each_row_is_named_beside_its_total_and_each_epoch_above_its_first_step(
    plain: Callable[[str], bytes],
) -> None:
    picture = plain("pattern")
    for words in (
        b"one permutation",
        b"a fresh permutation",
        b"epoch 3",
        b"in the node [5, 8]",
    ):
        assert words in picture
