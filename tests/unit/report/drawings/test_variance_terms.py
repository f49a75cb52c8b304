"""The figure "variance-terms"."""

from __future__ import annotations

from collections.abc import Callable

from dpverify.report.drawings.columns import Data
from dpverify.report.drawings.noise import TERM_PANELS as PANELS
from dpverify.report.drawings.noise import _range_of_terms as _range
from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE: dict[str, list[float]] = {
    "x": [1.0, 2.0, 4.0],
    **{
        f"exact-{part}": [0.0, 1.0 + place, 2.0 + place]
        for place, (part, _) in enumerate(PANELS)
    },
    "printed-1": [0.0, 3.0, 3.0],
    "printed-total": [20.0, 20.0, 70.0],
    "corrected-5": [9.0, 9.0, 9.0],
    "at:N": [4.0],
}


def test_caption_has_the_least_room_of_each_printed_bound_where_there_is_variance() -> (
    None
):
    assert (
        "Minimum over t of the printed bound divided by the exact value: term 1 1.5, all five 3.333."
        in caption("variance-terms", FIGURE)
    )


@for_each("column", sorted(FIGURE))
def test_picture_changes_with_every_column(
    column: str, plain: Callable[[str], bytes]
) -> None:
    values = FIGURE[column]
    assert svg(
        "variance-terms", FIGURE | {column: [*values[:-1], values[-1] * 1.3]}
    ) != plain("variance-terms")


def test_all_terms_and_bounds_are_within_the_axis() -> None:
    data = Data(FIGURE)
    low, high = _range(data)
    assert (low, high) == (0.007, 140.0)
    assert _range(Data(FIGURE | {"exact-1": [0.0, 0.0, 0.02]}))[0] == 0.002
