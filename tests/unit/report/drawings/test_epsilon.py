"""The figure "epsilon"."""

from __future__ import annotations

from dpverify.report.pages.figures import caption, svg

FIGURE: dict[str, list[float]] = {
    "x": [1.0, 2.0],
    "printed": [13.6, 6.8],
    "proof": [11.6, 5.3],
    "exact": [5.6, 1.4],
    "audited": [5.2, 0.0],
    "at:delta": [1e-5],
}


def test_caption_gives_the_gaps_and_says_when_the_order_is_upset() -> None:
    assert "2 runs" in caption("epsilon", FIGURE)
    assert "upset" not in caption("epsilon", FIGURE)
    assert "the order is upset 1 times" in caption(
        "epsilon", FIGURE | {"audited": [5.7, 0.0]}
    )


def test_picture_shows_every_run_and_changes_with_every_column() -> None:
    picture = svg("epsilon", FIGURE)
    assert b"the proof" in picture
    for name in ("printed", "proof", "exact", "audited"):
        assert svg("epsilon", FIGURE | {name: [4.0, 2.0]}) != picture
