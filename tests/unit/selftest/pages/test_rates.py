from __future__ import annotations

from msgspec.structs import replace

from dpverify.selftest.check_pages import RATES_PAGE, rates_page
from dpverify.selftest.check_pages import rates_summary as summary
from dpverify.selftest.records import CheckRates, RatesRun

RIGHT = CheckRates(
    check="p:a[law]",
    pinned="not refuted",
    alpha=1e-6,
    power=0.99,
    detects="2%",
    says=["not refuted"] * 20,
    planted=40,
    seen=40,
    power_at_least=0.928,
    wrong=False,
)
RUN = RatesRun(budget="smoke", seeds=20, checks=[RIGHT])


def test_the_counts_are_summed() -> None:
    assert list(summary(RUN)) == [
        "1 check with 20 seeds each: 0 false refutations in 20 judgements, 40 of 40 planted faults refuted.",
        "0 checks with other rates than stated.",
    ]


def test_a_check_with_other_rates_stands_first() -> None:
    page = rates_page(
        replace(RUN, checks=[RIGHT, replace(RIGHT, check="p:b[law]", wrong=True)])
    )
    assert page.index("✗ `p:b[law]`") < page.index("`p:a[law]`")


def test_a_refuted_statement_has_no_false_refutation() -> None:
    refuted = replace(RIGHT, says=["refuted"] * 20)
    assert refuted.false_refutations == 20
    assert replace(refuted, pinned="refuted").false_refutations == 0


def test_the_page_belongs_to_the_report() -> None:
    assert RATES_PAGE.kind is RatesRun
    assert "power at least" in rates_page(RUN)
    assert "0.928" in rates_page(RUN)


def test_the_page_says_which_checks_are_not_on_it() -> None:
    smoke, both = (
        rates_page(RUN),
        rates_page(
            replace(RUN, budget="standard", checks=[replace(RIGHT, budget="standard")])
        ),
    )
    assert (
        "in the budget smoke (those that spend one only in larger budgets are not on this page) was run"
        in smoke
    )
    assert (
        "in the budget smoke or standard, the smaller of those in which it does (those"
        in both
    )
    assert "| `p:a[law]` | smoke |" in smoke
    assert "| `p:a[law]` | standard |" in both
