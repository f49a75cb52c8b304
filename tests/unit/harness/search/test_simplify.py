from __future__ import annotations

from fractions import Fraction

from dpverify.harness.search.domain import Sampler
from dpverify.harness.search.search import (
    simplify,
    size,
    with_simpler_symbol,
    with_two_simplest,
)


def test_simplify_keeps_the_property(sampler: Sampler) -> None:
    start = {"T": Fraction(1023), "N": Fraction(77), "x": Fraction(311, 997)}
    simple = simplify(
        sampler, lambda p: p["N"] >= 3 and p["x"] <= Fraction(1, 2), start
    )
    assert simple == {"T": 3, "N": 3, "x": Fraction(1, 2)}
    start["x"] = Fraction(3, 997)
    odd = simplify(
        sampler,
        lambda p: p["T"] > 100 and p["T"] % p["N"] != 0 and p["x"] < Fraction(1, 90),
        start,
    )
    assert odd == {"T": 101, "N": 2, "x": Fraction(1, 91)}
    assert size(simple) < size(start)


def test_symbols_that_come_later_are_made_to_fit(sampler: Sampler) -> None:
    assert sampler.symbols == ("N", "T", "x")
    point = {"N": Fraction(40), "T": Fraction(48), "x": Fraction(1, 2)}
    moved = list(with_simpler_symbol(sampler, point, "N"))
    assert {**point, "N": Fraction(8)} in moved, "T may stay"
    start = {"N": Fraction(3), "T": Fraction(3), "x": Fraction(311, 997)}
    two = [p for p in with_two_simplest(sampler, start) if p["N"] == 4 and p["x"] == 1]
    assert {p["T"] for p in two} == {4}, "T must follow"


def test_two_symbols_move_at_once(sampler: Sampler) -> None:
    """No symbol alone can be made simpler here."""
    start = {"T": Fraction(1000), "N": Fraction(1000), "x": Fraction(1)}

    def wanted(point: dict[str, Fraction]) -> bool:
        return point["N"] == point["T"] >= 3

    assert any(
        wanted(point) and point["N"] < 1000
        for point in with_two_simplest(sampler, start)
    )
    assert simplify(sampler, wanted, start) == {"T": 3, "N": 3, "x": 1}


def test_simplify_stops_after_its_tries(sampler: Sampler) -> None:
    asked = []

    def wanted(point: dict[str, Fraction]) -> bool:
        asked.append(tuple(point.items()))
        return point["T"] >= 500

    start = {"T": Fraction(1023), "N": Fraction(77), "x": Fraction(311, 997)}
    assert size(simplify(sampler, wanted, start, 5)) < size(start)
    assert len(asked) <= 5
    asked.clear()
    assert simplify(sampler, wanted, start)["T"] == 500
    assert len(asked) == len(set(asked)), "a point is tried once"
