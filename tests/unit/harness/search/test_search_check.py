from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpverify.harness import (
    BUDGETS,
    Check,
    Context,
    Planted,
    Point,
    SearchCheck,
    Vacuity,
)
from dpverify.ledger import Specs
from dpverify.ledger.check_results import CheckResult, Number
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.statements import Statement
from tests.for_each import for_each


def run(check: Check, statement: Statement, **changes: object) -> CheckResult:
    context = replace(Context(statement, BUDGETS["smoke"], 0, check.name), **changes)  # type: ignore[arg-type]  # fields
    return check.finish(context, [check.run_block(context, 0)])


def point_of(parameters: dict[str, Number]) -> dict[str, Fraction]:
    return {name: Fraction(number.exact or "") for name, number in parameters.items()}


def with_sides(
    statement: Statement,
    lhs: str,
    relation: str,
    rhs: str,
    requires: Sequence[str] = (),
) -> Statement:
    return replace(
        statement,
        lhs=parse(lhs),
        relation=relation,  # type: ignore[arg-type]  # text, as an author writes it
        rhs=parse(rhs),
        requires=tuple(parse_relation(text) for text in requires),
    )


def test_a_true_claim_is_not_refuted_and_its_slack_is_found(
    statements: dict[str, Statement],
) -> None:
    result = run(
        SearchCheck("root", "search", corners=[{"x": "739/100"}]), statements["root"]
    )
    assert result.status == "not refuted"
    assert result.slack is not None
    assert float(result.slack.min.float) == pytest.approx(2.718281828 / 2, rel=1e-4)
    assert float(result.slack.typical.float) >= float(result.slack.min.float)
    assert [(c.name, c.at_declared_size, c.refuted) for c in result.controls] == [
        ("sharper by 1.05", True, True)
    ]
    assert result.n > 200
    assert result.region == "x: real, x > 0"


def test_a_false_claim_is_refuted_by_three_counterexamples(
    statements: dict[str, Statement],
) -> None:
    result = run(SearchCheck("bits", "search"), statements["bits"])
    assert result.status == "refuted"
    found = {c.kind: c for c in result.counterexamples}
    assert point_of(found["smallest"].parameters) == {"s": 1}
    assert found["smallest"].lhs.exact == "1"
    assert found["smallest"].rhs.exact == "0"
    assert point_of(found["interior"].parameters) == {"s": 3}
    assert point_of(found["largest-ratio"].parameters) == {"s": 1}


def test_the_amendment_is_judged_by_the_same_check(demo: Specs) -> None:
    result = run(
        SearchCheck("bits", "search"), demo.claim("demo:bits").statement({}, "amended")
    )
    assert result.status == "not refuted"
    assert result.slack is not None
    assert result.slack.min == Number(exact="1", float=1.0)


def test_conditions_that_nothing_meets_leave_a_claim_untested(
    statements: dict[str, Statement],
) -> None:
    result = run(SearchCheck("empty", "search"), statements["empty"])
    assert result.status == "untested"
    assert "no point drawn meets" in result.message
    assert result.n == 0


@for_each(
    ("lhs", "relation", "rhs"),
    [
        ("1 + x", ">=", "1 + x/2"),
        ("-1 - x", "<=", "-1"),
        ("-x", "<=", "0"),
        ("x*(x + 1)", "=", "x**2 + x"),
        ("x", ">", "0"),
    ],
)
def test_the_control_sharpens_every_relation_and_sign(
    statements: dict[str, Statement], lhs: str, relation: str, rhs: str
) -> None:
    result = run(
        SearchCheck("root", "search"),
        with_sides(statements["root"], lhs, relation, rhs),
    )
    assert result.status == "not refuted"
    assert [control.refuted for control in result.controls] == [True]


def test_an_infinite_bound_cannot_fail(statements: dict[str, Statement]) -> None:
    result = run(
        SearchCheck("root", "search"), with_sides(statements["root"], "x", "<=", "oo")
    )
    assert result.status == "inconclusive"
    assert "this check cannot fail" in result.message


def test_planted_faults_must_be_refuted(statements: dict[str, Statement]) -> None:
    planted = [Planted("tiny", rhs="printed/2"), Planted("none", rhs="printed + 1")]
    result = run(SearchCheck("root", "search", planted=planted), statements["root"])
    assert [(c.name, c.refuted) for c in result.controls] == [
        ("sharper by 1.05", True),
        ("tiny", True),
        ("none", False),
    ]
    assert result.status == "inconclusive"
    assert "missed the planted fault none (printed + 1)" in result.message


def test_a_planted_left_side(statements: dict[str, Statement]) -> None:
    def count(point: Point, statement: Statement) -> Fraction:
        del statement
        return Fraction(point["s"].numerator.bit_length())

    def one_more(point: Point, statement: Statement) -> Fraction:
        return count(point, statement) + 1

    statement = replace(statements["bits"], lhs=None, rhs=parse("log2(s) + 1"))
    result = run(
        SearchCheck(
            "bits", "search", lhs=count, planted=[Planted("one more", lhs=one_more)]
        ),
        statement,
    )
    assert result.status == "not refuted"
    assert all(control.refuted for control in result.controls)


def test_a_reading_can_be_a_condition(statements: dict[str, Statement]) -> None:
    check = SearchCheck(
        "root",
        "search",
        also={"n": "integer, n >= 1"},
        where=lambda statement: ["x == n"] if statement.key == "demo:root" else [],
        lhs=lambda point, _: (
            Fraction(0) if point["x"].denominator == 1 else Fraction(10**9)
        ),
    )
    result = run(check, statements["root"])
    assert result.status == "not refuted"
    assert result.region.endswith("x == n")


def test_the_region_is_kept_and_told(statements: dict[str, Statement]) -> None:
    seen: list[Fraction] = []

    def left(point: Point, statement: Statement) -> Fraction:
        del statement
        seen.append(point["x"])
        return Fraction(0)

    result = run(
        SearchCheck("root", "search", lhs=left, region={"x": (2, "7/2")}),
        statements["root"],
    )
    assert all(2 <= x <= Fraction(7, 2) for x in seen)
    assert result.region == "x: real, x > 0 (searched from 2 to 7/2)"


def test_corners_may_leave_symbols_open_and_lie_beyond_the_region(
    statements: dict[str, Statement],
) -> None:
    seen: list[Point] = []

    def left(point: Point, statement: Statement) -> Fraction:
        del statement
        seen.append(point)
        return Fraction(0)

    corners: list[dict[str, int | Fraction | str]] = [
        {"T": 10**9},
        {"T": 5, "x": "1/7"},
        {"T": 0},
        {"T": 6, "unknown": 1},
    ]
    check = SearchCheck(
        "root",
        "search",
        lhs=left,
        also={"T": "integer, T >= 1"},
        region={"T": (1, 9)},
        corners=corners,
    )
    run(check, statements["root"])
    assert {"T": Fraction(10**9), "x": Fraction(1)} in seen
    assert {"T": Fraction(5), "x": Fraction(1, 7)} in seen
    assert {"T": Fraction(6), "x": Fraction(1)} in seen
    assert all(point["T"] >= 1 for point in seen)


def test_an_unknown_symbol_in_a_corner_is_refused(
    statements: dict[str, Statement],
) -> None:
    with pytest.raises(ValueError, match="a corner of demo:root must set one of x"):
        run(SearchCheck("root", "search", corners=[{"y": 1}]), statements["root"])


def test_a_boundary_counterexample_alone_has_no_interior(
    statements: dict[str, Statement],
) -> None:
    statement = with_sides(statements["bits"], "floor(1/s)", "<=", "1/2")
    result = run(SearchCheck("bits", "search"), statement)
    assert [c.kind for c in result.counterexamples] == ["smallest", "largest-ratio"]


def test_the_author_may_say_what_interior_means(
    statements: dict[str, Statement],
) -> None:
    check = SearchCheck("bits", "search", interior=lambda point: point["s"] >= 100)
    result = run(check, statements["bits"])
    interior = next(c for c in result.counterexamples if c.kind == "interior")
    assert point_of(interior.parameters) == {"s": 100}


def test_the_same_seed_gives_the_same_result(statements: dict[str, Statement]) -> None:
    check = SearchCheck("root", "search")
    assert run(check, statements["root"]) == run(check, statements["root"])


def test_a_small_share_draws_fewer_points(statements: dict[str, Statement]) -> None:
    assert run(SearchCheck("root", "search"), statements["root"], share=0.1).n < 200


def test_undefined_points_are_counted(statements: dict[str, Statement]) -> None:
    result = run(
        SearchCheck("bits", "search"),
        with_sides(statements["bits"], "1/(s - 1)", "<=", "1"),
    )
    assert result.status == "not refuted"
    assert "1 at which a side is undefined" in result.message


def test_a_point_that_no_number_of_bits_decides_refutes_nothing(
    statements: dict[str, Statement],
) -> None:
    statement = with_sides(statements["decay"], "sqrt(x)**2", "<=", "x")
    result = run(SearchCheck("decay", "search", corners=[{"x": 2}]), statement)
    assert result.status != "refuted"
    assert result.counterexamples == []
    assert "not decided at 2048 bits" in result.message


def test_vacuity_gives_grid_and_onset(statements: dict[str, Statement]) -> None:
    statement = with_sides(statements["bits"], "0", "<=", "10/s")
    vacuity = Vacuity(
        lambda _point, _statement: Fraction(1), "s", [{"s": s} for s in range(1, 30)]
    )
    result = run(SearchCheck("bits", "search", vacuity=vacuity), statement)
    assert result.vacuous is not None
    assert not result.vacuous.value
    assert result.vacuous.grid == "29 points, s from 1 to 29"
    assert result.vacuous.onset == "s = 11"
    # at n = 2 it says nothing before 21
    twice = [{"s": s, "n": n} for s in range(1, 30) for n in (1, 2)]
    product = replace(statement, rhs=parse("10*n/s"))
    assert replace(vacuity, points=twice).judge(product).onset == "s = 21"
    assert replace(vacuity, points=twice[::-1]).judge(product).onset == "s = 21"
    never = replace(vacuity, points=[{"s": s} for s in range(1, 11)]).judge(statement)
    assert never.value
    assert never.onset == ""


def test_vacuity_needs_a_grid(statements: dict[str, Statement]) -> None:
    with pytest.raises(ValueError, match="non-empty and set s"):
        Vacuity(lambda _point, _statement: Fraction(1), "s", [{"t": 1}]).judge(
            statements["bits"]
        )


def test_it_judges_only_statements_with_two_sides(
    statements: dict[str, Statement],
) -> None:
    assert not SearchCheck("size", "search").applies(statements["size"])
    assert SearchCheck("size", "search", lhs=lambda _p, _s: Fraction(0)).applies(
        statements["size"]
    )
    assert not SearchCheck("walk", "search").applies(statements["walk"])


@for_each(
    ("arguments", "message"),
    [
        ({}, "exactly one"),
        ({"rhs": "2*x"}, "must use the name printed"),
        ({"rhs": "printed", "lhs": min}, "exactly one"),
    ],
)
def test_planted_faults_that_are_none_are_refused(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Planted("fault", **arguments)  # type: ignore[arg-type]  # one wrong set of arguments each


def test_a_needle_that_is_not_found_again_is_looked_for_at_larger_sizes(
    statements: dict[str, Statement],
) -> None:
    """The sharpest point is a corner of the first search only: the control must not count on it."""
    calls = iter(range(10**9))

    def left(point: Point, _: Statement) -> Fraction:
        return Fraction(3, 4) if next(calls) < 2 else Fraction(2, 5) + 0 * point["x"]

    result = run(
        SearchCheck("root", "search", lhs=left),
        with_sides(statements["root"], "x", "<=", "1"),
    )
    assert result.status == "not refuted"
    (control,) = result.controls
    assert control.name == "sharper by 2"
    assert control.refuted
    assert result.detects.endswith(
        "a bound that the tightest of these points violates by the factor 2"
    )
