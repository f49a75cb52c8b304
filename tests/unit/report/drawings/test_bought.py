"""The figure "bought"."""

from __future__ import annotations

from collections.abc import Callable

from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE: dict[str, list[float]] = {
    "x": [1.0, 2.0, 3.0],
    "n": [1000.0, 1000.0, 1000.0],
    "batch": [10.0, 20.0, 10.0],
    "asked": [0.2, 0.2, 0.5],
    "box-low": [0.01, 0.01, 0.04],
    "box-high": [0.012, 0.011, 0.05],
    "theorem-low": [0.04, 0.04, 0.1],
    "theorem-high": [0.05, 0.05, 0.15],
    "needed-low": [0.17, 0.18, 0.45],
    "needed-high": [0.2, 0.2, 0.5],
    "at:delta": [1e-5],
}


def test_caption_tells_parts_and_the_widest_bar() -> None:
    told = caption("bought", FIGURE)
    assert (
        "0.055 to 0.1 with the box's noise and 0.25 to 0.3 with the theorem's noise"
        in told
    )
    assert "at most 1.5 times the lower end" in told


@for_each("column", sorted(FIGURE))
def test_picture_changes_with_every_column(
    column: str, plain: Callable[[str], bytes]
) -> None:
    values = FIGURE[column]
    assert svg("bought", FIGURE | {column: [*values[:-1], values[-1] * 1.1]}) != plain(
        "bought"
    )
