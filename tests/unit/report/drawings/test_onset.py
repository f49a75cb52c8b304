"""The figure "onset"."""

from __future__ import annotations

from collections.abc import Callable

from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE: dict[str, list[float]] = {
    "x": [1e3, 1e4, 1e5],
    "printed": [50.0, 5.0, 0.5],
    "corrected": [20.0, 2.0, 0.2],
    "needed-x": [1e3, 1e4],
    "needed": [10.0, 0.9],
    "cell-d": [1.0, 100.0],
    "cell-epsilon": [1.0, 0.1],
    "cell-delta": [1e-6, 1e-3],
    "cell-L": [1.0, 10.0],
    "cell-R": [1.0, 0.1],
    "cell-printed": [56234.0, 7.08e6],
    "cell-corrected": [35481.0, 5.01e6],
    "cell-needed": [7079.0, 891251.0],
    "cell-least": [7079.0, 794328.0],
    "at:d": [1.0],
}


def test_caption_reads_the_hardest_row() -> None:
    told = caption("onset-theorem-6", FIGURE)
    assert "d = 100, ε = 0.1, δ = 0.001, L/G = 10 and R/G = 0.1" in told
    assert (
        "the printed bound from N = 7.1e6 on, the corrected bound from N = 5e6 on"
        in told
    )
    assert "the corrected bound with this noise from N = 790000 to 890000 on" in told


@for_each("column", sorted(FIGURE))
def test_picture_changes_with_every_column(
    column: str, plain: Callable[[str], bytes]
) -> None:
    values = FIGURE[column]
    assert svg("onset", FIGURE | {column: [*values[:-1], values[-1] * 1.5]}) != plain(
        "onset"
    )
