"""The cited derivations are complete, do not give smaller constants, and the theorems rest on nothing else unnamed."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from random import Random

from sympy import Integer, Rational, Symbol

from dpverify.harness import BUDGETS, Context
from dpverify.harness.cited_check import CitedDerivationCheck
from dpverify.harness.derivation_check import DerivationCheck
from dpverify.harness.recorded_proof import CERTIFICATES, certificate_name
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import bundled, load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    constant_spread,
    mean_square,
)
from dpverify.symbolic.certify.checker import k
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.elaborate.proofs import derivation_of, lemma_of
from dpverify.symbolic.exact.evaluate import evaluate_statement
from dpverify.symbolic.exact.numbers import to_ball, to_value
from dpverify.symbolic.expressions.ranges import real
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import conclude

SPECS = load_specs()
FRESH = {"ordering": "fresh"}
ONCE = {"ordering": "once"}
BY_HAND = {
    "epochs with orders of their own are uncorrelated",
    "two positions of an order draw different examples",
    "every position has its weight",
    "with one example every iterate is its own anchor",
    "the present epoch counts from its present place, those before from their ends",
    "the loss falls by at most R",
    "the mean error is at most the sum of the means of its five parts",
    "the anchors' part is at most 2 eta L times the weighted way to them",
    "the first term of the amended lemma-11-drift",
    "the mean over the run of the second term of the amended lemma-11-drift",
    # roots of mean squares, and means of roots over the run
    "Jensen and Minkowski at every step: gradients at the anchors, and their changes, of mean square at most square",
    "the mean over the run of the roots of mean squares is at most the root of the largest one",
    "the mean over the run of the roots of the estimate's mean squares, each bounded as in one-step-of-the-estimate",
    # assumptions on letters with a meaning: a variance, the second moment, the longest
    # vector; a place
    "(second + (-1 * (centre ^ 2))) >= own",
    "(length ^ 2) >= second",
    "place <= (-1 + N)",
    "step <= T",
    "(v + p) = N",
    "expected_gradient_norm is gradient",
}


def stated(claim: str, reading: dict[str, str]) -> Statement:
    return SPECS.claim(f"tran2022:{claim}").statement(reading, "amended")


def test_all_that_theorem_9_takes_for_granted_is_listed() -> None:
    statement = stated("theorem-9", FRESH)
    assert conclude(derivation_of(statement), statement) in {"equal", "weaker"}
    name = certificate_name(statement.key, statement.reading, statement.variant)
    certificate = json.loads(
        (bundled("reports") / CERTIFICATES / name).read_text(encoding="utf-8")
    )
    assert {
        given for given in k.given_in(certificate) if not given.startswith("tran2022:")
    } == BY_HAND


@for_each("factor", [Rational(1), Rational(99, 100), Rational(1, 2)])
def test_smaller_constants_of_the_lemma_do_not_follow(factor: Rational) -> None:
    statement = stated("theorem-9", FRESH)
    texts = (
        "square-of-the-difference",
        "rate-of-the-difference",
        "weights-of-the-estimate",
    )
    for chain in (lemma_of(statement, name) for name in texts):
        last = replace(chain.steps[-1], expr=chain.last * factor)
        found = check_derivation(
            replace(chain, steps=(*chain.steps[:-1], last)), points=12
        )
        assert found.complete == (factor == 1)


def _demo(conclusion: Rational) -> Derivation:
    x = Symbol("x", positive=True)
    steps = (Step(conclusion, "<=", "order", {"a": x, "b": conclusion}),)
    return Derivation(
        "demo", "ours", {"x": real(0, 1, open_lo=True)}, (x <= 1,), x, steps
    )


def _result(
    check: CitedDerivationCheck | DerivationCheck, statement: Statement
) -> CheckResult:
    context = Context(statement, BUDGETS["standard"], seed=3, check=check.name)
    return check.finish(context, [check.run_block(context, 0)])


def test_a_cited_derivation_proves_nothing_of_the_statement_and_has_a_control() -> None:
    check = CitedDerivationCheck("lemma-7", "demo", build=lambda _: _demo(Integer(1)))
    found = _result(check, stated("lemma-7", FRESH))
    assert found.status == "not refuted"
    assert found.controls
    assert all(control.refuted for control in found.controls)
    loose = CitedDerivationCheck("lemma-7", "demo", build=lambda _: _demo(Integer(7)))
    assert _result(loose, stated("lemma-7", FRESH)).status == "inconclusive"


@for_each(("examples", "steps"), [(2, 20), (3, 12), (5, 100), (16, 320)])
def test_the_mean_of_the_estimates_own_part_is_far_below_its_bound(
    examples: int, steps: int
) -> None:
    rho = math.sqrt(examples / steps)
    gamma = Fraction(math.isqrt(10**12 * examples // steps), 10**6)
    own = constant_spread(Fraction(1))
    squares = (
        mean_square("estimate", t, examples, Fraction(1, examples), gamma, own)
        for t in range(1, steps + 1)
    )
    exact = (
        sum(math.sqrt(float(to_ball(to_value(square)))) for square in squares) / steps
    )
    assert exact <= 0.41 * 3.5 * math.sqrt(rho / examples)


def test_the_printed_theorem_9_is_above_the_corrected_one_for_small_delta() -> None:
    rng = Random(7)
    corrected = stated("theorem-9", FRESH)
    printed = SPECS.claim("tran2022:theorem-9").statement(FRESH)
    for _ in range(60):
        examples = int(10 ** rng.uniform(0.4, 9))
        steps = min(
            max(int(10 ** rng.uniform(0, 3 * math.log10(examples))), 4 * examples),
            max(examples**3, 4 * examples),
        )
        point = {
            "N": Fraction(examples),
            "T": Fraction(steps),
            "d": Fraction(1),
            "delta": Fraction(1, rng.choice([3, 10, 10**6])),
            "G": Fraction(1),
            "L": Fraction(10) ** rng.randint(-6, 6),
            "R": Fraction(rng.choice([0, 1, 100])),
        }
        (_, ours), (_, theirs) = (
            evaluate_statement(statement, point) for statement in (corrected, printed)
        )
        assert float(to_ball(to_value(ours))) < 0.25 * float(to_ball(to_value(theirs)))
