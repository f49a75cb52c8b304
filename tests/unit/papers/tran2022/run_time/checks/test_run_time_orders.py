"""Claims about run times along single directions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from dpverify.harness import BUDGETS, Context
from dpverify.harness.derivation_check import TextProof
from dpverify.ledger import load_specs
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.formula import parse
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.run_time import operation_counts_bounds as counts
from dpverify.papers.tran2022.run_time.checks import run_time_orders
from dpverify.papers.tran2022.run_time.orders_bounds import order
from dpverify.symbolic.elaborate.proofs import derivation_of
from dpverify.symbolic.exact.evaluate import evaluate_statement
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import conclude

RUN_TIME = load_specs().claim("tran2022:section-5-run-time").statement()


def test_the_printed_exponents_fail_where_they_should() -> None:
    rule = partial(run_time_orders._asymptotic, run_time_orders.TIME)
    found = rule(
        {
            "exponent_of_N": Fraction(1),
            "exponent_of_d": Fraction(1),
            "exponent_of_epsilon": Fraction(0),
        },
        RUN_TIME,
    )
    assert found.ok is False
    assert (found.lhs, found.rhs) == (Fraction(10, 3), Fraction(3))
    assert (
        found.note
        == "along N = x, d = x, epsilon = 1 it grows as x^(10/3), the claim as x^3"
    )
    alone = rule(
        {
            "exponent_of_N": Fraction(1),
            "exponent_of_d": Fraction(0),
            "exponent_of_epsilon": Fraction(0),
        },
        RUN_TIME,
    )
    assert alone.ok, "for d = epsilon = 1 the printed exponent of N is right"
    assert run_time_orders.TIME.printed == [order("11/3", "-2/3", 0)]


def judged(statement: Statement, name: str) -> CheckResult:
    claim = statement.key.removeprefix("tran2022:")
    check = (
        TextProof(claim, name)
        if name == "derivation"
        else run_time_orders.CHECKS.find(claim, name)
    )
    found: CheckResult = check.run_block(
        Context(statement, BUDGETS["smoke"], 0, name), 0
    )
    return found


def test_a_claim_about_earlier_work_is_judged_without_a_condition_on_epsilon() -> None:
    claim = load_specs().claim("tran2022:section-5-first-run-time")
    amended = claim.statement({"previous": "rrsgd"}, "amended")
    assert (
        judged(claim.statement({"previous": "rrsgd"}), "orders-rrsgd").status
        == "refuted"
    )
    assert judged(amended, "derivation").status == "proved"
    # without its condition on epsilon, and without that on delta
    for place in range(1, 3):
        kept = tuple(each for k, each in enumerate(amended.requires) if k != place)
        assert (
            judged(replace(amended, requires=kept), "derivation").status
            == "inconclusive"
        )


@for_each("kind", ["one-pass", "node-by-node"])
def test_the_definitions_count_what_the_loops_count(kind: str) -> None:
    statement = (
        load_specs()
        .claim("tran2022:section-5-gradient-evaluations")
        .statement({"evaluation": kind})
    )
    meaning = statement.definition("gradient_evaluations")
    assert meaning is not None
    count = (
        counts.gradients_one_pass
        if kind == "one-pass"
        else counts.gradients_node_by_node
    )
    for n in (1, 2, 3, 8):
        for steps in (1, 2, 7, 8, 9, 31, 40):
            _, said = evaluate_statement(
                meaning.statement, {"N": Fraction(n), "T": Fraction(steps)}
            )
            assert said == count(steps, n)


def test_a_count_of_t_log_t_is_of_no_order_without_logarithms() -> None:
    claim = load_specs().claim("tran2022:abstract-gradient-evaluations")
    printed = claim.statement({"evaluation": "node-by-node"})
    reading = {"evaluation": "node-by-node"}
    chain = derivation_of(
        load_specs().claim("tran2022:section-5-gradient-evaluations").statement(reading)
    )
    assert conclude(chain, replace(printed, relation="O~")) == "weaker"
    assert conclude(chain, printed) == "undecided"
    for rate in (
        "1/N**100",
        "N**(7/3)*epsilon**(4/3)/d**(7/10)",
        "N**(23/10)*epsilon**(4/3)/d**(2/3)",
    ):
        faster = replace(printed, relation="O~", rhs=parse(rate))
        assert conclude(chain, faster) == "undecided"


def test_a_count_that_is_known_from_4n_steps_on_proves_nothing_of_shorter_runs() -> (
    None
):
    amended = (
        load_specs().claim("tran2022:section-5-run-time").statement(variant="amended")
    )
    assert judged(amended, "orders").status == "argued"
    refused = judged(replace(amended, requires=()), "orders")
    assert refused.status == "not refuted"
    assert "T >= 4*N" in refused.message
