"""The figure "utility-slopes"."""

from __future__ import annotations

from collections.abc import Callable

from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE: dict[str, list[float]] = {
    "x": [500.0, 1000.0, 4000.0],
    "simulated": [0.21, 0.155, 0.084],
    "simulated-low": [0.198, 0.15, 0.083],
    "simulated-high": [0.227, 0.16, 0.086],
    "corrected": [2.17, 1.6, 0.86],
    "printed": [2.88, 2.13, 1.15],
    "steps": [43637.0, 155957.0, 2052838.0],
    "fit": [-0.449, 0.242, -0.541],
    "fit-low": [-0.466, 0.235, -0.556],
    "fit-high": [-0.432, 0.249, -0.526],
    "fit-bound": [-0.4486, 0.243, -0.48],
    "fit-rate": [-0.5, 0.25, -0.5],
    "at:d": [1.0],
}


def test_caption_tells_the_ratio_the_onset_and_the_exponent() -> None:
    told = caption("utility-slopes-theorem-6", FIGURE)
    assert "10.2 to 10.3 times the simulated gradient" in told
    assert "below the trivial bound from N = 4000 on" in told
    assert "-0.449 (-0.466 to -0.432) and the bound has -0.449" in told
    vacuous = caption("utility-slopes", FIGURE | {"corrected": [9.0, 8.0, 7.0]})
    assert "is vacuous at all of them" in vacuous


@for_each("column", sorted(FIGURE))
def test_picture_changes_with_every_column(
    column: str, plain: Callable[[str], bytes]
) -> None:
    values = FIGURE[column]
    assert svg(
        "utility-slopes", FIGURE | {column: [*values[:-1], values[-1] * 1.5]}
    ) != plain("utility-slopes")
