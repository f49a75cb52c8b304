"""The figure of a run, and the summary that says the same in words."""

from __future__ import annotations

from xml.etree import ElementTree

import msgspec
import pytest

from dpverify.algorithms.algorithm import NoiseConstants
from dpverify.algorithms.nsgd import DpNsgdSettings
from dpverify.ledger.records import encode
from dpverify.train.command import summary
from dpverify.train.figure import draw, subtitle, svg
from dpverify.train.records import DataInfo, Point, TrainResult


def make(points: int = 30, interrupted: bool = False) -> TrainResult:
    settings = DpNsgdSettings(
        steps=290,
        sigma=1.0,
        alpha=0.01,
        eta=0.005,
        lam=0.001,
        ordering="fresh",
        scale="unit",
        depth=9,
        seed=3,
    )
    return TrainResult(
        algorithm="dp-nsgd",
        data=DataInfo(name="toy", n=100, d=2, classes=("-1", "1"), standardised=False),
        settings=settings,
        constants=NoiseConstants(
            lipschitz=1.01,
            smoothness=0.252,
            gap=0.6932,
            counts={"V": 24.5},
            node_std={"f": 0.2},
        ),
        path=[
            Point(step=10 * i, loss=0.7 - 0.01 * i, gradient_norm=0.4 / (1 + i))
            for i in range(points)
        ],
        mean_gradient_norm=0.125,
        w=[0.5, -0.25],
        interrupted=interrupted,
        seconds=0.5,
        notes=["a note"],
    )


def test_summary_has_settings_path_and_what_is_not_certified() -> None:
    text = summary(make())
    for part in (
        "toy",
        "N = 100",
        "T = 290",
        "alpha = 0.01",
        "G = 1.01",
        "R = 9",
        "a note",
    ):
        assert part in text
    assert "privacy: not certified" in text
    assert "stopped" not in text
    assert (
        "0.013333 at the last iterate, 0.125000 at a random one (mean over 29 iterates)"
        in text
    )
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if "gradient norm" in line)
    assert lines[start + 1].split() == ["0", "0.700000", "0.400000"]
    assert lines[start + 11].split()[0] == "290"
    assert all(len(line) <= 120 for line in lines)


def test_summary_of_short_and_stopped_runs() -> None:
    assert "stopped after 0 of 290 steps" in summary(make(points=1, interrupted=True))
    assert summary(make(points=2)).count("\n") < summary(make()).count("\n")


def test_figure_is_stable_and_valid_and_says_privacy_is_not_certified() -> None:
    result = make()
    first = svg(result)
    assert first == svg(result)
    assert ElementTree.fromstring(first).tag.endswith("svg")
    assert b"<dc:date>" not in first
    assert "privacy: not certified" in subtitle(result)
    assert "stopped after 40 of 290 steps" in subtitle(make(points=5, interrupted=True))
    assert svg(make(points=1)) != first


def test_json_has_the_settings_of_the_algorithm() -> None:
    result = make()
    data = encode(result)
    assert data.endswith(b"}\n")
    assert msgspec.json.decode(data)["settings"] == msgspec.to_builtins(result.settings)
    assert msgspec.json.decode(data)["schema"] == 2
    assert msgspec.json.decode(data)["privacy"] == "not certified"


def test_panels_stand_one_above_the_other_inside_the_figure_and_begin_at_0() -> None:
    upper, lower = draw(make()).axes
    above, below = upper.get_position(), lower.get_position()
    assert above.height == pytest.approx(below.height)
    assert 0.0 < below.y0 < below.y1 < above.y0 < above.y1 < 1.0
    assert (above.x0, above.x1) == (below.x0, below.x1)
    assert 0.0 < above.x0 < above.x1 < 1.0
    assert upper.get_xlim() == lower.get_xlim() == (0, 290)
    assert {axes.get_ylim()[0] for axes in (upper, lower)} == {0.0}
    assert {line.get_marker() for axes in (upper, lower) for line in axes.lines} == {""}
    assert {
        line.get_marker() for axes in draw(make(points=1)).axes for line in axes.lines
    } == {"o"}


def test_privacy_is_certified_where_both_its_numbers_are_there() -> None:
    certified = msgspec.structs.replace(make(), epsilon=1.5, delta=1e-5)
    assert subtitle(certified).endswith("; ε = 1.5, δ = 1e-5")
    for half in ({"epsilon": 1.5}, {"delta": 1e-5}):
        assert subtitle(msgspec.structs.replace(make(), **half)).endswith(
            "; privacy: not certified"
        )
