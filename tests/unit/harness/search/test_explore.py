from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dpverify.harness.search.climb import climb, corners
from dpverify.harness.search.domain import Sampler
from dpverify.harness.search.explore import shrink

Values = dict[str, Fraction]


def tried(sampler: Sampler, seed: int) -> list[Values]:
    """The points at which a search for a simple one asked, in their order."""
    points: list[Values] = []

    def wanted(point: Values) -> bool:
        points.append(point)
        return point["T"] > 100

    shrink(sampler, wanted, 100, seed)
    return points


def test_the_same_seed_tries_the_same_points(sampler: Sampler) -> None:
    assert tried(sampler, 1) == tried(sampler, 1)
    assert tried(sampler, 1) != tried(sampler, 2)


@pytest.fixture
def loaded_constants(tmp_path: Path) -> Iterator[None]:
    """Load a module full of constants, as a paper's code is."""
    path = tmp_path / "full_of_constants.py"
    path.write_text("\n".join(f"c{i} = {i * 7919 + 13}\nf{i} = {i}.125" for i in range(200)))
    spec = importlib.util.spec_from_file_location("full_of_constants", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["full_of_constants"] = module
    spec.loader.exec_module(module)
    yield
    del sys.modules["full_of_constants"]


def test_points_do_not_depend_on_the_modules_that_are_loaded(sampler: Sampler, request: pytest.FixtureRequest) -> None:
    before = tried(sampler, 3)
    request.getfixturevalue("loaded_constants")
    assert tried(sampler, 3) == before


def test_shrinking_gives_few_digits(sampler: Sampler) -> None:
    found = shrink(sampler, lambda p: p["T"] > 100 and p["T"] % p["N"] != 0 and p["x"] < Fraction(1, 3), 500, 0)
    assert found is not None
    assert found["T"] < 200
    assert found["N"] <= 3
    assert found["x"].denominator < 10


def test_nothing_found_is_none(sampler: Sampler) -> None:
    assert shrink(sampler, lambda _: False, 50, 0) is None


def test_an_author_s_error_is_not_swallowed(sampler: Sampler) -> None:
    def wanted(point: Values) -> bool:
        raise ZeroDivisionError(f"at {point}")

    with pytest.raises(ZeroDivisionError):
        shrink(sampler, wanted, 10, 0)


def test_corners_hold_ends_and_one_over_the_other(sampler: Sampler) -> None:
    points = list(corners(sampler))
    assert len(points) == len({tuple(sorted(p.items())) for p in points})
    assert all(sampler.admits(point) for point in points)
    assert any(point["N"] == point["T"] == 2**20 for point in points)
    assert any(point["x"] == 1 / point["N"] != 1 for point in points)


def test_climbing_follows_a_ridge(sampler: Sampler) -> None:
    """T grows only while T x stays below 1: no single symbol can be moved."""

    def score(point: Values) -> float:
        return float(point["T"]) if point["T"] * point["x"] == 1 else 0.0

    top = climb(sampler, score, {"T": Fraction(4), "N": Fraction(1), "x": Fraction(1, 4)}, 2000)
    assert top["T"] > 1000


def test_climbing_stops_after_its_steps(sampler: Sampler) -> None:
    calls: list[Values] = []

    def score(point: Values) -> float:
        calls.append(point)
        return float(point["T"])

    climb(sampler, score, {"T": Fraction(1), "N": Fraction(1), "x": Fraction(1)}, 7)
    assert len(calls) == 8  # the start, and seven steps
