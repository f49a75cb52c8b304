from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.harness.search.derived_checks import RuleCheck, away_from_boundaries
from dpverify.ledger import load_specs
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.formula import parse
from dpverify.papers.tran2022.boxes.checks import boxes
from dpverify.papers.tran2022.identities.checks import identities, momentum_sums
from dpverify.papers.tran2022.identities.checks.identity_check import (
    IdentityCheck,
    IdentityFault,
)
from dpverify.papers.tran2022.identities.combinations_bounds import printed_output
from tests.for_each import for_each

SPECS = load_specs()
LEMMA = "tran2022:lemma-17"


def statement(claim: str, **reading: str) -> Any:
    return SPECS.claim(claim).statement(reading)


def check(claim: str, **changes: Any) -> IdentityCheck:
    (found,) = [c for c in identities.CHECKS.of(claim) if isinstance(c, IdentityCheck)]
    small = replace(
        found,
        sizes=lambda _: [
            {"N": n, "T": steps} for steps in range(1, 8) for n in (1, 2, 3)
        ],
    )
    return replace(small, **changes)


def run(a_check: Any, a_statement: Any) -> CheckResult:
    result: CheckResult = a_check.run_block(
        Context(a_statement, BUDGETS["smoke"], 0, a_check.name), 0
    )
    return result


def test_identity_is_not_refuted_under_one_permutation_and_refuted_under_fresh_ones() -> (
    None
):
    once = run(check("lemma-17"), statement(LEMMA, ordering="once"))
    assert once.status == "not refuted"
    assert all(control.refuted for control in once.controls)
    assert {"coefficient-off", "two-examples-swapped", "anchor-off"} <= {
        control.name for control in once.controls
    }
    fresh = run(check("lemma-17"), statement(LEMMA, ordering="fresh"))
    assert fresh.status == "refuted"
    smallest, interior = fresh.counterexamples
    assert (
        smallest.kind,
        smallest.parameters["N"].exact,
        smallest.parameters["T"].exact,
    ) == ("smallest", "2", "4")
    assert (smallest.lhs.exact, smallest.rhs.exact) == ("1/8", "-1/8")
    assert "example 1 at the anchor of epoch 0" in smallest.note
    assert (interior.kind, interior.parameters["T"].exact) == ("interior", "7")


@for_each(
    "extra", ["1e-9*anchor_grad(2)", "G_win(1, 1)*1e-9", "gamma**9*1e-9*anchor_grad(1)"]
)
def test_any_coefficient_off_is_seen(extra: str) -> None:
    printed = statement(LEMMA, ordering="once")
    fault = IdentityFault("off", "off", rhs=f"printed + {extra}").statement(printed)
    assert run(check("lemma-17"), fault).status == "refuted"


def test_polynomial_that_vanishes_at_plain_weights_is_seen_at_the_kronecker_point() -> (
    None
):
    printed = statement(LEMMA, ordering="once")
    vanishing = "(2*alpha - 1)*(5*alpha - 2)*anchor_grad(1)"
    found = run(
        check("lemma-17"),
        IdentityFault("off", "off", rhs=f"printed + {vanishing}").statement(printed),
    )
    assert found.status == "refuted"
    assert Fraction(found.counterexamples[0].parameters["alpha"].exact or 0) > Fraction(
        99, 100
    )


def test_check_that_misses_its_fault_says_so() -> None:
    blind = check(
        "lemma-17",
        faults=[
            IdentityFault(
                "nothing", "nothing is wrong", rhs="printed + 0*anchor_grad(1)"
            )
        ],
    )
    result = run(blind, statement(LEMMA, ordering="once"))
    assert result.status == "inconclusive"
    assert "cannot fail" in result.message


def test_text_that_is_not_there_cannot_be_changed() -> None:
    with pytest.raises(
        ValueError, match=r"planted fault 'x': 'nothing' does not occur"
    ):
        IdentityFault("x", "x", change=("nothing", "more")).statement(
            statement(LEMMA, ordering="once")
        )


def test_what_depends_on_a_convention_is_left_open() -> None:
    (found,) = [
        c
        for c in identities.CHECKS.of("lemma-11-unrolled")
        if isinstance(c, IdentityCheck)
    ]
    printed = SPECS.claim("tran2022:lemma-11-unrolled").statement({})
    sum_only = parse(
        "(1-alpha)**(t-1)*0 + sum((1-alpha)**(t-i+1)*(full_grad(i-1) - full_grad(i)), i, 2, t)"
    )
    result = run(found, replace(printed, rhs=sum_only))
    assert result.status == "inconclusive", (
        "it holds with g_1 = grad F(w_1) and fails with g_1 = alpha grad F(w_1)"
    )
    assert "open" in result.message


def test_rule_has_a_counterexample_away_from_every_boundary() -> None:
    assert away_from_boundaries({"N": Fraction(3), "alpha": Fraction(1, 2)})
    assert not away_from_boundaries({"N": Fraction(3), "alpha": Fraction(1)})
    (loop,) = [
        c for c in boxes.CHECKS.of("algorithm-2-loop") if isinstance(c, RuleCheck)
    ]
    result = run(loop, SPECS.claim("tran2022:algorithm-2-loop").statement({}))
    assert [c.kind for c in result.counterexamples] == ["smallest", "interior"]
    assert result.counterexamples[1].parameters["N"].exact == "3"


def test_rule_about_a_kernel_is_no_verdict_on_the_paper() -> None:
    kernel = next(
        c for c in momentum_sums.CHECKS.of("algorithm-4-output") if c.name == "kernel"
    )
    assert isinstance(kernel, RuleCheck)
    broken = replace(kernel, is_satisfied=kernel.planted[0].is_satisfied)
    result = run(broken, statement("tran2022:algorithm-4-output", ordering="once"))
    assert result.status == "inconclusive"
    assert result.kernel_disagrees


def test_algorithm_4_is_judged_as_its_box_stands_and_repaired_in_the_amendment_only() -> (
    None
):
    check: Any = momentum_sums.CHECKS.find("algorithm-4-output", "coefficients")
    claim = SPECS.claim("tran2022:algorithm-4-output")
    printed = claim.statement({"ordering": "once"})
    amended = claim.statement({"ordering": "once"}, "amended")
    assert run(check, printed).status == "refuted"
    assert run(check, amended).status == "argued"
    for other in momentum_sums.CHECKS.of("algorithm-4-output"):
        assert other.name == "coefficients" or not other.applies(printed)
    lost = replace(
        check,
        is_satisfied=lambda point, st: momentum_sums._output(point, st, printed_output),
    )
    assert run(lost, amended).status == "refuted"


@for_each("budget", ["smoke", "standard"])
def test_every_run_is_gone_through_with_its_first_three_windows_and_its_last(
    budget: str,
) -> None:
    (found,) = [
        each
        for each in identities.CHECKS.of("lemma-17-unrolled")
        if isinstance(each, IdentityCheck)
    ]
    windows: dict[tuple[int, int], list[int]] = {}
    for size in found.sizes(BUDGETS[budget]):
        windows.setdefault((size["N"], size["T"]), []).append(size["window"])
    assert all(those == sorted({1, 2, 3, T // N}) for (N, T), those in windows.items())
    longest = max(T for N, T in windows if N == 1)
    assert {
        (N, T) for N in range(1, 5) for T in range(1, longest + 1)
    } <= windows.keys()
    assert (7, 60) in windows
