from collections.abc import Callable

from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

FIGURE = {
    "x": [0.5, 0.1, 0.5, 0.1],
    "alpha": [0.1, 0.1, 0.2, 0.2],
    "fixed": [0.1, 0.2, 0.3, 0.4],
    "moving": [0.2, 0.9, 0.4, 1.5],
    "estimate": [0.1, 0.01, 0.2, 0.02],
    "at:N": [64.0],
}


def test_caption_reads_the_largest_alpha_at_the_smallest_gamma() -> None:
    told = caption("identity-error-size", FIGURE)
    assert "At α = 0.2 and γ = 0.1" in told
    assert "stay as they are 0.4 G" in told
    assert "flip between epochs 1.5 G" in told
    assert "off by 0.02 G" in told


@for_each("column", ["x", "alpha", "fixed", "moving", "estimate", "at:N"])
def test_picture_changes_with_every_column(
    column: str, plain: Callable[[str], bytes]
) -> None:
    values = FIGURE[column]
    assert svg(
        "identity-error", FIGURE | {column: [*values[:-1], values[-1] * 1.5]}
    ) != plain("identity-error")


def test_the_same_numbers_give_the_same_bytes_and_columns_may_be_left_out() -> None:
    bare = {name: FIGURE[name] for name in ("x", "alpha", "fixed")}
    assert svg("identity-error", bare) == svg("identity-error", bare)
    zero = bare | {"fixed": [0.0, 0.0, 0.0, 0.0]}
    assert svg("identity-error", zero).startswith(b"<?xml"), (
        "N = 1 has no error to draw"
    )
