"""The figure of run times."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpverify.report.collect import ReportError
from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE = {
    "x:T": [2048.0, 4096.0, 8192.0],
    "literal": [0.002, 0.008, 0.032],
    "literal-low": [0.0019, 0.0079, 0.031],
    "literal-high": [0.0025, 0.009, 0.04],
    "literal-adds": [1e5, 5e5, 2e6],
    "stream": [0.0005, 0.001, 0.002],
    "stream-low": [0.0004, 0.0009, 0.0019],
    "stream-high": [0.0006, 0.0011, 0.0022],
    "stream-adds": [2e4, 5e4, 1e5],
    "fit": [1.987, 1.004],
    "fit-low": [1.95, 0.98],
    "fit-high": [2.02, 1.05],
    "at:N": [256.0],
}


def test_caption_tells_exponents_and_the_ratio_at_the_largest_size() -> None:
    told = caption("run-time", FIGURE)
    assert (
        "as T to the power 1.99 (1.95 to 2.02), the stream as 1 (0.98 to 1.05)" in told
    )
    assert (
        "At T = 8192 the printed form takes 16 times as long, 20 times in counted additions."
        in told
    )


@for_each(
    "column", [column for column in FIGURE if column not in {"fit-low", "fit-high"}]
)
def test_picture_changes_with_every_column_that_it_draws(
    column: str, plain: Callable[[str], bytes]
) -> None:
    changed = FIGURE | {column: [FIGURE[column][0] * 1.5, *FIGURE[column][1:]]}
    assert svg("run-time", changed) != plain("run-time")


def test_times_alone_are_enough_and_give_the_same_bytes() -> None:
    bare = {column: FIGURE[column] for column in ("x:T", "literal", "stream")}
    assert svg("run-time", bare) == svg("run-time", bare)
    assert "power" not in caption("run-time", bare)


def test_fits_must_belong_together() -> None:
    with pytest.raises(ReportError, match="'fit-low' has 1 values where 2 are needed"):
        svg("run-time", FIGURE | {"fit-low": [1.0]})
