"""Integrals hold their known values, are refused by name where nothing certain is known, and need their tails."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from dpverify.ledger.formula import parse, parse_relation
from dpverify.symbolic.calculus import integrals
from dpverify.symbolic.exact.evaluate import evaluate, holds
from dpverify.symbolic.exact.numbers import EvaluationError, Exact, ball
from tests.for_each import for_each


def value(text: str, **env: str) -> Exact:
    return evaluate(parse(text), {name: Fraction(number) for name, number in env.items()})


VALUES = [
    ("integral(exp(-x**2), x)", "sqrt(pi())"),
    ("integral(x**2, x, 1, 0)", "-1/3"),
    ("integral(x, x, 2, 2)", "0"),
    ("integral(0, x, 0, oo)", "0"),
    ("integral(exp(-x), x, oo, 0)", "-1"),
    ("integral(exp(-x), x, log(2), oo)", "1/2"),
    ("integral(x**2, x, 0, sqrt(2))", "2*sqrt(2)/3"),
    ("integral(1/sqrt(x*(1 - x)), x, 0, 1)", "pi()"),
    ("integral(log(x), x, 0, 1)", "-1"),
    ("integral(sqrt(1 - x**2), x, -1, 1)", "pi()/2"),
    ("integral(min(1, 1/x**2), x, 0, oo)", "2"),
    ("integral(x**(-1.1), x, 1, oo)", "10"),
    ("integral(1/(1 + x**4), x)", "pi()/sqrt(2)"),
    ("integral(exp(-sqrt(x)), x, 0, oo)", "2"),
    ("integral(exp(-1/x)/x**2, x, 0, 1)", "exp(-1)"),
    ("integral(log(1 + exp(-x)), x, 0, oo)", "pi()**2/12"),
    ("integral(normal_cdf(-x), x, 0, oo)", "1/sqrt(2*pi())"),
    ("integral(density(x - sqrt(2), 1), x)", "1"),
    ("integral(density(x - 1000, 1/1000), x)", "1"),
    ("integral(exp(-x/10**12), x, 0, oo)", "10**12"),
    ("integral(exp(-x*10**12), x, 0, oo)", "10**(-12)"),
    ("integral(exp(-abs(x)/3)/6, x)", "1"),
    ("integral(floor(x), x, 0, 3.5)", "4.5"),
    ("integral(sum(x**i, i, 0, 3), x, 0, 1)", "25/12"),
    ("integral(x*integral(t, t, 0, 1), x, 0, 1)", "1/4"),
    ("integral(max(density(x - 1, 1) - exp(8)*density(x, 1), 0), x)", "gaussian_delta(8, 1)"),
    ("integral(max(exp(-abs(x - 1)/3) - exp(1/10)*exp(-abs(x)/3), 0)/6, x)", "laplace_delta(1/10, 1/3)"),
    (
        "log(integral((0.99*density(x, 2) + density(x - 1, 2)/100)**8*density(x, 2)**(-7), x))/7",
        "sampled_gaussian_renyi(8, 1/100, 1/2)",
    ),
    ("integral(density(x - 1, 2)*log(density(x - 1, 2)/density(x, 2)), x)", "1/8"),
]

REFUSED = [
    ("integral(1/x, x, 1, oo)", "the integral of 1/x over x from 1 to oo: it diverges"),
    ("integral(1/x, x, 0, 1)", "it diverges"),
    ("integral(exp(-x**2) + 10**(-30), x)", "it diverges"),
    ("integral(exp(x), x, oo, 0)", "it diverges"),
    ("integral(1/x, x, -1, 1)", "no value at x = 0 .* can only be a limit"),
    ("integral(1/(x**2 - 2), x, 0, 2)", "not known to be defined and bounded"),
    ("integral(0*log(x), x, -1, 1)", "no value at x = 0"),
    ("integral(max(1, log(x)), x, -1, 1)", "no value at x = 0"),
    ("integral(sqrt(x - 10**(-3)), x, 0, 1)", "no value at x = 9.537e-07"),
    ("integral((-1)**x, x, 0, 1)", "no value at x = 0.5"),
    ("integral(1/(x*log(x)**2), x, 2, oo)", "no finite bound of its tail is known"),
    ("integral(erf(x), x)", "no finite bound of its tail is known"),
    ("integral(floor(x)*exp(-x), x, 0, oo)", "how floor grows is not known"),
    ("integral(bit(3, x), x, 0, 1)", "bit of the letter of an integral is not known"),
    ("integral(integral(x*t, t, 0, 1), x, 0, 1)", "it has integrals that depend on x"),
    ("integral(sum(x, i, 1, 2000), x, 0, 1)", "more than 1000 terms"),
]


@for_each(("text", "expected"), [*VALUES, *REFUSED])
def test_integrals_hold_their_values_or_are_refused_by_name(text: str, expected: str) -> None:
    if (text, expected) in REFUSED:
        with pytest.raises(EvaluationError, match=expected):
            value(text)
        return
    result = ball(value(text))
    exact = ball(value(expected))
    assert result.overlaps(exact)
    assert exact == 0 or result.rel_accuracy_bits() >= 50
    above = f"{expected} + abs({expected})/10**9 + 10**(-30)"
    assert holds(parse_relation(f"{text} < {above}"), {}) is True
    assert holds(parse_relation(f"{above} <= {text}"), {}) is False


def test_an_integral_that_forgets_its_tail_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrals, "_tail_of", lambda envelope, start: arb(0))
    assert not ball(value("integral(1/(x + 1)**2, x, 0, oo)")).overlaps(arb(1))
