from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb, ctx

from dpverify.harness.checks import Point
from dpverify.harness.sides import Prober, used_up
from dpverify.ledger.check_results import Number
from dpverify.ledger.formula import Bin, Num, parse
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.numbers import Exact
from tests.for_each import for_each


@for_each(
    ("lhs", "relation", "rhs", "want"),
    [
        (1.0, "<=", 2.0, 0.5),
        (2.0, "<=", 1.0, 2.0),
        (2.0, ">=", 1.0, 0.5),
        (1.0, ">", 2.0, 2.0),
        (3.0, "=", 2.0, 1.5),
        (2.0, "=", 3.0, 1.5),
        (-2.0, "<=", -1.0, 0.5),
        (-1.0, "<=", -2.0, 2.0),
        (-1.0, "<=", 1.0, 0.0),
        (1.0, "<=", -1.0, math.inf),
        (0.0, "<=", -1.0, math.inf),
        (1.0, ">=", 1.5, 1.5),
        (0.0, "<=", 0.0, 1.0),
        (1.0, "<=", 0.0, math.inf),
        (1.0, "<=", "inf", 0.0),
        ("inf", "<=", 1.0, math.inf),
        ("nan", "<=", 1.0, 0.0),
    ],
)
def test_used_up(
    lhs: float | str, relation: str, rhs: float | str, want: float
) -> None:
    assert used_up(Number(float=lhs), relation, Number(float=rhs)) == want


def test_a_probe_is_certain(statements: dict[str, Statement]) -> None:
    prober = Prober(statements["root"], None)
    probe = prober.probe({"x": Fraction(4)})
    assert probe is not None
    assert probe.holds is True
    assert probe.rhs == Number(exact="2", float=2.0)
    assert probe.ratio == pytest.approx(math.log(4) / 2)


def test_the_left_side_may_be_ours(statements: dict[str, Statement]) -> None:
    prober = Prober(statements["size"], lambda _point, _statement: Fraction(71, 100))
    probe = prober.probe({})
    assert probe is not None
    assert probe.holds is False
    assert probe.ratio == pytest.approx(71 / 70)


@for_each("value", [Fraction(71, 100), arb(71) / 100, 1])
def test_a_left_side_of_ours_is_computed_once_if_that_decides(
    statements: dict[str, Statement], value: Exact
) -> None:
    calls = list[Point]()

    def lhs(point: Point, _: Statement) -> Exact:
        calls.append(point)
        return value

    probe = Prober(statements["size"], lhs).probe({})
    assert probe is not None
    assert probe.holds is False
    assert len(calls) == 1


@for_each(("value", "times"), [(Fraction(7, 10), 1), (arb(7) / 10, 5)])
def test_a_left_side_of_ours_is_computed_once_if_it_is_rational(
    statements: dict[str, Statement], value: Exact, times: int
) -> None:
    """A ball that overlaps with the other side is computed with more bits four times, and never decides here."""
    calls = list[Point]()

    def lhs(point: Point, _: Statement) -> Exact:
        calls.append(point)
        return value

    probe = Prober(
        replace(statements["size"], rhs=parse("sqrt(2)**2*7/20")), lhs
    ).probe({})
    assert probe is not None
    assert probe.holds is None
    assert len(calls) == times


def test_an_error_of_a_left_side_is_seen_where_the_other_side_is_not_defined(
    statements: dict[str, Statement],
) -> None:
    def lhs(point: Point, _: Statement) -> Exact:
        return point["no such symbol"]

    with pytest.raises(KeyError):
        Prober(
            replace(
                statements["size"], rhs=Bin("/", Num(Fraction(1)), Num(Fraction(0)))
            ),
            lhs,
        ).probe({})


def test_sides_that_overlap_where_they_are_shown_are_decided_with_more_bits(
    statements: dict[str, Statement],
) -> None:
    def lhs(_point: Point, _: Statement) -> Exact:
        return arb(71) / 100 if ctx.prec >= 1024 else arb("0.7", "1e-20")

    probe = Prober(statements["size"], lhs).probe({})
    assert probe is not None
    assert probe.holds is False
    assert probe.lhs.float == 0.7


def test_a_measured_side_must_be_given(statements: dict[str, Statement]) -> None:
    with pytest.raises(ValueError, match="left side"):
        Prober(statements["size"], None).probe({})


def test_undefined_sides_are_counted_once(statements: dict[str, Statement]) -> None:
    prober = Prober(replace(statements["root"], rhs=parse("1/(x - 1)")), None)
    for _ in range(3):
        assert prober.probe({"x": Fraction(1)}) is None
    assert prober.undefined == 1


def test_equal_irrational_sides_stay_undecided(
    statements: dict[str, Statement],
) -> None:
    prober = Prober(
        replace(statements["root"], lhs=parse("exp(2*x)"), rhs=parse("exp(x)*exp(x)")),
        None,
    )
    probe = prober.probe({"x": Fraction(1, 3)})
    assert probe is not None
    assert probe.holds is None
