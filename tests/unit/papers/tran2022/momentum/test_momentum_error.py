"""Lemma 11: closed forms against runs that are stepped through, derivations, and the loss with a memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpverify.harness.planted import times
from dpverify.ledger.formula import parse
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.slopes.memory import Memory, error_at, printed_terms
from dpverify.papers.tran2022.momentum import momentum_error_derivations as derive
from dpverify.papers.tran2022.momentum.momentum_error_bounds import (
    anchor_distance,
    antipodes_error,
    attained_drift,
    ramp_error,
    slope_error,
)
from dpverify.papers.tran2022.momentum.momentum_error_orders_bounds import (
    pair_anchor,
    pair_bias,
    ridge_gradients,
    ridge_sampling,
)
from dpverify.papers.tran2022.momentum.momentum_error_total_derivations import lemma_11
from dpverify.symbolic.derive.conclude import conclude
from dpverify.symbolic.derive.derivation import Derivation, check_derivation

SPECS = load_specs()
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
FRESH = "G*sqrt(alpha/(2-alpha)) + 2*eta*L*((N-1)/N)*(N-1) + eta*L*(1-alpha)/alpha + (1-alpha)**t*G"
ONCE = "G*sqrt(2*alpha/(2-alpha)) + 2*eta*L*((N-1)/N)*(t-1) + eta*L*(1-alpha)/alpha + (1-alpha)**t*G"


def _statement(claim: str, reading: dict[str, str] | None = None, formula: str | None = None) -> Statement:
    printed = SPECS.claim(f"tran2022:{claim}").statement(reading or {}, "printed")
    if formula is None:
        return printed
    whole = SPECS.claim("tran2022:lemma-11").statement({}, "printed")
    return replace(
        printed,
        rhs=parse(formula),
        variant="amended",
        domains={**whole.domains, **printed.domains},
        symbols={**whole.symbols, **printed.symbols},
    )


def _stepped(gradients: list[Fraction], alpha: Fraction) -> Fraction:
    """Error of the momentum of these gradients against the last one."""
    m = Fraction(0)
    for gradient in gradients:
        m = (1 - alpha) * m + alpha * gradient
    return abs(m - gradients[-1])


@pytest.mark.parametrize("t", [1, 2, 5])
def test_slope_and_ramp_are_what_steps_give(t: int) -> None:
    assert slope_error(t, THIRD, Fraction(2)) == _stepped([Fraction(2)] * t, THIRD)
    eta, smooth = Fraction(1, 9), Fraction(3)
    ramp = [smooth * eta * (t - 1 - step) for step in range(t)]
    assert ramp_error(t, THIRD, eta, smooth, Fraction(9)) == _stepped(ramp, THIRD)


def test_antipodes_add_up_under_one_permutation_only() -> None:
    assert antipodes_error(1, THIRD, Fraction(1), "fresh") == THIRD
    fresh, once = (antipodes_error(6, THIRD, Fraction(1), ordering) for ordering in ("fresh", "once"))
    assert fresh < once


@pytest.mark.parametrize(("epochs", "most"), [("one-based", 4), ("quotient", 4), ("shifted", 5)])
def test_the_farthest_iterate_of_an_epoch(epochs: str, most: int) -> None:
    assert max(anchor_distance(i, 5, epochs) for i in range(1, 40)) == most  # type: ignore[arg-type]  # parametrized
    drift = attained_drift(40, 5, Fraction(1), HALF, Fraction(2), epochs)  # type: ignore[arg-type]  # parametrized
    assert drift <= most


DERIVED: list[tuple[str, dict[str, str], str | None, Callable[[Statement], Derivation]]] = [
    ("lemma-11-alpha-sum", {}, None, derive.alpha_sum),
    ("lemma-11-alpha-sum", {}, "4*G**2*alpha/(2-alpha)", derive.alpha_sum),
    ("lemma-11-norm-bound", {}, None, derive.norm_bound),
    ("lemma-11-anchor-drift", {"epochs": "shifted"}, None, derive.anchor_drift),
    ("lemma-11-sampling", {"ordering": "fresh"}, None, derive.sampling),
    ("lemma-11-sampling", {"ordering": "fresh"}, "alpha*G**2/(2-alpha)", derive.sampling),
    ("lemma-11-drift", {}, "eta*L*(1-alpha)/alpha + (1-alpha)**t*G", derive.lag),
    ("lemma-11", {"ordering": "fresh"}, FRESH, lemma_11),
    ("lemma-11", {"ordering": "once"}, ONCE, lemma_11),
]


@pytest.mark.parametrize(("claim", "reading", "formula", "build"), DERIVED)
def test_the_derivation_ends_where_it_says(
    claim: str, reading: dict[str, str], formula: str | None, build: Callable[[Statement], Derivation]
) -> None:
    statement = _statement(claim, reading, formula)
    derivation = build(statement)
    assert check_derivation(derivation, points=40).complete
    assert conclude(derivation, statement) == "equal"
    assert conclude(derivation, times(statement, Fraction(99, 100))) not in {"equal", "weaker"}


def test_the_corrected_lemma_needs_its_start_up_term() -> None:
    short = FRESH.replace(" + (1-alpha)**t*G", "")
    statement = _statement("lemma-11", {"ordering": "fresh"}, FRESH)
    assert conclude(lemma_11(statement), replace(statement, rhs=parse(short))) not in {"equal", "weaker"}


def test_the_anchor_of_a_pair_tells_its_order() -> None:
    assert pair_anchor((0, 1), HALF, THIRD) == -2 * THIRD
    assert pair_anchor((1, 0), HALF, THIRD) == 0
    assert pair_bias(HALF, THIRD, 0, "once") == -THIRD / 4 == -pair_bias(HALF, THIRD, 1, "once")
    assert pair_bias(HALF, THIRD, 0, "fresh") == 0


def test_ridges_align_what_is_drawn_late() -> None:
    drawn = ridge_gradients(6, 0.5, 2)
    assert np.abs(drawn.sum(axis=0)).max() < 1e-12
    assert (np.sign(drawn[:, 0]) == [1, 1, 1, 1, -1, -1]).all()
    assert np.linalg.norm(drawn, axis=1).max() <= 2.0
    assert ridge_sampling(20, 0.35, 5) > 4 * 0.35 > ridge_sampling(8, 0.35, 3)


def test_ridges_refuse_a_threshold_outside_the_epoch() -> None:
    with pytest.raises(ValueError, match="late=6"):
        ridge_gradients(6, 0.5, 6)


def test_the_constants_of_the_memory_hold_along_random_segments() -> None:
    problem, rng = Memory(examples=5, when=0.5), np.random.default_rng(3)
    one, other = np.zeros(7), np.zeros(7)
    for _ in range(2000):
        w, v = rng.normal(0.0, 1.0, 7), rng.normal(0.0, 1e-4, 7)
        k = float(rng.integers(5))
        problem.example_gradient(w, np.zeros(1), k, one)
        problem.example_gradient(w + v, np.zeros(1), k, other)
        assert np.linalg.norm(one) <= problem.lipschitz
        assert np.linalg.norm(one - other) <= problem.smoothness * np.linalg.norm(v) * (1 + 1e-3)


def _memory_loss(problem: Memory, w: np.ndarray, k: int) -> float:
    """Loss of one example, as NOTES_utility_lemmas.md writes it."""
    z, u, v = w[k] - w[: problem.examples].mean(), w[-2], w[-1]
    gate = (1 + np.tanh(v - problem.when)) / 2
    noise = problem.noise * np.tanh(u) * np.tanh(z) * gate
    shape = problem.hold * np.log(np.cosh(u)) - problem.growth * np.log(np.cosh(z))
    return float(noise + shape - problem.push * w[k] - problem.clock * v)


def test_the_kernel_of_the_memory_is_the_gradient_of_its_loss() -> None:
    problem, rng, out, h = Memory(examples=4, when=0.5), np.random.default_rng(8), np.zeros(6), 1e-5
    for k in range(4):
        w = rng.normal(0.0, 1.0, 6)
        problem.example_gradient(w, np.zeros(1), float(k), out)
        steps = h * np.eye(6)
        slopes = [(_memory_loss(problem, w + s, k) - _memory_loss(problem, w - s, k)) / (2 * h) for s in steps]
        assert out == pytest.approx(slopes, abs=1e-9)


def test_the_memory_gives_every_order_the_same_error() -> None:
    problem = Memory(examples=16)
    first, second = (error_at(problem, 320, 0.1, 0.01, "once", seed) for seed in (1, 2))
    assert first == pytest.approx(second, rel=1e-9)


def test_one_permutation_breaks_the_printed_terms_and_fresh_ones_do_not() -> None:
    problem, steps = Memory(), 4000 * 128
    allowed = printed_terms(problem, 0.03, 0.0005)
    assert error_at(problem, steps, 0.03, 0.0005, "once") > 1.15 * allowed
    assert error_at(problem, steps, 0.03, 0.0005, "fresh") < 0.2 * allowed
