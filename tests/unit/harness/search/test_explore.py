from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dpverify.harness.search.domain import Sampler, make_sampler
from dpverify.harness.search.explore import climb, corners, drive_up, shrink
from dpverify.ledger.statements import Statement

Values = dict[str, Fraction]


def size(point: Values) -> float:
    return float(point["T"] * point["x"])


def visited(
    sampler: Sampler,
    seed: int,
    examples: int = 100,
    score: Callable[[Values], float | None] = size,
) -> list[Values]:
    points: list[Values] = []

    def scored(point: Values) -> float | None:
        points.append(point)
        return score(point)

    drive_up(sampler, scored, examples, seed)
    return points


def test_the_same_seed_visits_the_same_points_and_the_simplest_first(
    sampler: Sampler,
) -> None:
    assert visited(sampler, 1) == visited(sampler, 1)
    assert visited(sampler, 1) != visited(sampler, 2)
    assert visited(sampler, 1)[0] == {"N": 1, "T": 1, "x": 1}
    assert all(sampler.admits(point) for point in visited(sampler, 1))


def test_as_many_points_are_visited_as_are_asked_for(sampler: Sampler) -> None:
    assert [len(visited(sampler, 0, examples)) for examples in (1, 7, 100)] == [
        1,
        7,
        100,
    ]


def test_a_score_is_driven_up(sampler: Sampler) -> None:
    """Points near the best ones are visited more often than without a score."""
    assert max(map(size, visited(sampler, 4))) > 10**5
    with_score, without = (
        visited(sampler, 5, 400, score) for score in (size, lambda _: None)
    )
    assert (
        sum(size(p) > 10**5 for p in with_score)
        > 2 * sum(size(p) > 10**5 for p in without)
        > 0
    )


def test_a_point_of_two_letters_that_must_be_right_together_is_come_to(
    sampler: Sampler,
) -> None:
    """T is 1024 and x is 1/1024: a score that grows with each of them leads there."""

    def near(point: Values) -> float:
        return 1.0 / (1.0 + abs(float(point["T"]) - 1024.0)) + 1.0 / (
            1.0 + abs(1 / float(point["x"]) - 1024.0)
        )

    found = [point for seed in range(10) for point in visited(sampler, seed, 400, near)]
    assert any(near(point) > 1.9 for point in found)


def test_enough_ends_the_visit(sampler: Sampler) -> None:
    points: list[Values] = []
    drive_up(sampler, points.append, 100, 0, done=lambda: len(points) >= 5)
    assert len(points) == 5


def test_a_domain_without_a_point_ends_after_some_tries(
    statements: dict[str, Statement],
) -> None:
    assert visited(make_sampler(statements["empty"], {}, {}), 0) == []


def test_an_error_of_a_score_is_not_swallowed(sampler: Sampler) -> None:
    def score(point: Values) -> float:
        raise ZeroDivisionError(f"at {point}")

    with pytest.raises(ZeroDivisionError):
        drive_up(sampler, score, 10, 0)


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
    path.write_text(
        "\n".join(f"c{i} = {i * 7919 + 13}\nf{i} = {i}.125" for i in range(200))
    )
    spec = importlib.util.spec_from_file_location("full_of_constants", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["full_of_constants"] = module
    spec.loader.exec_module(module)
    yield
    del sys.modules["full_of_constants"]


def test_points_do_not_depend_on_the_modules_that_are_loaded(
    sampler: Sampler, request: pytest.FixtureRequest
) -> None:
    before = tried(sampler, 3)
    request.getfixturevalue("loaded_constants")
    assert tried(sampler, 3) == before


def test_shrinking_gives_few_digits(sampler: Sampler) -> None:
    found = shrink(
        sampler,
        lambda p: p["T"] > 100 and p["T"] % p["N"] != 0 and p["x"] < Fraction(1, 3),
        500,
        0,
    )
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

    top = climb(
        sampler, score, {"T": Fraction(4), "N": Fraction(1), "x": Fraction(1, 4)}, 2000
    )
    assert top["T"] > 1000


def test_climbing_stops_after_its_steps(sampler: Sampler) -> None:
    calls: list[Values] = []

    def score(point: Values) -> float:
        calls.append(point)
        return float(point["T"])

    climb(sampler, score, {"T": Fraction(1), "N": Fraction(1), "x": Fraction(1)}, 7)
    assert len(calls) == 8  # the start, and seven steps
