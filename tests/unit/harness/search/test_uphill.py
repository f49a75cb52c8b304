from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from dpverify.harness.search.domain import Sampler, make_sampler
from dpverify.harness.search.uphill import drive_up
from dpverify.ledger.statements import Statement

Values = dict[str, Fraction]


def size(point: Values) -> float:
    return float(point["T"] * point["x"])


def visited(
    sampler: Sampler, seed: int, examples: int = 100, score: Callable[[Values], float | None] = size
) -> list[Values]:
    points: list[Values] = []

    def scored(point: Values) -> float | None:
        points.append(point)
        return score(point)

    drive_up(sampler, scored, examples, seed)
    return points


def test_the_same_seed_visits_the_same_points_and_the_simplest_first(sampler: Sampler) -> None:
    assert visited(sampler, 1) == visited(sampler, 1)
    assert visited(sampler, 1) != visited(sampler, 2)
    assert visited(sampler, 1)[0] == {"N": 1, "T": 1, "x": 1}
    assert all(sampler.admits(point) for point in visited(sampler, 1))


def test_as_many_points_are_visited_as_are_asked_for(sampler: Sampler) -> None:
    assert [len(visited(sampler, 0, examples)) for examples in (1, 7, 100)] == [1, 7, 100]


def test_a_score_is_driven_up(sampler: Sampler) -> None:
    """Points near the best ones are visited more often than without a score."""
    assert max(map(size, visited(sampler, 4))) > 10**5
    with_score, without = (visited(sampler, 5, 400, score) for score in (size, lambda _: None))
    assert sum(size(p) > 10**5 for p in with_score) > 2 * sum(size(p) > 10**5 for p in without) > 0


def test_a_point_of_two_letters_that_must_be_right_together_is_come_to(sampler: Sampler) -> None:
    """T is 1024 and x is 1/1024: a score that grows with each of them leads there."""

    def near(point: Values) -> float:
        return 1.0 / (1.0 + abs(float(point["T"]) - 1024.0)) + 1.0 / (1.0 + abs(1 / float(point["x"]) - 1024.0))

    found = [point for seed in range(10) for point in visited(sampler, seed, 400, near)]
    assert any(near(point) > 1.9 for point in found)


def test_enough_ends_the_visit(sampler: Sampler) -> None:
    points: list[Values] = []
    drive_up(sampler, points.append, 100, 0, done=lambda: len(points) >= 5)
    assert len(points) == 5


def test_a_domain_without_a_point_ends_after_some_tries(statements: dict[str, Statement]) -> None:
    assert visited(make_sampler(statements["empty"], {}, {}), 0) == []


def test_an_author_s_error_is_not_swallowed(sampler: Sampler) -> None:
    def score(point: Values) -> float:
        raise ZeroDivisionError(f"at {point}")

    with pytest.raises(ZeroDivisionError):
        drive_up(sampler, score, 10, 0)
