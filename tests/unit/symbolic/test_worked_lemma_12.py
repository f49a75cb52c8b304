"""Lemma 12: Jensen, the decays are at most 1, there are popcount(t) of them, popcount(t) <= log2(t + 1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sympy import Mod, Sum, Symbol, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.conclude import conclude
from dpverify.symbolic.derive.perturb import perturbations
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.expressions.functions import Bit, Log2, Moment, PopCount
from dpverify.symbolic.expressions.ranges import AnyVector, GaussianNorm, integer, real
from dpverify.symbolic.expressions.translation import sympy_conditions, sympy_symbols

DOMAINS = {
    "alpha": "real, 0 < alpha <= 1",
    "G": "real, G > 0",
    "sigma": "real, sigma > 0",
    "V": "real, V > 0",
    "d": "integer, d >= 1",
    "T": "integer, T >= 1",
}
t = Symbol("t", integer=True, positive=True)
R = Symbol("R", integer=True, nonnegative=True)
i = Symbol("i", integer=True)
noise = Symbol("noise")


@pytest.fixture
def amended(make_statement: Any) -> Statement:
    return make_statement(None, "<=", "4*alpha*G*sigma*sqrt(d*V*log2(T + 1))", DOMAINS)  # type: ignore[no-any-return]  # a fixture


def build(statement: Statement) -> Derivation:
    """The noise of step t is Gaussian; node i of COMPOSE(1, t) is decayed by t mod 2**i steps."""
    symbols = sympy_symbols(statement)
    alpha, G, sigma, V, d, T = (symbols[name] for name in ("alpha", "G", "sigma", "V", "d", "T"))
    decays = Sum(Bit(t, i) * (1 - alpha) ** (2 * Mod(t, 2**i)), (i, 0, R))
    variance = 16 * alpha**2 * G**2 * sigma**2 * V * decays

    def bound(count: Any) -> Any:
        return 4 * alpha * G * sigma * sqrt(d * V * count)

    return Derivation(
        name="Jensen and popcount",
        whose="ours",
        variables={
            "alpha": real(0, 1, open_lo=True),
            "G": real(0, 3, open_lo=True),
            "sigma": real(0, 3, open_lo=True),
            "V": real(0, 30, open_lo=True),
            "d": integer(1, 40),
            "T": integer(1, 500),
            "t": integer(1, T),
            "R": integer(9, 11),
            "noise": GaussianNorm(d, variance),
        },
        assumptions=(*sympy_conditions(statement), t <= T, t <= 2 ** (R + 1) - 1),
        start=Moment(noise, 1),
        steps=(
            Step(sqrt(Moment(noise, 2)), "<=", "jensen-sqrt", {"X": noise}),
            Step(bound(decays), "=", "gaussian-second-moment", {"X": noise, "d": d, "v": variance}),
            Step(bound(Sum(Bit(t, i), (i, 0, R))), "<=", "power-at-most-one", {"x": 1 - alpha, "p": 2 * Mod(t, 2**i)}),
            Step(bound(PopCount(t)), "=", "bits-sum", {"s": t, "R": R}),
            Step(bound(Log2(t + 1)), "<=", "popcount-log2", {"n": t}),
            Step(bound(Log2(T + 1)), "<=", "order", {"a": t, "b": T}),
        ),
        local=("t", "R", "noise"),
    )


def test_the_derivation_is_complete_and_gives_the_amended_bound(amended: Statement) -> None:
    derivation = build(amended)
    result = check_derivation(derivation)
    assert [(step.status, step.note) for step in result.steps if step.status != "proved"] == []
    assert result.complete
    assert conclude(derivation, amended) == "equal"


def test_the_printed_bound_does_not_follow(make_statement: Any, amended: Statement) -> None:
    printed = make_statement(None, "<=", "4*alpha*G*sigma*sqrt(d*V*log2(T))", DOMAINS)
    assert conclude(build(amended), printed) == "stronger"
    looser = make_statement(None, "<=", "5*alpha*G*sigma*sqrt(d*V*log2(T + 1))", DOMAINS)
    assert conclude(build(amended), looser) == "weaker"


def test_the_step_that_the_paper_takes_fails(amended: Statement) -> None:
    """Printed: at most log2(T) intervals. At t = T = 1 there is one, and log2(1) = 0."""
    right = build(amended)
    symbols = sympy_symbols(amended)
    alpha, G, sigma, V, d, T = (symbols[name] for name in ("alpha", "G", "sigma", "V", "d", "T"))
    printed = Step(4 * alpha * G * sigma * sqrt(d * V * Log2(T)), "<=", "popcount-log2", {"n": t})
    result = check_derivation(replace(right, whose="paper", steps=(*right.steps[:4], printed)))
    assert result.steps[-1].status == "fails"


def test_constants_moved_against_the_derivation_break_it(amended: Statement) -> None:
    for fault in perturbations(build(amended), last_only=True):
        assert not check_derivation(fault.derivation, points=60).complete, f"not seen: {fault.fault}"


def test_wrong_steps_do_not_pass(amended: Statement) -> None:
    right = build(amended)
    symbols = sympy_symbols(amended)
    T = symbols["T"]
    steps = right.steps
    second, third, last = steps[1], steps[2], steps[5]
    assert isinstance(second, Step)
    assert isinstance(third, Step)
    assert isinstance(last, Step)
    wrong: dict[str, tuple[int, Any]] = {
        "variance without the square": (1, replace(second, expr=second.expr / symbols["sigma"])),
        "the law is another one": (1, replace(second, where={**second.where, "v": second.where["v"] / 2})),
        "the base is not below 1": (2, replace(third, where={"x": 1 + symbols["alpha"], "p": third.where["p"]})),
        "one bit is dropped": (2, replace(third, expr=third.expr.subs(R, R - 1))),
        "T is not reached": (5, replace(last, expr=last.expr.subs(T, T - 1))),
    }
    for name, (position, step) in wrong.items():
        changed = (*steps[:position], step, *steps[position + 1 :])
        assert not check_derivation(replace(right, steps=changed), points=60).complete, name


def test_a_law_that_is_not_declared_gives_no_second_moment(amended: Statement) -> None:
    right = build(amended)
    variables = {**right.variables, "noise": AnyVector()}
    result = check_derivation(replace(right, variables=variables))
    assert result.steps[1].status == "proved"  # Jensen holds for any law
    assert result.steps[2].status == "fails"
