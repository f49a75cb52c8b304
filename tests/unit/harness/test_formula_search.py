"""The search of a claim without code stays where sums are short, and says why a formula has no value."""

from __future__ import annotations

from dpverify.harness.formula_search import FormulaSearch, short_sums
from dpverify.ledger.results import CheckResult
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
    ],
)  # fmt: skip
def test_integers_that_make_a_sum_long_get_an_end(text: str, domain: str, conditions: list[str]) -> None:
    assert short_sums(formula(text, domain)) == conditions


def _found(text: str, domain: str) -> CheckResult:
    return judged(FormulaSearch("demo", "search"), formula(text, domain))


def test_the_region_says_how_far_it_went() -> None:
    found = _found("sum(1/i, i, 1, k) <= 1 + log(k)", "k: integer, k >= 1")
    assert found.status == "not refuted"
    assert "k <= 257" in found.region


def test_a_violation_among_short_sums_is_found() -> None:
    assert _found("sum(1/i, i, 1, k) <= 1 + log(k)/2", "k: integer, k >= 1").status == "refuted"


def test_a_formula_without_a_value_is_said_to_have_none() -> None:
    found = _found("sum(1/i**2, i, 1, oo) <= k", "k: integer, k >= 2")
    assert found.status == "untested"
    assert "at k=2: the sum over i to oo" in found.message
