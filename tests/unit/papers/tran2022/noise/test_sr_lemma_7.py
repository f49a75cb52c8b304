"""Lemma 7's derivations hold against the exact law, and its checks find what is planted."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from flint import arb

from dpverify.harness import BUDGETS, Context, DerivationCheck
from dpverify.ledger.formula import parse
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers import load
from dpverify.papers.tran2022.momentum.checks import sr_noise_norm
from dpverify.papers.tran2022.noise import sr_noise_derivations, sr_total_derivations, sr_window_derivations
from dpverify.papers.tran2022.noise.checks import sr_noise
from dpverify.papers.tran2022.noise.checks.sr_noise_cases import delta_of
from dpverify.papers.tran2022.noise.checks.sr_noise_figure import variance_figures
from dpverify.papers.tran2022.noise.checks.sr_noise_points import at_points
from dpverify.papers.tran2022.noise.sr_noise_bounds import squared_decays, window_weights
from dpverify.papers.tran2022.noise.sr_noise_variance_bounds import NodeVariances, variance_terms
from dpverify.papers.tran2022.trees.compose_bounds import compose_count
from dpverify.report.pages.figures import caption, svg
from dpverify.symbolic.derive.conclude import conclude
from dpverify.symbolic.derive.derivation import check_derivation
from dpverify.symbolic.exact.statements import definitions, evaluate_statement

SPECS = load_specs()
ONCE = {"ordering": "once"}


def statement(claim: str, reading: dict[str, str] | None = None) -> Statement:
    return SPECS.claim(f"tran2022:{claim}").statement(reading or {}, "printed")


def corrected(claim: str, formula: str, reading: dict[str, str] | None = None) -> Statement:
    return replace(statement(claim, reading), rhs=parse(formula), variant="amended")


def run(claim: str, name: str, on: Statement) -> CheckResult:
    checks = load("tran2022")
    assert checks is not None
    (check,) = (check for check in checks.of(claim) if check.name == name)
    context = Context(on, BUDGETS["smoke"], seed=3, check=name)
    total = None
    for block in range(check.blocks(context)):
        total = check.fold(total, check.run_block(context, block))
    return check.finish(context, total)


PROVED = [
    ("lemma-7-count-1", sr_noise_derivations.count_1),
    ("lemma-7-count-1-log", sr_noise_derivations.count_1_log),
    ("lemma-7-var-2", sr_window_derivations.var_2),
    ("lemma-7-var-2-sum", sr_window_derivations.var_2_sum),
    ("lemma-7-var-3-sum", sr_window_derivations.var_3_sum),
    ("lemma-7-var-3", sr_window_derivations.var_3),
    ("lemma-7-gamma", sr_total_derivations.identity),
    ("lemma-7-sigma", sr_total_derivations.identity),
]

SHARPER = {
    "lemma-7-var-2": "12*alpha**2*delta_G**2*sigma**2*log2(N)**2/(1-exp(-2))**2",
    "lemma-7-var-3": "4*gamma*alpha**2*delta_G**2*sigma**2*T*log2(N)**2/((1-exp(-1))**2*N)",
    "lemma-7-var-2-sum": "1",
}


@pytest.mark.parametrize(("claim", "build"), PROVED)
def test_derivations_are_complete_and_prove_the_printed_line(claim: str, build: Any) -> None:
    on = statement(claim)
    derivation = build(on)
    result = check_derivation(derivation, points=60)
    assert [(step.rule, step.note) for step in result.steps if step.status != "proved"] == []
    assert result.complete
    assert conclude(derivation, on) in {"equal", "weaker"}
    if claim in SHARPER:
        assert conclude(derivation, replace(on, rhs=parse(SHARPER[claim]))) not in {"equal", "weaker"}


AMENDED = [
    ("lemma-7-count-2", "2*log2(1 + N/2)", sr_noise_derivations.count_2),
    ("lemma-7-count-5", "floor(log2(T + 1))", sr_noise_derivations.count_5),
    ("lemma-7-coefficient", "(1-gamma)**window/(1 - gamma - exp(-1))", sr_window_derivations.coefficient),
]


@pytest.mark.parametrize(("claim", "formula", "build"), AMENDED)
def test_corrected_statements_are_proved(claim: str, formula: str, build: Any) -> None:
    on = corrected(claim, formula)
    derivation = build(on)
    assert check_derivation(derivation, points=60).complete
    assert conclude(derivation, on) == "equal"
    assert conclude(derivation, statement(claim)) not in {"equal", "weaker"}


def test_wrong_premises_are_seen_by_the_letters_of_the_window_derivations() -> None:
    """What the derivations assume of ``decays``, ``squares`` and ``weight`` is true of the exact law."""
    for n in (1, 2, 3, 6, 16, 31):
        for alpha in (Fraction(1, n), Fraction(2, n + 1)):
            for gamma in (Fraction(1, 2), Fraction(1, 50)):
                rate = float(gamma * (2 - gamma)) * (1 - math.exp(-1)) ** 2
                weights = [
                    float(c) if isinstance(c, Fraction) else float(c.p) / float(c.q) for c in _short(n, alpha, gamma)
                ]
                assert sum(c**2 for c in weights) <= (1 + 1e-12) / rate
                assert max(weights) <= (1 + 1e-12) / (1 - math.exp(-1))
            for start in range(2 * n):
                decays = squared_decays(start + 1, start + n, alpha)
                assert float(decays.p) / float(decays.q) <= compose_count(start + 1, start + n)  # type: ignore[union-attr]  # short, so exact


def _short(n: int, alpha: Fraction, gamma: Fraction) -> list[Any]:
    return window_weights(6, n, alpha, gamma)


def test_exact_terms_are_below_the_corrected_total_and_sum_to_it_at_most() -> None:
    """The corrected total, term by term, at slow decay: no term alone is beyond its own share."""
    columns = variance_figures()["variance-terms"]
    for part in ("1", "2", "3", "4", "5", "total"):
        assert max(columns[f"exact-{part}"]) <= columns[f"corrected-{part}"][0] <= columns[f"printed-{part}"][0]
    nodes = NodeVariances(*(Fraction(v) for v in (16 * 12, 16 * 16 * 383 // 16, 1, 1)))
    assert columns["exact-2"][40] == pytest.approx(
        float(_value(variance_terms(41, 16, Fraction(1, 16), Fraction(1, 5), nodes)[1]))
    )


def _value(x: Any) -> Any:
    return x if isinstance(x, Fraction) else x.mid()


def test_the_corrected_lemma_is_below_the_printed_one_for_runs_of_an_epoch_and_more() -> None:
    formula = (
        "16*alpha*sqrt(d*log(1/delta)*log2(N)*(3*G**2*log2(N)"
        " + (6*G**2 + eta*T*(16*G**2/3 + L**2))*log2(N)/(1-exp(-1))**2"
        " + eta**2*N*T*L**2*log2(T+1)))/epsilon"
    )
    printed, ours = statement("lemma-7", ONCE), corrected("lemma-7", formula, ONCE)
    for n in (2, 3, 64, 1000):
        for steps in (n, n + 1, 2 * n - 1, 100 * n):
            for share in (Fraction(1, 2), Fraction(1, 1000)):
                for smooth in (0, 1, 1000):
                    at: dict[str, Any] = {
                        "N": n,
                        "T": steps,
                        "t": steps,
                        "alpha": Fraction(1, n),
                        "eta": share / n,
                        "G": 1,
                    }
                    at |= {"L": smooth, "d": 5, "delta": Fraction(1, 9), "epsilon": 1}
                    (_, sharp), (_, blunt) = evaluate_statement(ours, at), evaluate_statement(printed, at)
                    assert _value(sharp) <= _value(blunt)


REFUTED = [
    ("lemma-7-var-2-step", "6"),
    ("lemma-7-coefficient", "2"),
    ("lemma-7-var-5", "2"),
    ("lemma-7-var-5-plugged", "3"),
    ("lemma-7-var", "2"),
    ("lemma-7-var-numbers", "2"),
    ("lemma-7-numbers", "2"),
    ("lemma-7", "2"),
]


@pytest.mark.parametrize(("claim", "examples"), REFUTED)
def test_counterexamples_are_in_the_domain_and_certain(claim: str, examples: str) -> None:
    found = run(claim, "counterexamples", statement(claim, ONCE if claim == "lemma-7" else None))
    assert found.status == "refuted"
    kinds = {c.kind: c for c in found.counterexamples}
    assert kinds["smallest"].parameters["N"].exact == examples
    assert ("interior" in kinds) == (claim != "lemma-7-var-5")


def test_a_point_outside_the_domain_is_no_counterexample() -> None:
    check = at_points("lemma-7-coefficient", {"N": 2, "alpha": "1/4", "gamma": "1/2", "window": 3}, None)
    on = statement("lemma-7-coefficient")
    with pytest.raises(ValueError, match=r"must meet alpha >= 1/N, gamma <= 1/2: none of 1 does"):
        check.run_block(Context(on, BUDGETS["smoke"], seed=3, check=check.name), 0)


def test_a_gaussian_release_is_private_at_the_delta_of_its_shift() -> None:
    """delta(shift, 0) is the total variation distance, and it falls with epsilon and rises with the shift."""
    at_zero = float(delta_of(arb(2), arb(0)).mid())
    assert at_zero == pytest.approx(math.erf(1 / math.sqrt(2)))
    assert delta_of(arb(2), arb(1)) < delta_of(arb(2), arb(0)) < delta_of(arb(3), arb(0))


@pytest.mark.parametrize("ordering", ["fresh", "once"])
def test_one_release_needs_more_noise_than_section_4_says_where_gamma_is_small(ordering: str) -> None:
    on = statement("section-4-noise-two-cases", {"ordering": ordering})
    found = run("section-4-noise-two-cases", "one-release", on)
    assert found.status == "refuted"
    for found_at in found.counterexamples:
        gamma, eta = (Fraction(found_at.parameters[name].exact or "0") for name in ("gamma", "eta"))
        assert gamma < eta


def test_fresh_permutations_refute_the_lemma_where_the_noise_does_not() -> None:
    on = statement("lemma-7", {"ordering": "fresh"})
    found = run("lemma-7", "two-examples", on)
    assert found.status == "refuted"
    smallest = next(c for c in found.counterexamples if c.kind == "smallest")
    point = {name: Fraction(number.exact or "0") for name, number in smallest.parameters.items()}
    assert point["T"] >= point["N"] == 2
    noise = sr_noise_norm._noise_alone(point, on)
    assert noise < evaluate_statement(on, point)[1]  # type: ignore[operator]  # two balls


def test_the_box_and_section_4_differ_at_one_step_only() -> None:
    found = run("section-4-two-noises", "against-the-box", statement("section-4-two-noises"))
    assert found.status == "refuted"
    assert found.counterexamples[0].parameters["t"].exact == "2"
    assert found.message.startswith("172 points, 8 violations")


def test_weights_of_the_kernel_are_the_closed_form() -> None:
    found = run("algorithm-2-threshold", "weights", statement("algorithm-2-threshold"))
    assert found.status == "not refuted"
    assert all(control.refuted for control in found.controls)
    assert "Printed bound divided" in caption("variance-terms", found.figures["variance-terms"])
    assert svg("variance-terms", found.figures["variance-terms"]).startswith(b"<?xml")


def test_every_check_of_a_derivation_builds_for_its_statement() -> None:
    for entry in sr_noise.CHECKS.entries():
        if isinstance(entry.check, DerivationCheck) and "printed" in entry.check.variants:
            on = statement(entry.check.claim, dict(entry.check.readings))
            assert entry.check.build(on).whose == "ours"


def test_definitions_at_one_example_take_all_noise_away() -> None:
    point: dict[str, Any] = {"N": 1, "T": 5, "t": 5, "alpha": 1, "delta_G": 1, "sigma": 1, "gamma": Fraction(1, 2)}
    known = definitions(statement("lemma-7-var-3"), point)
    assert NodeVariances.of(known) == NodeVariances(Fraction(0), Fraction(0), Fraction(0), Fraction(0))
