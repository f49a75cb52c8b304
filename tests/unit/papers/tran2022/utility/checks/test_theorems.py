"""The cited derivations are complete, do not give smaller constants, and the theorems rest on nothing else unnamed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache

from sympy import Integer, Rational, Symbol

from dpverify.harness import BUDGETS, Context
from dpverify.harness.cited_check import CitedDerivationCheck
from dpverify.harness.derivation_check import DerivationCheck
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise import sr_shares_derivations as sr_shares
from dpverify.papers.tran2022.reorder import reorder_lemma_derivations as lemma
from dpverify.papers.tran2022.reorder import reorder_rates_derivations as rates
from dpverify.papers.tran2022.reorder import reorder_weights_derivations as weights
from dpverify.papers.tran2022.reorder.reorder_bias_bounds import constant_spread, mean_square
from dpverify.papers.tran2022.utility import reorder_once_derivations as once
from dpverify.papers.tran2022.utility import theorem_derivations as theorems
from dpverify.papers.tran2022.utility.checks import theorems as theorem_checks
from dpverify.papers.tran2022.utility.checks.theorems import CITED
from dpverify.symbolic.derive.cited import Cited, derivations_under, referred_to, taken_for_granted
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step, check_derivation, conclude
from dpverify.symbolic.exact.numbers import to_ball, to_value
from dpverify.symbolic.expressions.ranges import real
from tests.for_each import for_each
from tests.unit.papers.derived import faulty_steps

SPECS = load_specs()
FRESH = {"ordering": "fresh"}
BESIDE = [(build, claim, reading) for claim, reading, chains in CITED for build in chains.values()]
BUILDS = [build for build, _, _ in BESIDE]
TOTALS: list[tuple[Callable[[Statement], Derivation], str, dict[str, str]]] = [
    (theorems.theorem_9, "theorem-9", FRESH),
]
BY_HAND = {
    "epochs with orders of their own are uncorrelated",
    "two positions of an order draw different examples",
    "every position has its weight",
    "with one example there is one order",
    "with one example every iterate is its own anchor",
    "the present epoch counts from its present place, those before from their ends",
    "the estimate's weights",
    "Jensen and Minkowski at every step",
    "the loss falls by at most R",
    "the mean error is at most the sum of the means of its five parts",
    "the anchors' part is at most 2 eta L times the weighted way to them",
    "the first term of the amended lemma-11-drift",
    "the mean over the run of the second term of the amended lemma-11-drift",
    # a root of a cited mean square, and a mean of cited roots
    "the estimate's mean square",
    "the way between two anchors",
    "the mean over the steps",
    # assumptions on letters with a meaning: a variance, the second moment, the longest vector; a place
    "-centre**2 + second >= own",
    "length**2 >= second",
    "place <= N - 1",
}


def stated(claim: str, reading: dict[str, str]) -> Statement:
    return SPECS.claim(f"tran2022:{claim}").statement(reading, "amended")


@cache
def names() -> list[str]:
    return [build().name for build in BUILDS]


@for_each(
    ("build", "claim", "reading"),
    BESIDE,
    ids=[build.__module__.rpartition(".")[2] + "." + build.__name__ for build in BUILDS],
)
def test_a_cited_derivation_is_complete(build: Callable[[], Derivation], claim: str, reading: dict[str, str]) -> None:
    assert faulty_steps(build(), stated(claim, reading), points=12) == []


@for_each(("build", "claim", "reading"), TOTALS)
def test_a_statement_follows_and_all_that_it_cites_is_listed(
    build: Callable[[Statement], Derivation], claim: str, reading: dict[str, str]
) -> None:
    statement = stated(claim, reading)
    derivation = build(statement)
    assert faulty_steps(derivation, statement, points=12) == []
    assert conclude(derivation, statement) == "equal"
    listed = set(names())
    listed |= {chain.name for _, chain in derivations_under(sr_shares.five_terms())}
    assert {chain.name for _, chain in derivations_under(derivation)} <= listed
    granted = taken_for_granted(derivation)
    assert set(granted) - {str(reference) for reference in referred_to(derivation)} <= BY_HAND


def test_names_of_the_cited_derivations_tell_them_apart() -> None:
    assert len(set(names())) == len(BUILDS)


@for_each("factor", [Rational(1), Rational(99, 100), Rational(1, 2)])
def test_smaller_constants_of_the_lemma_do_not_follow(factor: Rational) -> None:
    for build in (lemma.difference, once.above, rates.difference_rate, weights.estimate):
        chain = build()
        last = replace(chain.steps[-1], expr=chain.last * factor)
        found = check_derivation(replace(chain, steps=(*chain.steps[:-1], last)), points=12)
        assert found.complete == (factor == 1)


def _demo(conclusion: Rational) -> Derivation:
    x = Symbol("x", positive=True)
    steps = (Step(conclusion, "<=", "order", {"a": x, "b": conclusion}),)
    return Derivation("demo", "ours", {"x": real(0, 1, open_lo=True)}, (x <= 1,), x, steps)


def _result(check: CitedDerivationCheck | DerivationCheck, statement: Statement) -> CheckResult:
    context = Context(statement, BUDGETS["standard"], seed=3, check=check.name)
    return check.finish(context, [check.run_block(context, 0)])


def test_a_statement_is_not_proved_by_a_chain_that_cites_a_broken_one() -> None:
    claim = "theorem-9"
    statement = stated(claim, FRESH)
    (check,) = (c for c in theorem_checks.CHECKS.of(claim) if c.name == "whole-derivation")
    assert isinstance(check, DerivationCheck)
    fine = check.build(statement)
    step = Step(Integer(1), "<=", "order", {"a": Integer(2), "b": Integer(1)})
    broken = Derivation("broken", "ours", {}, (), Integer(2), (step,))
    premise = Cited(Integer(2), "<=", Integer(1), (), broken)
    spoilt = replace(check, build=lambda _: replace(fine, premises={**fine.premises, "broken": premise}))
    found = _result(spoilt, statement)
    assert found.status == "inconclusive"
    assert "broken" in found.error


def test_a_cited_derivation_proves_nothing_of_the_statement_and_has_a_control() -> None:
    check = CitedDerivationCheck("lemma-7", "demo", build=lambda _: _demo(Integer(1)))
    found = _result(check, stated("lemma-7", FRESH))
    assert found.status == "not refuted"
    assert found.controls
    assert all(control.refuted for control in found.controls)
    loose = CitedDerivationCheck("lemma-7", "demo", build=lambda _: _demo(Integer(7)))
    assert _result(loose, stated("lemma-7", FRESH)).status == "inconclusive"


def test_what_is_granted_is_named() -> None:
    chain = lemma.difference()
    assert taken_for_granted(chain) == sorted(taken_for_granted(chain), key=taken_for_granted(chain).index)
    assert set(taken_for_granted(chain)) <= BY_HAND
    assert all(isinstance(premise, Premise) for premise in chain.premises.values())


@for_each(("examples", "steps"), [(2, 20), (3, 12), (5, 100), (16, 320)])
def test_the_mean_of_the_estimates_own_part_is_far_below_its_bound(examples: int, steps: int) -> None:
    rho = math.sqrt(examples / steps)
    gamma = Fraction(math.isqrt(10**12 * examples // steps), 10**6)
    own = constant_spread(Fraction(1))
    squares = (mean_square("estimate", t, examples, Fraction(1, examples), gamma, own) for t in range(1, steps + 1))
    exact = sum(math.sqrt(float(to_ball(to_value(square)))) for square in squares) / steps
    assert exact <= 0.41 * 3.5 * math.sqrt(rho / examples)
