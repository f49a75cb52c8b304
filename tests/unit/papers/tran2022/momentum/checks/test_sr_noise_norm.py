"""Lemma 7 as a whole: what refutes it, and which part is at fault."""

from __future__ import annotations

from fractions import Fraction

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers import load
from dpverify.papers.tran2022.momentum.checks import sr_noise_norm
from dpverify.symbolic.exact.evaluate import evaluate_statement
from tests.for_each import for_each

SPECS = load_specs()


def statement(claim: str, reading: dict[str, str] | None = None) -> Statement:
    return SPECS.claim(f"tran2022:{claim}").statement(reading or {}, "printed")


def run(claim: str, name: str, on: Statement) -> CheckResult:
    checks = load("tran2022")
    assert checks is not None
    (check,) = (check for check in checks.of(claim) if check.name == name)
    context = Context(on, BUDGETS["smoke"], seed=3, check=name)
    total = None
    for block in range(check.blocks(context)):
        total = check.fold(total, check.run_block(context, block))
    return check.finish(context, total)


def test_fresh_permutations_refute_the_lemma_where_the_noise_does_not() -> None:
    on = statement("lemma-7", {"ordering": "fresh"})
    found = run("lemma-7", "two-examples", on)
    assert found.status == "refuted"
    smallest = next(c for c in found.counterexamples if c.kind == "smallest")
    point = {
        name: Fraction(number.exact or "0")
        for name, number in smallest.parameters.items()
    }
    assert point["T"] >= point["N"] == 2
    noise = sr_noise_norm._noise_alone(point, on)
    assert noise < evaluate_statement(on, point)[1]  # type: ignore[operator]  # two balls


def test_the_box_and_section_4_differ_at_one_step_only() -> None:
    found = run(
        "section-4-two-noises", "against-the-box", statement("section-4-two-noises")
    )
    assert found.status == "refuted"
    assert found.counterexamples[0].parameters["t"].exact == "2"
    assert found.message.startswith("172 points, 8 violations")


@for_each("ordering", ["fresh", "once"])
def test_one_release_needs_more_noise_than_section_4_says_where_gamma_is_small(
    ordering: str,
) -> None:
    on = statement("section-4-noise-two-cases", {"ordering": ordering})
    found = run("section-4-noise-two-cases", "one-release", on)
    assert found.status == "refuted"
    for found_at in found.counterexamples:
        gamma, eta = (
            Fraction(found_at.parameters[name].exact or "0")
            for name in ("gamma", "eta")
        )
        assert gamma < eta
