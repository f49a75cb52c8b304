from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from flint import arb, fmpq

from dpverify.harness.search.constraints import Inequality, can_solve, links, solve
from dpverify.harness.search.domain import Region, Sampler, make_sampler
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import parse_domain
from dpverify.symbolic.exact.evaluate import holds
from dpverify.symbolic.exact.numbers import working_precision
from tests.for_each import for_each


def statement(
    domains: Mapping[str, str],
    requires: tuple[str, ...] = (),
    let: tuple[tuple[str, str], ...] = (),
) -> Statement:
    return Statement(
        key="toy:claim",
        variant="printed",
        kind="inequality",
        reading={},
        quantity=None,
        lhs=parse("0"),
        relation="<=",
        rhs=parse("1"),
        words=None,
        requires=tuple(parse_relation(text) for text in requires),
        let=tuple((name, parse(text)) for name, text in let),
        assumes=(),
        domains={name: parse_domain(text) for name, text in domains.items()},
        symbols={},
    )


MOMENTUM = {
    "alpha": "real, 0 < alpha <= 1",
    "N": "integer, N >= 1",
    "T": "integer, T >= 1",
    "t": "integer, 1 <= t <= T",
    "sigma": "real, sigma > 0",
}


def drawn(
    sampler: Sampler, count: int = 400, seed: int = 0
) -> list[dict[str, Fraction]]:
    random = Random(seed)
    points = (
        sampler.point([random.random() < 0.5 for _ in range(sampler.bits)])
        for _ in range(count)
    )
    return [point for point in points if point is not None]


def inequality(text: str) -> Inequality:
    (only,) = links(parse_relation(text))
    return only


@for_each(
    ("text", "op", "end"),
    [
        ("x <= 3", "<=", "3"),
        ("3 < x", ">", "3"),
        ("2*x - 1 <= a", "<=", "4"),
        ("1 - x/2 >= 0", "<=", "2"),
        ("-x < a", ">", "-7"),
        ("a - x >= 2*a", "<=", "-7"),
        ("sqrt(x) <= a", "<=", "49"),
        ("x/(-2) < a", ">", "-14"),
        ("x + a == 10", "==", "3"),
    ],
)
def test_solve(text: str, op: str, end: str) -> None:
    assert can_solve(inequality(text), "x")
    assert solve(inequality(text), "x", {"a": fmpq(7)}) == (op, Fraction(end))


@for_each("text", ["x*x <= 2", "1/x >= 3", "log(x) <= 1", "x**2 <= 4", "a <= 2"])
def test_what_cannot_be_solved_is_left_to_be_checked(text: str) -> None:
    assert not can_solve(inequality(text), "x")


@for_each(("text", "inside"), [("x >= exp(-a)", 1), ("x <= exp(-a)", -1)])
def test_an_irrational_end_is_moved_inwards(text: str, inside: int) -> None:
    solved = solve(inequality(text), "x", {"a": fmpq(7)})
    assert solved is not None
    assert holds(parse_relation(text), {"x": solved[1], "a": Fraction(7)}) is True
    with working_precision(256):
        difference = inside * (
            arb(solved[1].numerator) / arb(solved[1].denominator) - arb(-7).exp()
        )
        assert difference > 0
        assert difference < 1e-20


@for_each("text", ["x <= 1/b", "x <= oo", "x*b <= 3", "x == exp(a)", "sqrt(x) <= -a"])
def test_no_end_where_there_is_none(text: str) -> None:
    assert solve(inequality(text), "x", {"a": fmpq(7), "b": fmpq(0)}) is None


def test_all_points_meet_domains_and_conditions() -> None:
    toy = statement(MOMENTUM, ("alpha >= 1/N", "T >= N"))
    points = drawn(make_sampler(toy, {}, {}))
    conditions = [
        *toy.requires,
        *(c for domain in toy.domains.values() for c in domain.constraints),
    ]
    # nearly every draw: the conditions are met by construction
    assert len(points) > 350
    for point in points:
        assert all(holds(condition, point) is True for condition in conditions), point
        assert all(point[name].denominator == 1 for name in ("N", "T", "t"))


def test_points_reach_past_toys() -> None:
    points = drawn(make_sampler(statement(MOMENTUM, ("alpha >= 1/N",)), {}, {}), 2000)
    assert any(point["T"] >= 2**20 for point in points)
    assert any(point["T"] == 1023 or point["T"] == 1024 for point in points)
    assert any(
        point["N"].numerator & (point["N"].numerator - 1) and point["T"] % point["N"]
        for point in points
    )
    assert any(point["t"] == point["T"] > 1 for point in points)
    assert any(point["alpha"] == 1 / point["N"] != 1 for point in points)
    assert any(point["alpha"] == 1 for point in points)


def test_all_bits_zero_is_the_simplest_point() -> None:
    sampler = make_sampler(statement(MOMENTUM, ("alpha >= 1/N",)), {}, {})
    one = Fraction(1)
    assert sampler.point([False] * sampler.bits) == {
        "N": one,
        "T": one,
        "t": one,
        "alpha": one,
        "sigma": one,
    }


def test_definitions_take_part_in_conditions() -> None:
    toy = statement(
        {
            "V": "real",
            "T": "integer, T >= 1",
            "N": "integer, N >= 1",
            "sigma": "real, sigma > 0",
        },
        ("sigma >= V", "V >= 2"),
        (("V", "T/N"),),
    )
    points = drawn(make_sampler(toy, {}, {}), 300)
    assert len(points) > 50
    assert all(point["sigma"] >= point["T"] / point["N"] >= 2 for point in points)
    assert all(set(point) == {"T", "N", "sigma"} for point in points)


def test_a_definition_must_lie_in_its_own_domain() -> None:
    toy = statement(
        {"T": "integer, T >= 1", "epochs": "integer", "N": "integer, N >= 2"},
        (),
        (("epochs", "T/N"),),
    )
    points = drawn(make_sampler(toy, {}, {}))
    assert points
    assert all(point["T"] % point["N"] == 0 for point in points)


def test_a_point_where_a_definition_has_no_value_is_outside() -> None:
    toy = statement({"x": "real, x >= 0", "y": "real"}, (), (("y", "1/x"),))
    sampler = make_sampler(toy, {}, {})
    assert not sampler.admits({"x": Fraction(0)})
    assert sampler.admits({"x": Fraction(1, 3)})


def test_the_region_narrows_and_cannot_widen() -> None:
    region: Region = {"N": (Fraction(5), Fraction(9)), "alpha": (None, Fraction(7))}
    points = drawn(make_sampler(statement(MOMENTUM), region, {}))
    assert points
    assert all(5 <= point["N"] <= 9 and point["alpha"] <= 1 for point in points)


def test_points_beyond_either_end_of_the_region_are_not_admitted() -> None:
    anywhere = drawn(make_sampler(statement(MOMENTUM), {}, {}))
    for ends in ((Fraction(5), None), (None, Fraction(9)), (Fraction(5), Fraction(9))):
        sampler, (lo, hi) = make_sampler(statement(MOMENTUM), {"N": ends}, {}), ends
        inside = [
            (lo is None or lo <= p["N"]) and (hi is None or p["N"] <= hi)
            for p in anywhere
        ]
        assert {*inside} == {False, True}
        assert [sampler.admits(point) for point in anywhere] == inside


def test_symbols_can_be_added() -> None:
    sampler = make_sampler(
        statement({"T": "integer, T >= 1"}),
        {},
        {"t": parse_domain("integer, 1 <= t <= T")},
    )
    points = drawn(sampler)
    assert sampler.symbols == ("T", "t")
    assert all(1 <= point["t"] <= point["T"] for point in points)


def test_an_equation_fixes_a_symbol() -> None:
    toy = statement(
        {"depth": "integer", "T": "integer, T >= 1"}, ("depth == floor(log2(T)) + 1",)
    )
    points = drawn(make_sampler(toy, {}, {}))
    assert len(points) > 350
    assert all(point["depth"] == point["T"].numerator.bit_length() for point in points)


def test_conditions_that_nothing_meets_leave_no_point() -> None:
    assert (
        drawn(make_sampler(statement({"x": "real"}, ("x > 2", "x < 1")), {}, {})) == []
    )


def test_conditions_that_cannot_be_solved_are_checked() -> None:
    toy = statement({"x": "real, x > 0", "y": "real, y > 0"}, ("x*x + y*y <= 1",))
    points = drawn(make_sampler(toy, {}, {}), 1000)
    assert points
    assert all(point["x"] ** 2 + point["y"] ** 2 <= 1 for point in points)


def test_a_point_is_outside_where_no_number_of_bits_decides_a_condition() -> None:
    """Both sides are equal: a counterexample there could be one outside the domain."""
    condition, third = "sqrt(2)*sqrt(x) <= sqrt(2*x)", {"x": Fraction(1, 3)}
    assert holds(parse_relation(condition), third) is None
    assert not make_sampler(
        statement({"x": "real, x > 0"}, (condition,)), {}, {}
    ).admits(third)
    assert not make_sampler(statement({"x": f"real, {condition}"}), {}, {}).admits(
        third
    )


@for_each(
    ("region", "also", "message"),
    [
        ({"q": (Fraction(1), None)}, {}, "got q"),
        ({}, {"t": parse_domain("integer, t <= Q")}, "domain of t needs Q"),
    ],
)
def test_unknown_symbols_are_refused(
    region: Region, also: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make_sampler(statement({"x": "real"}), region, also)


def test_many_symbols_keep_their_natural_order() -> None:
    many = {f"x{i}": "real, 0 < x0" if i == 0 else "real" for i in range(9)}
    sampler = make_sampler(statement({**many, "n": "integer, n >= 1"}), {}, {})
    assert sampler.symbols[0] == "n"
    assert len(drawn(sampler, 50)) > 20
