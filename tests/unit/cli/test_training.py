"""What ``train`` and ``compare`` hand on: a stand-in says what it was called with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpverify.compare
import dpverify.train
from dpverify.cli import main


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    words: dict[str, Any] = {}

    def stand_in(algorithm: str = "", **asked: Any) -> int:
        words.update(asked, algorithm=algorithm)
        return 0

    monkeypatch.setattr(dpverify.train, "run_train", stand_in)
    monkeypatch.setattr(dpverify.compare, "run_compare", stand_in)
    return words


@pytest.mark.parametrize(
    ("words", "figure"),
    [
        ("--algorithm dp-srm", Path("dp-srm.svg")),
        ("--algorithm dp-srm --figure mine.svg", Path("mine.svg")),
        ("--algorithm dp-srm --no-figure", None),
    ],
)
def test_a_figure_is_named_after_the_algorithm_unless_it_has_a_name(
    words: str, figure: Path | None, handed: dict[str, Any]
) -> None:
    assert main(["train", *words.split()]) == 0
    assert (handed["algorithm"], handed["figure"]) == ("dp-srm", figure)


def test_means_of_a_comparison_go_on_as_one(
    tmp_path: Path, handed: dict[str, Any]
) -> None:
    store = tmp_path / "blocks.sqlite"
    assert main(["compare", "--seeds", "3", "--fresh", "--store", str(store)]) == 0
    assert handed["seeds"] == 3
    assert handed["backend"].fresh
    assert handed["backend"].cluster is None
    assert handed.keys().isdisjoint({"cluster", "store", "fresh"})
    assert store.is_file()
