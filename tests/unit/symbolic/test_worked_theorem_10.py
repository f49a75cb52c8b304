"""Theorem 10: Gaussian divergence by completing the square, a sum over V queries, the conversion to (eps, delta)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sympy import Integral, Rational, Sum, Symbol, exp, log, oo, pi, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.perturb import perturbations
from dpverify.symbolic.derive.steps import Derivation, Step, premise_of
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.translation import sympy_conditions, sympy_symbols
from tests.unit.symbolic.conclusions import conclude

x = Symbol("x", real=True)
j = Symbol("j", integer=True)


@pytest.fixture
def divergence(make_statement: Any) -> Statement:
    domains = {"z": "real, z > 1", "mu": "real", "s": "real, s > 0"}
    return make_statement(None, "=", "z*mu**2/(2*s**2)", domains)  # type: ignore[no-any-return]  # a fixture


@pytest.fixture
def theorem(make_statement: Any) -> Statement:
    domains = {"z": "real, z > 1", "rho": "real, rho > 0", "V": "integer, V >= 1"}
    return make_statement(None, "<=", "V*z*rho**2/2", domains)  # type: ignore[no-any-return]  # a fixture


@pytest.fixture
def conversion(make_statement: Any) -> Statement:
    domains = {
        "rho": "real, rho > 0",
        "V": "integer, V >= 1",
        "delta": "real, 0 < delta < 1",
    }
    requires = ("rho <= sqrt(log(1/delta)/V)",)
    return make_statement(None, "<=", "2*rho*sqrt(V*log(1/delta))", domains, requires)  # type: ignore[no-any-return]  # a fixture


def build_divergence(divergence: Statement) -> Derivation:
    """log of the integral of p**z * q**(1 - z), divided by z - 1."""
    z, mu, s = (sympy_symbols(divergence)[name] for name in ("z", "mu", "s"))
    density = s * sqrt(2 * pi)
    integrand = (
        exp(-(x**2) / (2 * s**2)) ** z
        * exp(-((x - mu) ** 2) / (2 * s**2)) ** (1 - z)
        / density
    )
    k, c = z * (z - 1) * mu**2 / (2 * s**2), (1 - z) * mu
    squared = exp(k - (x - c) ** 2 / (2 * s**2)) / density
    return Derivation(
        name="completing the square",
        whose="ours",
        variables={
            "z": real(1, 9, open_lo=True),
            "mu": real(-4, 4),
            "s": real(0, 5, open_lo=True),
        },
        assumptions=sympy_conditions(divergence),
        start=log(Integral(integrand, (x, -oo, oo))) / (z - 1),
        steps=(
            Step(
                log(Integral(squared, (x, -oo, oo))) / (z - 1),
                "=",
                note="complete the square",
            ),
            Step(
                log(exp(k)) / (z - 1),
                "=",
                "gaussian-integral",
                {"k": k, "c": c, "s": s},
            ),
            Step(z * mu**2 / (2 * s**2), "="),
        ),
    )


def build_theorem(theorem: Statement, divergence: Statement) -> Derivation:
    """n <= V touched queries, each moved by mu <= Delta under noise of deviation Delta/rho."""
    z, rho, V = (sympy_symbols(theorem)[name] for name in ("z", "rho", "V"))
    each, mu, delta = (Symbol(name, positive=True) for name in ("D_one", "mu", "Delta"))
    known = premise_of(divergence, each)
    n = Symbol("n", integer=True, nonnegative=True)
    one = z * mu**2 / (2 * (delta / rho) ** 2)
    return Derivation(
        name="sum over the touched queries",
        whose="ours",
        variables={
            "z": real(1, 9, open_lo=True),
            "rho": real(0, 5, open_lo=True),
            "V": integer(1, 40),
            "n": integer(0, V),
            "Delta": real(0, 4, open_lo=True),
            "mu": real(0, delta, open_lo=True),
            "D_one": real(one, one),
        },
        assumptions=(*sympy_conditions(theorem), n <= V, mu <= delta),
        start=Sum(each, (j, 1, n)),
        premises={"tran2022:gaussian-divergence": known},
        steps=(
            Step(
                Sum(one, (j, 1, n)),
                "=",
                "premise",
                {"z": z, "mu": mu, "s": delta / rho},
                ("tran2022:gaussian-divergence",),
                note="each query's divergence",
            ),
            Step(
                Sum(z * delta**2 / (2 * (delta / rho) ** 2), (j, 1, n)),
                "<=",
                "power-monotone",
                {"a": mu, "b": delta, "p": 2},
            ),
            Step(
                n * z * rho**2 / 2,
                "=",
                "sum-constant",
                {"c": z * rho**2 / 2, "lo": 1, "hi": n},
            ),
            Step(V * z * rho**2 / 2, "<=", "order", {"a": n, "b": V}),
        ),
        local=("n", "mu", "Delta", "D_one"),
    )


def build_conversion(conversion: Statement, theorem: Statement) -> Derivation:
    """(z, eps)-RDP gives (eps + log(1/delta)/(z - 1), delta)-DP, at the printed order z."""
    rho, V, delta = (sympy_symbols(conversion)[name] for name in ("rho", "V", "delta"))
    ell = log(1 / delta)
    z = 1 + sqrt(ell) / (rho * sqrt(V))
    renyi = Symbol("D", positive=True)
    rest = Rational(3, 2) * rho * sqrt(V * ell)
    return Derivation(
        name="the printed order",
        whose="ours",
        variables={
            "delta": real(0, 1, open_lo=True, open_hi=True),
            "V": integer(1, 30),
            "rho": real(0, 3, open_lo=True),
            "D": real(0, V * z * rho**2 / 2, open_lo=True),
        },
        assumptions=(*sympy_conditions(conversion), renyi <= V * z * rho**2 / 2),
        start=renyi + ell / (z - 1),
        premises={"tran2022:theorem-10": premise_of(theorem, renyi)},
        steps=(
            Step(
                V * z * rho**2 / 2 + ell / (z - 1),
                "<=",
                "premise",
                {"z": z},
                ("tran2022:theorem-10",),
            ),
            Step(V * rho**2 / 2 + rest, "="),
            Step(
                V * rho * sqrt(ell / V) / 2 + rest,
                "<=",
                "order",
                {"a": rho, "b": sqrt(ell / V)},
                context=V * rho * HOLE / 2 + rest,
            ),
            Step(2 * rho * sqrt(V * ell), "="),
        ),
        local=("D",),
    )


def unproved(derivation: Derivation) -> list[tuple[str, str]]:
    return [
        (step.status, step.note)
        for step in check_derivation(derivation).steps
        if step.status != "proved"
    ]


def test_the_three_derivations_are_complete(
    divergence: Statement, theorem: Statement, conversion: Statement
) -> None:
    assert unproved(build_divergence(divergence)) == []
    assert unproved(build_theorem(theorem, divergence)) == []
    assert unproved(build_conversion(conversion, theorem)) == []


def test_they_give_the_printed_right_sides(
    divergence: Statement, theorem: Statement, conversion: Statement
) -> None:
    assert conclude(build_divergence(divergence), divergence) == "equal"
    assert conclude(build_theorem(theorem, divergence), theorem) == "equal"
    assert conclude(build_conversion(conversion, theorem), conversion) == "equal"


def test_the_printed_intermediate_value_is_stronger_than_what_follows(
    make_statement: Any, conversion: Statement, theorem: Statement
) -> None:
    """The paper prints V*rho**2 + rho*sqrt(V*log(1/delta)) on the way: less than the algebra gives inside the range."""
    domains = {
        "rho": "real, rho > 0",
        "V": "integer, V >= 1",
        "delta": "real, 0 < delta < 1",
    }
    requires = ("rho <= sqrt(log(1/delta)/V)",)
    printed = make_statement(
        None, "<=", "V*rho**2 + rho*sqrt(V*log(1/delta))", domains, requires
    )
    full = build_conversion(conversion, theorem)
    assert conclude(replace(full, steps=full.steps[:2]), printed) == "stronger"


def test_a_premise_is_used_only_under_its_conditions(
    conversion: Statement, theorem: Statement
) -> None:
    right = build_conversion(conversion, theorem)
    first = right.steps[0]
    assert isinstance(first, Step)
    V, rho, delta = (sympy_symbols(conversion)[name] for name in ("V", "rho", "delta"))
    half = Rational(1, 2)
    below_one = Step(
        V * half * rho**2 / 2 + log(1 / delta) / (half - 1),
        "<=",
        "premise",
        {"z": half},
        first.premises,
    )
    start = Symbol("D", positive=True) + log(1 / delta) / (half - 1)
    result = check_derivation(replace(right, start=start, steps=(below_one,)))
    assert result.steps[-1].status in {"checked", "fails"}
    assert not result.complete


def test_constants_moved_against_the_derivations_break_them(
    divergence: Statement, theorem: Statement, conversion: Statement
) -> None:
    for derivation in (
        build_divergence(divergence),
        build_theorem(theorem, divergence),
        build_conversion(conversion, theorem),
    ):
        for fault in perturbations(derivation, last_only=True):
            assert not check_derivation(fault.derivation, points=60).complete, (
                f"not seen: {fault.fault}"
            )


def test_wrong_squares_and_sums_do_not_pass(
    divergence: Statement, theorem: Statement
) -> None:
    right = build_divergence(divergence)
    z, mu, s = (sympy_symbols(divergence)[name] for name in ("z", "mu", "s"))
    k, c = z * mu**2 / (2 * s**2), (1 - z) * mu
    wrong = exp(k - (x - c) ** 2 / (2 * s**2)) / (s * sqrt(2 * pi))
    bad = Step(log(Integral(wrong, (x, -oo, oo))) / (z - 1), "=")
    assert (
        check_derivation(replace(right, steps=(bad, *right.steps[1:]))).steps[1].status
        == "fails"
    )
    sums = build_theorem(theorem, divergence)
    V, rho = (sympy_symbols(theorem)[name] for name in ("V", "rho"))
    z = sympy_symbols(theorem)["z"]
    half = Step(
        V * z * rho**2 / 4,
        "<=",
        "order",
        {"a": Symbol("n", integer=True, nonnegative=True), "b": V},
    )
    assert (
        check_derivation(replace(sums, steps=(*sums.steps[:-1], half))).steps[-1].status
        == "fails"
    )
