from __future__ import annotations

from dataclasses import replace

import pytest
import sympy

from dpverify.harness import BUDGETS, Context, DerivationCheck
from dpverify.ledger.check_results import CheckResult, ControlResult
from dpverify.ledger.formula import parse
from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic import proofs
from dpverify.symbolic.certify.certificates import Certificate
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.steps import Derivation, Premise, Step
from dpverify.symbolic.expressions.ranges import Range
from dpverify.symbolic.expressions.translation import sympy_symbols
from tests.for_each import for_each


def run(check: DerivationCheck, statement: Statement) -> CheckResult:
    context = Context(statement, BUDGETS["smoke"], 0, check.name)
    return check.finish(context, [check.run_block(context, 0)])


def convexity(statement: Statement) -> Derivation:
    x = sympy_symbols(statement)["x"]
    return Derivation(
        name="convexity",
        whose="ours",
        variables={"x": Range("real", 0, 10, open_lo=True)},
        assumptions=(),
        start=1 - x,
        steps=(Step(sympy.exp(-x), "<=", "one-minus-exp", {"x": x}),),
    )


def false_step(statement: Statement) -> Derivation:
    right = convexity(statement)
    before = right.steps[0].expr
    return replace(
        right,
        steps=(
            *right.steps,
            Step(before / 2, "<=", "order", {"a": before, "b": before / 2}),
        ),
    )


def test_a_complete_derivation_of_the_printed_side_proves(
    statements: dict[str, Statement],
) -> None:
    result = run(
        DerivationCheck("decay", "derivation", build=convexity), statements["decay"]
    )
    assert result.status == "proved"
    assert result.relation_to_derived == "equal"
    assert result.derivation is not None
    assert result.derivation.complete
    printed, constant = result.controls
    assert (printed.fault, printed.at_declared_size, printed.refuted) == (
        "printed*100/101",
        True,
        True,
    )
    assert constant.fault.startswith("1 times 99/100 in the expression after step 1")
    assert constant.refuted


def test_a_weaker_printed_side_is_proved(statements: dict[str, Statement]) -> None:
    weaker = replace(statements["decay"], rhs=parse("3*exp(-x)"))
    result = run(DerivationCheck("decay", "derivation", build=convexity), weaker)
    assert result.status == "proved"
    assert result.relation_to_derived == "weaker"
    assert all(control.refuted for control in result.controls)


def test_a_stronger_printed_side_is_not_proved(
    statements: dict[str, Statement],
) -> None:
    stronger = replace(statements["decay"], rhs=parse("exp(-x)/2"))
    result = run(DerivationCheck("decay", "derivation", build=convexity), stronger)
    assert result.status == "inconclusive"
    assert result.relation_to_derived == "stronger"
    assert result.error == ""


def test_a_failing_step_of_ours_is_our_error(statements: dict[str, Statement]) -> None:
    result = run(
        DerivationCheck("decay", "derivation", build=false_step), statements["decay"]
    )
    assert result.status == "inconclusive"
    assert "our derivation 'convexity' fails: step 2 (order)" in result.error


def test_statements_in_words_have_nothing_to_derive(
    statements: dict[str, Statement],
) -> None:
    assert not DerivationCheck("walk", "derivation", build=convexity).applies(
        statements["walk"]
    )


def test_what_is_typed_by_hand_may_not_bear_the_id_of_a_claim(
    statements: dict[str, Statement],
) -> None:
    def named(premise: str) -> CheckResult:
        def build(statement: Statement) -> Derivation:
            right = convexity(statement)
            bound = right.steps[0].expr
            typed = Premise(right.start, "<=", bound)
            return replace(
                right,
                steps=(Step(bound, "<=", "premise", {}, (premise,)),),
                premises={premise: typed},
            )

        return run(
            DerivationCheck("decay", "derivation", build=build), statements["decay"]
        )

    assert (named("a sentence").status, named("a sentence").given) == (
        "proved given",
        ["a sentence"],
    )
    assert named("demo:sum").status == "inconclusive"
    assert named("demo:sum").error.endswith(
        "bears the id of a claim, to which it must refer: demo:sum"
    )


def test_a_proof_that_cites_a_chain_with_an_open_step_proves_nothing(
    statements: dict[str, Statement],
) -> None:
    def citing(statement: Statement) -> Derivation:
        right = convexity(statement)
        # algebra proves equalities only
        open_one = replace(right, name="unproven", steps=(Step(right.last, "<="),))
        step = Step(right.last, "<=", "premise", {}, ("unproven",))
        return replace(right, steps=(step,), premises={"unproven": cite(open_one)})

    result = run(
        DerivationCheck("decay", "derivation", build=citing), statements["decay"]
    )
    assert result.status == "inconclusive"
    assert (
        "our derivation 'convexity' has no certificate: step 0 (premise): unproven: step 0"
        in result.error
    )


def test_what_a_derivation_cites_is_checked_whatever_is_recorded(
    statements: dict[str, Statement],
) -> None:
    """A recorded run that calls it proved, with a control that was noticed, proves nothing."""

    def citing(statement: Statement) -> Derivation:
        right = convexity(statement)
        open_one = replace(right, name="unproven", steps=(Step(right.last, "<="),))
        step = Step(right.last, "<=", "premise", {}, ("unproven",))
        return replace(right, steps=(step,), premises={"unproven": cite(open_one)})

    noticed = ControlResult(
        name="printed moved", fault="twice", at_declared_size=True, refuted=True
    )
    recorded = CheckResult(
        name="derivation", method="derivation", status="proved", controls=[noticed]
    )
    context = Context(
        statements["decay"], BUDGETS["smoke"], 0, "derivation", recorded=recorded
    )
    found = DerivationCheck("decay", "derivation", build=citing).run_block(context, 0)
    assert (found.status, found.by_certificate) == ("inconclusive", False)
    assert "has no certificate: step 0 (premise): unproven" in found.error


@for_each(
    ("certificate", "reason"),
    [
        (Certificate(None, "no rule for it"), "no rule for it"),
        (Certificate({"schema": 0}), "the checker refuses it"),
    ],
)
def test_a_derivation_without_an_accepted_certificate_is_our_error(
    statements: dict[str, Statement],
    monkeypatch: pytest.MonkeyPatch,
    certificate: Certificate,
    reason: str,
) -> None:
    monkeypatch.setattr(proofs, "certified", lambda *arguments: certificate)
    result = run(
        DerivationCheck("decay", "derivation", build=convexity), statements["decay"]
    )
    assert (result.status, result.given) == ("inconclusive", [])
    assert result.error == f"our derivation 'convexity' has no certificate: {reason}"


def test_what_is_measured_without_a_definition_is_given(
    statements: dict[str, Statement],
) -> None:
    def build(statement: Statement) -> Derivation:
        half = sympy.Rational(1, 2)
        step = Step(half, "<=", "order", {"a": sympy.Rational(1, 3), "b": half})
        return Derivation("third", "ours", {}, (), sympy.Rational(1, 3), (step,))

    result = run(DerivationCheck("size", "derivation", build=build), statements["size"])
    assert (result.status, result.given) == ("proved given", ["mean_size is 1/3"])
