"""The figure "error-parts"."""

from __future__ import annotations

from collections.abc import Callable

from dpverify.report.drawings.errors import PANELS, RECURSIVE_PANELS
from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE: dict[str, list[float]] = {
    "x": [1.0, 2.0, 3.0],
    **{f"attained-{part}": [0.1, 0.2, 0.25] for part, _ in PANELS},
    **{f"corrected-{part}": [0.5, 0.5, 0.5] for part, _ in PANELS},
    "printed-sampling": [0.8, 0.8, 0.8],
    "at:N": [16.0],
}


def test_caption_tells_the_room_and_what_is_not_printed() -> None:
    told = caption("error-parts", FIGURE)
    assert "sampling noise 2," in told
    assert "The paper prints no bound for start-up bias and drift" in told
    assert "and sampling noise" not in told


@for_each("column", sorted(FIGURE))
def test_picture_changes_with_every_column(
    column: str, plain: Callable[[str], bytes]
) -> None:
    values = FIGURE[column]
    assert svg(
        "error-parts", FIGURE | {column: [*values[:-1], values[-1] * 1.4]}
    ) != plain("error-parts")


def test_parts_that_are_zero_are_left_out() -> None:
    zero = {
        name: [0.0] * 3 if "-" in name else values for name, values in FIGURE.items()
    }
    assert svg("error-parts", zero).startswith(b"<?xml")


def test_parts_of_an_estimate_have_no_printed_bounds() -> None:
    parts = [part for part, _ in RECURSIVE_PANELS]
    columns = {
        "x": [1.0, 2.0],
        **{
            f"{kind}-{part}": [0.1, 0.2]
            for kind in ("attained", "corrected")
            for part in parts
        },
    }
    told = caption("estimate-error-parts", columns)
    assert "Our bound divided by the largest part: start (first batch) 1," in told
    assert "printed" not in told
    assert svg("estimate-error-parts", columns) != svg(
        "estimate-error-parts", columns | {"corrected-drift": [0.3, 0.4]}
    )
