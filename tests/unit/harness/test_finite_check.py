"""All points of a domain that its own conditions make finite: a proof, a counterexample, or neither."""

from __future__ import annotations

import pytest

from dpverify.harness import finite_check as module
from dpverify.harness.finite_check import MOST_POINTS, Box, FiniteCheck
from tests.for_each import for_each
from tests.unit.harness.formulas import formula, judged

CHECK = FiniteCheck("formula", "points")
T = "t: integer, 1 <= t <= 200"


@for_each(
    ("text", "domains", "requires", "points"),
    [
        ("popcount(t) <= log2(t + 1)", T, [], 200),
        ("popcount(t) < 8", T, ["t < 200"], 199),
        (
            "s*t <= 50*s",
            "t: integer, 1 <= t; s: integer, 1 <= s",
            ["t <= s", "s <= 50"],
            50 * 51 // 2,
        ),
        ("t**2 = t", "t: integer", ["0 <= t", "t < 2"], 2),
        ("t <= 3", "t: integer, t == 3", [], 1),
        ("t - 3 <= 0", "t: integer, sqrt(2) < t, t <= 3, t >= 1", [], 2),
        ("half <= 100", f"{T}; half: integer", ["half >= 100"], 1),
        ("pi()**2 <= 9.87", "", [], 1),  # numbers: the only point has no letters
    ],
)
def test_all_points_prove(
    text: str, domains: str, requires: list[str], points: int
) -> None:
    let = (("half", "t/2"),) if "half" in domains else ()
    statement = formula(text, domains, *requires, let=let)
    assert CHECK.can_judge(statement)
    result = judged(CHECK, statement)
    assert (result.status, result.n, result.message.count("not")) == (
        "proved",
        points,
        0,
    )


def test_the_end_of_a_domain_is_a_counterexample() -> None:
    result = judged(CHECK, formula("popcount(t) <= 7", "t: integer, 1 <= t <= 255"))
    assert result.status == "refuted"
    assert result.counterexamples[0].parameters["t"].exact == "255"
    assert (
        judged(CHECK, formula("popcount(t) <= 7", "t: integer, 1 <= t < 255")).status
        == "proved"
    )
    assert judged(CHECK, formula("t < 200", T)).status == "refuted"
    assert judged(CHECK, formula("t <= 199.9", T)).status == "refuted"
    assert judged(CHECK, formula("pi()**2 <= 9.869", "")).status == "refuted"


@for_each(
    ("text", "domains", "requires", "why"),
    [
        ("1/(t - 7) <= 1", T, [], "1 at which a side is undefined"),
        ("t <= 0", T, ["t**2 < 1"], "all 0 points"),
        ("t <= 0", "t: integer, 5 <= t <= 4", [], "all 0 points"),
        # exp(log(3)) is a ball around 3: whether 3 is in the domain is not decided.
        (
            "t <= 2",
            "t: integer, 1 <= t <= 9, t < exp(log(3))",
            [],
            "1 of which it is not decided",
        ),
        (
            "sqrt(t)**2 + log(t) = t + log(t)",
            "t: integer, 1 <= t <= 3",
            [],
            "not decided",
        ),
    ],
)
def test_what_is_left_open_is_not_proved(
    text: str, domains: str, requires: list[str], why: str
) -> None:
    result = judged(CHECK, formula(text, domains, *requires))
    assert result.status == "untested"
    assert why in result.message


def test_a_point_at_which_a_definition_has_no_value_is_left_open() -> None:
    statement = formula("t <= 200", f"{T}; part: real", let=(("part", "1/(t - 7)"),))
    result = judged(CHECK, statement)
    assert (result.status, result.n) == ("untested", 199)
    assert "1 of which it is not decided" in result.message


def test_a_ball_around_a_whole_number_leaves_its_point_open() -> None:
    """3^(t - 1) is whole for all t; as it is written, this is seen at t = 1 alone, where the statement holds."""
    statement = formula(
        "t <= 1",
        "t: integer, 1 <= t <= 9; power: integer",
        let=(("power", "exp((t - 1)*log(3))"),),
    )
    result = judged(CHECK, statement)
    assert (result.status, result.n) == ("untested", 1)
    assert "8 of which it is not decided" in result.message


def test_nothing_is_proved_by_a_check_that_misses_its_planted_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statement = formula("popcount(t) <= log2(t + 1)", T)
    monkeypatch.setattr(
        module, "sharper_statement", lambda *_: ("no fault at all", statement)
    )
    result = judged(CHECK, statement)
    assert result.status == "untested"
    assert "it missed the planted fault sharper (no fault at all)" in result.message


@for_each(
    ("text", "domains"),
    [
        ("t <= 9", "t: integer, t >= 1"),
        ("t <= 9", "t: real, 1 <= t <= 2"),
        ("t <= 9", f"t: integer, 1 <= t <= {MOST_POINTS + 1}"),
        ("t <= 9", "t: integer, 1 <= t <= 10**9; s: integer, t <= s, s < t"),
        ("t <= s", "t: integer, 1 <= t <= s; s: integer, t <= s"),
        ("t <= 9", "t: integer, 1 <= t, t <= exp(3)"),
        ("1 <= 2", "t: integer, 1 <= t"),
    ],
)
def test_other_domains_are_left_to_the_search(text: str, domains: str) -> None:
    assert not CHECK.can_judge(formula(text, domains))


def test_a_box_leaves_no_point_out() -> None:
    box = Box(
        formula(
            "t <= 9",
            "t: integer, 0 < t; s: integer, 2*t >= s, s >= t",
            "t < 7/2",
            "s <= 2*t",
        )
    )
    found = {(int(point["t"]), int(point["s"])) for point in box.points()}
    assert found >= {(t, s) for t in (1, 2, 3) for s in range(t, 2 * t + 1)}
