"""The search of a claim without code stays where sums are short, and says why a formula has no value."""

from __future__ import annotations

import math

import pytest

from dpverify.harness.formula_search import FormulaSearch, short_sums
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.formula import parse
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import Meter, WorkLimitError
from tests.for_each import for_each
from tests.unit.harness.formulas import formula, judged


@for_each(
    ("text", "domain", "conditions"),
    [
        ("sum(1/i, i, 1, k) <= k", "k: integer, k >= 1", ["k <= 257"]),
        ("sum(1/i, i, 1, 2*k) <= k", "k: integer, 100 < k", ["k <= 356"]),
        ("sum(sum(1/(i + j), j, 1, k), i, 1, 3) <= k", "k: integer, k >= 1", ["k <= 33"]),
        ("sum(1/i, i, 1, floor(log2(k))) <= k", "k: integer, k >= 1", []),
        ("sum(2**i, i, 1, k) <= 2**(k + 1)", "k: integer, k >= 1", []),
        ("sampled_gaussian_renyi(k, 1/2, 1) <= k", "k: integer, k >= 2", ["k <= 258"]),
        ("k <= 2*k", "k: integer, k >= 1", []),
        ("sum(binomial(k, i), i, 0, k) <= 2**k", "k: integer, k >= 1", ["k <= 257"]),
        ("sum(1/i, i, 1, k) <= x", "k: integer, k >= x**2; x: real", ["k <= max(256, x**2 + 256)"]),
    ],
)  # fmt: skip
def test_integers_that_make_a_sum_long_get_an_end(
    text: str, domain: str, conditions: list[str]
) -> None:
    assert short_sums(formula(text, domain)) == conditions


def _found(text: str, domain: str) -> CheckResult:
    return judged(FormulaSearch("demo", "search"), formula(text, domain))


def test_the_region_says_how_far_it_went() -> None:
    found = _found("sum(1/i, i, 1, k) <= 1 + log(k)", "k: integer, k >= 1")
    assert found.status == "not refuted"
    assert "k <= 257" in found.region


def test_a_violation_among_short_sums_is_found() -> None:
    assert (
        _found("sum(1/i, i, 1, k) <= 1 + log(k)/2", "k: integer, k >= 1").status
        == "refuted"
    )


def test_a_formula_without_a_value_is_said_to_have_none() -> None:
    found = _found("sum(1/log(i + 1), i, 1, oo) <= k", "k: integer, k >= 2")
    assert found.status == "untested"
    assert "at k=2: the sum over i to oo" in found.message


def test_a_claim_that_is_false_only_from_a_large_size_on_is_found_and_made_small() -> (
    None
):
    found = _found("sum(1/i, i, 1, k) <= 6 + log(k)/5", "k: integer, k >= 1")
    smallest = found.counterexamples[0]
    assert (found.status, smallest.parameters["k"].exact) == ("refuted", "879")


def test_the_window_names_single_sizes_and_a_planted_fault_at_them_is_seen() -> None:
    found = _found("sum(1/i, i, 1, k) <= 1 + log(k)", "k: integer, k >= 1")
    assert "k from 1 to 257" in found.window
    assert "single points up to k = 100000" in found.window
    assert [(control.name, control.refuted) for control in found.controls] == [
        ("sharper by 1.05", True),
        ("at single sizes", True),
    ]


def test_a_condition_that_asks_for_more_than_short_sums_is_met() -> None:
    coins = "sum(max(binomial(n, i) - exp(epsilon)*binomial(n, i-1), 0), i, 0, n + 1)/2**n <= delta"
    domains = "n: integer; epsilon: real, 0 < epsilon <= 1; delta: real, 0 < delta < 1"
    found = judged(
        FormulaSearch("demo", "search"),
        formula(coins, domains, "n >= 64*log(2/delta)/epsilon**2"),
    )
    assert (found.status, found.n > 50) == ("not refuted", True)
    false = judged(
        FormulaSearch("demo", "search"),
        formula(coins, domains, "n >= log(2/delta)/epsilon**2"),
    )
    assert false.status == "refuted"


def test_a_size_that_a_definition_gives_is_evaluated_within_the_work_of_a_claim() -> (
    None
):
    coins = "sum(max(binomial(n, i) - exp(epsilon)*binomial(n, i-1), 0), i, 0, n + 1)/2**n <= delta"
    domains = "n: integer; epsilon: real, 0 < epsilon <= 1; delta: real, 0 < delta < 1"
    size = (("n", "ceil(64*log(2/delta)/epsilon**2)"),)
    found = judged(FormulaSearch("demo", "search"), formula(coins, domains, let=size))
    assert found.status == "not refuted"
    assert (
        "larger points not evaluated: they exceed this check's share of the work"
        in found.window
    )


@pytest.mark.parametrize(
    ("text", "domain", "part"),
    [
        ("(k - 1)/(k - 1) = 1", "k: integer, k >= 1", "for k = 1 (division by zero"),
        ("sqrt(y)**2 = y", "y: real", "for y < 0 (the negative number"),
        ("sqrt(9 - y)**2 = 9 - y", "y: integer", "for y >= "),
    ],
)  # fmt: skip
def test_a_part_of_the_domain_without_a_side_is_reported(
    text: str, domain: str, part: str
) -> None:
    found = _found(text, domain)
    assert found.status == "not refuted"
    assert f"a side is undefined {part}" in found.window


def test_the_work_of_a_meter_is_taken_before_it_is_done() -> None:
    whole = Meter(100)
    with whole.running(), Meter(1000).running():
        assert evaluate(parse("sum(i**2, i, 1, n)"), {"n": 20}) == 2870
        with pytest.raises(WorkLimitError):
            evaluate(parse("sum(i**2, i, 1, n)"), {"n": 20})
    assert 0 < whole.remaining < 60
    assert evaluate(parse("sum(i**2, i, 1, n)"), {"n": 2000}) == 2668667000, (
        "no meter is open"
    )


def test_what_was_computed_before_changes_no_count_of_work() -> None:
    spent = []
    for before in ("", "binomial(n, 300)", "sum(1/i**2, i, 1, 50)", ""):
        if before:
            evaluate(parse(before), {"n": 600})
        meter = Meter(10_000)
        with meter.running():
            for text in (
                "binomial(n, 301)",
                "binomial(n, 302)",
                "sum(1/i**2, i, 1, 50)",
            ):
                evaluate(parse(text), {"n": 600})
        spent.append(10_000 - meter.remaining)
    assert spent[0] > 100
    assert spent == spent[:1] * 4


SAMPLED = "poisson_sampled(neighbours(normal_law(1, 4), normal_law(0, 4)), 1/100)"


@for_each(
    ("text", "status"),
    [
        ("1/2 < 1/2", "refuted"),
        ("1/3 < 1/2", "not refuted"),
        # The divergence of a composition is known from
        # two bounds, which no precision brings closer.
        (
            f"epsilon_of(self_composed({SAMPLED}, 10000), 1/100000) <= 1.26",
            "not refuted",
        ),
        (f"epsilon_of(self_composed({SAMPLED}, 10000), 1/100000) <= 0.8", "refuted"),
    ],
)
def test_a_claim_about_numbers_has_one_point_that_may_take_all_work(
    text: str, status: str
) -> None:
    assert _found(text, "").status == status


def test_neighbours_in_a_row_of_binomials_are_those_of_the_definition() -> None:
    for n in (0, 1, 7, 40):
        row = [
            evaluate(parse("binomial(n, k)"), {"n": n, "k": k})
            for k in range(-1, n + 2)
        ]
        assert row == [0, *(math.comb(n, k) for k in range(n + 1)), 0]
        back = [
            evaluate(parse("binomial(n, k)"), {"n": n, "k": k})
            for k in reversed(range(n + 1))
        ]
        assert back == [math.comb(n, k) for k in reversed(range(n + 1))]
    assert evaluate(parse("binomial(n, 1)"), {"n": 100_000}) == 100_000
    with pytest.raises(WorkLimitError, match="n <= 100000"):
        evaluate(parse("binomial(n, 1)"), {"n": 100_001})
