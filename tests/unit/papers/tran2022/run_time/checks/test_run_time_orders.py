"""Claims about run times along single directions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from dpverify.harness import BUDGETS, Context
from dpverify.ledger import load_specs
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.run_time.checks import run_time_orders
from dpverify.papers.tran2022.run_time.orders_bounds import order

RUN_TIME = load_specs().claim("tran2022:section-5-run-time").statement()


def test_the_printed_exponents_fail_where_they_should() -> None:
    rule = partial(run_time_orders._asymptotic, run_time_orders.TIME)
    found = rule(
        {"exponent_of_N": Fraction(1), "exponent_of_d": Fraction(1), "exponent_of_epsilon": Fraction(0)}, RUN_TIME
    )
    assert found.ok is False
    assert (found.lhs, found.rhs) == (Fraction(10, 3), Fraction(3))
    assert found.note == "along N = x, d = x, epsilon = 1 it grows as x^(10/3), the claim as x^3"
    alone = rule(
        {"exponent_of_N": Fraction(1), "exponent_of_d": Fraction(0), "exponent_of_epsilon": Fraction(0)}, RUN_TIME
    )
    assert alone.ok, "for d = epsilon = 1 the printed exponent of N is right"
    assert run_time_orders.TIME.printed == [order("11/3", "-2/3", 0)]


def judged(statement: Statement, name: str) -> CheckResult:
    check = run_time_orders.CHECKS.find(statement.key.removeprefix("tran2022:"), name)
    found: CheckResult = check.run_block(Context(statement, BUDGETS["smoke"], 0, name), 0)
    return found


def test_a_claim_about_earlier_work_is_judged_without_a_condition_on_epsilon() -> None:
    claim = load_specs().claim("tran2022:section-5-first-run-time")
    printed = claim.statement({"previous": "rrsgd"})
    amended = claim.statement({"previous": "rrsgd"}, "amended")
    assert judged(printed, "orders-rrsgd").status == "refuted"
    assert judged(amended, "orders-rrsgd").status == "argued"
    assert judged(replace(amended, requires=printed.requires), "orders-rrsgd").status == "refuted"


def test_a_count_that_is_known_from_4n_steps_on_proves_nothing_of_shorter_runs() -> None:
    amended = load_specs().claim("tran2022:section-5-run-time").statement(variant="amended")
    assert judged(amended, "orders").status == "argued"
    refused = judged(replace(amended, requires=()), "orders")
    assert refused.status == "not refuted"
    assert "T >= 4*N" in refused.message
