from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import sympy
from sympy import Integer, Rational, Symbol

from dpverify.harness import BUDGETS, Context
from dpverify.harness.cited_check import CitedDerivationCheck
from dpverify.harness.derivation_check import DerivationCheck
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.cited import DerivedPremise
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.expressions.ranges import real
from dpverify.symbolic.expressions.translation import sympy_symbols


def run(
    check: CitedDerivationCheck | DerivationCheck, statement: Statement
) -> CheckResult:
    context = Context(statement, BUDGETS["standard"], seed=3, check=check.name)
    return check.finish(context, [check.run_block(context, 0)])


def at_most(conclusion: Rational) -> Derivation:
    """x is at most this number, for 0 < x <= 1."""
    x = Symbol("x", positive=True)
    steps = (Step(conclusion, "<=", "order", {"a": x, "b": conclusion}),)
    return Derivation(
        "at most", "ours", {"x": real(0, 1, open_lo=True)}, (x <= 1,), x, steps
    )


def citing(larger: int, smaller: int) -> Callable[[Statement], Derivation]:
    """1 - x <= exp(-x), and besides a citation of a derivation that says ``larger <= smaller``."""

    def build(statement: Statement) -> Derivation:
        x = sympy_symbols(statement)["x"]
        step = Step(
            Integer(smaller),
            "<=",
            "order",
            {"a": Integer(larger), "b": Integer(smaller)},
        )
        cited = Derivation("cited one", "ours", {}, (), Integer(larger), (step,))
        premise = DerivedPremise(
            Integer(larger), "<=", Integer(smaller), (), cited, Integer(larger)
        )
        steps = (Step(sympy.exp(-x), "<=", "one-minus-exp", {"x": x}),)
        return Derivation(
            "convexity",
            "ours",
            {"x": real(0, 10, open_lo=True)},
            (),
            1 - x,
            steps,
            {"the cited one": premise},
        )

    return build


def test_a_statement_is_proved_with_all_that_its_derivation_cites(
    statements: dict[str, Statement],
) -> None:
    found = run(
        DerivationCheck("decay", "whole", build=citing(1, 2)), statements["decay"]
    )
    assert found.status == "proved"
    assert "cites the derivations cited one" in found.message


def test_a_cited_derivation_proves_nothing_of_the_statement_and_has_a_control(
    statements: dict[str, Statement],
) -> None:
    check = CitedDerivationCheck(
        "decay", "premise", build=lambda _: at_most(Integer(1))
    )
    found = run(check, statements["decay"])
    assert (found.status, found.error) == ("not refuted", "")
    assert found.message.startswith(
        "the derivation, a premise of other claims, is complete: from x to 1"
    )
    assert found.controls
    assert all(control.refuted for control in found.controls)
    loose = CitedDerivationCheck(
        "decay", "premise", build=lambda _: at_most(Integer(7))
    )
    assert run(loose, statements["decay"]).status == "inconclusive"
    wrong = run(
        CitedDerivationCheck(
            "decay", "premise", build=lambda _: at_most(Rational(1, 2))
        ),
        statements["decay"],
    )
    assert (wrong.status, wrong.controls) == ("inconclusive", [])
    assert wrong.error == "our derivation 'at most' is not complete"


def test_what_a_measured_quantity_is_stands_among_the_premises(
    statements: dict[str, Statement],
) -> None:
    measured = replace(statements["decay"], quantity="length", lhs=None)
    found = run(DerivationCheck("decay", "whole", build=citing(1, 2)), measured)
    assert (found.status, found.given) == ("proved given", ["length is (1 + (-1 * x))"])
